package core

import (
	"context"
	"fmt"

	"github.com/formsvc/formsvc/storage"
)

// ReencryptSecrets encrypts all signing secrets that do not use the current cipher, and returns how many it encrypted.
// Package formsvc documents the errors.
func (c *Core) ReencryptSecrets(ctx context.Context) (int, error) {
	var (
		reencrypted int
		failed      error
		after       storage.ID
	)
	for {
		stored, err := c.Storage.Secrets(ctx, after, batchSize)
		if err != nil {
			return reencrypted, err
		}
		if len(stored) == 0 {
			return reencrypted, failed
		}
		after = stored[len(stored)-1].WebhookID
		var replacements []storage.SecretReplacement
		for _, have := range stored {
			for _, secret := range [][]byte{have.Secret, have.OldSecret} {
				sealed, err := c.Secrets.Reencrypt(have.WebhookID, secret)
				switch {
				case err != nil && failed == nil:
					failed = fmt.Errorf("formsvc: secret of webhook %s: %w", have.WebhookID, err)
				case sealed != nil:
					replacements = append(replacements, storage.SecretReplacement{WebhookID: have.WebhookID, From: secret, To: sealed})
				}
			}
		}
		n, err := c.Storage.ReplaceSecrets(ctx, replacements)
		reencrypted += n
		if err != nil {
			return reencrypted, err
		}
	}
}
