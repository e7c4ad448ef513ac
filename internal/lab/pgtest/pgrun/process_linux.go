package pgrun

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// attributes puts a program into a process group of its own, so that Ctrl-C in
// a terminal does not end it before the tests that use it.
func attributes(a account, ifOrphaned syscall.Signal) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: ifOrphaned}
	if a.switched {
		attributes.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attributes
}

// freeze stops the process, so that it starts no further one, and returns its
// children.
func (p *process) freeze() ([]int, error) {
	if err := p.os.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return children(p.pid), nil
}

// children returns the living child processes of a process. PostgreSQL makes
// each of them a session of its own, so a signal to the group misses them.
func children(parent int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var found []int
	for _, stat := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err != nil {
			continue
		}
		if state, ppid := status(pid); ppid == parent && state != 'Z' {
			found = append(found, pid)
		}
	}
	return found
}

// alive reports whether a process runs. One that has ended and waits for its parent to
// take notice does not.
func alive(pid int) bool {
	state, _ := status(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// status reads state and parent from /proc: "42 (name, may hold ) ) S 1 …".
func status(pid int) (state byte, parent int) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0
	}
	return fields[0][0], parent
}

const stopped, goesOn = syscall.SIGSTOP, syscall.SIGCONT

// signal sends a signal to a process that may have ended.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
