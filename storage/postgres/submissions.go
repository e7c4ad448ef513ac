package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// submissionColumns are what scanSubmission reads. The caller knows the form.
const submissionColumns = `s.id, s.form_revision, s.submitted_at, s.completion_time, s.answers, s.metadata, s.hidden`

// scanSubmission reads a row of submissionColumns into a record of its own. The
// three JSON values are passed on as they are stored.
func scanSubmission(rows pgx.Rows, form storage.ID) (storage.Submission, error) {
	sub := storage.Submission{FormID: form}
	err := rows.Scan(submissionTargets(&sub)...)
	own(&sub.Answers, &sub.Metadata, &sub.Hidden)
	return sub, err
}

func submissionTargets(sub *storage.Submission) []any {
	return []any{
		scanID(&sub.ID), scanInt(&sub.FormRevision), scanTime(&sub.SubmittedAt), scanFloat(&sub.CompletionTime),
		scanBorrowed(&sub.Answers), scanBorrowed(&sub.Metadata), scanBorrowed(&sub.Hidden),
	}
}

const submissionByKey = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
WHERE s.form_id = $1::bytea AND s.idempotency_key = $2::text AND ` + formThere

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (storage.Submission, error) {
	if !storage.ValidText(idempotencyKey) {
		return storage.Submission{}, notStored(ctx)
	}
	return s.oneSubmission(ctx, form, submissionByKey, form[:], textArg(idempotencyKey))
}

const submissionByID = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
WHERE s.form_id = $1::bytea AND s.id = $3::bytea AND ` + formAccess

// Submission implements [storage.SubmissionStore].
func (s *Store) Submission(ctx context.Context, who storage.Actor, form, id storage.ID) (storage.Submission, error) {
	return s.oneSubmission(ctx, form, submissionByID, form[:], userArg(who), id[:])
}

func (s *Store) oneSubmission(ctx context.Context, form storage.ID, text string, args ...any) (storage.Submission, error) {
	var sub storage.Submission
	err := s.read(ctx, func(ctx context.Context) error {
		err := s.queryRow(ctx, text, func(rows pgx.Rows) (err error) {
			sub, err = scanSubmission(rows, form)
			return err
		}, args...)
		return noRow(err, storage.ErrNotFound)
	})
	if err != nil {
		return storage.Submission{}, err
	}
	return sub, nil
}

// lockSubmission locks what is pending of a submission's event, and then the event:
// after it no redelivery can add to that. Every statement locks deliveries before
// their event. One that a redelivery added meanwhile is for the next statement.
const lockSubmission = `
WITH response AS MATERIALIZED (
	SELECT s.event_id
	FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
	WHERE s.form_id = $1::bytea AND s.id = $3::bytea AND ` + formAccess + `
), pending AS MATERIALIZED (
	SELECT d.webhook_id
	FROM response r
	JOIN formsvc.webhooks w ON w.form_id = $1::bytea
	JOIN formsvc.deliveries d ON d.webhook_id = w.id AND d.event_id = r.event_id
	ORDER BY d.webhook_id
	FOR UPDATE OF d
)
SELECT e.id
FROM response r JOIN formsvc.events e ON e.id = r.event_id
WHERE (SELECT count(*) FROM pending) >= 0
FOR UPDATE OF e`

// deleteSubmission runs after lockSubmission.
const deleteSubmission = `
WITH gone AS (
	DELETE FROM formsvc.submissions s USING formsvc.forms f
	WHERE s.form_id = $1::bytea AND s.id = $3::bytea
		AND f.id = $1::bytea AND ` + formAccess + `
	RETURNING s.id, s.event_id
), freed AS (
	DELETE FROM formsvc.unique_answers u USING gone
	WHERE u.form_id = $1::bytea AND u.submission_id = gone.id
), ended AS (
	DELETE FROM formsvc.deliveries d USING gone, formsvc.webhooks w
	WHERE w.form_id = $1::bytea AND d.webhook_id = w.id AND d.event_id = gone.event_id
	RETURNING 1
), forgotten AS (
	DELETE FROM formsvc.events e USING gone
	WHERE e.id = gone.event_id AND e.form_id = $1::bytea AND (SELECT count(*) FROM ended) >= 0
), room AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count - ` + oneIfCounted + `
	FROM gone response
	WHERE l.form_id = $1::bytea
)
SELECT count(*) FROM gone`

// DeleteSubmission implements [storage.SubmissionStore]. Like a response it takes the
// form's lock shared, so that it is either counted for a new limit or not there any
// more.
func (s *Store) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	return s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.lockFormShared(b, form)
		s.queue(b, lockSubmission, form[:], userArg(who), id[:])
		s.queue(b, deleteSubmission, form[:], userArg(who), id[:])
		var gone int64
		err := s.sendRow(ctx, b, func(rows pgx.Rows) error { return rows.Scan(&gone) })
		if err == nil && gone == 0 {
			return storage.ErrNotFound
		}
		return err
	})
}
