package core

import (
	"context"
	"fmt"

	"github.com/formsvc/formsvc/storage"
)

// ReencryptSecrets encrypts signing secrets with the current cipher unless they already use it. It returns their
// number. Package formsvc documents its errors.
func (c *Core) ReencryptSecrets(ctx context.Context) (int, error) {
	var (
		resealed int
		failed   error
		after    storage.ID
	)
	for {
		stored, err := c.Storage.Secrets(ctx, after, batchSize)
		if err != nil {
			return resealed, err
		}
		if len(stored) == 0 {
			return resealed, failed
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
		resealed += n
		if err != nil {
			return resealed, err
		}
	}
}
