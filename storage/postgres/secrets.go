package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

//nolint:gosec // a statement, not a credential
const secretsAfter = `
SELECT w.id, w.secret, w.old_secret FROM formsvc.webhooks w
WHERE w.id > $1::bytea AND w.secret <> ''
ORDER BY w.id LIMIT $2`

// Secrets implements [storage.WebhookStore].
func (s *Store) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	return conn.ReadAll(ctx, &s.db, func(rows pgx.Rows) (stored storage.StoredSecret, err error) {
		err = rows.Scan(conn.ScanID(&stored.WebhookID), &stored.Secret, &stored.OldSecret)
		return stored, err
	}, secretsAfter, after[:], int64(max(limit, 0)))
}

// Rows are locked in the order of their ids, so that two calls never wait for each
// other in a circle. FOR UPDATE looks at the secret again when it had to wait.
//
//nolint:gosec // a statement, not a credential
const replaceSecrets = `
WITH kept AS (
	SELECT w.id, r.previous, r.replacement
	FROM formsvc.webhooks w
	JOIN unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS r (id, previous, replacement) ON r.id = w.id AND r.previous IN (w.secret, w.old_secret) AND r.previous <> ''
	WHERE w.id = ANY ($1::bytea[])
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
), changed AS (
	UPDATE formsvc.webhooks w SET
		secret = COALESCE((SELECT k.replacement FROM kept k WHERE k.id = w.id AND k.previous = w.secret), w.secret),
		old_secret = COALESCE((SELECT k.replacement FROM kept k WHERE k.id = w.id AND k.previous = w.old_secret), w.old_secret)
	WHERE w.id = ANY (ARRAY(SELECT k.id FROM kept k))
)
SELECT count(*) FROM kept`

// ReplaceSecrets implements [storage.WebhookStore].
func (s *Store) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	if len(replacements) == 0 {
		return 0, ctx.Err()
	}
	ids, from, to := make([][]byte, len(replacements)), make([][]byte, len(replacements)), make([][]byte, len(replacements))
	for i := range replacements {
		ids[i], from[i], to[i] = replacements[i].WebhookID[:], replacements[i].From, replacements[i].To
	}
	var replaced int
	err := s.db.Change(ctx, conn.Run(replaceSecrets, ids, from, to).Into(&replaced))
	return replaced, err
}
