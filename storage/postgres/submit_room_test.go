package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// However many forms are held, the responses that wait for them leave half of the pool to
// others.
func TestGroupsHoldAtMostHalfOfThePool(t *testing.T) {
	t.Parallel()
	const held, free = 6, 6 // forms, and the place of the one that is not held
	for _, most := range []int32{2, 4} {
		t.Run(fmt.Sprint(most, " connections"), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t, pgtest.MaxConns(most))
			s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: held + 1})), WithTimeout(time.Minute))
			var releases []func()
			for form := range held {
				releases = append(releases, hold(t, s, form))
			}
			flight := &inFlight{}
			for n := range 3 * held {
				flight.submit(t.Context(), s, n, responseTo(n%held, n))
			}
			half := most / 2
			eventually(t, "every held form has responses that wait for its own lock", func() bool {
				g := &s.submits.together
				g.mu.Lock()
				defer g.mu.Unlock()
				n := 0
				for form, l := range g.lines {
					if !form.IsZero() {
						n += len(l.waiting) + len(l.write.taken)
					}
				}
				return n == 3*held || half == 1 && n > 0 && g.lines[storage.ID{}] != nil
			})
			waiting := max(1, half-1) // beside the write to any form
			eventually(t, "as many wait as may", func() bool { return pool.Stat().AcquiredConns() >= waiting })
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := s.Form(ctx, storage.AsHost(), pgseed.ID(pgseed.Form, 0)); err != nil {
				t.Errorf("a read: %v", err)
			}
			if most > 2 { // else the one connection waits for a held form
				if _, _, err := s.Submit(ctx, responseTo(free, 1000)); err != nil {
					t.Errorf("a response to a form that is not held: %v", err)
				}
			}
			if n := pool.Stat().AcquiredConns(); n > max(1, half) {
				t.Errorf("%d of %d connections wait for the locks of forms, want at most half", n, most)
			}
			for _, release := range releases {
				release()
			}
			flight.group.Wait()
			for n, err := range flight.errs {
				if err != nil {
					t.Errorf("response %d: %v", n, err)
				}
			}
		})
	}
}

// A response for which there is no room is refused in its time, and nobody goes on waiting for it.
func TestAResponseWithoutRoomIsRefusedInTime(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1})), WithTimeout(200*time.Millisecond))
	all := s.submits
	// Other writes have all slots.
	begun, over := make(chan struct{}), make(chan struct{})
	var others sync.WaitGroup
	for range s.db.MaxConns() / 2 {
		others.Go(func() {
			_ = s.db.Write(t.Context(), func(context.Context) error {
				begun <- struct{}{}
				<-over
				return nil
			})
		})
		<-begun
	}
	defer others.Wait()
	defer close(over)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, _, err := s.Submit(ctx, response(1)); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit without room = %v", err)
	}
	eventually(t, "nobody waits for room", func() bool {
		all.together.mu.Lock()
		defer all.together.mu.Unlock()
		return len(all.together.lines) == 0
	})
}
