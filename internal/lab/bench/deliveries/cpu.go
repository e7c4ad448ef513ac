package main

import (
	"context"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
)

// server returns the PostgreSQL server.
func (db *database) server(ctx context.Context) (cpu.Server, error) {
	var backend int
	err := db.pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend)
	return cpu.ServerOf(backend), err
}

// processors is the time that those have worked for each side.
type processors struct{ own, server, receiver time.Duration }

// worked returns what was used until now. Without a receiver its id is empty.
func worked(server cpu.Server, receiver string) processors {
	p := processors{own: cpu.Own(), server: server.Used()}
	if receiver != "" {
		p.receiver = cpu.Of(receiver)
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
