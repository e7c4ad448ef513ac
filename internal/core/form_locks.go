package core

import (
	"context"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// formLocks let the editors of a form write one after the other within this process, from a
// lost race until nobody waits. They only save the work that lost races waste: the
// revision still decides what is written, between processes too.
type formLocks struct {
	mu    sync.Mutex
	locks map[storage.ID]*formLock
}

func newFormLocks() *formLocks { return &formLocks{locks: map[storage.ID]*formLock{}} }

// formLock is the editors of one form.
type formLock struct {
	held    chan struct{} // is full while somebody has the turn; who waits gets it in order
	editors int           // who has the turn, or waits for it
}

// lockTimeout is how long an editor waits before it writes without its turn. The one who has
// the turn may wait for a connection that is dead; a change of 50 blocks takes 1 to 5 ms.
const lockTimeout = time.Second

// wait waits for an editor's turn at a form when there is a reason to: it lost a race, or
// others wait already. Then it returns what ends the turn, else nil.
func (t *formLocks) acquire(ctx context.Context, form storage.ID, lost bool) (end func(), err error) {
	t.mu.Lock()
	l := t.locks[form]
	if l == nil && lost {
		l = &formLock{held: make(chan struct{}, 1)}
		t.locks[form] = l
	}
	if l == nil {
		t.mu.Unlock()
		return nil, nil
	}
	l.editors++
	t.mu.Unlock()

	select {
	case l.held <- struct{}{}:
		release := func() {
			<-l.held
			t.release(form, l)
		}
		stop := context.AfterFunc(ctx, release) // also when the storage does not return in time
		return func() {
			if stop() {
				release()
			}
		}, nil
	case <-time.After(lockTimeout):
	case <-ctx.Done():
	}
	t.release(form, l)
	return func() {}, ctx.Err()
}

// leave takes an editor out of its line. The last one takes the line away.
func (t *formLocks) release(form storage.ID, l *formLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.editors--; l.editors == 0 {
		delete(t.locks, form)
	}
}
