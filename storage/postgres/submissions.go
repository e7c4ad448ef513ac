package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// submissionColumns are the columns for scanSubmission. They omit the form's ID, which the caller knows.
const submissionColumns = `s.id, s.form_revision, s.submitted_at, s.completion_time, s.answers, s.metadata, s.hidden, s.respondent, s.revision, s.changed_at, s.ending`

// scanSubmission scans the first columns into the targets in before, and then submissionColumns into sub.
func scanSubmission(rows pgx.Rows, sub *storage.Submission, before ...any) error {
	err := conn.Scan(rows, append(before, &sub.ID, &sub.FormRevision, &sub.SubmittedAt, &sub.CompletionTime,
		&sub.Answers, &sub.Metadata, &sub.Hidden, &sub.Respondent, &sub.Revision, &sub.ChangedAt, &sub.Ending)...)
	conn.CopyBorrowed(&sub.Answers, &sub.Metadata, &sub.Hidden)
	return err
}

const submissionByKey = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
WHERE s.form_id = $1::bytea AND s.idempotency_key = (SELECT $2::text) AND ` + formNotTrashed

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (storage.Submission, error) {
	if !storage.ValidText(idempotencyKey) {
		return storage.Submission{}, conn.NotFoundError(ctx)
	}
	return s.readSubmission(ctx, form, submissionByKey, form[:], conn.TextArg(idempotencyKey))
}

const submissionByID = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
WHERE s.form_id = $1::bytea AND s.id = $3::bytea AND ` + formAccess

// Submission implements [storage.SubmissionStore].
func (s *Store) Submission(ctx context.Context, actor storage.Actor, form, id storage.ID) (storage.Submission, error) {
	return s.readSubmission(ctx, form, submissionByID, form[:], userArg(actor), id[:])
}

func (s *Store) readSubmission(ctx context.Context, form storage.ID, text string, args ...any) (storage.Submission, error) {
	sub := storage.Submission{FormID: form}
	if err := s.db.ReadRow(ctx, text, func(rows pgx.Rows) error { return scanSubmission(rows, &sub) }, args...); err != nil {
		return storage.Submission{}, err
	}
	return sub, nil
}

// DeleteSubmission implements [storage.SubmissionStore].
func (s *Store) DeleteSubmission(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	gone, err := s.removeSubmissions(ctx, removalByActor, form, userArg(actor), []storage.ID{id}, false)
	if err == nil && gone == 0 {
		return storage.ErrNotFound
	}
	return err
}

const submissionsRemoved = `
SELECT COALESCE((SELECT r.removed FROM formsvc.form_removals r WHERE r.form_id = f.id), 0)
FROM formsvc.forms f
WHERE f.id = $1::bytea AND ` + formAccess

// SubmissionsRemoved implements [storage.SubmissionStore].
func (s *Store) SubmissionsRemoved(ctx context.Context, actor storage.Actor, form storage.ID) (removed int64, err error) {
	err = s.db.ReadRow(ctx, submissionsRemoved, conn.RowScanner(&removed), form[:], userArg(actor))
	return removed, err
}

func jsonSize(s *storage.Submission) int { return len(s.Answers) + len(s.Metadata) + len(s.Hidden) }
