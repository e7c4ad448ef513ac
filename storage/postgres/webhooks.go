package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

const webhookColumns = `w.id, w.form_id, w.all_forms, w.url, w.enabled, w.form_details, w.updates, COALESCE(w.secret <> '', false), w.created_at, w.updated_at`

func webhookTargets(w *storage.Webhook) []any {
	return []any{&w.ID, &w.FormID, &w.AllForms, &w.URL, &w.Enabled, &w.FormDetails, &w.Updates, &w.HasSecret, &w.CreatedAt, &w.UpdatedAt}
}

// lockFormOfWebhook takes the exclusive lock on a webhook's form. $2 is the salt.
const (
	lockFormOfWebhook       = `SELECT pg_advisory_xact_lock(` + lockKeyOfWebhook + `) FROM formsvc.webhooks w WHERE w.id = $1::bytea`
	lockFormOfWebhookShared = `SELECT pg_advisory_xact_lock_shared(` + lockKeyOfWebhook + `) FROM formsvc.webhooks w WHERE w.id = $1::bytea`
	lockKeyOfWebhook        = `(('x' || encode(substr(w.form_id, 5), 'hex'))::bit(64)::bigint # $2::bigint)`
)

// A webhook is accessible to the actor in $2. Statements with this condition have a variant for local webhooks, which
// webhookVariants returns.
const (
	accessibleWebhook = `
	JOIN formsvc.forms f ON f.id = w.form_id
	WHERE w.id = $1::bytea AND NOT ` + localWebhook + ` AND ` + formAccess
	accessibleLocalWebhook = `
	WHERE w.id = $1::bytea AND (SELECT $2::bytea) IS NULL AND ` + visibleLocalWebhook

	// localWebhook contains IS TRUE, so that only the list of all local webhooks uses their partial index.
	localWebhook        = `(starts_with(w.url, 'local:') IS TRUE)`
	visibleLocalWebhook = localWebhook + ` AND ` + webhookNotPurged
	webhookNotPurged    = `COALESCE((SELECT ` + notPurged + ` FROM formsvc.forms f WHERE f.id = w.form_id), true)`
)

// webhookVariants returns a statement for actors that are not local and, with the key true, its variant for local ones.
func webhookVariants(text string) map[bool]string {
	return map[bool]string{false: text, true: strings.ReplaceAll(text, accessibleWebhook, accessibleLocalWebhook)}
}

// createWebhook runs under the form's lock. KEY SHARE prevents the form from being moved or purged in the meantime.
const createWebhook = `
WITH form AS (
	SELECT f.id, f.workspace_id
	FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formAccess + `
	FOR KEY SHARE OF f
), room AS (
	SELECT $9::bigint < 1 OR (SELECT count(*) FROM formsvc.webhooks w WHERE w.form_id = $1::bytea AND NOT ` + localWebhook + `) < $9::bigint AS there
), created AS (
	INSERT INTO formsvc.webhooks (id, form_id, workspace_id, url, enabled, secret, created_at, updated_at, form_details, updates)
	SELECT $3::bytea, form.id, form.workspace_id, $4::text, $5::boolean, $6::bytea, $7::timestamptz, $8::timestamptz, $11::boolean, $12::boolean
	FROM form, room WHERE room.there
	ON CONFLICT DO NOTHING
	RETURNING id
), destination AS (
	INSERT INTO formsvc.destinations (webhook_id, host) SELECT created.id, $10::text FROM created
)
SELECT room.there, EXISTS (SELECT FROM created) FROM form, room`

// createForAllForms runs under the lock of the zero form, which createForm shares. KEY SHARE prevents forms from being
// moved or purged in the meantime.
const createForAllForms = `
WITH t AS (
	INSERT INTO formsvc.webhooks AS w (id, form_id, url, enabled, secret, created_at, updated_at, form_details, updates)
	SELECT $1::bytea, ` + allForms + `, $2::text, $3::boolean, '', $4::timestamptz, $5::timestamptz, $6::boolean, $7::boolean
	ON CONFLICT DO NOTHING
	RETURNING w.*
), form AS (
	SELECT f.id, f.workspace_id FROM formsvc.forms f WHERE f.purged_at IS NULL AND EXISTS (SELECT FROM t) ORDER BY f.id FOR KEY SHARE OF f
), ` + copyForForms + `
SELECT 1 FROM t`

const allForms = `'\x000000000000000000000000'::bytea`

// copyForForms is part of a WITH list. It creates webhooks for the forms in the CTE form, as copies of the webhooks in
// the CTE t.
const copyForForms = `copies AS (
	INSERT INTO formsvc.webhooks AS w (id, form_id, workspace_id, all_forms, url, enabled, secret, created_at, updated_at, form_details, updates)
	SELECT substr(sha256(t.id || form.id), 1, 12), form.id, form.workspace_id, t.id, t.url, t.enabled, '', t.created_at, t.updated_at, t.form_details, t.updates FROM t CROSS JOIN form
	RETURNING w.id, w.url
), copied_destinations AS (
	INSERT INTO formsvc.destinations (webhook_id, host) SELECT c.id, c.url FROM copies c
)`

// CreateWebhook implements [storage.WebhookStore].
func (s *Store) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	w := n.Webhook
	if w.FormID.IsZero() && actor.Local() {
		err := s.db.Change(ctx, s.formLockStatement(w.FormID), conn.NewStatement(createForAllForms, w.ID[:], w.URL, w.Enabled, w.CreatedAt.UTC(), w.UpdatedAt.UTC(), w.FormDetails, w.Updates).ScanInto(nil))
		if errors.Is(err, storage.ErrNotFound) {
			return storage.ErrConflict
		}
		return err
	}
	return s.db.Create(ctx, s.formLockStatement(w.FormID), conn.NewStatement(createWebhook, w.FormID[:], userArg(actor), w.ID[:], w.URL, w.Enabled, conn.ListArg(n.Secret),
		w.CreatedAt.UTC(), w.UpdatedAt.UTC(), int64(n.Max), storage.Hostname(w.URL), w.FormDetails, w.Updates))
}

var webhookByID = webhookVariants(`
SELECT ` + webhookColumns + `
FROM formsvc.webhooks w` + accessibleWebhook)

// Webhook implements [storage.WebhookStore].
func (s *Store) Webhook(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Webhook, error) {
	return conn.ReadOne(ctx, &s.db, webhookTargets, webhookByID[actor.Local()], id[:], userArg(actor))
}

// webhooks is the source for lists of webhooks. It omits webhooks of forms in the trash. LIMIT makes the planner look
// up each form by ID. Unlike a condition, a join caches the forms on the page.
var webhooks = listSource{`formsvc.webhooks w
	CROSS JOIN LATERAL (SELECT FROM formsvc.forms f WHERE f.id = w.form_id AND ` + rowNotTrashed + ` LIMIT 1) f`, "w", webhookColumns, "NOT " + localWebhook}

var allWebhooks = listSource{webhooks.from, webhooks.alias, webhooks.columns, webhooks.where + notInDeletedWorkspace("w")}

var localWebhooks = listSource{"formsvc.webhooks w", "w", webhookColumns, "starts_with(w.url, 'local:') AND " + webhookNotPurged}

var (
	webhooksOfUser = sync.OnceValue(func() string { return mustBuildSQL(webhooks.selectForUser()) })
	webhooksOfHost = sync.OnceValue(func() string { return mustBuildSQL(allWebhooks.selectForHost()) })
	webhooksLocal  = sync.OnceValue(func() string { return mustBuildSQL(localWebhooks.selectWhere("true")) })
)

// Webhooks implements [storage.WebhookStore].
func (s *Store) Webhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	text, args := webhooksOfHost, pageArgs(page)
	switch {
	case actor.Local():
		text = webhooksLocal
	case !actor.Host():
		text, args = webhooksOfUser, append(args, userArg(actor))
	}
	return conn.ReadAll(ctx, &s.db, webhookTargets, text(), args...)
}

const (
	webhooksOfForm = `
SELECT ` + webhookColumns + `
FROM formsvc.webhooks w JOIN formsvc.forms f ON f.id = w.form_id
WHERE w.form_id = $1::bytea AND NOT ` + localWebhook + ` AND ` + formAccess + `
ORDER BY w.created_at DESC, w.id DESC`

	localWebhooksOfForm = `
SELECT ` + webhookColumns + `
FROM formsvc.webhooks w
WHERE w.form_id = $1::bytea AND ` + visibleLocalWebhook + `
ORDER BY w.created_at DESC, w.id DESC`
)

// FormWebhooks implements [storage.WebhookStore].
func (s *Store) FormWebhooks(ctx context.Context, actor storage.Actor, form storage.ID) ([]storage.Webhook, error) {
	if actor.Local() {
		return conn.ReadAll(ctx, &s.db, webhookTargets, localWebhooksOfForm, form[:])
	}
	found, err := conn.ReadAll(ctx, &s.db, webhookTargets, webhooksOfForm, form[:], userArg(actor))
	if err == nil && len(found) == 0 {
		err = s.db.ReadRow(ctx, formExists, conn.RowScanner(nil), form[:], userArg(actor))
	}
	return found, err
}

// pendingOfWebhook is part of a WITH list. It locks the pending deliveries of a webhook.
const pendingOfWebhook = `hook AS (
	SELECT w.id, w.form_id
	FROM formsvc.webhooks w` + accessibleWebhook + `
), pending AS (
	SELECT d.webhook_id, d.event_id
	FROM hook JOIN formsvc.deliveries d ON d.webhook_id = hook.id
	ORDER BY d.event_id
	FOR UPDATE OF d
)`

// endDeliveries ends the pending deliveries of a webhook. It runs after lockDeliveries under the form's lock, so it
// sees attempts that concurrent results have added. It already locks the destination for updateWebhook, because
// destinations must be locked before events.
var endDeliveries = webhookVariants(`
WITH ` + pendingOfWebhook + `, destination AS MATERIALIZED (
	SELECT x.webhook_id FROM formsvc.destinations x
	WHERE x.webhook_id = $1::bytea AND (SELECT count(*) FROM pending) > 0
	FOR NO KEY UPDATE OF x
), ended AS (
	DELETE FROM formsvc.deliveries d USING pending p
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id AND (SELECT count(*) FROM destination) >= 0
	RETURNING d.webhook_id, d.event_id
), ` + transferReferences + `, changes AS (
	SELECT * FROM left_over
), ` + updateReferences + `
SELECT true`)

// updateWebhook runs under the form's lock if url or enabled is set, and then makes one pending delivery due. renewed
// and resumed count the rows in the CTE "one", so that deliveries are locked before the destination.
var updateWebhook = webhookVariants(`
WITH seen AS MATERIALIZED (
	SELECT w.id, COALESCE($3::text <> w.url, false) AS moves, COALESCE($4::boolean, false) AND NOT w.enabled AS starts,
		$5::bytea IS NULL OR $5::bytea <> '' AND $5::bytea = w.secret AS keeps_secret,
		$5::bytea <> '' AND w.secret <> '' AS replaces_secret
	FROM formsvc.webhooks w` + accessibleWebhook + `
	FOR NO KEY UPDATE OF w
), one AS MATERIALIZED (
	SELECT d.webhook_id, d.event_id
	FROM seen JOIN formsvc.deliveries d ON d.webhook_id = seen.id
	WHERE ($3::text IS NOT NULL OR $4::boolean)
		AND (d.leased_until IS NULL OR d.leased_until <= statement_timestamp())
	ORDER BY d.queued_at, d.event_id
	LIMIT 1
	FOR UPDATE OF d
), hastened AS (
	UPDATE formsvc.deliveries d SET due_at = NULL, urgency = CASE WHEN d.token <> 0 THEN 2 ELSE 1 END
	FROM one
	WHERE d.webhook_id = one.webhook_id AND d.event_id = one.event_id
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked) SELECT one.webhook_id, true FROM one
), renewed AS (
	UPDATE formsvc.destinations x SET
		host = $7::text, succeeded = false, slow_for = 0, failures = 0,
		failing_since = NULL, failed_at = NULL, paused_until = NULL, pause_reason = NULL,
		generation = x.generation + 1,
		next_at = CASE WHEN x.next_at IS NOT NULL THEN statement_timestamp() END
	FROM seen
	WHERE x.webhook_id = seen.id AND seen.moves AND (SELECT count(*) FROM one) >= 0
), resumed AS (
	UPDATE formsvc.destinations x SET
		paused_until = NULL, pause_reason = NULL,
		next_at = CASE WHEN x.next_at IS NOT NULL THEN statement_timestamp() END
	FROM seen
	WHERE x.webhook_id = seen.id AND seen.starts AND NOT seen.moves AND (SELECT count(*) FROM one) >= 0
)
UPDATE formsvc.webhooks w SET
	url = COALESCE($3::text, w.url),
	enabled = COALESCE($4::boolean, w.enabled),
	form_details = COALESCE($9::boolean, w.form_details),
	updates = COALESCE($10::boolean, w.updates),
	secret = COALESCE($5::bytea, w.secret),
	old_secret = CASE WHEN seen.keeps_secret THEN w.old_secret WHEN seen.replaces_secret THEN w.secret END,
	old_secret_until = CASE WHEN seen.keeps_secret THEN w.old_secret_until
		WHEN seen.replaces_secret THEN $6::timestamptz + $8::bigint * interval '1 microsecond' END,
	updated_at = $6::timestamptz
FROM seen
WHERE w.id = seen.id
RETURNING ` + webhookColumns)

// UpdateWebhook implements [storage.WebhookStore].
func (s *Store) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	var secret []byte
	if c.Secret != nil {
		secret = conn.ListArg(*c.Secret)
	}
	host := ""
	if c.URL != nil {
		host = storage.Hostname(*c.URL)
	}
	var batch []conn.Statement
	if c.URL != nil || c.Enabled != nil || c.FormDetails != nil || c.Updates != nil { // so that a form that is created concurrently gets the change
		batch = append(batch, conn.NewStatement(lockFormOfWebhook, id[:], s.lockSalt(lockForms)))
	}
	if c.Enabled != nil && !*c.Enabled {
		batch = append(batch, conn.NewStatement(lockDeliveries[actor.Local()], id[:], userArg(actor)), conn.NewStatement(endDeliveries[actor.Local()], id[:], userArg(actor)))
	}
	var w storage.Webhook
	update := conn.NewStatement(updateWebhook[actor.Local()], id[:], userArg(actor), c.URL, c.Enabled, secret, c.At.UTC(), host, storage.OldSecretLifetime.Microseconds(), c.FormDetails, c.Updates)
	err := s.db.Change(ctx, append(batch, update.ScanInto(webhookTargets(&w)...))...)
	return w, err
}

var lockDeliveries = webhookVariants(`
WITH ` + pendingOfWebhook + `
SELECT count(*) FROM pending`)

// deleteWebhook runs after lockDeliveries, so it sees attempts that concurrent results have added, and no more can
// arrive.
var deleteWebhook = webhookVariants(`
WITH gone AS (
	DELETE FROM formsvc.webhooks h WHERE h.id = (SELECT w.id FROM formsvc.webhooks w` + accessibleWebhook + `)
	RETURNING h.id
), forgotten AS (
	DELETE FROM formsvc.destinations x USING gone WHERE x.webhook_id = gone.id
	RETURNING 1
), told AS (
	DELETE FROM formsvc.attempts a USING gone WHERE a.webhook_id = gone.id AND (SELECT count(*) FROM forgotten) >= 0
	RETURNING a.event_id, ` + attemptHoldsReference + ` AS refers
), ended AS (
	DELETE FROM formsvc.deliveries d USING gone WHERE d.webhook_id = gone.id
	RETURNING d.event_id
), changes AS (
	SELECT told.event_id, -1 AS refs FROM told WHERE told.refers
	UNION ALL
	SELECT ended.event_id, -1 FROM ended
), ` + updateReferences + `
SELECT 1 FROM gone`)

// DeleteWebhook implements [storage.WebhookStore].
func (s *Store) DeleteWebhook(ctx context.Context, actor storage.Actor, id storage.ID) error {
	return s.db.Change(ctx, conn.NewStatement(lockFormOfWebhook, id[:], s.lockSalt(lockForms)), conn.NewStatement(lockDeliveries[actor.Local()], id[:], userArg(actor)),
		conn.NewStatement(deleteWebhook[actor.Local()], id[:], userArg(actor)).ScanInto(nil))
}

// attemptsOf returns a row of nulls if the webhook has no attempts.
var attemptsOf = webhookVariants(`
SELECT a.id, a.event_id, a.event_type, a.submission_id, a.attempt, a.http_status, a.success, a.error,
	a.duration_us, a.created_at, a.next_attempt_at
FROM (SELECT w.id FROM formsvc.webhooks w` + accessibleWebhook + `) w
LEFT JOIN LATERAL ` + webhookHistory + ` a ON true
ORDER BY a.created_at DESC, a.id DESC
LIMIT (SELECT $4::bigint)`)

// Deliveries implements [storage.WebhookStore].
func (s *Store) Deliveries(ctx context.Context, actor storage.Actor, webhook storage.ID, limit int) ([]storage.Delivery, error) {
	found, err := conn.ReadAll(ctx, &s.db, func(a *storage.Delivery) []any {
		a.WebhookID = webhook
		return []any{
			&a.ID, &a.EventID, &a.EventType, &a.SubmissionID, &a.Attempt, &a.Status, &a.Success, &a.Error,
			&a.Duration, &a.CreatedAt, &a.NextAttemptAt,
		}
	}, attemptsOf[actor.Local()], webhook[:], userArg(actor), int64(storage.MaxHistory), int64(max(limit, 1)))
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, storage.ErrNotFound
	case found[0].Attempt == 0 || limit < 1: // the row of nulls
		return nil, nil
	}
	return found, nil
}

//nolint:gosec // a statement, not a credential
const secretsAfter = `
SELECT w.id, w.secret, w.old_secret FROM formsvc.webhooks w
WHERE w.id > $1::bytea AND w.secret <> ''
ORDER BY w.id LIMIT (SELECT $2::bigint)`

// Secrets implements [storage.WebhookStore].
func (s *Store) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	return conn.ReadAll(ctx, &s.db, func(stored *storage.StoredSecret) []any {
		return []any{&stored.WebhookID, &stored.Secret, &stored.OldSecret}
	}, secretsAfter, after[:], int64(max(limit, 0)))
}

// replaceSecrets locks rows in ID order, so that concurrent calls cannot deadlock. FOR UPDATE checks the secret again
// after waiting for a lock. Expected secrets are passed as digests, so that the server's log does not show unencrypted
// secrets.
//
//nolint:gosec // a statement, not a credential
const replaceSecrets = `
WITH kept AS (
	SELECT w.id, r.previous, r.replacement
	FROM formsvc.webhooks w
	JOIN unnest((SELECT $1::bytea[]), (SELECT $2::bytea[]), (SELECT $3::bytea[])) AS r (id, previous, replacement)
		ON r.id = w.id AND r.previous IN (sha256(w.secret), sha256(w.old_secret)) AND r.previous <> sha256('')
	WHERE w.id = ANY ((SELECT $1::bytea[])::bytea[])
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
), changed AS (
	UPDATE formsvc.webhooks w SET
		secret = COALESCE((SELECT k.replacement FROM kept k WHERE k.id = w.id AND k.previous = sha256(w.secret)), w.secret),
		old_secret = COALESCE((SELECT k.replacement FROM kept k WHERE k.id = w.id AND k.previous = sha256(w.old_secret)), w.old_secret)
	WHERE w.id = ANY (ARRAY(SELECT k.id FROM kept k))
)
SELECT count(*) FROM kept`

// secretDigest returns nil for an empty secret, which is never replaced.
func secretDigest(secret []byte) []byte {
	if len(secret) == 0 {
		return nil
	}
	digest := sha256.Sum256(secret)
	return digest[:]
}

// ReplaceSecrets implements [storage.WebhookStore].
func (s *Store) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	if len(replacements) == 0 {
		return 0, ctx.Err()
	}
	var replaced int
	err := s.db.Change(ctx, conn.NewStatement(replaceSecrets,
		conn.ColumnArg(replacements, func(r *storage.SecretReplacement) []byte { return r.WebhookID[:] }),
		conn.ColumnArg(replacements, func(r *storage.SecretReplacement) []byte { return secretDigest(r.From) }),
		conn.ColumnArg(replacements, func(r *storage.SecretReplacement) []byte { return r.To })).ScanInto(&replaced))
	return replaced, err
}
