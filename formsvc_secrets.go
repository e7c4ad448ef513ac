package formsvc

import (
	"context"
	"fmt"

	"github.com/formsvc/formsvc/storage"
)

// ResealSecrets seals with the current cipher of [WithSecretCipher] every signing
// secret that is stored otherwise, and returns how many. These include secrets that
// were replaced and still sign for a day. When it returns without an error, no secret
// needs one of the previous ciphers any more. Without a current cipher, secrets are
// stored as they are again.
//
// It works in pieces of 500 webhooks and may be called again after an error or a
// cancelled context, from any process and while webhooks are changed and sent. A secret
// that cannot be opened stays as it is: the error is [ErrSecret] and names its webhook, and
// the other secrets are sealed all the same.
func (s *Service) ResealSecrets(ctx context.Context) (int, error) {
	var (
		resealed int
		failed   error
		after    ID
	)
	for {
		stored, err := s.storage.Secrets(ctx, after, batch)
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
				sealed, err := s.secrets.Reseal(have.WebhookID, secret)
				switch {
				case err != nil && failed == nil:
					failed = fmt.Errorf("formsvc: the secret of webhook %s: %w", have.WebhookID, err)
				case sealed != nil:
					replacements = append(replacements, storage.SecretReplacement{WebhookID: have.WebhookID, From: secret, To: sealed})
				}
			}
		}
		n, err := s.storage.ReplaceSecrets(ctx, replacements)
		resealed += n
		if err != nil {
			return resealed, err
		}
	}
}
