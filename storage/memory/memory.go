// Package memory keeps everything in the memory of one process. It implements
// the whole of [storage.Storage], for tests, for trying the service out, and for
// hosts that can lose their data with the process.
//
// # How it is built
//
// Records are in maps by their ids, behind one mutex. A method copies what it is
// given, looks through the maps for what it needs, makes its change when nothing
// speaks against it, and copies what it returns. So each method is one atomic effect.
//
// Lists are looked for among all records of their kind. Only what there are
// many of is kept in order (index.go): the submissions of a form, and the deliveries
// that wait for a webhook. A claim looks at each webhook, and at deliveries only where
// one may be due (queue.go).
//
// The body of an event is referred to by the deliveries and the attempts that
// need it and by nothing else, so it goes when the last of them does.
package memory

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Store implements [storage.Storage]. Make one with [New]; it must not be
// copied. It is safe for concurrent use, starts no goroutine and need not be
// closed.
type Store struct {
	storage.Unimplemented

	now func() time.Time // the clock of deliveries

	mu          sync.Mutex
	workspaces  map[storage.ID]*workspace
	forms       map[storage.ID]*form
	publicForms map[string]*form
	webhooks    map[storage.ID]*webhook
	turns       list.List // of all webhooks, the least recently served first
	token       int64     // of the last lease
	entries     int64     // calls of EnterAnswers that had an effect
	users       map[storage.ID]storage.User
	keys        map[[32]byte]*key // by hash
}

var _ storage.Storage = (*Store)(nil)

// Option changes how [New] makes a store.
type Option func(*Store)

// WithClock sets the clock of deliveries: when they are due, for how long they are
// leased, paused and kept. The default, also for nil, is [time.Now]. No other time
// is read from it: the times of records come from callers. It is called while the
// store is locked, so it must not call the store.
func WithClock(now func() time.Time) Option {
	return func(s *Store) {
		if now != nil {
			s.now = now
		}
	}
}

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{
		now:         time.Now,
		workspaces:  make(map[storage.ID]*workspace),
		forms:       make(map[storage.ID]*form),
		publicForms: make(map[string]*form),
		webhooks:    make(map[storage.ID]*webhook),
		users:       make(map[storage.ID]storage.User),
		keys:        make(map[[32]byte]*key),
	}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// lock begins a method: it locks the store, which the caller unlocks. It returns an
// error, and locks nothing, when ctx is cancelled or one of the values is invalid.
func (s *Store) lock(ctx context.Context, values ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(values...); err != nil {
		return err
	}
	s.mu.Lock()
	return nil
}
