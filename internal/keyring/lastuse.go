package keyring

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
)

const (
	// lastUseEvery is how often the last use of one key is written.
	lastUseEvery = time.Minute
	// lastUseTimeout bounds one write.
	lastUseTimeout = 10 * time.Second
)

// lastUses writes when keys were last used, outside the request and at most once
// a minute a key. A goroutine runs only while there is something to write.
type lastUses struct {
	store  storage.KeyStore
	logger *slog.Logger

	mu      sync.Mutex
	pending map[storage.ID]time.Time
	written cache.Cache[storage.ID, time.Time] // the time that the storage was told last
	writing chan struct{}                      // closed when the goroutine ends; nil when none runs
	closed  bool
}

func newLastUses(store storage.KeyStore, logger *slog.Logger) *lastUses {
	return &lastUses{store: store, logger: logger, pending: map[storage.ID]time.Time{}}
}

// note records a use of k. It costs a comparison when the stored time is recent.
func (u *lastUses) note(k storage.Key, now time.Time) {
	now = now.UTC().Truncate(time.Second)
	if now.Sub(k.LastUsedAt) < lastUseEvery {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if written, _ := u.written.Get(k.ID); u.closed || now.Sub(written) < lastUseEvery {
		return
	}
	if _, waits := u.pending[k.ID]; waits {
		return
	}
	u.pending[k.ID] = now
	if u.writing == nil {
		u.writing = make(chan struct{})
		go u.write(u.writing)
	}
}

// write writes pending uses until none is left.
func (u *lastUses) write(done chan struct{}) {
	defer close(done)
	for {
		u.mu.Lock()
		batch := u.pending
		if len(batch) == 0 {
			u.writing = nil
			u.mu.Unlock()
			return
		}
		u.pending = map[storage.ID]time.Time{}
		for id, at := range batch {
			u.written.Put(id, at, 0)
		}
		u.mu.Unlock()

		ctx, cancel := context.WithTimeout(context.Background(), lastUseTimeout)
		if err := u.store.TouchKeys(ctx, batch); err != nil {
			u.logger.LogAttrs(ctx, slog.LevelWarn, "the last use of keys was not written",
				slog.Int("keys", len(batch)), slog.Any("error", err))
		}
		cancel()
	}
}

// close waits until the pending uses are written. Later uses are not recorded.
func (u *lastUses) close(ctx context.Context) error {
	u.mu.Lock()
	u.closed = true
	writing := u.writing
	u.mu.Unlock()
	if writing == nil {
		return nil
	}
	select {
	case <-writing:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
