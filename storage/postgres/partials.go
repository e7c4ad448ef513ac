package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// asyncCommit lets a save return before its data reaches the disk and the standbys. A host's transaction does not use
// it.
const asyncCommit = `SELECT set_config('synchronous_commit', 'off', true), ` + conn.LockTimeoutSet

func (s *Store) sendPartialSave(ctx context.Context, batch ...conn.Statement) error {
	if !s.db.InTx {
		batch = append([]conn.Statement{conn.NewStatement(asyncCommit)}, batch...)
	}
	return s.db.Send(ctx, batch...)
}

// SavePartial implements [storage.PartialStore]. On a pool, concurrent new partial submissions of a form are stored in
// one statement. A save survives a server crash after three times the server's wal_writer_delay, 0.6 s by default.
func (s *Store) SavePartial(ctx context.Context, p storage.SavePartialParams) (revision int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	v := &p.Partial
	if err := conn.CheckArgs([]any{v.Answers, v.Hidden, v.Metadata, v.Block, v.Respondent, v.SavedAt, v.EndsAt}); err != nil {
		return 0, err // rejects an invalid value before it joins a batch
	}
	switch {
	case !p.New:
		return s.changePartial(ctx, &p)
	case s.partialBatches != nil:
		conn.CopyBorrowed(&v.Answers, &v.Hidden, &v.Metadata) // as in Submit
		err = s.createPartialInBatch(ctx, p)
	default:
		err = s.db.Write(ctx, func(ctx context.Context) error {
			out, err := s.createPartials(ctx, p.Partial.FormID, []storage.SavePartialParams{p})
			if err == nil {
				err = out[0]
			}
			return err
		})
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

type partialBatches struct {
	batcher[storage.ID, storage.SavePartialParams, error]
	capacity cache.Cache[storage.ID, partialCapacity]
}

func (s *Store) newPartialBatches() *partialBatches {
	var all partialBatches
	all.maxItems, all.maxBytes = submitRows, submitBytes
	failed := func(err error) error { return err }
	all.write = func(ctx context.Context, form storage.ID, takeItems func() []storage.SavePartialParams, returnItems func()) []error {
		return writeWithConnection(ctx, s, form, s.lockKey(lockPartials, form), takeItems, returnItems, failed, func(ctx context.Context, items []storage.SavePartialParams) ([]error, error) {
			return s.createPartials(ctx, form, items)
		})
	}
	return &all
}

func (s *Store) createPartialInBatch(ctx context.Context, p storage.SavePartialParams) error {
	timedOut, end := s.newTimeoutTimer(ctx)
	defer end()
	itemErr, begun, err := s.partialBatches.addAndWait(ctx, timedOut, p.Partial.FormID, p, len(p.Partial.Answers)+len(p.Partial.Hidden)+len(p.Partial.Metadata))
	return cmp.Or(abandonedError(ctx, err, begun), itemErr)
}

// partialArgs returns the arguments of changePartial, followed by the arguments in more, which start at $13.
func partialArgs(p *storage.SavePartialParams, more ...any) []any {
	v := &p.Partial
	return append([]any{
		v.FormID[:], p.Token[:], v.SavedAt.UTC(), v.EndsAt.UTC(), v.Answers, v.Hidden, v.Metadata, v.Block, v.Seconds, v.Shared, v.Verified, v.LinkIssued,
	}, more...)
}

const formForPartials = `SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formNotTrashed + ` AND f.status = 'published'`

const changePartial = `
WITH seen AS MATERIALIZED (
	SELECT p.revision, NOT p.open AS sent
	FROM formsvc.partials p
	WHERE p.token = $2::bytea AND (p.form_id = (` + formForPartials + `) AND p.ends_at > $3::timestamptz) IS TRUE
	FOR NO KEY UPDATE OF p
), saved AS (
	UPDATE formsvc.partials p SET revision = p.revision + 1, saved_at = $3::timestamptz, ends_at = $4::timestamptz, answers = $5::json,
		hidden = $6::json, metadata = $7::json, block = $8::text, seconds = $9::float8, shared = $10::boolean,
		verified = p.verified OR $11::boolean, link_taken = p.link_taken OR $12::boolean
	FROM seen
	WHERE p.token = $2::bytea AND NOT seen.sent AND $13::bigint IN (0, seen.revision)
	RETURNING p.revision
)
SELECT seen.sent, seen.revision, (SELECT saved.revision FROM saved) FROM seen`

// changePartial waits only for other changes to the same partial submission.
func (s *Store) changePartial(ctx context.Context, p *storage.SavePartialParams) (revision int64, err error) {
	var sent bool
	var current int64
	change := conn.NewStatement(changePartial, partialArgs(p, p.IfRevision)...).ScanInto(&sent, &current, &revision)
	err = s.db.WriteFor(ctx, conn.Key{Record: string(p.Partial.FormID[:]), Lock: p.Token}, func(ctx context.Context) error { return s.sendPartialSave(ctx, change) })
	switch {
	case err != nil:
		return 0, conn.TranslateNoRow(err, storage.ErrNotFound)
	case sent:
		return 0, storage.ErrConflict
	case revision == 0:
		return 0, &storage.RevisionError{Current: current, Kind: "partial"}
	}
	return revision, nil
}

// createPartials creates the partial submissions $3 to $13 of the form $1, with the limit $14. For each, it returns
// whether the token is taken, and whether the batch must run again because a replaced partial submission changed
// concurrently. If a batch exceeds the limit, createPartials skips the partial submissions that later ones in the batch
// would replace. It runs under a lock that prevents other callers from adding partial submissions to the form. $15 is a
// number that is certain to fit, so that only larger batches count the existing partial submissions. $16 contains the
// respondents.
const createPartials = `
WITH form AS MATERIALIZED (
	` + formForPartials + `
), given AS MATERIALIZED (
	SELECT * FROM unnest($3::bytea[], $4::timestamptz[], $5::timestamptz[], $6::json[], $7::json[], $8::json[], $9::text[], $10::float8[], $11::boolean[], $12::boolean[], $13::boolean[], $2::bytea[], $16::text[])
		WITH ORDINALITY AS g (token, saved_at, ends_at, answers, hidden, metadata, block, seconds, shared, verified, link_taken, id, respondent, place)
), free AS MATERIALIZED (
	SELECT g.place, g.link_taken FROM given g CROSS JOIN form
	WHERE (SELECT true FROM formsvc.partials p WHERE p.token = g.token) IS NULL AND NOT EXISTS (SELECT FROM given h WHERE h.token = g.token AND h.place < g.place)
), room AS MATERIALIZED (
	SELECT CASE WHEN $15::bigint >= (SELECT count(*) FROM given) THEN $15::bigint ELSE $14::bigint - (SELECT count(*) FROM (
		SELECT FROM formsvc.partials p WHERE p.form_id = (SELECT form.id FROM form) AND p.open AND p.ends_at > (SELECT min(g.saved_at) FROM given g)
		ORDER BY p.saved_at DESC, p.id DESC LIMIT (SELECT $14::bigint)) p) END AS rows
), stays AS MATERIALIZED (
	SELECT r.place FROM (
		SELECT f.place, f.link_taken, row_number() OVER (ORDER BY f.link_taken DESC, f.place) AS rank, count(*) FILTER (WHERE f.link_taken) OVER () AS links FROM free f
	) r CROSS JOIN room
	WHERE (r.link_taken OR r.rank <= greatest(room.rows, r.links + 1)) AND r.rank <= $14::bigint
), excess AS MATERIALIZED (
	SELECT greatest((SELECT count(*) FROM stays) - room.rows, 0) AS rows FROM room
), once AS MATERIALIZED (
	SELECT p.token, p.revision FROM formsvc.partials p
	WHERE p.form_id = (SELECT form.id FROM form) AND p.open AND p.revision = 1 AND NOT p.link_taken AND p.ends_at > (SELECT min(g.saved_at) FROM given g)
	ORDER BY p.saved_at DESC, p.id DESC LIMIT (SELECT excess.rows FROM excess)
), replaced AS MATERIALIZED (
	SELECT once.token, once.revision FROM once
	UNION ALL (
		SELECT p.token, p.revision FROM formsvc.partials p
		WHERE p.form_id = (SELECT form.id FROM form) AND p.open AND p.ends_at > (SELECT min(g.saved_at) FROM given g) AND (p.revision > 1 OR p.link_taken)
		ORDER BY p.saved_at, p.id LIMIT (SELECT excess.rows - (SELECT count(*) FROM once) FROM excess))
), gone AS (
	DELETE FROM formsvc.partials p USING replaced o
	WHERE p.token = o.token AND p.revision = o.revision AND p.open
	RETURNING 1
), made AS (
	INSERT INTO formsvc.partials (form_id, token, created_at, saved_at, ends_at, answers, hidden, metadata, block, seconds, shared, verified, link_taken, id, respondent, revision)
	SELECT form.id, g.token, g.saved_at, g.saved_at, g.ends_at, g.answers, g.hidden, g.metadata, g.block, g.seconds, g.shared, g.verified, g.link_taken, g.id, NULLIF(g.respondent, ''), 1
	FROM form CROSS JOIN given g JOIN stays USING (place)
	WHERE (SELECT count(*) FROM gone) = (SELECT count(*) FROM replaced)
	ON CONFLICT DO NOTHING
	RETURNING token
)
SELECT g.place, f.place IS NULL OR s.place IS NOT NULL AND m.token IS NULL, (SELECT count(*) FROM gone) < (SELECT count(*) FROM replaced), (SELECT room.rows - (SELECT count(*) FROM made) FROM room)
FROM form CROSS JOIN given g LEFT JOIN free f USING (place) LEFT JOIN stays s USING (place) LEFT JOIN made m USING (token)`

// deleteReplaced deletes submitted and expired partial submissions whose respondents begin new ones with the same tokens.
const deleteReplaced = `
DELETE FROM formsvc.partials p
WHERE p.token = ANY ((SELECT $2::bytea[])::bytea[]) AND (p.form_id = (` + formForPartials + `) AND (NOT p.open OR p.ends_at <= (SELECT $3::timestamptz))) IS TRUE`

func replacedTokens(batch []storage.SavePartialParams) (tokens [][]byte) {
	for i := range batch {
		if batch[i].Partial.Respondent != "" {
			tokens = append(tokens, batch[i].Token[:])
		}
	}
	return tokens
}

// createPartials creates partial submissions for one form. For each, it returns nil or the error that prevented its
// creation.
func (s *Store) createPartials(ctx context.Context, form storage.ID, batch []storage.SavePartialParams) ([]error, error) {
	limit := int64(math.MaxInt64)
	if batch[0].Max > 0 {
		limit = int64(batch[0].Max)
	}
	for range maxSubmitTries {
		var room partialCapacity
		if s.partialBatches != nil {
			if room, _ = s.partialBatches.capacity.Get(form); room.limit != limit {
				room = partialCapacity{limit: limit}
			}
		}
		var left int64
		statements := []conn.Statement{s.lockStatement(lockPartials, form)}
		if replaced := replacedTokens(batch); len(replaced) > 0 {
			statements = append(statements, conn.NewStatement(deleteReplaced, form[:], replaced, batch[0].Partial.SavedAt.UTC()))
		}
		args := append(createPartialArgs(form, batch, limit), room.free, conn.ColumnArg(batch, func(p *storage.SavePartialParams) string { return p.Partial.Respondent }))
		out, again, found := make([]error, len(batch)), false, false
		err := conn.TranslateNoRow(s.sendPartialSave(ctx, append(statements, conn.NewStatement(createPartials, args...).ReadEach(func(rows pgx.Rows) error {
			var place int
			var items bool
			return conn.EachRow(rows, []any{&place, &items, &again, &left}, func() {
				found = true
				if items {
					out[place-1] = storage.ErrConflict
				}
			})
		}))...), storage.ErrNotFound)
		switch {
		case err == nil && !found, errors.Is(err, storage.ErrNotFound):
			return nil, storage.ErrNotFound
		case conn.IsPermanent(err) && len(batch) > 1 && ctx.Err() == nil && !s.db.InTx: // a single partial submission may have caused the error
			return s.createPartialsSeparately(ctx, form, batch)
		case err == nil && !again && s.partialBatches != nil:
			// Other processes create partial submissions too, so assume that at most one more batch fits.
			if room.free < int64(len(batch)) {
				left = min(left, submitRows)
			}
			room.free = max(left, 0)
			s.partialBatches.capacity.Put(form, room, 0)
			return out, nil
		case err != nil || !again:
			return out, err
		}
	}
	return nil, fmt.Errorf("%w: partial submissions changed repeatedly", storage.ErrUnavailable)
}

// partialCapacity is how many partial submissions are certain to fit within a form's limit, based on the last count.
type partialCapacity struct{ limit, free int64 }

func (s *Store) createPartialsSeparately(ctx context.Context, form storage.ID, batch []storage.SavePartialParams) ([]error, error) {
	out := make([]error, len(batch))
	for i := range batch {
		one, err := s.createPartials(ctx, form, batch[i:i+1])
		switch {
		case err == nil:
			out[i] = one[0]
		case conn.IsPermanent(err):
			out[i] = s.db.TranslateError(ctx, err, true)
		default:
			return nil, err
		}
	}
	return out, nil
}

func createPartialArgs(form storage.ID, batch []storage.SavePartialParams, limit int64) []any {
	type params = storage.SavePartialParams
	return []any{
		form[:],
		conn.ColumnArg(batch, func(p *params) []byte { return p.Partial.ID[:] }),
		conn.ColumnArg(batch, func(p *params) []byte { return p.Token[:] }),
		conn.ColumnArg(batch, func(p *params) time.Time { return p.Partial.SavedAt.UTC() }),
		conn.ColumnArg(batch, func(p *params) time.Time { return p.Partial.EndsAt.UTC() }),
		conn.ColumnArg(batch, func(p *params) json.RawMessage { return p.Partial.Answers }),
		conn.ColumnArg(batch, func(p *params) json.RawMessage { return p.Partial.Hidden }),
		conn.ColumnArg(batch, func(p *params) json.RawMessage { return p.Partial.Metadata }),
		conn.ColumnArg(batch, func(p *params) string { return p.Partial.Block }),
		conn.ColumnArg(batch, func(p *params) float64 { return p.Partial.Seconds }),
		conn.ColumnArg(batch, func(p *params) bool { return p.Partial.Shared }),
		conn.ColumnArg(batch, func(p *params) bool { return p.Partial.Verified }),
		conn.ColumnArg(batch, func(p *params) bool { return p.Partial.LinkIssued }),
		limit,
	}
}

const partialColumns = `p.form_id, p.id, p.revision, p.answers, p.hidden, p.metadata, p.block, p.seconds, p.shared, p.verified, p.link_taken, p.created_at, p.saved_at, p.ends_at, p.submission_id, p.respondent`

func partialTargets(p *storage.Partial) []any {
	return []any{
		&p.FormID, &p.ID, &p.Revision, (*[]byte)(&p.Answers), (*[]byte)(&p.Hidden), (*[]byte)(&p.Metadata), &p.Block, &p.Seconds, &p.Shared, &p.Verified, &p.LinkIssued,
		&p.CreatedAt, &p.SavedAt, &p.EndsAt, &p.SubmissionID, &p.Respondent,
	}
}

const partialByToken = `
SELECT ` + partialColumns + `
FROM formsvc.partials p JOIN formsvc.forms f ON f.id = p.form_id
WHERE p.token = $2::bytea AND (p.form_id = $1::bytea AND p.ends_at > $3::timestamptz) IS TRUE AND ` + formNotTrashed

// Partial implements [storage.PartialStore].
func (s *Store) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	return conn.ReadOne(ctx, &s.db, partialTargets, partialByToken, form[:], token[:], now.UTC())
}

var partialPage, verifiedPage = buildPartialPage(""), buildPartialPage("p.verified AND ")

func buildPartialPage(condition string) string {
	return `
SELECT ` + partialColumns + `
FROM formsvc.forms f
LEFT JOIN LATERAL (
	SELECT p.* FROM formsvc.partials p
	WHERE p.form_id = $1::bytea AND p.open AND p.ends_at > (SELECT $6::timestamptz)
		AND ` + condition + `(p.saved_at, p.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
	ORDER BY p.saved_at DESC, p.id DESC
	LIMIT (SELECT $5::bigint + 1)
) p ON true
WHERE f.id = $1::bytea AND ` + formAccess + `
ORDER BY p.saved_at DESC, p.id DESC`
}

// Partials implements [storage.PartialStore].
func (s *Store) Partials(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (more bool, err error) {
	list := partialPage
	if q.Verified {
		list = verifiedPage
	}
	found, err := conn.ReadAll(ctx, &s.db, partialTargets, list, slices.Concat([]any{form[:], userArg(actor)}, pageArgs(q.Page), []any{q.Now.UTC()})...)
	if err == nil {
		found, more, err = trimPage(found, q.Page.Limit, func(p *storage.Partial) bool { return p.Revision > 0 })
	}
	for i := range found {
		if err := each(&found[i]); err != nil {
			return false, err
		}
	}
	return more, err
}

// trimPage returns the page that rows contains. If rows has more than limit elements, the list continues. A row of
// nulls means that the page is empty. If rows is empty, the form does not exist.
func trimPage[T any](rows []T, limit int, exists func(*T) bool) (found []T, more bool, err error) {
	if len(rows) == 0 {
		return nil, false, storage.ErrNotFound
	}
	n := min(max(limit, 0), len(rows))
	if !exists(&rows[0]) {
		n = 0
	}
	return rows[:n:n], n > 0 && n < len(rows), nil
}

// deletePartials deletes up to $6 partial submissions of the form $1. It returns no row if the form does not exist.
const deletePartials = `
WITH form AS MATERIALIZED (
	SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + notPurged + ` AND ($2::bytea IS NULL OR ` + formAccess + `)
), found AS MATERIALIZED (
	(SELECT p.token FROM formsvc.partials p WHERE p.form_id = (SELECT form.id FROM form) AND p.id = ANY ($3::bytea[]))
	UNION
	(SELECT p.token FROM formsvc.partials p WHERE p.token = $4::bytea AND (p.form_id = (SELECT form.id FROM form)) IS TRUE)
	UNION (
		SELECT p.token FROM formsvc.partials p
		WHERE p.form_id = (SELECT form.id FROM form) AND p.open = ANY (ARRAY[true, false]) AND p.saved_at < (SELECT $5::timestamptz)
		LIMIT (SELECT $6::bigint + 1))
), gone AS (
	DELETE FROM formsvc.partials p WHERE p.token = ANY (ARRAY(SELECT f.token FROM found f LIMIT (SELECT $6::bigint)))
	RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM found) > $6::bigint FROM form`

// DeletePartials implements [storage.PartialStore]. If it can delete several rows, it takes the lock for new partial
// submissions, because creating a partial submission can also delete rows, but in a different order.
func (s *Store) DeletePartials(ctx context.Context, actor storage.Actor, form storage.ID, p storage.DeletePartialsParams) (n int, more bool, err error) {
	if p.Max < 1 {
		return 0, false, ctx.Err()
	}
	var batch []conn.Statement
	if len(p.IDs) > 0 || !p.SavedBefore.IsZero() {
		batch = append(batch, s.lockStatement(lockPartials, form))
	}
	err = s.db.Change(ctx, append(batch, conn.NewStatement(deletePartials,
		form[:], userArg(actor), conn.IDsArg(p.IDs), tokenArg(&p.Token), conn.TimeArg(p.SavedBefore), int64(p.Max)).ScanInto(&n, &more))...)
	if err != nil { // the commit may have failed
		return 0, false, err
	}
	return n, more, nil
}

const purgePartials = `
DELETE FROM formsvc.partials p WHERE p.token = ANY (ARRAY(
	SELECT o.token FROM formsvc.partials o
	WHERE o.ends_at <= (SELECT $1::timestamptz) AND o.revision > 0
	ORDER BY o.ends_at
	LIMIT (SELECT $2::bigint)
	FOR UPDATE SKIP LOCKED))`

func tokenArg(token *[32]byte) []byte {
	if *token == [32]byte{} {
		return nil
	}
	return token[:]
}

func (s *Store) purgePartials(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (bool, error) {
	n, err := s.db.ChangeRows(ctx, purgePartials, p.Now.UTC(), int64(p.Max))
	return n > 0, err
}
