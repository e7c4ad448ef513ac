package keyring

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// lastUseInterval is how often the last use of one key is written.
const lastUseInterval = time.Minute

// note has the last use of a key written, outside the request and at most once a minute. It
// costs a comparison when the stored time is recent.
func (k *Keyring) recordUse(used storage.Key, now time.Time) {
	now = now.UTC().Truncate(time.Second)
	if now.Sub(used.LastUsedAt) < lastUseInterval {
		return
	}
	if last, _ := k.recentUses.Get(used.ID); now.Sub(last) >= lastUseInterval {
		k.recentUses.Put(used.ID, now, 0)
		used.LastUsedAt = now
		k.lastUses.Add(used)
	}
}

func (k *Keyring) writeLastUses(ctx context.Context, used []storage.Key) error {
	last := map[storage.ID]time.Time{}
	for _, key := range used {
		last[key.ID] = key.LastUsedAt
	}
	return k.store.TouchKeys(ctx, last)
}
