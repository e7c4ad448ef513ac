package postgres

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// submissionColumns are what scanSubmission reads. The caller knows the form.
const submissionColumns = `s.id, s.form_revision, s.submitted_at, s.completion_time, s.answers, s.metadata, s.hidden`

// scanSubmission reads a row of submissionColumns into a record of its own. The
// three JSON values are passed on as they are stored.
func scanSubmission(rows pgx.Rows, form storage.ID) (storage.Submission, error) {
	sub := storage.Submission{FormID: form}
	err := scanRow(rows, submissionTargets(&sub)...)
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

// submissionsFrom reads one page and the record that comes after it, with one scan of
// submissions_newest from the position on: a page costs the same wherever it is. The
// form's id comes out of the access check, so that without access nothing is read. The
// times are subqueries for the reason given at [pageLimit].
const submissionsFrom = `
FROM formsvc.submissions s
WHERE s.form_id = (
		SELECT f.id FROM formsvc.forms f
		WHERE f.id = $1::bytea AND ` + formAccess + `)
	AND (s.submitted_at, s.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
	AND s.submitted_at >= COALESCE((SELECT $5::timestamptz), '-infinity')
ORDER BY s.submitted_at DESC, s.id DESC
LIMIT (SELECT $6::bigint + 1)`

// submissionPage has nulls in place of the large values of a record that is larger
// than its share of the page's bytes. Without such a record the page is within its
// bound.
const submissionPage = `
SELECT s.id, s.form_revision, s.submitted_at, s.completion_time,
	CASE WHEN s.json_bytes <= $7::bigint THEN s.answers END, s.metadata, CASE WHEN s.json_bytes <= $7::bigint THEN s.hidden END
` + submissionsFrom

// boundedPage is a page with large records: no further than its bytes go. Sizes are
// summed up from the column that has them, so that no large value is read that the
// page has no room for. Windows double what an ordinary page costs.
const boundedPage = `
SELECT ` + submissionColumns + `, s.goes_on
FROM (
	SELECT s.*, row_number() OVER older AS number, sum(s.json_bytes) OVER older AS bytes,
		lead(true) OVER older AS goes_on
	FROM (SELECT s.* ` + submissionsFrom + `) s
	WINDOW older AS (ORDER BY s.submitted_at DESC, s.id DESC ROWS UNBOUNDED PRECEDING)
) s
WHERE s.number <= $6::bigint AND (s.number = 1 OR s.bytes <= $7::bigint)
ORDER BY s.number`

// formIsThere tells an empty page from one that is not there.
const formIsThere = `
SELECT 1 FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formAccess

// Submissions implements [storage.SubmissionStore].
func (s *Store) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionQuery) (storage.SubmissionPage, error) {
	before, id := pageStart(q)
	limit, most := int(limitArg(q.Page)), int64(math.MaxInt64)
	if q.MaxBytes > 0 {
		most = int64(q.MaxBytes)
	}
	args := []any{form[:], userArg(who), timeArg(before), id, timeArg(q.Since), int64(limit)}
	var page storage.SubmissionPage
	err := s.read(ctx, func(ctx context.Context) (err error) {
		page, err = s.pageOf(ctx, form, limit, submissionPage, append(args, most/int64(limit+1)))
		if err != nil {
			return err
		}
		if n := len(page.Submissions); n > limit {
			page.Submissions, page.More = page.Submissions[:limit], limit > 0
		} else if n == 0 {
			err = s.queryRow(ctx, formIsThere, func(pgx.Rows) error { return nil }, form[:], userArg(who))
			return noRow(err, storage.ErrNotFound)
		}
		if slices.ContainsFunc(page.Submissions, func(sub storage.Submission) bool { return sub.Answers == nil }) {
			page, err = s.pageOf(ctx, form, limit, boundedPage, append(args, most))
		}
		return err
	})
	if err != nil {
		return storage.SubmissionPage{}, err
	}
	return page, nil
}

// ordinaryPage is as long as the longest page of the API.
const ordinaryPage = 100

// pageOf runs one of the two statements for a page.
func (s *Store) pageOf(ctx context.Context, form storage.ID, limit int, text string, args []any) (page storage.SubmissionPage, err error) {
	var values arena
	var sub storage.Submission
	targets := submissionTargets(&sub)
	if text == boundedPage {
		targets = append(targets, scanBool(&page.More)) // the last one counts
	}
	rows, err := s.query(ctx, text, args)
	if err != nil {
		return page, err
	}
	page.Submissions, err = appendRows(make([]storage.Submission, 0, min(limit, ordinaryPage)+1), rows, func(rows pgx.Rows) (storage.Submission, error) {
		sub = storage.Submission{FormID: form}
		err := scanRow(rows, targets...)
		values.own(&sub.Answers, &sub.Metadata, &sub.Hidden)
		return sub, err
	})
	return page, err
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
