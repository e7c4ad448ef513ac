package core

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// slowForm is a storage with one form. A read and a write take a millisecond each, as on
// another machine.
type slowForm struct {
	storage.Unimplemented
	mu           sync.Mutex
	revision     int64
	writes, lost int
}

func (s *slowForm) Form(context.Context, storage.Actor, storage.ID) (storage.Form, error) {
	s.mu.Lock()
	read := storage.Form{Revision: s.revision}
	s.mu.Unlock()
	time.Sleep(time.Millisecond)
	return read, nil
}

func (s *slowForm) UpdateForm(_ context.Context, _ storage.Actor, _ storage.ID, c storage.FormChange) (storage.Form, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes++; c.IfRevision[0] != s.revision {
		s.lost++
		return storage.Form{}, &storage.RevisionError{Current: s.revision}
	}
	s.revision++
	return storage.Form{Revision: s.revision}, nil
}

func onSlowForm(t *testing.T) (*Core, *slowForm) {
	t.Helper()
	store := &slowForm{revision: 1}
	c, err := New(Core{Storage: store, Clock: time.Now})
	expect.NoError(t, err)
	return c, store
}

func (c *Core) edit(ctx context.Context, target Target) error {
	_, err := c.updateWithRetry(ctx, storage.AsHost(), target, Precondition{}, func(*storage.Form) (storage.FormChange, error) {
		return storage.FormChange{}, nil
	})
	return err
}

var edited = Target{ID: storage.ID{1}}

// held begins the turn of an editor who keeps it until end.
func held(ctx context.Context, t *testing.T, c *Core) (end func()) {
	t.Helper()
	end, err := c.formLocks.acquire(ctx, edited.ID, true)
	expect.Require(t, err == nil && end != nil, "%v", err)
	return end
}

func forgotten(t *testing.T, c *Core) {
	t.Helper()
	expect.Equal(t, len(c.formLocks.locks), 0, "forms are remembered that nobody edits")
}

func TestEditorsOfAFormTakeTurns(t *testing.T) {
	t.Parallel()
	const editors, each = 16, 20
	synctest.Test(t, func(t *testing.T) {
		c, store := onSlowForm(t)
		began := time.Now()
		var editing sync.WaitGroup
		for range editors {
			editing.Go(func() {
				for range each {
					expect.Nil(t, c.edit(t.Context(), edited))
				}
			})
		}
		editing.Wait()
		// All begin at once and all but one of them lose; then they take turns.
		expect.That(t, store.revision == 1+editors*each && store.lost <= 2*editors,
			"revision %d after %d writes, of which %d were lost", store.revision, store.writes, store.lost)
		if took, most := time.Since(began), (editors*each+2*editors)*2*time.Millisecond; took > most {
			t.Errorf("%v, want at most %v", took, most)
		}
		forgotten(t, c)
	})
}

// One race is lost before anybody waits: a change that takes long keeps no other one.
func TestTurnsBeginWithALostRace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, store := onSlowForm(t)
		var editing sync.WaitGroup
		for range 2 {
			editing.Go(func() {
				expect.Nil(t, c.edit(t.Context(), edited))
			})
		}
		editing.Wait()
		expect.That(t, store.writes == 3 && store.lost == 1, "%d writes, of which %d were lost", store.writes, store.lost)
		forgotten(t, c)
	})
}

func TestAnEditorAloneWaitsForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := onSlowForm(t)
		end := held(t.Context(), t, c)
		began := time.Now()
		err := c.edit(t.Context(), Target{ID: storage.ID{2}})
		expect.That(t, err == nil && time.Since(began) == 2*time.Millisecond, "another form: %v after %v", err, time.Since(began))
		began = time.Now()
		err = c.WithStorage(c.Storage).edit(t.Context(), edited)
		expect.That(t, err == nil && time.Since(began) == 2*time.Millisecond, "a transaction: %v after %v", err, time.Since(began))
		began = time.Now()
		if err := c.edit(t.Context(), Target{ID: edited.ID, Read: true}); !errors.Is(err, storage.ErrNotFound) || time.Since(began) != 0 {
			t.Errorf("actor has no access: %v after %v", err, time.Since(began))
		}
		end()
		forgotten(t, c)
	})
}

// An editor that waited reads the form anew: what it had read before is stale, and writing
// on it would lose one more race.
func TestAnEditorReadsTheFormInItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, store := onSlowForm(t)
		end := held(t.Context(), t, c)
		time.AfterFunc(time.Millisecond, func() {
			store.mu.Lock()
			store.revision = 2
			store.mu.Unlock()
			end()
		})
		read := &storage.Form{Revision: 1}
		err := c.edit(t.Context(), Target{ID: edited.ID, Read: true, Form: read})
		expect.That(t, err == nil && store.writes == 1, "%v after %d writes", err, store.writes)
		forgotten(t, c)
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, store := onSlowForm(t)
		end := held(t.Context(), t, c)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := c.edit(ctx, edited); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond || store.writes != 0 {
			t.Errorf("%v after %v and %d writes", err, time.Since(began), store.writes)
		}
		end()
		forgotten(t, c)
		expect.Nil(t, c.edit(t.Context(), edited))
	})
}

// A storage may return late from a call whose context has ended. Its editor has no turn
// meanwhile.
func TestATurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := onSlowForm(t)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		end := held(ctx, t, c)
		began := time.Now()
		err := c.edit(t.Context(), edited)
		expect.That(t, err == nil && time.Since(began) == 102*time.Millisecond, "%v after %v", err, time.Since(began))
		endNext := held(t.Context(), t, c)
		end() // late, and nothing to the one whose turn it is
		began = time.Now()
		time.AfterFunc(100*time.Millisecond, endNext)
		err = c.edit(t.Context(), edited)
		expect.That(t, err == nil && time.Since(began) == 102*time.Millisecond, "%v after %v", err, time.Since(began))
		forgotten(t, c)
	})
}

// One editor whose connection is dead keeps the others for a second, not for as long as
// its own call may take.
func TestEditorsLosePatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, store := onSlowForm(t)
		end := held(t.Context(), t, c)
		began := time.Now()
		err := c.edit(t.Context(), edited)
		expect.That(t, err == nil && time.Since(began) == 1002*time.Millisecond && store.writes == 1, "%v after %v", err, time.Since(began))
		end()
		forgotten(t, c)
	})
}

type panicking struct{ slowForm }

func (s *panicking) UpdateForm(context.Context, storage.Actor, storage.ID, storage.FormChange) (storage.Form, error) {
	panic("a decorator of the host")
}

func TestAPanicEndsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := onSlowForm(t)
		c.Storage = &panicking{}
		end := held(t.Context(), t, c)
		var panicked atomic.Bool
		go func() {
			defer func() { panicked.Store(recover() != nil) }()
			_ = c.edit(t.Context(), edited) // which waits for its turn
		}()
		synctest.Wait()
		end()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		expect.That(t, panicked.Load(), "the panic was lost")
		forgotten(t, c)
	})
}
