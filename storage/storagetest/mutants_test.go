package storagetest

import (
	"encoding/json"
	"sync"

	"github.com/formsvc/formsvc/storage"
)

// mutant is a store with one fault, made out of one that has none.
type mutant struct {
	name  string   // what the store does, as in "a store that …"
	fails []string // the cases that have to see it
	make  func(storage.Storage) storage.Storage
}

func jsonOf(s string) json.RawMessage { return json.RawMessage(s) }

// rendezvous lets calls go on only when n of them have come, again and again.
type rendezvous struct {
	n    int
	mu   sync.Mutex
	here int
	gate chan struct{}
}

func newRendezvous(n int) *rendezvous { return &rendezvous{n: n, gate: make(chan struct{})} }

func (r *rendezvous) meet() {
	r.mu.Lock()
	r.here++
	gate := r.gate
	if r.here == r.n {
		close(gate)
		r.here, r.gate = 0, make(chan struct{})
	}
	r.mu.Unlock()
	<-gate
}
