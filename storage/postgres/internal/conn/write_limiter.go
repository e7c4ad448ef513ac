package conn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// LockTimeout is how long one attempt of a write waits for a lock. Then the write gives its
// connection back and tries again from a queue in the process, until its time is over. With a
// pool of 4, concurrent writes for three held forms and their webhooks delay others for
// half a second when it is twice as long.
const LockTimeout = 50 * time.Millisecond

// LockTimeoutSet is the SQL that sets LockTimeout for the rest of a transaction.
const LockTimeoutSet = `set_config('lock_timeout', '50ms', true)`

// LockHeld reports whether a write failed because it did not get a lock, or a slot, in time.
// Nothing has changed.
func LockHeld(err error) bool {
	return SQLState(err) == lockNotAvailable || errors.As(err, new(waitError))
}

const lockNotAvailable = "55P03"

// waitError is why a write was not tried, or not again.
type waitError struct{ error }

func (e waitError) Unwrap() error { return e.error }

// writeLimiter bounds the connections that the writes on a pool have at one time: half of the pool,
// so that reads continue while forms are locked or commits wait for a standby.
type writeLimiter struct {
	slots chan struct{} // one for each write that has or waits for a connection
	// retrySlots has a slot for each write that tries again because its lock was held. It has
	// fewer than slots, so that writes that no one holds up find a slot.
	retrySlots chan struct{}

	mu             sync.Mutex
	queues         map[Key]*lockQueue
	queuesOfRecord map[string]int // queues by Key.About
}

// Key says what a write may wait for. Writes with the same key wait for the same lock. The zero
// Key is no key: nothing is known of the write.
type Key struct {
	// About is the id of the record that the lock is about, most often a form. If one lock of a
	// record is held, its others are thought to be held as well until they are tried.
	// Empty: only the lock is known.
	Record string
	Lock   any
}

// lockQueue is the writes that wait for one lock. They try one after another.
type lockQueue struct {
	active   chan struct{} // full while a write has the turn
	lockHeld bool          // at the last attempt, or nothing is known; of the write that has the turn
	writes   int
}

func newWriteLimiter(maxConns int) *writeLimiter {
	half := max(1, maxConns/2)
	return &writeLimiter{make(chan struct{}, half), make(chan struct{}, max(1, half-1)), sync.Mutex{}, map[Key]*lockQueue{}, map[string]int{}}
}

// pendingWrite is one write with all its attempts. A nil write is unbounded.
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

// join puts the write into the queue of its key. It makes the queue if the lock is held or
// thought to be.
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

// end takes the write out of its queue.
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

// attempt runs do in a slot, when the writes before it in the queue of its key are done.
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

// runInSlot does not run do if the lock turns out to be held while the write waits for a slot. Nor
// does it try again shortly before the end: an attempt that is cut off would leave the outcome
// unknown.
func (w *pendingWrite) runInSlot(ctx context.Context, do func() error) (ran bool, err error) {
	if w.active && w.queue.lockHeld {
		if err := acquireSlot(ctx, w.limiter.retrySlots); err != nil {
			return false, err
		}
		defer func() { <-w.limiter.retrySlots }()
		sleep(ctx, 2*LockTimeout) // so that other writes find a slot, and the server's log is not full of attempts
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
		w.queue.lockHeld = LockHeld(err)
	} else if LockHeld(err) {
		w.joinQueue(true)
	}
	return true, err
}

// Key returns the key of a write that begins with the statement: the statement takes a lock
// ([Statement.About]) or its first argument is the id of a record.
func (q Statement) Key() Key {
	if q.key != (Key{}) || len(q.args) == 0 {
		return q.key
	}
	if id, _ := q.args[0].([]byte); len(id) > 0 {
		return Key{Record: string(id), Lock: string(id)}
	}
	return Key{}
}

// About says that the statement takes a lock, its first argument, of the record with an id.
func (q Statement) ForRecord(id []byte) Statement {
	q.key = Key{Record: string(id), Lock: q.args[0]}
	return q
}

// SendWrite is Send for a write. No statement after the first waits for a lock for longer than
// LockTimeout, except in a host's transaction.
func (c *Conn) SendWrite(ctx context.Context, batch ...Statement) error {
	if !c.InTx {
		batch = append([]Statement{Run(`SELECT ` + LockTimeoutSet)}, batch...)
	}
	return c.Send(ctx, batch...)
}

// Change sends a batch, as WriteFor does. Without a row that a statement asks for it returns
// ErrNotFound.
func (c *Conn) Change(ctx context.Context, batch ...Statement) error {
	return c.WriteFor(ctx, batch[0].Key(), func(ctx context.Context) error {
		return NoRow(c.SendWrite(ctx, batch...), storage.ErrNotFound)
	})
}
