package main

import "github.com/formsvc/formsvc/storage"

// room is what a claim may still take.
type room struct {
	p             storage.ClaimParams
	quick, others poolRoom
	bytes         int
	cut           bool // the next body did not fit
}

type poolRoom struct {
	storage.Pool
	taken map[string]int // by host
}

func newRoom(p storage.ClaimParams) *room {
	return &room{
		p:      p,
		quick:  poolRoom{p.Quick, map[string]int{}},
		others: poolRoom{p.Others, map[string]int{}},
		bytes:  p.MaxBytes,
	}
}

// full reports whether nothing else fits.
func (r *room) full() bool { return r.cut || r.quick.Room < 1 && r.others.Room < 1 }

// webhook returns how many deliveries of a webhook may be claimed.
func (r *room) webhook(c candidate) int {
	if n, ok := r.p.Webhooks[c.id]; ok {
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
	if c.standing.Quick() {
		p = &r.quick
	}
	most, named := p.Hosts[c.host]
	if !named {
		most = p.PerHost
	}
	if p.Room < 1 || (named || most > 0) && p.taken[c.host] >= most {
		return false
	}
	if r.p.MaxBytes > 0 && size > r.bytes && r.bytes < r.p.MaxBytes {
		r.cut = true
		return false
	}
	r.bytes -= size
	p.Room--
	p.taken[c.host]++
	return true
}
