package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// pageTexts are the statements that read a page of a list.
type pageTexts struct{ full, summary, withinBytes string }

// The form's ID comes from the access check, so that nothing is read without access. The list of all forms
// does not use the ID in $1, and $2 is null.
const (
	inForm = `s.form_id = (
		SELECT f.id FROM formsvc.forms f
		WHERE f.id = $1::bytea AND ` + formAccess + `)`
	ofRespondent  = `s.respondent = (SELECT $8::text)`
	inVisibleForm = `$1::bytea IS NOT NULL AND (SELECT true FROM formsvc.forms f WHERE f.id = s.form_id AND ` + formAccess + `)`
)

var (
	formPage           = buildPageTexts(inForm, "$8")
	respondentFormPage = buildPageTexts(inForm+" AND s.form_revision > 0 AND "+ofRespondent, "$9")
	respondentPage     = buildPageTexts(ofRespondent+" AND "+inVisibleForm, "$9")
)

// buildPageTexts returns statements that read the submissions s for which condition is true. Each reads a page and the
// next record with one scan of an index, so that every page costs the same. The times are subqueries for the reason
// given at [pageLimit]. If the parameter one is true, the statement withinBytes reads at least one record.
func buildPageTexts(condition, one string) pageTexts {
	from := `
FROM formsvc.submissions s
WHERE ` + condition + `
	AND (s.submitted_at, s.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
	AND s.submitted_at >= COALESCE((SELECT $5::timestamptz), '-infinity')
ORDER BY s.submitted_at DESC, s.id DESC
LIMIT (SELECT $6::bigint + 1)`
	return pageTexts{pageColumns + from, summaryColumns + from, pageWithinBytes(from, one)}
}

// summaryColumns returns null instead of the answers of records that exceed their share of the page's bytes. A page
// without such records is within its limit. summaryColumns omits unneeded columns, because each makes a page a
// twentieth slower.
const summaryColumns = `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, s.ending, CASE WHEN s.json_bytes <= $7::bigint THEN s.answers END`

const pageColumns = summaryColumns + `, s.form_revision, CASE WHEN s.json_bytes <= $7::bigint THEN s.hidden END, s.respondent, s.form_id, s.revision, s.changed_at`

// pageWithinBytes reads a page with large records, up to the page's byte limit. It is a separate statement, because its
// window functions would double the cost of ordinary pages.
func pageWithinBytes(from, one string) string {
	return `
SELECT s.id, s.submitted_at, s.completion_time, s.metadata, s.ending, s.answers, s.form_revision, s.hidden, s.respondent, s.form_id, s.revision, s.changed_at, s.goes_on
FROM (
	SELECT s.*, row_number() OVER older AS number, sum(s.json_bytes) OVER older AS bytes,
		lead(true) OVER older AS goes_on
	FROM (SELECT s.* ` + from + `) s
	WINDOW older AS (ORDER BY s.submitted_at DESC, s.id DESC ROWS UNBOUNDED PRECEDING)
) s
WHERE s.number <= $6::bigint AND (s.number = 1 AND ` + one + `::boolean OR s.bytes <= $7::bigint)
ORDER BY s.number`
}

const formExists = `
SELECT 1 FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formAccess

// Submissions implements [storage.SubmissionStore]. Like every read, it is retried, but not after a call to each.
func (s *Store) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	texts := &formPage
	if q.Respondent != "" {
		texts = &respondentFormPage
	}
	return s.listSubmissions(ctx, actor, form, q, texts, each)
}

func (s *Store) listSubmissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, texts *pageTexts, each func(*storage.Submission) error) (more bool, err error) {
	p := newPageRead(form, q, texts, each)
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
	if p.passed == 0 && !p.tooLarge && p.texts != &respondentPage {
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
	rows, err := s.db.Query(ctx, p.texts.withinBytes, append(p.queryArgs(userArg(actor)), first))
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

	texts   *pageTexts         // statements
	text    string             // the statement that reads the page
	sub     storage.Submission // record that is passed to each
	targets []any              // fields of sub, in the order of the columns

	passed   int              // number of records passed to each
	last     storage.Position // position of the last record passed to each
	tooLarge bool             // whether the next record exceeds its share
	more     bool             // whether there is a next record
	eachErr  error            // error that each returned
}

func newPageRead(form storage.ID, q storage.SubmissionsParams, texts *pageTexts, each func(*storage.Submission) error) *pageRead {
	p := &pageRead{form: form, q: q, limit: int64(max(q.Page.Limit, 0)), maxBytes: math.MaxInt64, each: each, texts: texts, text: texts.full}
	if q.MaxBytes > 0 {
		p.maxBytes = int64(q.MaxBytes)
	}
	sub := &p.sub
	p.targets = append(make([]any, 0, 13),
		&sub.ID, &sub.SubmittedAt, &sub.CompletionTime, &sub.Metadata, &sub.Ending, &sub.Answers, &sub.FormRevision, &sub.Hidden, &sub.Respondent, &sub.FormID,
		&sub.Revision, &sub.ChangedAt)
	if q.SummaryOnly {
		p.text = texts.summary
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
	args := append(make([]any, 0, 9), p.form[:], actor, conn.TimeArg(before), id, conn.TimeArg(p.q.Since), p.limit, most)
	if p.q.Respondent != "" {
		args = append(args, p.q.Respondent)
	}
	return args
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
