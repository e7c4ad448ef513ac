package postgres

import (
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// These statements store submissions that have no conflict, and return their IDs. The previous statement has already
// locked the forms, so these statements wait only for a countBatch in progress. They skip submissions with an outdated
// unique field, with a locked partial submission, or with a value that another transaction is storing. The submit
// statement then determines the outcomes of the skipped submissions. The statements that also lease deliveries are
// separate, because leasing makes storing a single submission a quarter slower even if there are no deliveries.
// testdata/submit.txt contains the complete statements.
const (
	insertForForms       = submissionsForForms + insertSubmissions + queueDeliveries
	insertForFormsLeased = submissionsForForms + insertSubmissions + leaseDeliveries
	insertForForm        = submissionsForForm + insertSubmissions + applyLimits + queueDeliveries
	insertForFormLeased  = submissionsForForm + insertSubmissions + applyLimits + leaseDeliveries
)

// tryLockForms locks the forms whose lock is free. It is a separate statement, because the next statement's
// snapshot must not be older than the locks. It passes the locked forms to the next statement in a setting that ends
// with the transaction. The setting's name is the same in every schema, because "formsvc" is not followed by a dot.
const tryLockForms = `
SELECT set_config('formsvc_responses.locked', COALESCE(array_agg(f.id), '{}')::text, true), ` + conn.LockTimeoutSet + `
FROM unnest($1::bytea[], $2::bigint[]) AS f (id, lock) WHERE pg_try_advisory_xact_lock_shared(f.lock)`

// submissionArgs returns the arguments as a table. The subqueries hide the arrays' lengths from the planner. Otherwise,
// a plan for these lengths would look cheaper than the generic plan, and each call would be planned again.
const submissionArgs = `
		SELECT * FROM unnest(
			(SELECT $1::bytea[]), (SELECT $2::bytea[]), (SELECT $3::bigint[]), (SELECT $4::timestamptz[]),
			(SELECT $5::float8[]), (SELECT $6::json[]), (SELECT $7::json[]), (SELECT $8::json[]), (SELECT $9::integer[]),
			(SELECT $10::text[]), (SELECT $11::bigint[]), (SELECT $12::bytea[]), (SELECT $13::text[]), (SELECT $14::bytea[]),
			(SELECT $15::bytea[]), (SELECT $16::bigint[]), (SELECT $17::text[]), (SELECT $18::bigint[]), (SELECT $19::bytea[]),
			(SELECT $20::text[]), (SELECT $21::bytea[]), (SELECT $22::text[])
		) WITH ORDINALITY AS r (form_id, id, revision, submitted_at,
			completion_time, answers, metadata, hidden, json_bytes,
			idempotency_key, key_lock, event_id, event_type, event_body,
			unique_answer, answer_lock, unique_block, unique_rules,
			partial, respondent, event_details, ending, place)`

// detailedWebhooks are the webhooks of the form f that get an event's details. eventSize is the size of an event for
// its largest delivery.
const (
	detailedWebhooks = `ARRAY(SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = f.id AND w.enabled AND w.form_details) AS detailed`
	eventSize        = `octet_length(g.event_body) + CASE WHEN g.detailed <> '{}' THEN COALESCE(octet_length(g.event_details), 0) ELSE 0 END`
)

// submissionsForForms selects submissions to locked forms that do not count their submissions.
const submissionsForForms = `
WITH form AS MATERIALIZED (
	SELECT f.id, f.revision, ARRAY(SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = f.id AND w.enabled) AS hooks,
		` + detailedWebhooks + `
	FROM formsvc.forms f
	WHERE f.id = ANY ((SELECT current_setting('formsvc_responses.locked')::bytea[])::bytea[]) AND NOT f.counted
		AND ` + formNotTrashed + ` AND f.status = 'published'
), given AS MATERIALIZED (
	SELECT g.*, CASE WHEN g.event_id IS NOT NULL THEN form.hooks ELSE '{}' END AS hooks, form.detailed
	FROM form JOIN (` + submissionArgs + `
	) g ON g.form_id = form.id
	WHERE ` + isInsertable + `
)`

// submissionsForForm selects submissions to one locked form, which can have a limit and a unique field. It looks up
// values in scalar subqueries, because with EXISTS, the planner might hash all of the form's submissions.
const submissionsForForm = `
WITH form AS MATERIALIZED (
	SELECT f.id, f.revision, ARRAY(SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = f.id AND w.enabled) AS hooks,
		` + detailedWebhooks + `, f.unique_block, f.unique_rules, f.response_limit, f.counted,
		f.response_limit - COALESCE((SELECT l.submission_count FROM formsvc.form_limits l WHERE l.form_id = f.id), 0) AS room
	FROM formsvc.forms f
	WHERE f.id = ($1::bytea[])[1] AND ` + formNotTrashed + ` AND f.status = 'published'
), given AS MATERIALIZED (
	SELECT g.*, CASE WHEN g.event_id IS NOT NULL THEN form.hooks ELSE '{}' END AS hooks, form.detailed
	FROM form JOIN (` + submissionArgs + `
	) g ON g.form_id = form.id
	WHERE ` + isInsertable + `
		AND (form.response_limit = 0 OR g.place <= form.room)
		AND (g.answer_lock = 0 OR g.unique_block = form.unique_block AND g.unique_rules = form.unique_rules
			AND pg_try_advisory_xact_lock(g.answer_lock) AND (
				SELECT true FROM formsvc.unique_answers u
				WHERE u.form_id = form.id AND u.digest = g.unique_answer AND u.block_id = g.unique_block AND u.rules = g.unique_rules LIMIT 1) IS NULL)
)`

// isInsertable is the condition that the submission g has the form's revision and a new idempotency key, and that its
// partial submission is not locked.
const isInsertable = `g.revision = form.revision
		AND (g.key_lock = 0 OR pg_try_advisory_xact_lock(g.key_lock) AND (
			SELECT true FROM formsvc.submissions s WHERE s.form_id = form.id AND s.idempotency_key = g.idempotency_key) IS NULL)
		AND (g.partial IS NULL OR (SELECT true FROM formsvc.partials p WHERE ` + partialOfSubmission + ` FOR NO KEY UPDATE SKIP LOCKED) IS NOT NULL
			OR (SELECT true FROM formsvc.partials p WHERE ` + partialOfSubmission + `) IS NULL)`

const insertSubmissions = `, stored AS (
	INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time,
		answers, metadata, hidden, form_revision, json_bytes, idempotency_key, event_id, respondent, ending)
	SELECT g.form_id, g.id, g.submitted_at, g.completion_time,
		g.answers, g.metadata, g.hidden, g.revision, g.json_bytes, NULLIF(g.idempotency_key, ''),
		CASE WHEN g.hooks <> '{}' THEN g.event_id END, NULLIF(g.respondent, ''), NULLIF(g.ending, '')
	FROM given g
), emptied AS (
	UPDATE formsvc.partials p SET ` + clearPartial + ` FROM given g WHERE ` + partialOfSubmission + `
), counted AS (
	INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
	SELECT g.form_id, min(g.submitted_at), 0, 0, count(*) FROM given g GROUP BY g.form_id, date_trunc('minute', g.submitted_at, 'UTC')
), told AS (
	INSERT INTO formsvc.events (id, form_id, submission_id, type, body, refs, details, detailed)
	SELECT g.event_id, g.form_id, g.id, g.event_type, g.event_body, cardinality(g.hooks), CASE WHEN g.detailed <> '{}' THEN g.event_details END, NULLIF(g.detailed, '{}')
	FROM given g WHERE g.hooks <> '{}'
)`

const applyLimits = `, entered AS (
	INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
	SELECT g.form_id, g.unique_answer, g.unique_block, g.unique_rules, 0, g.id FROM given g WHERE g.answer_lock <> 0
), taken AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count + (SELECT count(*) FROM unnest(responses.ids) AS response (id) WHERE ` + coveredByCount + `)
	FROM form, (SELECT array_agg(g.id) AS ids FROM given g) responses
	WHERE l.form_id = form.id AND form.counted
)`

// partialOfSubmission is the condition that the submission g completes the partial submission p. IS TRUE keeps the
// planner from using indexes other than the one on the token. clearPartial marks the partial submission as submitted.
const (
	partialOfSubmission = `p.token = g.partial AND (p.form_id = g.form_id AND p.open AND p.ends_at > g.submitted_at) IS TRUE`
	clearPartial        = `submission_id = g.id, answers = NULL, hidden = NULL, metadata = NULL, block = '', seconds = 0`
)

const queueDeliveries = `, queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hook.id, g.event_id, 0, ` + eventSize + ` FROM given g CROSS JOIN unnest(g.hooks) AS hook (id)
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id)
	SELECT DISTINCT hook.id FROM given g CROSS JOIN unnest(g.hooks) AS hook (id)
)
SELECT g.id, g.hooks <> '{}' FROM given g`

// leaseDeliveries leases the deliveries in the last three arguments if their webhooks are neither due nor paused. It
// returns rows for the stored submissions and the leased deliveries, with the state of the webhooks.
const leaseDeliveries = `, granted AS MATERIALIZED (
	SELECT h.*, statement_timestamp() + h.lease * interval '1 microsecond' AS until, x.generation
	FROM (
		SELECT h.webhook_id, array_agg(h.event_id) AS events, max(h.lease) AS lease
		FROM (
			SELECT * FROM unnest($23::bytea[], $24::bytea[], $25::bigint[]) AS h (webhook_id, event_id, lease)
			LIMIT (SELECT cardinality($23::bytea[]))
		) h
		GROUP BY h.webhook_id
	) h
	CROSS JOIN LATERAL (
		SELECT x.generation FROM formsvc.destinations x
		WHERE x.webhook_id = h.webhook_id AND (x.next_at IS NULL OR x.next_at > statement_timestamp())
			AND (x.paused_until IS NULL OR x.paused_until <= statement_timestamp())
		LIMIT 1) x
), queued AS (
	INSERT INTO formsvc.deliveries AS d (webhook_id, event_id, due_at, leased_until, token, size, generation)
	SELECT hook.id, g.event_id, h.until, h.until,
		CASE WHEN h.until IS NULL THEN 0 ELSE nextval('formsvc.delivery_tokens') END, ` + eventSize + `, COALESCE(h.generation, 0)
	FROM given g CROSS JOIN unnest(g.hooks) AS hook (id) LEFT JOIN granted h ON h.webhook_id = hook.id AND g.event_id = ANY (h.events)
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id) SELECT DISTINCT q.webhook_id FROM queued q WHERE q.token = 0
)
SELECT g.id, EXISTS (SELECT FROM queued q WHERE q.token = 0), NULL::bytea, NULL::bigint, NULL::integer,
	NULL::bytea, NULL::bytea, NULL::bytea, NULL, NULL, NULL::bytea, NULL::bytea,
	NULL::boolean, NULL::integer, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL, NULL::integer, false
FROM given g
UNION ALL
SELECT NULL, false, q.event_id, q.token, q.attempt, q.webhook_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, EXISTS (SELECT FROM form WHERE q.webhook_id = ANY (form.detailed))
FROM queued q WHERE q.token <> 0
UNION ALL
SELECT NULL, false, NULL, NULL, NULL, ` + webhookStateColumns + `, false
FROM granted h
CROSS JOIN LATERAL (SELECT * FROM formsvc.webhooks w WHERE w.id = h.webhook_id LIMIT 1) w
CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = h.webhook_id LIMIT 1) x`

type submissionRow struct {
	n                   *storage.NewSubmission
	keyLock, answerLock int64 // zero if the value is missing
}

// distinctRows omits submissions that repeat an ID, an idempotency key or a unique answer within the batch, because the
// statement does not see its own rows. places maps IDs to positions in the batch.
func (s *Store) distinctRows(batch []storage.NewSubmission) (rows []submissionRow, places map[storage.ID]int) {
	rows, places = make([]submissionRow, 0, len(batch)), make(map[storage.ID]int, len(batch))
	values := map[int64]bool{}
	for i := range batch {
		n := &batch[i]
		r := submissionRow{n: n}
		r.keyLock, r.answerLock = s.valueLockKeys(n)
		if _, again := places[n.Submission.ID]; again || values[r.keyLock] || values[r.answerLock] {
			continue
		}
		places[n.Submission.ID] = i
		values[r.keyLock], values[r.answerLock] = r.keyLock != 0, r.answerLock != 0
		rows = append(rows, r)
	}
	return rows, places
}

// insertArgs returns the arguments in the order of submissionArgs.
func insertArgs(rows []submissionRow) []any {
	return []any{
		conn.ColumnArg(rows, formIDArg),
		conn.ColumnArg(rows, func(r *submissionRow) []byte { return r.n.Submission.ID[:] }),
		conn.ColumnArg(rows, func(r *submissionRow) int64 { return r.n.FormRevision }),
		conn.ColumnArg(rows, func(r *submissionRow) time.Time { return r.n.Submission.SubmittedAt.UTC() }),
		conn.ColumnArg(rows, func(r *submissionRow) float64 { return r.n.Submission.CompletionTime }),
		conn.ColumnArg(rows, func(r *submissionRow) json.RawMessage { return r.n.Submission.Answers }),
		conn.ColumnArg(rows, func(r *submissionRow) json.RawMessage { return r.n.Submission.Metadata }),
		conn.ColumnArg(rows, func(r *submissionRow) json.RawMessage { return r.n.Submission.Hidden }),
		conn.ColumnArg(rows, func(r *submissionRow) int { return jsonSize(&r.n.Submission) }),
		conn.ColumnArg(rows, func(r *submissionRow) string { return r.n.IdempotencyKey }),
		conn.ColumnArg(rows, func(r *submissionRow) int64 { return r.keyLock }),
		conn.ColumnArg(rows, func(r *submissionRow) []byte { return conn.IDArg(r.n.Event.ID) }),
		conn.ColumnArg(rows, func(r *submissionRow) string { return r.n.Event.Type }),
		conn.ColumnArg(rows, func(r *submissionRow) []byte { return conn.ListArg(r.n.Event.Body) }),
		conn.ColumnArg(rows, func(r *submissionRow) []byte { return r.n.UniqueAnswer }),
		conn.ColumnArg(rows, func(r *submissionRow) int64 { return r.answerLock }),
		conn.ColumnArg(rows, func(r *submissionRow) string { return r.n.UniqueField.Block }),
		conn.ColumnArg(rows, func(r *submissionRow) int64 { return int64(r.n.UniqueField.Rules) }),
		conn.ColumnArg(rows, func(r *submissionRow) []byte { return tokenArg(&r.n.Partial) }),
		conn.ColumnArg(rows, func(r *submissionRow) string { return r.n.Submission.Respondent }),
		conn.ColumnArg(rows, func(r *submissionRow) []byte { return r.n.Event.Details }),
		conn.ColumnArg(rows, func(r *submissionRow) string { return r.n.Submission.Ending }),
	}
}

func formIDArg(r *submissionRow) []byte { return r.n.Submission.FormID[:] }
