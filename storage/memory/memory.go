// Package memory keeps everything in the memory of one process. It implements
// the whole of [storage.Storage], for tests, for trying the service out, and for
// hosts that can lose their data with the process.
//
// # How it is built
//
// One lock guards the store; readers share it. Records are snapshots: a write
// replaces a record as a whole and never changes the bytes that the old one
// refers to. Reads of submissions and deliveries therefore hold the lock only to
// find their records, and copy them for the caller after giving it back; of a form
// they hand out the bytes of its definition as they are.
//
// Every list has an index in list order (order.go), so that a page costs the
// same at any depth. Deliveries wait in a lane for each webhook (lane.go), and the
// lanes stand in one queue (queue.go).
// The body of an event is referred to by the deliveries and the attempts that
// need it and by nothing else, so it goes when the last of them does.
package memory

import (
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

	mu               sync.RWMutex
	users            map[storage.ID]*user
	workspaces       map[storage.ID]*workspace
	publicWorkspaces map[string]struct{}
	forms            map[storage.ID]*form
	publicForms      map[string]*form
	webhooks         map[storage.ID]*webhook
	keys             map[storage.ID]*key
	keysByHash       map[[32]byte]*key

	// What the host lists: all workspaces, and a shelf that holds everything.
	allWorkspaces index[*workspace]
	everything    shelf
	// What users list: a shelf for each workspace, also for one that is gone while
	// the trash holds forms of it.
	shelves map[storage.ID]*shelf

	entries int64 // calls of EnterAnswers that had an effect

	queue queue
}

var _ storage.Storage = (*Store)(nil)

// Option changes how [New] makes a store.
type Option func(*Store)

// WithClock sets the clock of deliveries: when they are due, for how long they are
// leased, paused and kept. The default, also for nil, is [time.Now]. No other time
// is read from it: the times of records come from callers. It may be called from
// several goroutines at once.
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
		now:              time.Now,
		users:            make(map[storage.ID]*user),
		workspaces:       make(map[storage.ID]*workspace),
		publicWorkspaces: make(map[string]struct{}),
		forms:            make(map[storage.ID]*form),
		publicForms:      make(map[string]*form),
		webhooks:         make(map[storage.ID]*webhook),
		keys:             make(map[storage.ID]*key),
		keysByHash:       make(map[[32]byte]*key),
		shelves:          make(map[storage.ID]*shelf),
	}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// user is what the store knows about one user. Being mentioned as an owner or a
// member is enough to have one; account is set by the first key.
type user struct {
	account    storage.User
	workspaces index[*workspace] // owned or member of
	owned      int
	keys       index[*key]
}

// user returns the user, making it when it is new. The caller holds the write
// lock.
func (s *Store) user(id storage.ID) *user {
	u := s.users[id]
	if u == nil {
		u = new(user)
		s.users[id] = u
	}
	return u
}
