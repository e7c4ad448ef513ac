package core

import (
	"context"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// formLocks contains locks that serialize changes of a form in this process after concurrent changes. They only avoid
// wasted work. Revisions still prevent lost updates, also between processes.
type formLocks struct {
	mu    sync.Mutex
	locks map[storage.ID]*formLock
}

func newFormLocks() *formLocks { return &formLocks{locks: map[storage.ID]*formLock{}} }

// formLock is the lock of one form.
type formLock struct {
	held    chan struct{} // full while the lock is held; waiting editors get it in order
	editors int           // number of editors that hold the lock or wait for it
}

// lockTimeout is how long an editor waits before it writes without the lock. The holder may be waiting for a dead
// connection. A change of 50 blocks takes 1 to 5 ms.
const lockTimeout = time.Second

// acquire waits for the form's lock if the editor lost a race or others already wait. It then returns a function that
// releases the lock, and otherwise nil.
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
		stop := context.AfterFunc(ctx, release) // also if the storage does not return in time
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

// release removes an editor from a lock, and deletes the lock after its last editor.
func (t *formLocks) release(form storage.ID, l *formLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.editors--; l.editors == 0 {
		delete(t.locks, form)
	}
}
