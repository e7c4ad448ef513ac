package memory

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Sweep implements [storage.Storage]. It never counts an event: here their bodies go
// as soon as nothing refers to them. A form goes with everything of its own at once.
func (s *Store) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
	if err := ctx.Err(); err != nil {
		return storage.Swept{}, err
	}
	if err := check(p.Now, p.TrashBefore, p.KeysBefore); err != nil || p.Max < 1 {
		return storage.Swept{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	forms := s.purgeable(p.TrashBefore, p.Max)
	for _, f := range forms {
		s.purge(f)
	}
	if p.Removals {
		return storage.Swept{Forms: len(forms), More: len(forms) == p.Max}, nil
	}
	keys := s.ended(p.KeysBefore, p.Max)
	for _, k := range keys {
		s.removeKey(k)
	}
	secrets := 0
	for _, w := range s.webhooks {
		if len(w.oldSecret) > 0 && !w.oldSecretUntil.After(p.Now) {
			w.oldSecret = nil
			secrets++
		}
	}
	return storage.Swept{
		Forms: len(forms), Keys: len(keys), Secrets: secrets,
		More: len(forms) == p.Max || len(keys) == p.Max,
	}, nil
}

// purgeable returns at most limit forms that went to the trash before t. Zero:
// none.
func (s *Store) purgeable(t time.Time, limit int) []*form {
	var out []*form
	if t.IsZero() {
		return nil
	}
	for _, f := range s.everything.trash.items {
		if len(out) >= limit {
			break
		}
		if f.rec.TrashedAt.Before(t) {
			out = append(out, f)
		}
	}
	return out
}

// ended returns at most limit keys that were revoked or expired before t. Zero:
// none.
func (s *Store) ended(t time.Time, limit int) []*key {
	var out []*key
	if t.IsZero() {
		return nil
	}
	for _, k := range s.keys {
		if len(out) >= limit {
			break
		}
		if k.endedBefore(t) {
			out = append(out, k)
		}
	}
	return out
}
