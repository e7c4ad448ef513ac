package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// Secrets implements [storage.WebhookStore].
func (s *Store) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []storage.StoredSecret
	for id, w := range s.webhooks {
		if len(w.rec.Secret) > 0 && bytes.Compare(id[:], after[:]) > 0 {
			found = append(found, storage.StoredSecret{WebhookID: id, Secret: w.rec.Secret, OldSecret: w.oldSecret})
		}
	}
	slices.SortFunc(found, func(a, b storage.StoredSecret) int { return bytes.Compare(a.WebhookID[:], b.WebhookID[:]) })
	found = slices.Clone(found[:max(0, min(limit, len(found)))])
	for i := range found {
		found[i].Secret, found[i].OldSecret = bytes.Clone(found[i].Secret), bytes.Clone(found[i].OldSecret)
	}
	return found, nil
}

// ReplaceSecrets implements [storage.WebhookStore].
func (s *Store) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	replaced := 0
	for _, r := range replacements {
		w := s.webhooks[r.WebhookID]
		switch {
		case w == nil || len(r.From) == 0:
		case bytes.Equal(w.rec.Secret, r.From):
			w.rec.Secret = secret(r.To)
			replaced++
		case bytes.Equal(w.oldSecret, r.From):
			w.oldSecret = secret(r.To)
			replaced++
		}
	}
	return replaced, nil
}
