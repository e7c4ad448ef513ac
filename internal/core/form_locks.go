package core

import (
	"context"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// formLocks serializes changes to a form in this process once two changes have conflicted. The locks only avoid
// repeated work. Revisions prevent lost updates, including across processes.
type formLocks struct {
	mu    sync.Mutex
	locks map[storage.ID]*formLock
}

func newFormLocks() *formLocks { return &formLocks{locks: map[storage.ID]*formLock{}} }

type formLock struct {
	held    chan struct{} // full while the lock is held; editors get the lock in order of arrival
	editors int           // editors that hold the lock or wait for it
}

// lockTimeout is how long an editor waits for the lock before it writes without it. The wait is limited because the
// holder's connection may be dead. A change of 50 blocks takes 1 to 5 ms.
const lockTimeout = time.Second

// acquire waits for the form's lock if lost is true, because another change was faster, or if other editors are
// waiting. It then returns a function that releases the lock. Otherwise it returns nil.
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
		stop := context.AfterFunc(ctx, release) // releases the lock even if the storage ignores the end of ctx
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

// release removes an editor from the lock. The last editor deletes the lock.
func (t *formLocks) release(form storage.ID, l *formLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.editors--; l.editors == 0 {
		delete(t.locks, form)
	}
}
