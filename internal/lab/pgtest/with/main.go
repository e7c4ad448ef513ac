// Command with runs another command beside a PostgreSQL server that is thrown
// away afterwards:
//
//	go run ./internal/lab/pgtest/with [-fsync] [-c name=value]… [--] command [argument…]
//
// The command finds the server in FORMSVC_TEST_DATABASE_URL. When that is set
// already, no server is started. Programs that are missing are installed with
// apt-get, as root or with sudo; without PgBouncer the command runs all the
// same, and tests that need one are skipped. With
// FORMSVC_TEST_REQUIRE_DATABASE=1 both are required.
//
// Signals are passed on to the command, and its exit code becomes this one's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
)

const (
	databaseURL     = "FORMSVC_TEST_DATABASE_URL"
	requireDatabase = "FORMSVC_TEST_REQUIRE_DATABASE"
)

func main() {
	code, err := run(os.Args[1:], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
	}
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	server  pgrun.ServerConfig
	command []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{server: pgrun.ServerConfig{Settings: map[string]string{}}}
	flags := flag.NewFlagSet("with", flag.ContinueOnError)
	flags.SetOutput(stderr)
	fsync := flags.Bool("fsync", false, "the server waits for the disk, as in production (for measurements)")
	flags.Func("c", "a server setting, `name=value`; may be repeated", func(setting string) error {
		name, value, ok := strings.Cut(setting, "=")
		if !ok || name == "" {
			return errors.New("not name=value")
		}
		o.server.Settings[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if o.command = flags.Args(); len(o.command) == 0 {
		return options{}, errors.New("no command given")
	}
	o.server.NoSync = !*fsync
	return o, nil
}

// run does it all and returns the exit code: the command's, or 1 beside an
// error, 2 for a wrong command line.
func run(args []string, stderr io.Writer) (code int, err error) {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	}
	if err != nil {
		return 2, err
	}

	// Until the command runs, a signal ends the preparations; then it is the
	// command's.
	handled := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, handled...)
	defer signal.Stop(signals)
	ctx, stop := signal.NotifyContext(context.Background(), handled...)
	defer stop()

	environment := os.Environ()
	given := os.Getenv(databaseURL) != ""
	required := os.Getenv(requireDatabase) == "1"
	if !given || required {
		programs, err := pgrun.Ensure(ctx, pgrun.Finder{}, pgrun.Installer{Output: stderr}, stderr)
		switch {
		case err == nil:
		case required, programs.Postgres == "":
			return 1, fmt.Errorf("%w\n(install postgresql and pgbouncer, or set %s)", err, databaseURL)
		default:
			_, _ = fmt.Fprintln(stderr, "with: tests behind PgBouncer are skipped:", err)
		}
		if !given {
			server, err := pgrun.StartServer(ctx, programs.Postgres, o.server)
			if err != nil {
				return 1, err
			}
			defer func() {
				if closeErr := server.Close(); closeErr != nil && err == nil {
					code, err = 1, closeErr
				}
			}()
			environment = append(environment, databaseURL+"="+server.URL())
		}
	}
	return execute(o.command, environment, signals)
}

// execute runs the command, passes signals on to it and returns its exit code.
func execute(args, environment []string, signals <-chan os.Signal) (int, error) {
	command := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // it is what the caller asked for; signals end it
	command.Env = environment
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case received := <-signals:
			_ = command.Process.Signal(received) // it may just have ended
		case err := <-ended:
			return exitCode(err)
		}
	}
}

// exitCode is the command's, and as in a shell 128 and the signal's number when
// a signal ended it.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil {
			return 1, err
		}
		return 0, nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
