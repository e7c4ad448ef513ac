package pgrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// A process is a running program of a home.
type process struct {
	pid   int
	ended chan struct{} // closed when the program has ended and err is set
	err   error
	os    *os.Process
}

// start runs a program as the home's account, in the home's directory, its
// output appended to the home's log. When this process dies, whichever way, the
// program gets the signal ifOrphaned (Linux only).
func (h *home) start(ifOrphaned syscall.Signal, program string, args ...string) (*process, error) {
	log, err := os.OpenFile(h.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()

	command := exec.Command(program, args...) //nolint:gosec,noctx // found by Finder; ended by the home's owner
	command.Dir = h.dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, h.env...) // no PGDATA, PGPORT …
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = attributes(h.account, ifOrphaned)

	started := make(chan error, 1)
	p := &process{ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		// The kernel takes the end of the starting thread for the parent's
		// death, so the thread has to outlive the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := command.Start(); err != nil {
			started <- err
			return
		}
		p.pid, p.os = command.Process.Pid, command.Process
		started <- nil
		p.err = command.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	return p, nil
}

// stop sends the signal and waits for the end.
func (p *process) stop(signal os.Signal) error {
	err := p.os.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if err == nil {
		<-p.ended
	}
	return err
}

// running reports whether the program has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}
