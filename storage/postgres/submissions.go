package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/storage"
)

// submissionColumns are what scanSubmission reads. The form is known to whoever
// asks.
const submissionColumns = `s.id, s.submitted_at, s.completion_time, s.answers, s.metadata, s.hidden`

// scanSubmission reads a row of submissionColumns into a record of its own. The
// three JSON values are passed on as they are stored.
func scanSubmission(rows pgx.Rows, form storage.ID) (storage.Submission, error) {
	sub := storage.Submission{FormID: form}
	err := scanRow(rows, scanID(&sub.ID), scanTime(&sub.SubmittedAt), &sub.CompletionTime,
		scanBorrowed(&sub.Answers), scanBorrowed(&sub.Metadata), scanBorrowed(&sub.Hidden))
	own(&sub.Answers, &sub.Metadata, &sub.Hidden)
	return sub, err
}

const submissionByKey = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
WHERE s.form_id = $1::bytea AND s.idempotency_key = $2::text AND f.trashed_at IS NULL`

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (storage.Submission, error) {
	return s.oneSubmission(ctx, form, submissionByKey, form[:], textArg(idempotencyKey))
}

const submissionByID = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
WHERE s.form_id = $1::bytea AND s.id = $3::bytea AND f.trashed_at IS NULL AND ` + formAccess

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

// submissionPage reads one page with one scan of submissions_newest, from the
// position on and no further than the limit: a page costs the same wherever it
// is. The form's id comes out of the access check, so that without access nothing
// is read.
const submissionPage = `
SELECT ` + submissionColumns + `
FROM formsvc.submissions s
WHERE s.form_id = (
		SELECT f.id FROM formsvc.forms f
		WHERE f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess + `)
	AND (s.submitted_at, s.id) < (COALESCE($3::timestamptz, 'infinity'), $4::bytea)
	AND s.submitted_at >= COALESCE($5::timestamptz, '-infinity')
ORDER BY s.submitted_at DESC, s.id DESC
LIMIT (SELECT $6::bigint)`

// formIsThere tells an empty page from one that is not there.
const formIsThere = `
SELECT 1 FROM formsvc.forms f WHERE f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess

// Submissions implements [storage.SubmissionStore].
func (s *Store) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionQuery) ([]storage.Submission, error) {
	before, id := pageStart(q)
	var page []storage.Submission
	err := s.read(ctx, func(ctx context.Context) (err error) {
		page, err = collect(ctx, s, submissionPage, func(rows pgx.Rows) (storage.Submission, error) {
			return scanSubmission(rows, form)
		}, form[:], userArg(who), timeArg(before), id, timeArg(q.Since), limitArg(q.Page))
		if err != nil || len(page) > 0 {
			return err
		}
		err = s.queryRow(ctx, formIsThere, func(pgx.Rows) error { return nil }, form[:], userArg(who))
		return noRow(err, storage.ErrNotFound)
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// pageStart returns the position that the records of the page come after, newest
// first: that of the page, or the end of until when this is earlier.
func pageStart(q storage.SubmissionQuery) (time.Time, []byte) {
	after := q.Page.After
	if after == nil || !q.Until.IsZero() && asStored(q.Until).Before(asStored(after.Time)) {
		return q.Until, lastID
	}
	return after.Time, after.ID[:]
}

// deleteSubmission runs after the form's lock, so that no redelivery of the
// submission's event can come between. It locks the deliveries before the event, as
// every statement does.
const deleteSubmission = `
WITH gone AS (
	DELETE FROM formsvc.submissions s USING formsvc.forms f
	WHERE s.form_id = $1::bytea AND s.id = $3::bytea
		AND f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess + `
	RETURNING s.event_id
), pending AS (
	SELECT d.webhook_id, d.event_id
	FROM gone JOIN formsvc.deliveries d ON d.event_id = gone.event_id
	ORDER BY d.webhook_id
	FOR UPDATE OF d
), ended AS (
	DELETE FROM formsvc.deliveries d USING pending p
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id
	RETURNING 1
), forgotten AS (
	DELETE FROM formsvc.events e USING gone
	WHERE e.id = gone.event_id AND e.form_id = $1::bytea AND (SELECT count(*) FROM ended) >= 0
), room AS (
	UPDATE formsvc.form_limits l SET taken = l.taken - 1
	FROM gone
	WHERE l.form_id = $1::bytea
)
SELECT count(*) FROM gone`

// DeleteSubmission implements [storage.SubmissionStore].
func (s *Store) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	return s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.lockForm(b, form)
		s.queue(b, deleteSubmission, form[:], userArg(who), id[:])
		var gone int64
		err := s.sendRow(ctx, b, func(rows pgx.Rows) error { return rows.Scan(&gone) })
		if err == nil && gone == 0 {
			return storage.ErrNotFound
		}
		return err
	})
}

// asStored returns a time as it comes back: in UTC, to the microsecond.
func asStored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// textArg is the argument for a text that may be empty, which is null.
func textArg(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

// bytesArg is the argument for bytes of which nil are as good as none.
func bytesArg(v []byte) []byte {
	if v == nil {
		return []byte{}
	}
	return v
}

// floatColumn scans null as zero.
type floatColumn float64

// ScanFloat64 implements [pgtype.Float64Scanner].
func (c *floatColumn) ScanFloat64(v pgtype.Float8) error {
	*c = floatColumn(v.Float64)
	return nil
}

func scanFloat(v *float64) *floatColumn { return (*floatColumn)(v) }

const uniqueViolation = "23505"

// violates reports whether err is the violation of a constraint of this kind.
func violates(err error, code string) bool {
	var reported *pgconn.PgError
	return errors.As(err, &reported) && reported.Code == code
}
