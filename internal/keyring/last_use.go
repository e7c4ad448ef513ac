package keyring

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const lastUseInterval = time.Minute

// recordUse queues a key's last use for writing, at most once a minute.
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
