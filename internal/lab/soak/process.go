package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// startWithin is how long a serving process may take to say its address.
const startWithin = 30 * time.Second

// process is a serving process. It is for one goroutine.
type process struct {
	command *exec.Cmd
	stdin   io.Closer
	url     string
}

// startProcess starts this program again as a serving process, and returns when
// it listens. What it logs goes to log.
func startProcess(c serverConfig, log io.Writer) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program) //nolint:noctx,gosec // kill and stop end this program
	command.Env = append(os.Environ(), serverVariable+"="+string(text))
	command.Stderr = log
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
	p := &process{command: command, stdin: stdin}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n') // without a line it has ended
		line <- strings.TrimSpace(text)
	}()
	select {
	case address := <-line:
		if address == "" {
			return nil, errors.Join(errors.New("a serving process did not start"), command.Wait())
		}
		p.url = "http://" + address
		return p, nil
	case <-time.After(startWithin):
		return nil, errors.Join(fmt.Errorf("a serving process did not start in %s", startWithin), p.kill())
	}
}

// kill ends the process with SIGKILL and returns when it is gone.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	_ = p.command.Wait() // tells that it was killed
	return nil
}

// stop lets the process end by itself.
func (p *process) stop() error {
	return errors.Join(p.stdin.Close(), p.command.Wait())
}
