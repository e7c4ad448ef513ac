package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// receiver is a process of its own that answers requests.
type receiver struct {
	port    string
	command *exec.Cmd
	input   io.Closer
	output  *bufio.Reader
}

func startReceiver(delay time.Duration) (*receiver, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// It ends with its input, also when this process dies. Interrupts of a terminal
	// reach it too, and change nothing.
	command := exec.Command(self, "-listen", "-delay", delay.String()) //nolint:gosec,noctx // this program
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	r := &receiver{command: command, input: input, output: bufio.NewReader(output)}
	port, err := r.output.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the receiver does not start: %w", err), r.end())
	}
	r.port = strings.TrimSpace(port)
	return r, nil
}

// end ends the process.
func (r *receiver) end() error {
	return errors.Join(r.input.Close(), r.command.Wait())
}

// portOf returns the port of the receiver that runs already, else starts one.
func portOf(o options) (port string, end func() error, err error) {
	if o.port != "" {
		return o.port, func() error { return nil }, nil
	}
	r, err := startReceiver(o.delay)
	if err != nil {
		return "", nil, err
	}
	return r.port, r.end, nil
}

// urls returns a URL on each of so many hosts from the given one on, with the
// paths in turns. A host is a destination of its own: it shares no connections.
func urls(first, count int, port string, paths ...string) []string {
	all := make([]string, count)
	for i := range all {
		n := first + i - 1
		all[i] = fmt.Sprintf("http://127.0.%d.%d:%s/%s", n/200, 1+n%200, port, paths[i%len(paths)])
	}
	return all
}
