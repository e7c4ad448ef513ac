package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// pageFrom is where a page and the record that comes after it are read from: one scan of
// submissions_newest from a position on, so that a page costs the same wherever it is.
// The form's id comes out of the access check, so that without access nothing is read.
// The times are subqueries for the reason given at [pageLimit].
const pageFrom = `
FROM formsvc.submissions s
WHERE s.form_id = (
		SELECT f.id FROM formsvc.forms f
		WHERE f.id = $1::bytea AND ` + formAccess + `)
	AND (s.submitted_at, s.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
	AND s.submitted_at >= COALESCE((SELECT $5::timestamptz), '-infinity')
ORDER BY s.submitted_at DESC, s.id DESC
LIMIT (SELECT $6::bigint + 1)`

// summaryColumns have nulls in place of the answers of a record that is larger than its
// share of the page's bytes. Without such a record the page is within its bound. Each
// column is a twentieth of what the server does for a page.
const summaryColumns = `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, CASE WHEN s.json_bytes <= $7::bigint THEN s.answers END`

const pageColumns = summaryColumns + `, s.form_revision, CASE WHEN s.json_bytes <= $7::bigint THEN s.hidden END`

// The pages of submissions.
const (
	fullPage    = pageColumns + pageFrom
	summaryPage = summaryColumns + pageFrom
)

// pageWithinBytes is a page with large records: no further than its bytes go. Sizes are
// summed up from the column that has them, so that no large value is read that the page
// has no room for. When $8 is true, one record comes whatever its size. Windows double
// what an ordinary page costs.
const pageWithinBytes = `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, s.answers, s.form_revision, s.hidden, s.goes_on
FROM (
	SELECT s.*, row_number() OVER older AS number, sum(s.json_bytes) OVER older AS bytes,
		lead(true) OVER older AS goes_on
	FROM (SELECT s.* ` + pageFrom + `) s
	WINDOW older AS (ORDER BY s.submitted_at DESC, s.id DESC ROWS UNBOUNDED PRECEDING)
) s
WHERE s.number <= $6::bigint AND (s.number = 1 AND $8::boolean OR s.bytes <= $7::bigint)
ORDER BY s.number`

// formExists tells an empty page from one that is not there.
const formExists = `
SELECT 1 FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formAccess

// Submissions implements [storage.SubmissionStore]. It is tried again like every read,
// but not when it has lent a record.
func (s *Store) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	p := newPageRead(form, q, each)
	err = s.readPage(ctx, p, func(ctx context.Context) error { return s.readPageRows(ctx, p, actor) })
	return p.more, err
}

// readPage is read for a page whose records are lent while it is read. What is lent
// cannot be taken back, so after that nothing is tried again.
func (s *Store) readPage(ctx context.Context, p *pageRead, do func(context.Context) error) error {
	var final error
	err := s.db.Read(ctx, func(ctx context.Context) error {
		p.tooLarge, p.more = false, false
		err := do(ctx)
		if p.passed > 0 {
			final, err = err, nil
		}
		return err
	})
	if p.eachErr != nil {
		return p.eachErr
	}
	if err == nil {
		err = s.db.Translate(ctx, final, false)
	}
	return err
}

// readPageRows reads a page for somebody.
func (s *Store) readPageRows(ctx context.Context, p *pageRead, actor storage.Actor) error {
	rows, err := s.db.Query(ctx, p.text, p.args(userArg(actor)))
	if err == nil {
		err = p.passRows(rows)
	}
	if err != nil {
		return err
	}
	if p.passed == 0 && !p.tooLarge {
		err := s.db.QueryRow(ctx, formExists, conn.Into(nil), p.form[:], userArg(actor))
		return conn.NoRow(err, storage.ErrNotFound)
	}
	return s.readRestOfPage(ctx, p, actor)
}

// readRestOfPage goes on where the page's first statement came to a record that is larger
// than its share.
func (s *Store) readRestOfPage(ctx context.Context, p *pageRead, actor storage.Actor) error {
	if !p.tooLarge {
		return nil
	}
	first := p.passed == 0
	rows, err := s.db.Query(ctx, pageWithinBytes, append(p.args(userArg(actor)), first))
	if err != nil {
		return err
	}
	p.tooLarge, p.more = false, !first // unless there are rows, which know better
	p.targets = append(p.targets, &p.more)
	return p.passRows(rows)
}

// pageRead is a page of submissions that is being read.
type pageRead struct {
	form            storage.ID
	q               storage.SubmissionsParams
	limit, maxBytes int64 // the records and bytes that there is room for
	each            func(*storage.Submission) error

	text    string             // the statement
	sub     storage.Submission // the record that is lent
	targets []any              // of the columns, in sub

	passed   int              // records
	last     storage.Position // of these
	tooLarge bool             // the next record is larger than its share
	more     bool             // there is a next record
	eachErr  error            // of each
}

func newPageRead(form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) *pageRead {
	p := &pageRead{form: form, q: q, limit: int64(max(q.Page.Limit, 0)), maxBytes: math.MaxInt64, each: each}
	if q.MaxBytes > 0 {
		p.maxBytes = int64(q.MaxBytes)
	}
	sub := &p.sub
	p.targets = append(make([]any, 0, 8),
		&sub.ID, &sub.SubmittedAt, &sub.CompletionTime, &sub.Metadata, &sub.Answers, &sub.FormRevision, &sub.Hidden)
	p.text = fullPage
	if q.SummaryOnly {
		p.text = summaryPage
	}
	return p
}

// args are the arguments for the page, or for what is left of it after records were
// lent.
func (p *pageRead) args(actor []byte) []any {
	before, id := pageStart(p.q)
	if p.passed > 0 {
		before, id = p.last.Time, p.last.ID[:]
	}
	most := p.maxBytes
	if !p.tooLarge {
		most /= p.limit + 1
	}
	return append(make([]any, 0, 8), p.form[:], actor, conn.TimeArg(before), id, conn.TimeArg(p.q.Since), p.limit, most)
}

// passRows lends the records of a statement's rows.
func (p *pageRead) passRows(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		if p.limit == 0 {
			p.more = p.passed > 0
			continue
		}
		p.sub = storage.Submission{FormID: p.form}
		if err := conn.Scan(rows, p.targets[:len(rows.FieldDescriptions())]...); err != nil {
			return err
		}
		if p.tooLarge = p.sub.Answers == nil; p.tooLarge {
			break
		}
		p.last = storage.Position{Time: p.sub.SubmittedAt, ID: p.sub.ID}
		p.passed, p.limit = p.passed+1, p.limit-1
		p.maxBytes -= int64(len(p.sub.Answers) + len(p.sub.Metadata) + len(p.sub.Hidden))
		if p.eachErr = p.each(&p.sub); p.eachErr != nil {
			return p.eachErr
		}
	}
	rows.Close()
	return rows.Err()
}

// pageStart returns the position that the records of the page come after, newest
// first: that of the page, or the end of until when this is earlier.
func pageStart(q storage.SubmissionsParams) (time.Time, []byte) {
	after := q.Page.After
	if after == nil || !q.Until.IsZero() && conn.StoredTime(q.Until).Before(conn.StoredTime(after.Time)) {
		return q.Until, maxID
	}
	return after.Time, after.ID[:]
}
