package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is what Linux counts processor time in for its users, on every platform.
const tick = 10 * time.Millisecond

// cpuOf returns the processor time that a process and its ended children have
// used, and its parent. Where there is no /proc it is zero.
func cpuOf(pid string) (used time.Duration, parent string) {
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

// serverOf returns the first process of the PostgreSQL server on this machine of
// which backend is one.
func serverOf(backend int) string {
	_, parent := cpuOf(strconv.Itoa(backend))
	return parent
}

// serverCPU returns the processor time that all processes of the server have
// used, ended ones included.
func serverCPU(server string) time.Duration {
	if server == "" {
		return 0
	}
	total, _ := cpuOf(server)
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return total
	}
	for _, p := range processes {
		if used, parent := cpuOf(filepath.Base(p)); parent == server {
			total += used
		}
	}
	return total
}
