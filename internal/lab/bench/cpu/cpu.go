// Package cpu reads the processor time that processes of this machine have used,
// from /proc. Where there is no /proc every time is zero.
package cpu

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux reports processor time, on every platform.
const tick = 10 * time.Millisecond

// Own returns what this process and its ended children have used.
func Own() time.Duration { return Of("self") }

// Of returns what a process and its ended children have used.
func Of(pid string) time.Duration {
	used, _ := read(pid)
	return used
}

func read(pid string) (used time.Duration, parent string) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat")) //nolint:gosec // a process id
	if err != nil {
		return 0, ""
	}
	// The name is in parentheses and may have anything in it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return 0, ""
	}
	for _, field := range fields[11:15] { // user, system, and both of ended children
		n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
		used += time.Duration(n) * tick
	}
	return used, fields[1]
}

// Server is a PostgreSQL server on this machine, by its first process. Empty: the
// server is elsewhere, and uses nothing here.
type Server string

// ServerOf returns the server that a backend belongs to; SELECT pg_backend_pid()
// has the backend.
func ServerOf(backend int) Server {
	_, parent := read(strconv.Itoa(backend))
	return Server(parent)
}

// Used returns what all processes of the server have used, ended ones included.
func (s Server) Used() time.Duration {
	if s == "" {
		return 0
	}
	total := Of(string(s))
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return total
	}
	for _, p := range processes {
		if used, parent := read(filepath.Base(p)); parent == string(s) {
			total += used
		}
	}
	return total
}
