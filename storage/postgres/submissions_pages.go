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

// briefColumns have nulls in place of the answers of a record that is larger than its
// share of the page's bytes. Without such a record the page is within its bound. Each
// column is a twentieth of what the server does for a page.
const briefColumns = `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, CASE WHEN s.json_bytes <= $7::bigint THEN s.answers END`

const pageColumns = briefColumns + `, s.form_revision, CASE WHEN s.json_bytes <= $7::bigint THEN s.hidden END`

// The pages of submissions.
const (
	fullPage  = pageColumns + pageFrom
	briefPage = briefColumns + pageFrom
)

// boundedPage is a page with large records: no further than its bytes go. Sizes are
// summed up from the column that has them, so that no large value is read that the page
// has no room for. When $8 is true, one record comes whatever its size. Windows double
// what an ordinary page costs.
const boundedPage = `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, s.answers, s.form_revision, s.hidden, s.goes_on
FROM (
	SELECT s.*, row_number() OVER older AS number, sum(s.json_bytes) OVER older AS bytes,
		lead(true) OVER older AS goes_on
	FROM (SELECT s.* ` + pageFrom + `) s
	WINDOW older AS (ORDER BY s.submitted_at DESC, s.id DESC ROWS UNBOUNDED PRECEDING)
) s
WHERE s.number <= $6::bigint AND (s.number = 1 AND $8::boolean OR s.bytes <= $7::bigint)
ORDER BY s.number`

// formIsThere tells an empty page from one that is not there.
const formIsThere = `
SELECT 1 FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formAccess

// Submissions implements [storage.SubmissionStore]. It is tried again like every read,
// but not when it has lent a record.
func (s *Store) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	p := newPageRead(form, q, each)
	err = s.readPage(ctx, p, func(ctx context.Context) error { return s.pageAs(ctx, p, who) })
	return p.more, err
}

// readPage is read for a page whose records are lent while it is read. What is lent
// cannot be taken back, so after that nothing is tried again.
func (s *Store) readPage(ctx context.Context, p *pageRead, do func(context.Context) error) error {
	var final error
	err := s.db.Read(ctx, func(ctx context.Context) error {
		p.cut, p.more = false, false
		err := do(ctx)
		if p.lent > 0 {
			final, err = err, nil
		}
		return err
	})
	if p.refused != nil {
		return p.refused
	}
	if err == nil {
		err = s.db.Translate(ctx, final, false)
	}
	return err
}

// pageAs reads a page for somebody.
func (s *Store) pageAs(ctx context.Context, p *pageRead, who storage.Actor) error {
	rows, err := s.db.Query(ctx, p.page, p.args(userArg(who)))
	if err == nil {
		err = p.lendRows(rows)
	}
	if err != nil {
		return err
	}
	if p.lent == 0 && !p.cut {
		err := s.db.QueryRow(ctx, formIsThere, conn.Into(nil), p.form[:], userArg(who))
		return conn.NoRow(err, storage.ErrNotFound)
	}
	return s.restOfPage(ctx, p, who)
}

// restOfPage goes on where the page's first statement came to a record that is larger
// than its share.
func (s *Store) restOfPage(ctx context.Context, p *pageRead, who storage.Actor) error {
	if !p.cut {
		return nil
	}
	first := p.lent == 0
	rows, err := s.db.Query(ctx, boundedPage, append(p.args(userArg(who)), first))
	if err != nil {
		return err
	}
	p.cut, p.more = false, !first // unless there are rows, which know better
	p.targets = append(p.targets, &p.more)
	return p.lendRows(rows)
}

// pageRead is a page of submissions that is being read.
type pageRead struct {
	form        storage.ID
	q           storage.SubmissionsParams
	limit, most int64 // the records and bytes that there is room for
	each        func(*storage.Submission) error

	page    string             // the statement
	sub     storage.Submission // the record that is lent
	targets []any              // of the columns, in sub

	lent    int              // records
	last    storage.Position // of these
	cut     bool             // the next record is larger than its share
	more    bool             // there is a next record
	refused error            // of each
}

func newPageRead(form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) *pageRead {
	p := &pageRead{form: form, q: q, limit: int64(max(q.Page.Limit, 0)), most: math.MaxInt64, each: each}
	if q.MaxBytes > 0 {
		p.most = int64(q.MaxBytes)
	}
	sub := &p.sub
	p.targets = append(make([]any, 0, 8),
		&sub.ID, &sub.SubmittedAt, &sub.CompletionTime, &sub.Metadata, &sub.Answers, &sub.FormRevision, &sub.Hidden)
	p.page = fullPage
	if q.SummaryOnly {
		p.page = briefPage
	}
	return p
}

// args are the arguments for the page, or for what is left of it after records were
// lent.
func (p *pageRead) args(who []byte) []any {
	before, id := pageStart(p.q)
	if p.lent > 0 {
		before, id = p.last.Time, p.last.ID[:]
	}
	most := p.most
	if !p.cut {
		most /= p.limit + 1
	}
	return append(make([]any, 0, 8), p.form[:], who, conn.TimeArg(before), id, conn.TimeArg(p.q.Since), p.limit, most)
}

// lendRows lends the records of a statement's rows.
func (p *pageRead) lendRows(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		if p.limit == 0 {
			p.more = p.lent > 0
			continue
		}
		p.sub = storage.Submission{FormID: p.form}
		if err := conn.Scan(rows, p.targets[:len(rows.FieldDescriptions())]...); err != nil {
			return err
		}
		if p.cut = p.sub.Answers == nil; p.cut {
			break
		}
		p.last = storage.Position{Time: p.sub.SubmittedAt, ID: p.sub.ID}
		p.lent, p.limit = p.lent+1, p.limit-1
		p.most -= int64(len(p.sub.Answers) + len(p.sub.Metadata) + len(p.sub.Hidden))
		if p.refused = p.each(&p.sub); p.refused != nil {
			return p.refused
		}
	}
	rows.Close()
	return rows.Err()
}

// pageStart returns the position that the records of the page come after, newest
// first: that of the page, or the end of until when this is earlier.
func pageStart(q storage.SubmissionsParams) (time.Time, []byte) {
	after := q.Page.After
	if after == nil || !q.Until.IsZero() && conn.AsStored(q.Until).Before(conn.AsStored(after.Time)) {
		return q.Until, lastID
	}
	return after.Time, after.ID[:]
}
