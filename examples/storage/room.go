package main

import (
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// room is how many deliveries a claim may still take.
type room struct {
	p                   storage.ClaimParams
	quick, slow, others poolRoom
}

type poolRoom struct {
	storage.Pool
	taken map[string]int // by host
	bytes int
	cut   bool // the next body did not fit
}

func newRoom(p storage.ClaimParams) *room {
	return &room{
		p:      p,
		quick:  poolRoom{Pool: p.Quick, taken: map[string]int{}, bytes: p.MaxBytes},
		slow:   poolRoom{Pool: p.Slow, taken: map[string]int{}, bytes: p.MaxBytes},
		others: poolRoom{Pool: p.Others, taken: map[string]int{}, bytes: p.MaxBytes},
	}
}

// full reports whether nothing else fits.
func (r *room) full() bool { return r.quick.full() && r.slow.full() && r.others.full() }

func (p *poolRoom) full() bool { return p.cut || p.Room < 1 }

// webhook returns how many deliveries of a webhook may be claimed.
func (r *room) webhook(c candidate) int {
	generation, meant := r.p.Generations[c.id]
	if n, ok := r.p.Webhooks[c.id]; ok && (!meant || generation == c.generation) {
		return n
	}
	if c.standing.Good() {
		return r.p.PerWebhook
	}
	return min(r.p.PerWebhook, 1)
}

// take makes room for one delivery, or reports that there is none.
func (r *room) take(c candidate, size int) bool {
	p := &r.others
	switch {
	case c.standing.Quick():
		p = &r.quick
	case c.standing.Good():
		p = &r.slow
	}
	most, named := p.Hosts[c.host]
	if !named {
		most = p.PerHost
	}
	if p.full() || slices.Contains(p.Without, c.workspace) || (named || most > 0) && p.taken[c.host] >= most {
		return false
	}
	if r.p.MaxBytes > 0 && size > p.bytes && p.bytes < r.p.MaxBytes {
		p.cut = true
		return false
	}
	p.bytes -= size
	p.Room--
	p.taken[c.host]++
	return true
}
