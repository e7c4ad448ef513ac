package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A response for which there is no room is refused in its time, and nobody goes on waiting for it.
func TestAResponseWithoutRoomIsRefusedInTime(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1})), WithTimeout(200*time.Millisecond))
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
	eventually(t, "nobody waits for room", s.submitBatches.batched.isIdle)
}
