package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is a set of alternatives that do the same work.
type suite struct {
	concurrency  string
	alternatives []alternative
	// prepare fills a new schema for all alternatives.
	prepare func(ctx context.Context, db *database, o options) error
}

// alternative is one way to serve a request.
type alternative struct {
	name string
	// open makes the handler in the serving process, and the request that loads it.
	open func(ctx context.Context, db *database) (served, error)
}

// measure loads every alternative in turns and prints the medians.
func measure(ctx context.Context, what string, s suite, o options) (err error) {
	schema := o.in
	if schema == "" {
		schema = fmt.Sprintf("hotpaths_%d", os.Getpid())
	}
	db, err := openDatabase(ctx, schema, o.connections)
	if err != nil {
		return err
	}
	filled, err := db.filled(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if o.in == "" {
			err = errors.Join(err, db.drop(ctx))
		}
		db.pool.Close()
	}()
	if !filled {
		if err := db.migrate(ctx); err != nil {
			return err
		}
		if err := s.prepare(ctx, db, o); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	if o.rounds == 0 {
		return nil
	}
	postgres, err := db.server(ctx)
	if err != nil {
		return err
	}

	var servers []*server
	defer func() {
		for _, srv := range servers {
			err = errors.Join(err, srv.end())
		}
	}()
	for _, a := range s.alternatives {
		if o.only != nil && !slices.Contains(o.only, a.name) {
			continue
		}
		srv, err := start(ctx, what, a.name, db.schema, o)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		servers = append(servers, srv)
	}

	for _, c := range o.concurrency {
		results := make([][]sample, len(servers))
		for round := range o.rounds + 1 {
			for i, srv := range servers {
				duration := o.duration
				if round == 0 {
					duration = 500 * time.Millisecond // opens connections, prepares statements
				}
				got, err := load(ctx, srv, postgres, c, duration)
				if err != nil {
					return fmt.Errorf("%s: %w", srv.name, err)
				}
				if round > 0 {
					results[i] = append(results[i], got)
				}
			}
		}
		fmt.Printf("%s, %d at one time, medians of %d rounds of %v\n", what, c, o.rounds, o.duration)
		fmt.Printf("  %-24s %9s %7s %9s %9s %8s %8s\n", "", "req/s", "ratio", "CPU", "of it PG", "p50 ms", "p99 ms")
		for i, srv := range servers {
			// The ratio is that of the rates within each round, to the first alternative.
			ratios := make([]float64, len(results[i]))
			for round := range ratios {
				ratios[round] = results[i][round].rate / results[0][round].rate
			}
			fmt.Printf("  %-24s %9.0f %7.2f %9.0f %9.0f %8.2f %8.2f\n", srv.name,
				median(results[i], func(s sample) float64 { return s.rate }), medianOf(ratios),
				median(results[i], func(s sample) float64 { return s.own + s.postgres }),
				median(results[i], func(s sample) float64 { return s.postgres }),
				median(results[i], func(s sample) float64 { return s.p50 }),
				median(results[i], func(s sample) float64 { return s.p99 }))
		}
	}
	return nil
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return medianOf(values)
}

func medianOf(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// server is a serving process.
type server struct {
	name    string
	address string
	request []byte
	command *exec.Cmd
	stdin   io.Closer
}

// start runs this program again as the serving process of an alternative.
func start(ctx context.Context, what, name, schema string, o options) (*server, error) {
	args := []string{"-serve", name, "-schema", schema, "-connections", strconv.Itoa(o.connections)}
	if o.profile != "" {
		args = append(args, "-profile", filepath.Join(o.profile, what+"-"+name+".prof"))
	}
	command := exec.CommandContext(ctx, os.Args[0], append(args, what)...) //nolint:gosec // this program
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	// The process says where it listens and how long the request is that follows.
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(errors.New("the serving process has ended"), command.Wait())
	}
	address, size, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, err := strconv.Atoi(size)
	if err != nil {
		return nil, err
	}
	request := make([]byte, n)
	if _, err := io.ReadFull(out, request); err != nil {
		return nil, err
	}
	return &server{name: name, address: address, request: request, command: command, stdin: stdin}, nil
}

// end makes the process stop, which it does when its standard input ends.
func (s *server) end() error {
	return errors.Join(s.stdin.Close(), s.command.Wait())
}
