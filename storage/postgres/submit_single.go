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

// lockForSubmit takes the form's shared lock, so that submissions do not wait for each other. If the form has a
// response limit, it takes the exclusive lock, because each submission has to update the form's row in form_limits
// anyway. If a limit is set after this statement, the revision changes and the submission is rejected.
const lockForSubmit = `
SELECT CASE
	WHEN (SELECT f.response_limit > 0 FROM formsvc.forms f WHERE f.id = $1::bytea)
	THEN pg_advisory_xact_lock($2::bigint)
	ELSE pg_advisory_xact_lock_shared($2::bigint)
END`

// Outcomes of a submission, in the order of the checks.
const (
	submitStored = iota
	submitReplayed
	submitRevision
	submitDraft
	submitAnswered
	submitLimitReached
	submitDuplicate
	submitIDTaken // a submission with the same ID exists
)

// submit checks and stores a submission in one statement. It returns no row if the form does not exist. If a concurrent
// submission has the same key, answer or ID, the outcome is submitStored but no row is stored. The next run then sees
// the concurrent submission and returns the conflict. A repeated submission writes an empty message to the WAL, so that
// its commit also waits for the synchronous standby. The first commit may have been interrupted during this wait, so
// that its row is visible but would be lost in a failover.
const submit = `
WITH form AS (
	SELECT f.revision, f.status, f.response_limit, f.counted
	FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formNotTrashed + `
), earlier AS (
	SELECT s.id, s.form_revision, s.submitted_at, s.completion_time, s.answers, s.metadata, s.hidden, s.respondent, s.revision, s.changed_at, s.ending,
		pg_logical_emit_message(true, 'formsvc', '')
	FROM formsvc.submissions s
	WHERE s.form_id = $1::bytea AND s.idempotency_key = $8::text
), answered AS (
	SELECT s.submitted_at FROM formsvc.submissions s
	WHERE $19::boolean AND s.form_id = $1::bytea AND s.respondent = $18::text AND s.form_revision > 0
	ORDER BY s.submitted_at, s.id LIMIT 1
), verdict AS (
	SELECT form.revision, form.counted, CASE
		WHEN $8::text IS NOT NULL AND EXISTS (SELECT FROM earlier) THEN 1
		WHEN form.revision <> $10::bigint THEN 2
		WHEN form.status <> 'published' THEN 3
		WHEN EXISTS (SELECT FROM answered) THEN 4
		WHEN form.response_limit > 0 AND (
			SELECT l.submission_count >= form.response_limit FROM formsvc.form_limits l WHERE l.form_id = $1::bytea) THEN 5
		WHEN $9::bytea IS NOT NULL AND EXISTS (
			SELECT FROM formsvc.unique_answers u
			WHERE u.form_id = $1::bytea AND u.digest = $9::bytea AND u.block_id = $15::text AND u.rules = $16::bigint) THEN 6
		WHEN EXISTS (SELECT FROM formsvc.submissions s WHERE s.form_id = $1::bytea AND s.id = $2::bytea) THEN 7
		ELSE 0
	END AS code
	FROM form
), hooks AS (
	SELECT w.id, w.form_details FROM formsvc.webhooks w WHERE w.form_id = $1::bytea AND w.enabled
), detailed AS (
	SELECT array_agg(hooks.id) AS ids, COALESCE(octet_length($20::bytea), 0) AS size FROM hooks WHERE hooks.form_details HAVING count(*) > 0
), stored AS (
	INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time,
		answers, metadata, hidden, form_revision, json_bytes, idempotency_key, event_id, respondent, ending)
	SELECT $1::bytea, $2::bytea, $3::timestamptz, $4::float8, $5::json, $6::json, $7::json, $10::bigint, $14::integer, $8::text,
		CASE WHEN EXISTS (SELECT FROM hooks) THEN $11::bytea END, $18::text, $21::text
	FROM verdict WHERE code = 0
	ON CONFLICT DO NOTHING
	RETURNING id, event_id
), entered AS (
	INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
	SELECT $1::bytea, $9::bytea, $15::text, $16::bigint, 0, stored.id FROM stored WHERE $9::bytea IS NOT NULL
), ` + restartForOtherRules + `, taken AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count + ` + countIncrement + `
	FROM verdict, stored response
	WHERE l.form_id = $1::bytea AND verdict.counted
), counted AS (
	INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
	SELECT $1::bytea, $3::timestamptz, 0, 0, 1 FROM stored
), told AS (
	INSERT INTO formsvc.events (id, form_id, submission_id, type, body, refs, details, detailed)
	SELECT event_id, $1::bytea, $2::bytea, $12::text, $13::bytea, (SELECT count(*) FROM hooks), CASE WHEN detailed.ids IS NOT NULL THEN $20::bytea END, detailed.ids
	FROM stored LEFT JOIN detailed ON true WHERE event_id IS NOT NULL
), queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hooks.id, stored.event_id, 0, octet_length($13::bytea) + COALESCE((SELECT detailed.size FROM detailed), 0) FROM hooks, stored WHERE stored.event_id IS NOT NULL
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id) SELECT hooks.id FROM hooks, stored WHERE stored.event_id IS NOT NULL
), emptied AS (
	UPDATE formsvc.partials p SET ` + clearPartial + `
	FROM (SELECT s.id, $17::bytea AS partial, $1::bytea AS form_id, $3::timestamptz AS submitted_at FROM stored s) g
	WHERE ` + partialOfSubmission + `
)
SELECT v.code, v.revision, v.counted, EXISTS (SELECT FROM stored), (SELECT a.submitted_at FROM answered a),
	e.id, e.form_revision, e.submitted_at, e.completion_time, e.answers, e.metadata, e.hidden, e.respondent, COALESCE(e.revision, 1), e.changed_at, e.ending
FROM verdict v LEFT JOIN earlier e ON v.code = 1`

// lockPartial runs before a submission takes its other locks, so that it holds none of these while waiting.
const lockPartial = `
SELECT FROM formsvc.partials p WHERE p.token = $1::bytea AND (p.form_id = $2::bytea AND p.open) IS TRUE FOR NO KEY UPDATE`

// maxSubmitTries limits the attempts to store a submission if concurrent submissions have the same key, answer or ID.
const maxSubmitTries = 8

// submitSingle stores a submission or determines why it cannot be stored. It leaves all deliveries to claims.
func (s *Store) submitSingle(ctx context.Context, n storage.NewSubmission) (submitResult, error) {
	for range maxSubmitTries {
		out, err := s.trySubmit(ctx, n)
		if err != nil {
			return submitResult{}, err
		}
		if out.decided() {
			if out.stored && n.Dispatcher != nil {
				n.Dispatcher.Reserve(n.Submission.FormID)
				n.Dispatcher.Dispatch(nil, true)
			}
			return out, nil
		}
	}
	return submitResult{}, fmt.Errorf("%w: other submissions with the same idempotency key changed repeatedly", storage.ErrUnavailable)
}

type submitResult struct {
	stored, replayed bool
	submission       storage.Submission // set if the submission is replayed
	err              error
	statementFailed  bool // the outcome is undecided, because the batch's statement failed
	counted          bool // whether the form counts its submissions; set by submitSingle
}

func (r *submitResult) decided() bool { return r.stored || r.replayed || r.err != nil }

func (s *Store) trySubmit(ctx context.Context, n storage.NewSubmission) (out submitResult, err error) {
	sub := &n.Submission
	batch := append([]conn.Statement{conn.NewStatement(lockForSubmit, sub.FormID[:], s.lockKey(lockForms, sub.FormID))}, s.valueLockStatements(n)...)
	token := tokenArg(&n.Partial)
	args := []any{
		sub.FormID[:], sub.ID[:], sub.SubmittedAt.UTC(), sub.CompletionTime,
		sub.Answers, sub.Metadata, sub.Hidden,
		conn.TextArg(n.IdempotencyKey), n.UniqueAnswer, n.FormRevision,
		conn.IDArg(n.Event.ID), n.Event.Type, conn.ListArg(n.Event.Body),
		jsonSize(sub), n.UniqueField.Block, int64(n.UniqueField.Rules), token,
		conn.TextArg(sub.Respondent), n.OnePerRespondent, n.Event.Details, conn.TextArg(sub.Ending),
	}
	if token != nil {
		batch = slices.Insert(batch, 0, conn.NewStatement(lockPartial, token, sub.FormID[:]))
	}

	var code int
	var revision int64
	var answered time.Time
	err = s.db.SendWrite(ctx, append(batch, conn.NewStatement(submit, args...).ReadRow(func(rows pgx.Rows) error {
		return scanSubmission(rows, &out.submission, &code, &revision, &out.counted, &out.stored, &answered)
	}))...)
	if conn.SQLState(err) == conn.UniqueViolation {
		return submitResult{}, fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	switch code {
	case submitReplayed:
		out.replayed, out.submission.FormID = true, sub.FormID
	case submitRevision:
		out.err = &storage.RevisionError{Current: revision}
	case submitDraft:
		out.err = storage.ErrNotFound
	case submitAnswered:
		out.err = &storage.AnsweredError{SubmittedAt: answered}
	case submitLimitReached:
		out.err = storage.ErrLimitReached
	case submitDuplicate:
		out.err = storage.ErrDuplicate
	case submitIDTaken:
		out.err = storage.ErrConflict
	}
	return out, conn.TranslateNoRow(err, storage.ErrNotFound)
}
