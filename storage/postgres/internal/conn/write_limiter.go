package conn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// LockTimeout is how long one attempt of a write waits for a lock. After that, the write releases its connection and
// retries until its timeout. If LockTimeout were twice as long, writes for three locked forms would delay other writes
// by half a second with a pool of 4 connections.
const LockTimeout = 50 * time.Millisecond

// LockTimeoutSet is the SQL that sets LockTimeout for the rest of a transaction.
const LockTimeoutSet = `set_config('lock_timeout', '50ms', true)`

// IsLockHeld reports whether a write got no lock or slot in time. Such a write changed nothing.
func IsLockHeld(err error) bool {
	return SQLState(err) == lockNotAvailable || errors.As(err, new(waitError))
}

const lockNotAvailable = "55P03"

type waitError struct{ error }

func (e waitError) Unwrap() error { return e.error }

// writeLimiter limits concurrent writes to half of the pool's connections, so that reads can continue while forms are
// locked or commits wait for a standby.
type writeLimiter struct {
	slots chan struct{} // one for each write that uses or waits for a connection
	// retrySlots limits the writes that retry because their lock was held. There are fewer retry slots than slots, so
	// that other writes find a free slot.
	retrySlots chan struct{}

	mu             sync.Mutex
	queues         map[Key]*lockQueue
	queuesOfRecord map[string]int // number of queues by Key.Record
}

// Key identifies the lock that a write may wait for. The zero Key means that the lock is unknown.
type Key struct {
	// Record is the ID of the locked record, usually a form. If one of a record's locks is held, writes assume that its
	// other locks are held too, until they have tried to take them. If Record is empty, only the lock is known.
	Record string
	Lock   any
}

// lockQueue is the queue of the writes that wait for one lock. Only one write tries while the others wait.
type lockQueue struct {
	active   chan struct{} // full while one of the writes is active
	lockHeld bool          // whether the lock was held at the last attempt, and true before the first; used by the active write
	writes   int
}

func newWriteLimiter(maxConns int) *writeLimiter {
	half := max(1, maxConns/2)
	return &writeLimiter{make(chan struct{}, half), make(chan struct{}, max(1, half-1)), sync.Mutex{}, map[Key]*lockQueue{}, map[string]int{}}
}

// pendingWrite represents all attempts of one write. A nil pendingWrite is not limited.
type pendingWrite struct {
	limiter *writeLimiter
	key     Key
	queue   *lockQueue
	active  bool
}

func acquireSlot(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return noConnectionError{waitError{ctx.Err()}}
	}
}

// joinQueue adds the write to the queue for its key, if there is one. If the lock is held or assumed to be held,
// joinQueue creates a missing queue.
func (w *pendingWrite) joinQueue(held bool) {
	if w.queue != nil {
		return
	}
	w.limiter.mu.Lock()
	defer w.limiter.mu.Unlock()
	w.queue = w.limiter.queues[w.key]
	if w.queue == nil && (held || w.limiter.queuesOfRecord[w.key.Record] > 0) {
		w.queue = &lockQueue{active: make(chan struct{}, 1), lockHeld: true}
		if w.key != (Key{}) {
			w.limiter.queues[w.key] = w.queue
			w.limiter.queuesOfRecord[w.key.Record]++
		}
	}
	if w.queue != nil {
		w.queue.writes++
	}
}

func (w *pendingWrite) leaveQueue() {
	if w == nil || w.queue == nil {
		return
	}
	if w.active {
		<-w.queue.active
	}
	w.limiter.mu.Lock()
	defer w.limiter.mu.Unlock()
	if w.queue.writes--; w.queue.writes > 0 || w.key == (Key{}) {
		return
	}
	delete(w.limiter.queues, w.key)
	if w.limiter.queuesOfRecord[w.key.Record]--; w.limiter.queuesOfRecord[w.key.Record] == 0 {
		delete(w.limiter.queuesOfRecord, w.key.Record)
	}
}

// run runs do in a slot, after the earlier writes in the queue for its key.
func (w *pendingWrite) run(ctx context.Context, do func() error) error {
	if w == nil || w.limiter == nil {
		return do()
	}
	for {
		w.joinQueue(false)
		if w.queue != nil && !w.active {
			if err := acquireSlot(ctx, w.queue.active); err != nil {
				return err
			}
			w.active = true
		}
		if ran, err := w.runInSlot(ctx, do); ran || err != nil {
			return err
		}
	}
}

// runInSlot runs do in a slot, unless another write found the lock held while this write waited. It does not start an
// attempt shortly before the timeout, because an interrupted attempt has an unknown outcome.
func (w *pendingWrite) runInSlot(ctx context.Context, do func() error) (ran bool, err error) {
	if w.active && w.queue.lockHeld {
		if err := acquireSlot(ctx, w.limiter.retrySlots); err != nil {
			return false, err
		}
		defer func() { <-w.limiter.retrySlots }()
		sleepRandomly(ctx, 2*LockTimeout) // the wait leaves slots for other writes, and limits how many failed attempts the server logs
	}
	if err := acquireSlot(ctx, w.limiter.slots); err != nil {
		return false, err
	}
	defer func() { <-w.limiter.slots }()
	if w.joinQueue(false); w.queue != nil && !w.active {
		return false, nil
	}
	if end, ends := ctx.Deadline(); w.active && ends && time.Until(end) < 3*LockTimeout {
		return false, noConnectionError{waitError{context.DeadlineExceeded}}
	}
	err = do()
	if w.active {
		w.queue.lockHeld = IsLockHeld(err)
	} else if IsLockHeld(err) {
		w.joinQueue(true)
	}
	return true, err
}

// Key returns the key of a write that begins with this statement: the key of its lock ([Statement.ForRecord]), or the
// record whose ID is its first argument.
func (q Statement) Key() Key {
	if q.key != (Key{}) || len(q.args) == 0 {
		return q.key
	}
	if id, _ := q.args[0].([]byte); len(id) > 0 {
		return Key{Record: string(id), Lock: string(id)}
	}
	return Key{}
}

// ForRecord declares that the statement's first argument is the key of a lock for the record id.
func (q Statement) ForRecord(id []byte) Statement {
	q.key = Key{Record: string(id), Lock: q.args[0]}
	return q
}

// SendWrite is like Send, but for a write. Outside of a host's transaction, each statement waits at most LockTimeout
// for a lock.
func (c *Conn) SendWrite(ctx context.Context, batch ...Statement) error {
	if !c.InTx {
		batch = append([]Statement{NewStatement(`SELECT ` + LockTimeoutSet)}, batch...)
	}
	return c.Send(ctx, batch...)
}

// Change sends a batch, retrying as WriteFor does. It returns ErrNotFound if an expected row is missing.
func (c *Conn) Change(ctx context.Context, batch ...Statement) error {
	return c.WriteFor(ctx, batch[0].Key(), func(ctx context.Context) error {
		return TranslateNoRow(c.SendWrite(ctx, batch...), storage.ErrNotFound)
	})
}
