package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

//nolint:gosec // a statement, not a credential
const secretsAfter = `
SELECT w.id, w.secret FROM formsvc.webhooks w
WHERE w.id > $1::bytea AND w.secret <> ''
ORDER BY w.id LIMIT $2`

// Secrets implements [storage.WebhookStore].
func (s *Store) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	var found []storage.StoredSecret
	err := s.read(ctx, func(ctx context.Context) error {
		rows, err := s.query(ctx, secretsAfter, []any{after[:], int64(max(limit, 0))})
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (storage.StoredSecret, error) {
			var stored storage.StoredSecret
			err := row.Scan(scanID(&stored.WebhookID), &stored.Secret)
			return stored, err
		})
		return err
	})
	return found, err
}

// Rows are locked in the order of their ids, so that two calls never wait for each
// other in a circle. FOR UPDATE looks at the secret again when it had to wait.
//
//nolint:gosec // a statement, not a credential
const replaceSecrets = `
WITH kept AS (
	SELECT w.id, r.replacement
	FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS r (id, previous, replacement)
	JOIN formsvc.webhooks w ON w.id = r.id AND w.secret = r.previous
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
)
UPDATE formsvc.webhooks w SET secret = kept.replacement FROM kept WHERE w.id = kept.id`

// ReplaceSecrets implements [storage.WebhookStore].
func (s *Store) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	if len(replacements) == 0 {
		return 0, ctx.Err()
	}
	ids, from, to := make([][]byte, len(replacements)), make([][]byte, len(replacements)), make([][]byte, len(replacements))
	for i := range replacements {
		ids[i], from[i], to[i] = replacements[i].WebhookID[:], replacements[i].From, replacements[i].To
	}
	var replaced int64
	err := s.write(ctx, func(ctx context.Context) (err error) {
		replaced, err = s.exec(ctx, replaceSecrets, ids, from, to)
		return err
	})
	return int(replaced), err
}
