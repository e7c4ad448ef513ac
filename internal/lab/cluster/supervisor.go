//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// restartAfter is how long a unit that ended stays down: RestartSec of a unit of systemd.
const restartAfter = time.Second

// unit is a process of a machine that is started again whenever it ends, as systemd does with
// Restart=always.
type unit struct {
	machine *machine
	name    string
	command []string

	mu      sync.Mutex
	process *os.Process // nil: it does not run
	off     bool        // the machine is
	changed *sync.Cond
	ended   int // how often it did
	killed  int // how often it was
}

// add gives a machine a unit, which runs from then on. What it writes is appended to a file
// with its name.
func (m *machine) add(name, logs string, command ...string) (*unit, error) {
	log, err := os.OpenFile(filepath.Join(logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	u := &unit{machine: m, name: name, command: command}
	u.changed = sync.NewCond(&u.mu)
	m.units = append(m.units, u)
	go u.supervise(log)
	return u, nil
}

func (u *unit) supervise(log *os.File) {
	for {
		u.mu.Lock()
		for u.off {
			u.changed.Wait()
		}
		command := exec.Command("ip", append([]string{"netns", "exec", u.machine.name}, asService(u.command)...)...)
		command.Stdout, command.Stderr = log, log
		command.Dir = "/"
		err := command.Start()
		if err == nil {
			u.process = command.Process
		}
		u.mu.Unlock()
		if err == nil {
			err = command.Wait()
		}
		u.mu.Lock()
		u.process = nil
		u.ended++
		u.mu.Unlock()
		fmt.Fprintf(log, "%s %s ended: %v\n", time.Now().Format(time.StampMilli), u.name, err)
		time.Sleep(restartAfter)
	}
}

// kill ends a unit's process without a word to it.
func (u *unit) kill() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.process == nil {
		return fmt.Errorf("%s does not run", u.name)
	}
	u.killed++
	return u.process.Kill()
}

// fell returns how often a unit ended without being killed.
func (u *unit) fell() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ended - u.killed
}

// powerOff ends all that runs on a machine, at once, and starts nothing until powerOn.
func (m *machine) powerOff() error {
	for _, u := range m.units {
		u.mu.Lock()
		u.off = true
		u.mu.Unlock()
	}
	out, err := exec.Command("ip", "netns", "pids", m.name).Output()
	for _, field := range strings.Fields(string(out)) {
		pid, e := strconv.Atoi(field)
		if e == nil {
			e = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func (m *machine) powerOn() {
	for _, u := range m.units {
		u.mu.Lock()
		u.off = false
		u.changed.Broadcast()
		u.mu.Unlock()
	}
}

// service is the user that units run as: PostgreSQL and PgBouncer refuse to run as root.
const service = "postgres"

// asService runs a command as the user of the services, unless we are not root anyway.
func asService(command []string) []string {
	if os.Getuid() != 0 {
		return command
	}
	return append([]string{"setpriv", "--reuid=" + service, "--regid=" + service, "--clear-groups", "--"}, command...)
}

// directory makes a directory that belongs to the user of the services, and those above it.
func directory(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return give(path)
}

func give(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(service)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid) // numbers, on this system
	gid, _ := strconv.Atoi(u.Gid)
	return os.Chown(path, uid, gid)
}
