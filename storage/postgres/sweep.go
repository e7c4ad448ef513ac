package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// purgeForms removes the forms that have been in the trash for long, with
// everything of theirs. What is tied to a form by a foreign key goes with it.
// Nothing of them is pending: that ended when they went to the trash.
const purgeForms = `
WITH purged AS MATERIALIZED (
	SELECT f.id FROM formsvc.forms f
	WHERE f.trashed_at < $1::timestamptz
	ORDER BY f.trashed_at
	LIMIT $2::bigint
	FOR UPDATE SKIP LOCKED
), hooks AS MATERIALIZED (
	SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = ANY (ARRAY(SELECT p.id FROM purged p))
), told AS (
	DELETE FROM formsvc.attempts a
	WHERE a.webhook_id = ANY (ARRAY(SELECT h.id FROM hooks h))
	RETURNING a.event_id
), ended AS (
	DELETE FROM formsvc.deliveries d
	WHERE d.webhook_id = ANY (ARRAY(SELECT h.id FROM hooks h)) AND d.attempt > 0
	RETURNING d.event_id
), responses AS (
	DELETE FROM formsvc.submissions s
	WHERE s.form_id = ANY (ARRAY(SELECT p.id FROM purged p))
	RETURNING s.event_id
), bodies AS (
	DELETE FROM formsvc.events e
	WHERE e.id = ANY (ARRAY(
		SELECT t.event_id FROM told t UNION SELECT d.event_id FROM ended d UNION SELECT r.event_id FROM responses r))
), log AS (
	DELETE FROM formsvc.funnel_log g WHERE g.form_id = ANY (ARRAY(SELECT p.id FROM purged p))
), minutes AS (
	DELETE FROM formsvc.funnel_minutes m WHERE m.form_id = ANY (ARRAY(SELECT p.id FROM purged p))
), days AS (
	DELETE FROM formsvc.funnel_days d WHERE d.form_id = ANY (ARRAY(SELECT p.id FROM purged p))
), gone AS (
	DELETE FROM formsvc.forms f
	WHERE f.id = ANY (ARRAY(SELECT p.id FROM purged p))
	RETURNING 1
)
SELECT count(*) FROM gone`

// purgeWorkspaces removes what is left of deleted workspaces once no form in the
// trash refers to them. A deleted workspace never gets a form again.
const purgeWorkspaces = `
DELETE FROM formsvc.workspaces w
WHERE w.id = ANY (ARRAY(
	SELECT o.id FROM formsvc.workspaces o
	WHERE o.deleted_at IS NOT NULL
		AND (SELECT f.id FROM formsvc.forms f WHERE f.workspace_id = o.id LIMIT 1) IS NULL
	LIMIT $1::bigint
	FOR UPDATE SKIP LOCKED))`

const purgeKeys = `
WITH ended AS (
	SELECT k.id FROM formsvc.api_keys k
	WHERE LEAST(k.revoked_at, k.expires_at) < $1::timestamptz
	ORDER BY LEAST(k.revoked_at, k.expires_at)
	LIMIT $2::bigint
	FOR UPDATE SKIP LOCKED
), gone AS (
	DELETE FROM formsvc.api_keys k
	WHERE k.id = ANY (ARRAY(SELECT e.id FROM ended e))
	RETURNING 1
)
SELECT count(*) FROM gone`

// purgeEvents removes the bodies that nothing refers to. There are few of them: a
// history or a queue drops its bodies itself, unless two calls at once each left
// one to the other.
const purgeEvents = `
WITH unused AS (
	SELECT e.ctid AS place FROM formsvc.events e
	WHERE e.refs <= 0
	ORDER BY e.id
	LIMIT $1::bigint
	FOR UPDATE SKIP LOCKED
), gone AS (
	DELETE FROM formsvc.events e
	WHERE e.ctid = ANY (ARRAY(SELECT u.place FROM unused u))
	RETURNING 1
)
SELECT count(*) FROM gone`

// Sweep implements [storage.Storage]. It is one transaction: a form with a
// million submissions takes as long as it takes to remove a million rows, and a
// smaller Max makes smaller transactions.
func (s *Store) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
	if err := ctx.Err(); err != nil || p.Max < 1 {
		return storage.Swept{}, err
	}
	most := int64(p.Max)
	var swept storage.Swept
	err := s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		var read []func(pgx.Rows) error
		count := func(n *int) func(pgx.Rows) error {
			return func(rows pgx.Rows) error {
				return firstRow(rows, func(rows pgx.Rows) error { return rows.Scan(n) })
			}
		}
		if !p.TrashBefore.IsZero() {
			s.queue(b, purgeForms, p.TrashBefore.UTC(), most)
			s.queue(b, purgeWorkspaces, most)
			read = append(read, count(&swept.Forms), nil)
		}
		if !p.KeysBefore.IsZero() {
			s.queue(b, purgeKeys, p.KeysBefore.UTC(), most)
			read = append(read, count(&swept.Keys))
		}
		s.queue(b, purgeEvents, most)
		read = append(read, count(&swept.Events))
		return s.sendEach(ctx, b, read...)
	})
	if err != nil {
		return storage.Swept{}, err
	}
	return swept, nil
}
