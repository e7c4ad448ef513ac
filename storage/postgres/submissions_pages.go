package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// pageFrom reads a page and the next record with one scan of the index submissions_newest, so that every page costs the
// same. The form's ID comes from the access check, so that nothing is read without access. The times are subqueries for
// the reason given at [pageLimit].
const pageFrom = `
FROM formsvc.submissions s
WHERE s.form_id = (
		SELECT f.id FROM formsvc.forms f
		WHERE f.id = $1::bytea AND ` + formAccess + `)
	AND (s.submitted_at, s.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
	AND s.submitted_at >= COALESCE((SELECT $5::timestamptz), '-infinity')
ORDER BY s.submitted_at DESC, s.id DESC
LIMIT (SELECT $6::bigint + 1)`

// summaryColumns returns null instead of the answers of records that exceed their share of the page's bytes. A page
// without such records is within its limit. summaryColumns omits unneeded columns, because each makes a page a
// twentieth slower.
const summaryColumns = `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, CASE WHEN s.json_bytes <= $7::bigint THEN s.answers END`

const pageColumns = summaryColumns + `, s.form_revision, CASE WHEN s.json_bytes <= $7::bigint THEN s.hidden END`

const (
	fullPage    = pageColumns + pageFrom
	summaryPage = summaryColumns + pageFrom
)

// pageWithinBytes reads a page with large records, up to the page's byte limit. If $8 is true, it reads at least one
// record. It is a separate statement, because its window functions would double the cost of ordinary pages.
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

const formExists = `
SELECT 1 FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formAccess

// Submissions implements [storage.SubmissionStore]. Like every read, it is retried, but not after a call to each.
func (s *Store) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	p := newPageRead(form, q, each)
	err = s.readPage(ctx, p, func(ctx context.Context) error { return s.readPageRows(ctx, p, actor) })
	return p.more, err
}

// readPage is like Conn.Read, but it does not retry after the first record has been passed to each.
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
		err = s.db.TranslateError(ctx, final, false)
	}
	return err
}

func (s *Store) readPageRows(ctx context.Context, p *pageRead, actor storage.Actor) error {
	rows, err := s.db.Query(ctx, p.text, p.queryArgs(userArg(actor)))
	if err == nil {
		err = p.passRows(rows)
	}
	if err != nil {
		return err
	}
	if p.passed == 0 && !p.tooLarge {
		err := s.db.QueryRow(ctx, formExists, conn.RowScanner(nil), p.form[:], userArg(actor))
		return conn.TranslateNoRow(err, storage.ErrNotFound)
	}
	return s.readRestOfPage(ctx, p, actor)
}

// readRestOfPage reads the rest of the page if the first statement found a record that exceeds its share of the bytes.
func (s *Store) readRestOfPage(ctx context.Context, p *pageRead, actor storage.Actor) error {
	if !p.tooLarge {
		return nil
	}
	first := p.passed == 0
	rows, err := s.db.Query(ctx, pageWithinBytes, append(p.queryArgs(userArg(actor)), first))
	if err != nil {
		return err
	}
	p.tooLarge, p.more = false, !first // each row overwrites p.more
	p.targets = append(p.targets, &p.more)
	return p.passRows(rows)
}

type pageRead struct {
	form            storage.ID
	q               storage.SubmissionsParams
	limit, maxBytes int64 // remaining records and bytes
	each            func(*storage.Submission) error

	text    string             // statement
	sub     storage.Submission // record that is passed to each
	targets []any              // fields of sub, in the order of the columns

	passed   int              // number of records passed to each
	last     storage.Position // position of the last record passed to each
	tooLarge bool             // whether the next record exceeds its share
	more     bool             // whether there is a next record
	eachErr  error            // error that each returned
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

func (p *pageRead) queryArgs(actor []byte) []any {
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

// pageStart returns the position after which the page starts: the page's position, or q.Until if it is earlier.
func pageStart(q storage.SubmissionsParams) (time.Time, []byte) {
	after := q.Page.After
	if after == nil || !q.Until.IsZero() && conn.StoredTime(q.Until).Before(conn.StoredTime(after.Time)) {
		return q.Until, maxID
	}
	return after.Time, after.ID[:]
}
