// Command hotpaths measures what respondents and API clients do most, each beside
// the least that anyone would have to do:
//
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./hotpaths submit
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./hotpaths form
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./hotpaths page
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./hotpaths respondents
//
// Each alternative is a process of its own that serves HTTP on the loopback
// network. They are loaded in turns, for several rounds, because the speed of a
// shared machine changes from second to second: only ratios within a round count,
// and what is printed is the median over the rounds. CPU is the processor time of
// the serving process and of PostgreSQL, in milliseconds for 1,000 requests; the
// load comes from this process and does not count.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	concurrency []int
	rounds      int
	duration    time.Duration
	connections int
	rows        int
	only        []string
	serve       string
	schema      string
	in          string
	profile     string
}

func main() {
	o := options{}
	concurrency := flag.String("c", "", "requests at one time, a `list` with commas (default 1,16,64 for submit, else 16)")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each alternative is loaded")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "of one load")
	flag.IntVar(&o.connections, "connections", 16, "connections to PostgreSQL of each serving process")
	flag.IntVar(&o.rows, "rows", 1000, "page: responses in the form")
	only := flag.String("only", "", "the `names` of alternatives to measure, with commas (default: all)")
	flag.StringVar(&o.serve, "serve", "", "be the serving process of this alternative (used by the command itself)")
	flag.StringVar(&o.schema, "schema", "", "the schema that -serve uses")
	flag.StringVar(&o.in, "in", "", "a `schema` that is kept: it is filled when it is not there (with -rounds 0 that is all)")
	flag.StringVar(&o.profile, "profile", "", "write a processor profile of each serving process to `directory`")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, *concurrency, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "hotpaths:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, concurrency, what string) error {
	suites := map[string]suite{"submit": submits(), "form": forms(), "page": pages(), "respondents": respondents()}
	s, ok := suites[what]
	if !ok {
		return errors.New("what is to be measured? submit, form, page or respondents")
	}
	if o.serve != "" {
		return serve(ctx, s, o)
	}
	if concurrency == "" {
		concurrency = s.concurrency
	}
	for text := range strings.SplitSeq(concurrency, ",") {
		var c int
		if _, err := fmt.Sscan(text, &c); err != nil || c < 1 {
			return fmt.Errorf("-c: %q is not a number of requests", text)
		}
		o.concurrency = append(o.concurrency, c)
	}
	return measure(ctx, what, s, o)
}
