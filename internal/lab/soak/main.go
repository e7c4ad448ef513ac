// Command soak shows that neither killed processes nor a killed database server
// lose a submission, an event, an edit, a published version or a partial submission:
//
//	go run ./internal/lab/soak [-kills n] [-server-kills n] [-processes n] [-lease d]
//		[-in-flight n] [-workers n] [-seed n] [-log file]
//
// Serving processes take submissions and dispatch webhooks on a real PostgreSQL
// that waits for the disk. This process sends the submissions, receives the
// events, kills the others with SIGKILL at random moments under load, and starts
// them again. In the end it lets the queue run empty and compares what was
// acknowledged, stored and received. Half of the kills are of one process that
// runs alone; the database server is killed below all of them, sometimes with one
// of them while it is down. No kill may repeat more than eight times
// -in-flight deliveries.
//
// Four more clients edit a form, edit a working copy, publish, and save a partial
// submission. They read every number that they stored before they store the next. A kill
// of the database server may lose the saves of partial submissions of the second before it.
//
// The exit code is 1 when something is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
	"github.com/formsvc/formsvc/storage"
)

func main() {
	if c, ok, err := serving(); ok {
		if err == nil {
			err = serve(c, func(s storage.Storage) storage.Storage { return s })
		}
		exit(err)
	}
	exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func exit(err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	default:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// refused is the share of the requests that the receiver answers with an error.
const refused = 0.05

var errFound = errors.New("something is wrong")

func run(args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		kills       = flags.Int("kills", 100, "kills of serving processes")
		serverKills = flags.Int("server-kills", 20, "kills of the database server")
		processes   = flags.Int("processes", 2, "serving processes at once, in the parts with several")
		lease       = flags.Duration("lease", 0, "length of a claim (default the dispatcher's own)")
		timeout     = flags.Duration("timeout", 2*time.Second, "time-out of an attempt")
		inFlight    = flags.Int("in-flight", defaultInFlight, "requests of a process at one time")
		workers     = flags.Int("workers", defaultWorkers, "clients that submit at once; with many, responses are stored in groups")
		seed        = flags.Uint64("seed", uint64(time.Now().UnixNano()), "seed of what is random; the timing is not")
		logFile     = flags.String("log", "", "file for the log of the serving processes")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *processes < 1 || *inFlight < 1 || *workers < 1 || *kills < 0 || *serverKills < 0 {
		return errors.New("-processes, -in-flight and -workers must be 1 or more, the kills 0 or more")
	}
	log := io.Discard
	if *logFile != "" {
		file, err := os.Create(*logFile)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		log = file
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	programs, err := pgrun.Ensure(ctx, pgrun.Finder{}, pgrun.Installer{Output: stderr}, stderr)
	if programs.Postgres == "" {
		return err
	}
	server, err := pgrun.StartServer(ctx, programs.Postgres, pgrun.ServerConfig{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()

	wrong := false
	for i, p := range []plan{
		{processes: 1, kills: *kills / 2},
		{processes: *processes, kills: *kills - *kills/2},
		{processes: *processes, serverKills: *serverKills},
	} {
		if p.kills+p.serverKills == 0 {
			continue
		}
		p.seed, p.timeout, p.lease, p.inFlight, p.refused, p.workers = *seed+uint64(i), *timeout, *lease, *inFlight, refused, *workers
		p.drain = max(2*p.timeout+30*time.Second, p.lease) + time.Minute
		r, err := soak(ctx, p, server.URL(), fmt.Sprintf("soak_%d", i), server, log)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(stdout, r)
		wrong = wrong || !r.ok()
	}
	if wrong {
		return errFound
	}
	return nil
}
