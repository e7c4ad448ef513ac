package pgrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// poll is how often the start of a program is looked at.
const poll = 5 * time.Millisecond

// removeHome waits until its standard input ends, which happens when the
// process that started it closes it or is gone; then it lets a server that is
// still there end, and removes the directory. A server that is being made may
// write while it is removed, hence the second go.
const removeHome = `
trap '' HUP INT TERM
cat >/dev/null
i=0
while [ -e "$1/data/postmaster.pid" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
`

// A home is the temporary directory of a server and the user that it runs as.
type home struct {
	account account
	dir     string
	env     []string // of the programs, beside the usual
	guard   *exec.Cmd
	leave   io.Closer // the guard's standard input
}

func newHome() (*home, error) {
	runAs, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := runAs.tempDir()
	if err != nil {
		return nil, err
	}
	h := &home{account: runAs, dir: dir}
	h.guard = exec.Command("/bin/sh", "-c", removeHome, "guard", dir) //nolint:gosec,noctx // our own directory; it ends with its input
	h.guard.Dir = "/"
	h.guard.SysProcAttr = attributes(account{}, 0)
	if h.leave, err = h.guard.StdinPipe(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := h.guard.Start(); err != nil {
		return nil, errors.Join(err, h.leave.Close(), os.RemoveAll(dir))
	}
	return h, nil
}

// close removes the directory. What runs in it must have ended.
func (h *home) close() error {
	err := os.RemoveAll(h.dir)
	return errors.Join(err, h.leave.Close(), h.guard.Wait())
}

// write makes a file that the home's account can read.
func (h *home) write(name, content string) error {
	if err := os.WriteFile(h.path(name), []byte(content), 0o600); err != nil {
		return err
	}
	if !h.account.switched {
		return nil
	}
	return os.Chown(h.path(name), int(h.account.uid), int(h.account.gid))
}

// copyPrograms copies a server's programs to where the home's account can run them, with the
// libraries and files that are beside their directory, and returns the new one.
func (h *home) copyPrograms(bindir string) (string, error) {
	to := h.path("programs")
	return filepath.Join(to, filepath.Base(bindir)), os.CopyFS(to, os.DirFS(filepath.Dir(bindir)))
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

func (h *home) logPath() string { return h.path("log") }

// run runs a program of a moment as the home's account, to its end: cut off, it would leave a
// process that still writes.
func (h *home) run(program string, args ...string) error {
	p, err := h.start(syscall.SIGKILL, program, args...)
	if err != nil {
		return err
	}
	<-p.ended
	if p.err != nil {
		return h.explain(fmt.Errorf("%s: %w", filepath.Base(program), p.err))
	}
	return nil
}

// explain adds the end of the log to an error.
func (h *home) explain(err error) error {
	log, readErr := os.ReadFile(h.logPath())
	if readErr != nil {
		return err
	}
	const most = 2000
	if len(log) > most {
		log = log[len(log)-most:]
	}
	return fmt.Errorf("%w; its log ends:\n%s", err, bytes.TrimSpace(log))
}
