package main

import (
	"context"
	"fmt"
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

// server returns the first process of the PostgreSQL server, when that is on this
// machine.
func (db *database) server(ctx context.Context) (string, error) {
	var backend int
	err := db.pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend)
	_, parent := cpuOf(strconv.Itoa(backend))
	return parent, err
}

// processors is the time that those have worked for each side.
type processors struct{ own, server, receiver time.Duration }

// worked returns what was used until now. Empty ids are of no process.
func worked(server, receiver string) (p processors) {
	p.own, _ = cpuOf("self")
	p.server = serverCPU(server)
	if receiver != "" {
		p.receiver, _ = cpuOf(receiver)
	}
	return p
}

func (p processors) since(before processors) processors {
	return processors{p.own - before.own, p.server - before.server, p.receiver - before.receiver}
}

func (p processors) String() string {
	return fmt.Sprintf("CPU of this process %.1f s, of PostgreSQL %.1f s, of the receiver %.1f s",
		p.own.Seconds(), p.server.Seconds(), p.receiver.Seconds())
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
