// Command deliveries measures the delivery of webhooks on PostgreSQL.
//
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./deliveries
//
// sends 20,000 pending deliveries to 100 destinations and prints one line:
// deliveries a second, and the milliseconds of processor time that 1,000 of them
// took in this process and in PostgreSQL. The receiver is a process of its own
// and does not count.
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
	o := options{}
	flag.IntVar(&o.deliveries, "deliveries", 20_000, "how many are pending at the start")
	flag.IntVar(&o.destinations, "destinations", 100, "how many webhooks they are spread over, at most 1,000")
	flag.IntVar(&o.inFlight, "inflight", 0, "requests at one time; 0: the default of package webhooks")
	flag.IntVar(&o.connections, "connections", 10, "connections to PostgreSQL")
	flag.StringVar(&o.port, "port", "", "the port of a receiver that runs already; not with -submits")
	flag.DurationVar(&o.delay, "delay", 0, "how long the receiver takes to answer")
	flag.DurationVar(&o.duration, "duration", 0, "how long -submits or -live takes (default 30 s, 10 s)")
	flag.IntVar(&o.submits, "submits", 0, "measure a service to which so many responses a second are submitted")
	flag.IntVar(&o.dead, "dead", 0, "with -submits: beside so many other webhooks to which nobody listens")
	flag.IntVar(&o.atOnce, "live", 0, "measure how many responses a service takes from so many goroutines, without and with its dispatcher")
	flag.IntVar(&o.forms, "forms", 1, "with -live: forms that the responses are spread over, each with a webhook on a host of its own, at most 1,000")
	flag.BoolVar(&o.memory, "memory", false, "on memory storage")
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
	switch {
	case o.patient:
		return patient(ctx, o)
	case o.outage != "":
		return outage(ctx, o)
	case o.listen:
		return receive(os.Stdin, os.Stdout, o.delay)
	case o.atOnce > 0:
		return live(ctx, o)
	case o.submits > 0:
		return submit(ctx, o)
	}
	return drain(ctx, o)
}
