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

// writes bounds the connections that the writes on a pool have at one time: half of the pool,
// so that reads continue while forms are locked or commits wait for a standby.
type writes struct {
	slots chan struct{} // one for each write that has or waits for a connection
	// retries has a slot for each write that tries again because its lock was held. It has
	// fewer than slots, so that writes that no one holds up find a slot.
	retries chan struct{}

	mu     sync.Mutex
	queues map[Key]*queue
	about  map[string]int // queues by Key.About
}

// Key says what a write may wait for. Writes with the same key wait for the same lock. The zero
// Key is no key: nothing is known of the write.
type Key struct {
	// About is the id of the record that the lock is about, most often a form. If one lock of a
	// record is held, its others are thought to be held as well until they are tried.
	// Empty: only the lock is known.
	About string
	Lock  any
}

// queue is the writes that wait for one lock. They try one after another.
type queue struct {
	turn    chan struct{} // full while a write has the turn
	held    bool          // at the last attempt, or nothing is known; of the write that has the turn
	members int
}

func newWrites(maxConns int) *writes {
	half := max(1, maxConns/2)
	return &writes{make(chan struct{}, half), make(chan struct{}, max(1, half-1)), sync.Mutex{}, map[Key]*queue{}, map[string]int{}}
}

// write is one write with all its attempts. A nil write is unbounded.
type write struct {
	all   *writes
	key   Key
	queue *queue
	turn  bool
}

func enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return noConnectionError{waitError{ctx.Err()}}
	}
}

// join puts the write into the queue of its key. It makes the queue if the lock is held or
// thought to be.
func (w *write) join(held bool) {
	if w.queue != nil {
		return
	}
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.queue = w.all.queues[w.key]
	if w.queue == nil && (held || w.all.about[w.key.About] > 0) {
		w.queue = &queue{turn: make(chan struct{}, 1), held: true}
		if w.key != (Key{}) {
			w.all.queues[w.key] = w.queue
			w.all.about[w.key.About]++
		}
	}
	if w.queue != nil {
		w.queue.members++
	}
}

// end takes the write out of its queue.
func (w *write) end() {
	if w == nil || w.queue == nil {
		return
	}
	if w.turn {
		<-w.queue.turn
	}
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.queue.members--; w.queue.members > 0 || w.key == (Key{}) {
		return
	}
	delete(w.all.queues, w.key)
	if w.all.about[w.key.About]--; w.all.about[w.key.About] == 0 {
		delete(w.all.about, w.key.About)
	}
}

// attempt runs do in a slot, when the writes before it in the queue of its key are done.
func (w *write) attempt(ctx context.Context, do func() error) error {
	if w == nil || w.all == nil {
		return do()
	}
	for {
		w.join(false)
		if w.queue != nil && !w.turn {
			if err := enter(ctx, w.queue.turn); err != nil {
				return err
			}
			w.turn = true
		}
		if ran, err := w.inSlot(ctx, do); ran || err != nil {
			return err
		}
	}
}

// inSlot does not run do if the lock turns out to be held while the write waits for a slot. Nor
// does it try again shortly before the end: an attempt that is cut off would leave the outcome
// unknown.
func (w *write) inSlot(ctx context.Context, do func() error) (ran bool, err error) {
	if w.turn && w.queue.held {
		if err := enter(ctx, w.all.retries); err != nil {
			return false, err
		}
		defer func() { <-w.all.retries }()
		wait(ctx, 2*LockTimeout) // so that other writes find a slot, and the server's log is not full of attempts
	}
	if err := enter(ctx, w.all.slots); err != nil {
		return false, err
	}
	defer func() { <-w.all.slots }()
	if w.join(false); w.queue != nil && !w.turn {
		return false, nil
	}
	if end, ends := ctx.Deadline(); w.turn && ends && time.Until(end) < 3*LockTimeout {
		return false, noConnectionError{waitError{context.DeadlineExceeded}}
	}
	err = do()
	if w.turn {
		w.queue.held = LockHeld(err)
	} else if LockHeld(err) {
		w.join(true)
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
		return Key{About: string(id), Lock: string(id)}
	}
	return Key{}
}

// About says that the statement takes a lock, its first argument, of the record with an id.
func (q Statement) About(id []byte) Statement {
	q.key = Key{About: string(id), Lock: q.args[0]}
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
