package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// unsynced spares a save the wait for the disk and for standbys. It ends with the transaction,
// and is not sent in one of the host's.
const unsynced = `SELECT set_config('synchronous_commit', 'off', true), ` + conn.LockTimeoutSet

// savePartial sends what saves half responses.
func (s *Store) savePartial(ctx context.Context, batch ...conn.Statement) error {
	if !s.db.InTx {
		batch = append([]conn.Statement{conn.Run(unsynced)}, batch...)
	}
	return s.db.Send(ctx, batch...)
}

// SavePartial implements [storage.PartialStore]. On a pool, those who make new half responses of a
// form have one connection together, and a save is safe from a crash of the server after three times
// its wal_writer_delay, 0.6 seconds.
func (s *Store) SavePartial(ctx context.Context, p storage.SavePartialParams) (revision int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	switch {
	case !p.New:
		return s.changePartial(ctx, &p)
	case s.submits != nil:
		conn.Own(&p.Partial.Answers, &p.Partial.Hidden, &p.Partial.Metadata) // as in Submit
		err = s.submits.makePartial(ctx, p)
	default:
		err = s.db.Write(ctx, func(ctx context.Context) error { return s.makePartial(ctx, &p) })
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// makePartial makes one when it is the turn of the form's next.
func (all *submits) makePartial(ctx context.Context, p storage.SavePartialParams) error {
	late, end := all.late(ctx)
	defer end()
	made, begun, err := all.partials.do(ctx, late, p.Partial.FormID, p, 0)
	return cmp.Or(notWaited(ctx, err, begun), made.err)
}

// partialArgs are the arguments of the statements that save one, and more from $11 on.
func partialArgs(p *storage.SavePartialParams, more ...any) []any {
	v := &p.Partial
	return append([]any{
		v.FormID[:], p.Token[:], v.SavedAt.UTC(), v.EndsAt.UTC(), v.Answers, v.Hidden, v.Metadata, v.Block, v.Seconds, v.Shared,
	}, more...)
}

// formForPartials is the form $1, when half responses of it are saved.
const formForPartials = `SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formThere + ` AND f.status = 'published'`

const changePartial = `
WITH seen AS MATERIALIZED (
	SELECT p.revision, NOT p.open AS sent
	FROM formsvc.partials p
	WHERE p.token = $2::bytea AND (p.form_id = (` + formForPartials + `) AND p.ends_at > $3::timestamptz) IS TRUE
	FOR NO KEY UPDATE OF p
), saved AS (
	UPDATE formsvc.partials p SET revision = p.revision + 1, saved_at = $3::timestamptz, ends_at = $4::timestamptz, answers = $5::json,
		hidden = $6::json, metadata = $7::json, block = $8::text, seconds = $9::float8, shared = $10::boolean
	FROM seen
	WHERE p.token = $2::bytea AND NOT seen.sent AND $11::bigint IN (0, seen.revision)
	RETURNING p.revision
)
SELECT seen.sent, seen.revision, (SELECT saved.revision FROM saved) FROM seen`

// changePartial waits for nobody but who changes the same one.
func (s *Store) changePartial(ctx context.Context, p *storage.SavePartialParams) (revision int64, err error) {
	var sent bool
	var current int64
	change := conn.Run(changePartial, partialArgs(p, p.IfRevision)...).Into(&sent, &current, &revision)
	err = s.db.WriteFor(ctx, conn.Key{About: string(p.Partial.FormID[:]), Lock: p.Token}, func(ctx context.Context) error { return s.savePartial(ctx, change) })
	switch {
	case err != nil:
		return 0, conn.NoRow(err, storage.ErrNotFound)
	case sent:
		return 0, storage.ErrConflict
	case revision == 0:
		return 0, &storage.RevisionError{Current: current, Kind: "partial"}
	}
	return revision, nil
}

// newPartial makes a half response of the form $1. When there are $12 already, the oldest goes. When
// that one changes at the moment, nothing is done: the second column says so, and the next run sees
// the change. It follows the lock under which the form's half responses do not become more. Whether
// there are $12 is read from as many entries of an index.
const newPartial = `
WITH form AS MATERIALIZED (
	` + formForPartials + `
), free AS MATERIALIZED (
	SELECT form.id FROM form WHERE (SELECT true FROM formsvc.partials p WHERE p.token = $2::bytea) IS NULL
), oldest AS MATERIALIZED (
	SELECT p.saved_at, p.id FROM formsvc.partials p
	WHERE p.form_id = (SELECT free.id FROM free) AND p.open AND p.ends_at > (SELECT $3::timestamptz) AND (
		SELECT true FROM formsvc.partials o
		WHERE o.form_id = (SELECT free.id FROM free) AND o.open AND o.ends_at > (SELECT $3::timestamptz)
		ORDER BY o.saved_at DESC, o.id DESC
		OFFSET (SELECT $12::bigint - 1) LIMIT 1)
	ORDER BY p.saved_at, p.id
	LIMIT 1
), gone AS (
	DELETE FROM formsvc.partials p USING oldest o
	WHERE p.form_id = $1::bytea AND p.open AND p.saved_at = o.saved_at AND p.id = o.id
	RETURNING 1
), made AS (
	INSERT INTO formsvc.partials (form_id, token, created_at, saved_at, ends_at, answers, hidden, metadata, block, seconds, shared, id, revision)
	SELECT free.id, $2::bytea, $3::timestamptz, $3::timestamptz, $4::timestamptz, $5::json, $6::json, $7::json, $8::text, $9::float8, $10::boolean, $11::bytea, 1
	FROM free
	WHERE (SELECT count(*) FROM gone) = (SELECT count(*) FROM oldest)
	ON CONFLICT DO NOTHING
	RETURNING 1
)
SELECT EXISTS (SELECT FROM made), (SELECT count(*) FROM gone) < (SELECT count(*) FROM oldest) FROM form`

func (s *Store) makePartial(ctx context.Context, p *storage.SavePartialParams) error {
	most := int64(p.Max)
	if most < 1 {
		most = math.MaxInt64
	}
	for range submitTries {
		var made, again bool
		err := s.savePartial(ctx, s.lock(lockPartials, p.Partial.FormID), conn.Run(newPartial, partialArgs(p, p.Partial.ID[:], most)...).Into(&made, &again))
		switch {
		case err != nil:
			return conn.NoRow(err, storage.ErrNotFound)
		case made:
			return nil
		case !again:
			return storage.ErrConflict
		}
	}
	return fmt.Errorf("%w: half responses changed again and again", storage.ErrUnavailable)
}

const partialColumns = `p.form_id, p.id, p.revision, p.answers, p.hidden, p.metadata, p.block, p.seconds, p.shared, p.created_at, p.saved_at, p.ends_at, p.submission_id`

// partialTargets are what partialColumns are scanned into.
func partialTargets(p *storage.Partial) []any {
	return []any{
		&p.FormID, &p.ID, &p.Revision, (*[]byte)(&p.Answers), (*[]byte)(&p.Hidden), (*[]byte)(&p.Metadata), &p.Block, &p.Seconds, &p.Shared,
		&p.CreatedAt, &p.SavedAt, &p.EndsAt, &p.SubmissionID,
	}
}

const partialByToken = `
SELECT ` + partialColumns + `
FROM formsvc.partials p JOIN formsvc.forms f ON f.id = p.form_id
WHERE p.token = $2::bytea AND (p.form_id = $1::bytea AND p.ends_at > $3::timestamptz) IS TRUE AND ` + formThere

// Partial implements [storage.PartialStore].
func (s *Store) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	return conn.ReadOne(ctx, &s.db, partialTargets, partialByToken, form[:], token[:], now.UTC())
}

// partialPage has a row of nulls for a form without any.
const partialPage = `
SELECT ` + partialColumns + `
FROM formsvc.forms f
LEFT JOIN LATERAL (
	SELECT p.* FROM formsvc.partials p
	WHERE p.form_id = $1::bytea AND p.open AND p.ends_at > (SELECT $6::timestamptz)
		AND (p.saved_at, p.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
	ORDER BY p.saved_at DESC, p.id DESC
	LIMIT (SELECT $5::bigint + 1)
) p ON true
WHERE f.id = $1::bytea AND ` + formAccess + `
ORDER BY p.saved_at DESC, p.id DESC`

// Partials implements [storage.PartialStore].
func (s *Store) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (more bool, err error) {
	found, err := conn.ReadAll(ctx, &s.db, partialTargets, partialPage, slices.Concat([]any{form[:], userArg(who)}, pageArgs(q.Page), []any{q.Now.UTC()})...)
	if err == nil {
		found, more, err = besideForm(found, q.Page.Limit, func(p *storage.Partial) bool { return p.Revision > 0 })
	}
	for i := range found {
		if err := each(&found[i]); err != nil {
			return false, err
		}
	}
	return more, err
}

// besideForm is the page in rows of what is beside a form: one row more than the limit when there
// are more, one of nulls where there is nothing, and none where there is no form.
func besideForm[T any](rows []T, limit int, there func(*T) bool) (found []T, more bool, err error) {
	if len(rows) == 0 {
		return nil, false, storage.ErrNotFound
	}
	n := min(max(limit, 0), len(rows))
	if !there(&rows[0]) {
		n = 0
	}
	return rows[:n:n], n > 0 && n < len(rows), nil
}

// deletePartials removes half responses of the form $1, $6 at most. Without the form it has no row.
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

// DeletePartials implements [storage.PartialStore]. Many are removed under the lock under which
// new ones take places, so that the two do not wait for rows of each other.
func (s *Store) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (n int, more bool, err error) {
	if p.Max < 1 {
		return 0, false, ctx.Err()
	}
	var batch []conn.Statement
	if len(p.IDs) > 0 || !p.SavedBefore.IsZero() {
		batch = append(batch, s.lock(lockPartials, form))
	}
	err = s.db.Change(ctx, append(batch, conn.Run(deletePartials,
		form[:], userArg(who), conn.IDsArg(p.IDs), tokenArg(&p.Token), conn.TimeArg(p.SavedBefore), int64(p.Max)).Into(&n, &more))...)
	if err != nil { // it may be that of the commit
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

// tokenArg is the argument for a token that may be zero, which is null.
func tokenArg(token *[32]byte) []byte {
	if *token == [32]byte{} {
		return nil
	}
	return token[:]
}

// purgePartials removes what is over.
func (s *Store) purgePartials(ctx context.Context, p storage.SweepParams, _ *storage.Swept) (bool, error) {
	n, err := s.db.ChangeRows(ctx, purgePartials, p.Now.UTC(), int64(p.Max))
	return n > 0, err
}
