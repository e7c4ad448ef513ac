package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// maxFailingWebhooks limits the failing webhooks that one ExpireDeliveries call handles, because the call creates an ID
// for each. A call that finds no old deliveries takes 1 to 10 ms on a busy machine.
const maxFailingWebhooks = 200

// expiredDelivery is the condition that the delivery d is waiting for its webhook, is old enough, and was not requested
// by a user. longFailingWebhook is the condition that the destination x has failed for that long, and failed recently.
const (
	expiredDelivery = `d.due_at IS NULL AND ` + requestedByUser + ` = 0
	AND (d.leased_until IS NULL OR d.leased_until <= statement_timestamp())
	AND d.queued_at <= statement_timestamp() - $2::bigint * interval '1 microsecond'`
	longFailingWebhook = `x.failing_since <= statement_timestamp() - $2::bigint * interval '1 microsecond'
	AND x.failed_at > statement_timestamp() - $5::bigint * interval '1 microsecond'`
)

// expire ends the expired deliveries of long-failing webhooks, one webhook after another and oldest first. It returns
// the summaries. A row without a summary contains the number of ended deliveries, and the last webhook if more remain.
// Rows can change before they are locked, because a user redelivers, the webhook gets a new URL, or a request succeeds.
// The server then rechecks only the conditions on the locked table, so the CTEs held and marked repeat
// these conditions. Each CTE reads the previous one, so that deliveries are locked before destinations,
// and destinations before events.
var expire = `
WITH failing AS MATERIALIZED (
	SELECT x.webhook_id, ` + longFailingWebhook + ` AS given_up, row_number() OVER (ORDER BY x.webhook_id) AS number
	FROM (
		SELECT * FROM formsvc.destinations x
		WHERE x.failing_since IS NOT NULL AND x.webhook_id >= $1::bytea
		ORDER BY x.webhook_id LIMIT (SELECT $4::bigint)
	) x
), old AS MATERIALIZED (
	SELECT f.webhook_id, d.event_id
	FROM failing f CROSS JOIN LATERAL (
		SELECT d.event_id, d.queued_at FROM formsvc.deliveries d
		WHERE d.webhook_id = f.webhook_id AND ` + expiredDelivery + `
		ORDER BY d.queued_at, d.event_id LIMIT (SELECT $3::bigint)
	) d
	WHERE f.given_up
	ORDER BY f.webhook_id, d.queued_at, d.event_id
	LIMIT (SELECT $3::bigint)
), held AS MATERIALIZED (
	SELECT d.webhook_id, d.event_id, d.queued_at, d.attempt
	FROM (SELECT array_agg(o.webhook_id) AS webhooks, array_agg(o.event_id) AS events FROM old o) few,
		unnest(few.webhooks, few.events) AS o (webhook_id, event_id)
	JOIN formsvc.deliveries d ON d.webhook_id = o.webhook_id AND d.event_id = o.event_id
	WHERE CASE WHEN ` + expiredDelivery + ` THEN true ELSE false END -- CASE, so that the planner looks rows up by key
	ORDER BY d.event_id, d.webhook_id
	FOR UPDATE OF d
), marked AS MATERIALIZED (
	SELECT x.webhook_id, COALESCE(x.expired_at <= statement_timestamp() - $6::bigint * interval '1 microsecond', true) AS quiet
	FROM formsvc.destinations x
	WHERE x.webhook_id = ANY (ARRAY(SELECT DISTINCT h.webhook_id FROM held h)) AND ` + longFailingWebhook + `
	ORDER BY x.webhook_id
	FOR NO KEY UPDATE OF x
), ended AS (
	DELETE FROM formsvc.deliveries d USING held h
	WHERE d.webhook_id = h.webhook_id AND d.event_id = h.event_id
		AND h.webhook_id = ANY (ARRAY(SELECT m.webhook_id FROM marked m))
	RETURNING d.webhook_id, d.event_id
), ` + transferReferences + `, told AS (
	INSERT INTO formsvc.attempts AS a (webhook_id, id, event_id, event_type, submission_id, attempt, http_status, success, error, duration_us, created_at)
	SELECT o.webhook_id, ($7::bytea[])[f.number], o.event_id, e.type, e.submission_id, o.attempt, 0, false, '` + storage.DeliveryExpired + `', 0, $8::timestamptz
	FROM (SELECT DISTINCT ON (h.webhook_id) h.* FROM held h ORDER BY h.webhook_id, h.queued_at, h.event_id) o
	JOIN marked m ON m.webhook_id = o.webhook_id
	JOIN failing f ON f.webhook_id = o.webhook_id
	JOIN formsvc.events e ON e.id = o.event_id
	WHERE m.quiet
	RETURNING a.*
), ` + truncateSummaries + `, changes AS (
	SELECT l.event_id, l.refs FROM left_over l
	UNION ALL
	SELECT t.event_id, 1 FROM told t
	UNION ALL
	SELECT cut.event_id, -1 FROM cut
), ` + updateReferences + `
SELECT t.webhook_id, t.id, t.event_id, t.event_type, t.submission_id, t.attempt, t.created_at, NULL::bigint FROM told t
UNION ALL
SELECT CASE
	WHEN (SELECT count(*) FROM old) >= $3::bigint THEN (SELECT o.webhook_id FROM old o ORDER BY o.webhook_id DESC LIMIT 1)
	WHEN (SELECT count(*) FROM failing) >= $4::bigint THEN (SELECT f.webhook_id FROM failing f ORDER BY f.webhook_id DESC LIMIT 1) END,
	NULL, NULL, NULL, NULL, NULL, NULL, (SELECT count(*) FROM ended)`

// truncateSummaries is part of a WITH list. It follows the CTE told, which contains the new summaries. It
// records when these were added, and deletes older summaries that exceed MaxExpiredSummaries.
var truncateSummaries = fmt.Sprintf(`past AS MATERIALIZED (
	SELECT a.rel, a.place FROM told t CROSS JOIN LATERAL (
		SELECT a.tableoid AS rel, a.ctid AS place FROM formsvc.attempts a
		WHERE a.webhook_id = t.webhook_id AND a.error = '%s'
		ORDER BY a.created_at DESC, a.id DESC
		OFFSET %d - 1
	) a
), cut AS (
	DELETE FROM formsvc.attempts a WHERE a.ctid = ANY (ARRAY(SELECT l.place FROM past l)) AND (a.tableoid, a.ctid) IN (SELECT l.rel, l.place FROM past l)
	RETURNING a.event_id
), quieted AS (
	UPDATE formsvc.destinations x SET expired_at = statement_timestamp()
	FROM told t
	WHERE x.webhook_id = t.webhook_id
)`, storage.DeliveryExpired, storage.MaxExpiredSummaries)

// addExpiredSummaries adds a summary for each webhook whose delivery expired with its result. It skips webhooks that
// had a summary recently, and locked webhooks.
var addExpiredSummaries = `
WITH over AS MATERIALIZED (
	SELECT DISTINCT ON (o.webhook_id) o.*
	FROM unnest((SELECT $1::bytea[]), (SELECT $2::bytea[]), (SELECT $3::bytea[]), (SELECT $4::integer[]), (SELECT $5::timestamptz[])) AS o (webhook_id, event_id, id, attempt, created_at)
	ORDER BY o.webhook_id, o.id
), quiet AS MATERIALIZED (
	SELECT x.webhook_id FROM formsvc.destinations x
	WHERE x.webhook_id = ANY (ARRAY(SELECT o.webhook_id FROM over o))
		AND COALESCE(x.expired_at <= statement_timestamp() - $6::bigint * interval '1 microsecond', true)
	FOR NO KEY UPDATE SKIP LOCKED
), told AS (
	INSERT INTO formsvc.attempts AS a (webhook_id, id, event_id, event_type, submission_id, attempt, http_status, success, error, duration_us, created_at)
	SELECT o.webhook_id, o.id, o.event_id, e.type, e.submission_id, o.attempt, 0, false, '` + storage.DeliveryExpired + `', 0, o.created_at
	FROM over o JOIN quiet q ON q.webhook_id = o.webhook_id JOIN formsvc.events e ON e.id = o.event_id
	RETURNING a.*
), ` + truncateSummaries + `, changes AS (
	SELECT t.event_id, 1 AS refs FROM told t
	UNION ALL
	SELECT cut.event_id, -1 FROM cut
), ` + updateReferences + `
SELECT count(*) FROM told`

// addExpiredSummaries adds the summaries for settled results. If a user requested a delivery in the meantime, it adds
// no summary, because the delivery did not end.
func (s *Store) addExpiredSummaries(ctx context.Context, settled []pendingResult) error {
	over := slices.DeleteFunc(settled, func(r pendingResult) bool { return r.Summary.IsZero() || r.urgency == 2 })
	if len(over) == 0 {
		return nil
	}
	_, err := s.db.ChangeRows(ctx, addExpiredSummaries, conn.ColumnArg(over, (*pendingResult).webhook), conn.ColumnArg(over, (*pendingResult).event),
		conn.ColumnArg(over, func(r *pendingResult) []byte { return r.Summary[:] }),
		conn.ColumnArg(over, func(r *pendingResult) int { return r.Delivery.Attempt + 1 }),
		conn.ColumnArg(over, func(r *pendingResult) time.Time { return r.Delivery.CreatedAt.UTC() }), storage.ExpiredSummaryInterval.Microseconds())
	return err
}

// ExpireDeliveries implements [storage.DeliveryStore].
func (s *Store) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (storage.Expired, error) {
	if err := ctx.Err(); err != nil || p.Max < 1 {
		return storage.Expired{}, err
	}
	ids := make([]storage.ID, maxFailingWebhooks)
	for i := range ids {
		ids[i] = p.NewID()
	}
	var done storage.Expired
	err := s.db.Write(ctx, func(ctx context.Context) error {
		done = storage.Expired{}
		a := storage.Delivery{Error: storage.DeliveryExpired}
		var ended *int
		row := []any{&a.WebhookID, &a.ID, &a.EventID, &a.EventType, &a.SubmissionID, &a.Attempt, &a.CreatedAt, &ended}
		return s.db.SendWrite(ctx, conn.NewStatement(expire, p.From[:], p.MaxAge.Microseconds(), int64(p.Max), int64(maxFailingWebhooks),
			storage.MaxFailureGap.Microseconds(), storage.ExpiredSummaryInterval.Microseconds(), conn.IDsArg(ids), p.At.UTC()).ReadEach(func(rows pgx.Rows) error {
			return conn.EachRow(rows, row, func() {
				if ended != nil {
					done.Deliveries, done.Next = *ended, a.WebhookID
				} else {
					done.Summaries = append(done.Summaries, a)
				}
			})
		}))
	})
	s.noteWork(ctx, "dispatched")
	return done, err
}

const pausedWebhooks = `
SELECT x.webhook_id, w.form_id, w.url, x.failures, x.failing_since, x.paused_until, x.pause_reason
FROM formsvc.destinations x
JOIN formsvc.webhooks w ON w.id = x.webhook_id
CROSS JOIN LATERAL (SELECT FROM formsvc.forms f WHERE f.id = w.form_id AND ` + rowNotTrashed + ` LIMIT 1) f
WHERE x.paused_until IS NOT NULL AND ` + localWebhook + ` = (SELECT $5::boolean) AND (x.failing_since, x.webhook_id) < (COALESCE((SELECT $1::timestamptz), 'infinity'), (SELECT $2::bytea))
	AND ` + webhookNotDeleted + ` AND ((SELECT $4::bytea) IS NULL OR (
		SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = w.workspace_id AND a.user_id = (SELECT $4::bytea)))
ORDER BY x.failing_since DESC, x.webhook_id DESC
LIMIT (SELECT $3::bigint)`

// PausedWebhooks implements [storage.DeliveryStore].
func (s *Store) PausedWebhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.PausedWebhook, error) {
	return conn.ReadAll(ctx, &s.db, func(p *storage.PausedWebhook) []any {
		return []any{&p.WebhookID, &p.FormID, &p.URL, &p.Failures, &p.FailingSince, &p.PausedUntil, &p.Reason}
	}, pausedWebhooks, append(pageArgs(page), userArg(actor), actor.Local())...)
}

const queueStats = `
SELECT COALESCE(sum(q.due), 0)::bigint, COALESCE(sum(q.waiting), 0)::bigint, min(q.oldest)
FROM (
	SELECT count(*) FILTER (WHERE d.due AND NOT d.held) AS due,
		count(*) FILTER (WHERE NOT d.due OR d.held) AS waiting,
		min(d.queued_at) FILTER (WHERE d.due AND NOT d.held) AS oldest
	FROM (
		SELECT d.queued_at, d.due_at IS NULL OR d.due_at <= statement_timestamp() OR d.token <> 0 AS due,
			d.urgency = 0 AND COALESCE(x.paused_until > statement_timestamp(), false) AS held
		FROM formsvc.deliveries d JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id
		JOIN formsvc.webhooks w ON w.id = d.webhook_id
		WHERE ` + webhookNotDeleted + `
	) d
) q`

// QueueStats implements [storage.DeliveryStore].
func (s *Store) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	return conn.ReadOne(ctx, &s.db, func(st *storage.QueueStats) []any {
		return []any{&st.Due, &st.Waiting, &st.OldestDue}
	}, queueStats)
}
