// Command deliveries measures the delivery of webhooks on PostgreSQL.
//
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./deliveries
//
// sends 20,000 pending deliveries to 100 destinations and prints one line:
// deliveries a second, and the milliseconds of processor time that 1,000 of them
// took in this process and in PostgreSQL. The receiver is a process of its own
// and does not count.
//
// With -duration it keeps the queue busy at -rate events a second for that long
// instead, and prints every -report how long events wait from the call that
// queues them to their request, the sizes of the tables and what is dead in them.
// With -rate 50 the wait is that of a process with little to do. The last line
// reports whether the table of deliveries grew after a fifth of the time.
//
// With -isolation it sends -each deliveries to each of 50 healthy destinations,
// first alone, then on a new schema beside 50 destinations that have as many each
// and are first in turn but do not answer as they should. It prints how long the
// healthy ones took, and what this process needed meanwhile and for longer than a
// time-out afterwards. It fails when a delivery to a healthy one does.
//
// With -outage it runs 40 healthy webhooks with an event a second each beside others
// that begin to hang, and prints how many of the healthy events were late in each
// ten seconds; -outage list prints the names of the outages. With -memory the store is
// in memory; with -brief it takes 40 s in place of 76. It fails when more than one of a
// hundred is late.
//
// With -patient it measures receivers that take 0.9 to 2 s beside 200 webhooks of one owner that
// take 14 s, for a minute and a half, and fails when one gets less than 0.9 of what four requests
// at once can do.
//
// With -submits n it runs a whole service, submits n responses a second for
// -duration (default 30 s) and prints how long it takes from each call of Submit
// to the request of its webhook. With -memory the service is on memory storage.
//
// With -dead n that is beside n webhooks to which nobody listens. With -live n it
// submits from n goroutines to -forms forms as fast as it can, without and then with a dispatcher, and
// prints both rates.
//
// With -listen it is only the receiver: it prints its port and answers until its
// standard input ends.
//
// An interrupt ends any of them. Requests under way then have 10 s to end, and
// the schema is dropped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	deliveries   int
	destinations int
	inFlight     int
	connections  int
	port         string
	delay        time.Duration
	duration     time.Duration
	rate         int
	report       time.Duration
	isolation    bool
	each         int
	bad          []string
	submits      int
	dead         int
	atOnce       int
	forms        int
	memory       bool
	outage       string
	brief        bool
	patient      bool
	profile      string
	listen       bool
}

func main() {
	o := options{bad: kinds()}
	flag.IntVar(&o.deliveries, "deliveries", 20_000, "how many are pending at the start")
	flag.IntVar(&o.destinations, "destinations", 100, "how many webhooks they are spread over, at most 1,000")
	flag.IntVar(&o.inFlight, "inflight", 0, "requests at one time; 0: the default of package webhooks")
	flag.IntVar(&o.connections, "connections", 10, "connections to PostgreSQL")
	flag.StringVar(&o.port, "port", "", "the port of a receiver that runs already; not with -isolation or -submits")
	flag.DurationVar(&o.delay, "delay", 0, "how long the receiver takes to answer")
	flag.DurationVar(&o.duration, "duration", 0, "keep the queue busy for so long")
	flag.IntVar(&o.rate, "rate", 500, "with -duration: events a second")
	flag.DurationVar(&o.report, "report", time.Minute, "with -duration: time between two reports")
	flag.BoolVar(&o.isolation, "isolation", false, "measure healthy destinations beside bad ones")
	flag.IntVar(&o.each, "each", 400, "with -isolation: deliveries to each destination")
	flag.Func("bad", "with -isolation: the `kinds` of bad destinations, in turns (default "+strings.Join(o.bad, ",")+")", func(s string) error {
		o.bad = strings.Split(s, ",")
		for _, kind := range o.bad {
			if !slices.Contains(kinds(), kind) {
				return fmt.Errorf("%q is none of them", kind)
			}
		}
		return nil
	})
	flag.IntVar(&o.submits, "submits", 0, "measure a service to which so many responses a second are submitted")
	flag.IntVar(&o.dead, "dead", 0, "with -submits: beside so many other webhooks to which nobody listens")
	flag.IntVar(&o.atOnce, "live", 0, "measure how many responses a service takes from so many goroutines, without and with its dispatcher")
	flag.IntVar(&o.forms, "forms", 1, "with -live: forms that the responses are spread over, each with a webhook on a host of its own, at most 1,000")
	flag.BoolVar(&o.memory, "memory", false, "on memory storage; not with -isolation or -duration")
	flag.StringVar(&o.outage, "outage", "", "measure healthy webhooks beside an outage: a `name`, or list")
	flag.BoolVar(&o.brief, "brief", false, "with -outage: half as long")
	flag.BoolVar(&o.patient, "patient", false, "measure receivers of 0.9 to 2 s beside 200 webhooks of one owner that take 14 s")
	flag.StringVar(&o.profile, "cpuprofile", "", "without a mode: write a profile of the processor time to this `file`")
	flag.BoolVar(&o.listen, "listen", false, "be the receiver")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "deliveries:", err)
		os.Exit(1)
	}
}

// run picks what is measured.
func run(ctx context.Context, o options) error {
	if o.destinations < 1 || o.destinations > 1000 {
		return errors.New("-destinations is not 1 to 1,000")
	}
	if o.forms < 1 || o.forms > 1000 {
		return errors.New("-forms is not 1 to 1,000")
	}
	if o.rate < 1 || o.each < 1 || o.report <= 0 {
		return errors.New("-rate, -each or -report is not positive")
	}
	switch {
	case o.patient:
		return patient(ctx, o)
	case o.outage != "":
		return outage(ctx, o)
	case o.listen:
		return receive(os.Stdin, os.Stdout, o.delay)
	case o.isolation:
		return isolate(ctx, o)
	case o.atOnce > 0:
		return live(ctx, o)
	case o.submits > 0:
		return submit(ctx, o)
	case o.duration > 0:
		return endure(ctx, o)
	}
	return drain(ctx, o)
}
