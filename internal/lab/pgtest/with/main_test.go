package main

import (
	"bufio"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
)

// asCommand makes this test binary the command itself.
const asCommand = "FORMSVC_TEST_AS_WITH"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// with returns the command, without a server given.
func with(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), asCommand+"=1", databaseURL+"=", requireDatabase+"=")
	command.Stderr = os.Stderr
	return command
}

// needsPostgres: these tests must not install packages.
func needsPostgres(t *testing.T) {
	t.Helper()
	if _, err := (pgrun.Finder{}).Find(t.Context()); err != nil {
		if os.Getenv(requireDatabase) == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestTheCommandHasAServerWhichIsGoneAfterwards(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	for _, c := range []struct {
		name, script string
		want         int
	}{
		{"it succeeds", "exit 0", 0},
		{"it fails", "exit 7", 7},
		{"a signal ends it", "kill -KILL $$", 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := with(t, "--", "/bin/sh", "-c", `echo "$`+databaseURL+`"; `+c.script).Output()
			if got := code(err); got != c.want {
				t.Errorf("exit code %d, want %d: %v", got, c.want, err)
			}
			gone(t, directory(t, string(out)))
		})
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) {
			t.Parallel()
			command := with(t, "--", "/bin/sh", "-c", `trap 'exit 9' INT TERM; echo "$`+databaseURL+`"; read -r line`)
			// It waits for input that never comes, until the test is over.
			stdin := must(command.StdinPipe())
			defer func() { _ = stdin.Close() }()
			dir := started(t, command)
			noError(t, command.Process.Signal(sent))
			if err := command.Wait(); code(err) != 9 {
				t.Errorf("exit code %d, want the one of the trap: %v", code(err), err)
			}
			gone(t, dir)
		})
	}
}

func TestNothingStaysWhenItIsKilled(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	command := with(t, "--", "/bin/sh", "-c", `echo "$`+databaseURL+`"; exec cat`)
	stdin := must(command.StdinPipe())
	dir := started(t, command)
	noError(t, command.Process.Kill())
	_ = command.Wait()
	_ = stdin.Close()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s is still there", dir)
		}
	}
	gone(t, dir)
}

func TestAGivenServerIsUsed(t *testing.T) {
	t.Parallel()
	command := with(t, "/bin/sh", "-c", `printf %s "$`+databaseURL+`"`)
	command.Env = append(command.Env, databaseURL+"=postgres://elsewhere/db")
	out, err := command.Output()
	if err != nil || string(out) != "postgres://elsewhere/db" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-fsync", "-c", "work_mem=1MB", "-c", "a=b=c", "--", "go", "test", "-race"}, io.Discard)
	if err != nil || o.server.NoSync || strings.Join(o.command, " ") != "go test -race" ||
		len(o.server.Settings) != 2 || o.server.Settings["a"] != "b=c" {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err := parse([]string{"true"}, io.Discard); err != nil || !o.server.NoSync {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, args := range [][]string{nil, {"--"}, {"-c", "novalue", "true"}, {"-unknown", "true"}} {
		if code, err := run(args, io.Discard); code != 2 || err == nil {
			t.Errorf("%q: %d, %v", args, code, err)
		}
	}
}

func TestACommandThatThereIsNotIsAnError(t *testing.T) {
	t.Parallel()
	if code, err := execute([]string{"/no/such/command"}, nil, nil); code != 1 || err == nil {
		t.Errorf("%d, %v", code, err)
	}
}

// started starts the command and returns its server's directory.
func started(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	stdout := must(command.StdoutPipe())
	noError(t, command.Start())
	line := must(bufio.NewReader(stdout).ReadString('\n'))
	return directory(t, line)
}

func directory(t *testing.T, line string) string {
	t.Helper()
	parsed := must(url.Parse(strings.TrimSpace(line)))
	dir := parsed.Query().Get("host")
	if !strings.Contains(dir, "formsvc-pg-") {
		t.Fatalf("no server in %q", line)
	}
	return dir
}

// gone fails the test when the directory is there or a process names it.
func gone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind: %v", dir, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return // not Linux
	}
	for _, entry := range entries {
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), dir+"/data") {
			t.Errorf("process %s is left running: %q", entry.Name(), line)
		}
	}
}

func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// must returns a value that is there unless the test is broken.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
