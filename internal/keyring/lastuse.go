package keyring

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// lastUseEvery is how often the last use of one key is written.
const lastUseEvery = time.Minute

// note has the last use of a key written, outside the request and at most once a minute. It
// costs a comparison when the stored time is recent.
func (k *Keyring) note(used storage.Key, now time.Time) {
	now = now.UTC().Truncate(time.Second)
	if now.Sub(used.LastUsedAt) < lastUseEvery {
		return
	}
	if told, _ := k.told.Get(used.ID); now.Sub(told) >= lastUseEvery {
		k.told.Put(used.ID, now, 0)
		used.LastUsedAt = now
		k.uses.Add(used)
	}
}

func (k *Keyring) writeUses(ctx context.Context, used []storage.Key) error {
	last := map[storage.ID]time.Time{}
	for _, key := range used {
		last[key.ID] = key.LastUsedAt
	}
	return k.store.TouchKeys(ctx, last)
}
