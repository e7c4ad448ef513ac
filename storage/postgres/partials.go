package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// unsynced spares a save the wait for the disk and for standbys. It ends with the transaction,
// and is not sent in one of the host's.
const unsynced = `SELECT set_config('synchronous_commit', 'off', true)`

// savePartial sends what saves half responses.
func (s *Store) savePartial(ctx context.Context, batch ...conn.Statement) error {
	if !s.db.InTx {
		batch = append([]conn.Statement{conn.Run(unsynced)}, batch...)
	}
	return s.db.Send(ctx, batch...)
}

// SavePartial implements [storage.PartialStore]. On a pool, new half responses of a form that
// come while others are being made are made together, and a save is safe from a crash of the
// server after three times its wal_writer_delay, 0.6 seconds.
func (s *Store) SavePartial(ctx context.Context, p storage.SavePartialParams) (revision int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	v := &p.Partial
	if err := conn.CheckArgs([]any{v.Answers, v.Hidden, v.Metadata, v.Block, v.SavedAt, v.EndsAt}); err != nil {
		return 0, err
	}
	if !p.New {
		return s.changePartial(ctx, p)
	}
	err = errAlone
	if s.submits != nil {
		conn.Own(&v.Answers, &v.Hidden, &v.Metadata) // as in Submit
		err = s.submits.makePartial(ctx, p)
	}
	if errors.Is(err, errAlone) {
		err = s.db.Write(ctx, func(ctx context.Context) error {
			made, err := s.makePartials(ctx, []save{p})
			if err == nil {
				err = made[0]
			}
			return err
		})
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// partialsOf is what new half responses have in common that are made together.
type partialsOf struct {
	form storage.ID
	most int
}

// makePartial makes one together with others.
func (all *submits) makePartial(ctx context.Context, p save) error {
	late, end := all.late(ctx)
	defer end()
	v := &p.Partial
	made, begun, err := all.partials.do(ctx, late, partialsOf{v.FormID, p.Max}, p, len(v.Answers)+len(v.Hidden)+len(v.Metadata))
	return cmp.Or(notWaited(ctx, err, begun), made)
}

// errAlone is for each of a group whose statement failed because of one of them.
var errAlone = errors.New("postgres: to be made alone")

func partialFailed(err error) error { return err }

func (s *Store) makePartialsTogether(ctx context.Context, of []save) ([]error, error) {
	out, err := s.makePartials(ctx, of)
	if len(of) > 1 && conn.Refused(err) && ctx.Err() == nil {
		return slices.Repeat([]error{errAlone}, len(of)), nil
	}
	return out, err
}

// formForPartials is the form $1, when half responses of it are saved.
const formForPartials = `SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formThere + ` AND f.status = 'published'`

const changePartial = `
WITH seen AS MATERIALIZED (
	SELECT p.revision, NOT p.open AS sent
	FROM formsvc.partials p
	WHERE p.token = $2::bytea AND (p.form_id = (` + formForPartials + `) AND p.ends_at > $4::timestamptz) IS TRUE
	FOR NO KEY UPDATE OF p
), saved AS (
	UPDATE formsvc.partials p SET revision = p.revision + 1, saved_at = $4::timestamptz, ends_at = $5::timestamptz, answers = $6::json,
		hidden = $7::json, metadata = $8::json, block = $9::text, seconds = $10::float8, shared = $11::boolean
	FROM seen
	WHERE p.token = $2::bytea AND NOT seen.sent AND $3::bigint IN (0, seen.revision)
	RETURNING p.revision
)
SELECT seen.sent, seen.revision, (SELECT saved.revision FROM saved) FROM seen`

// changePartial waits for nobody but who changes the same one.
func (s *Store) changePartial(ctx context.Context, p storage.SavePartialParams) (revision int64, err error) {
	v := &p.Partial
	var sent bool
	var current int64
	change := conn.Run(changePartial, v.FormID[:], p.Token[:], p.IfRevision, v.SavedAt.UTC(), v.EndsAt.UTC(),
		v.Answers, v.Hidden, v.Metadata, v.Block, v.Seconds, v.Shared).Into(&sent, &current, &revision)
	err = s.db.Write(ctx, func(ctx context.Context) error { return s.savePartial(ctx, change) })
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

// newPartials makes half responses of the form $1, as if one after the other in the order of
// their times. When there would be more than $3, those go that were saved longest ago: stored
// ones, or of those that are made all but the last. When a stored one changes at that moment,
// nothing is done: the first column says so, and the next run sees the change. It follows the
// lock under which the form's half responses do not become more. The count reads up to $3 entries
// of an index, once for all that are made together.
//
// The limits are for the planner. Behind an offset and a limit it expects a fifth of the form's
// entries, and so takes them from the index in their order instead of reading and sorting the whole
// table where one form has most of it. Of unnest behind a limit it expects one row, not the
// thousands of replaced, and looks up each token.
const newPartials = `
WITH form AS MATERIALIZED (
	` + formForPartials + `
), given AS MATERIALIZED (
	SELECT g.*
	FROM form CROSS JOIN unnest((SELECT $4::bytea[]), (SELECT $5::bytea[]), (SELECT $6::timestamptz[]), (SELECT $7::timestamptz[]), (SELECT $8::json[]),
		(SELECT $9::json[]), (SELECT $10::json[]), (SELECT $11::text[]), (SELECT $12::float8[]), (SELECT $13::boolean[])) WITH ORDINALITY
		AS g (token, id, saved_at, ends_at, answers, hidden, metadata, block, seconds, shared, place)
	WHERE (SELECT true FROM formsvc.partials p WHERE p.token = g.token) IS NULL
), beyond AS MATERIALIZED (
	SELECT p.id, p.saved_at FROM formsvc.partials p
	WHERE (SELECT $3::bigint) > 0 AND p.form_id = (SELECT $1::bytea FROM given LIMIT 1) AND p.open AND p.ends_at > (SELECT $2::timestamptz)
	ORDER BY p.saved_at DESC, p.id DESC
	OFFSET (SELECT GREATEST($3::bigint - count(*), 0) FROM given) LIMIT (SELECT $3::bigint + 1000000)
), oldest AS MATERIALIZED (
	SELECT b.saved_at, b.id, 0 AS place FROM beyond b
	UNION ALL
	SELECT g.saved_at, g.id, g.place FROM given g WHERE g.place < (SELECT max(l.place) FROM given l)
	ORDER BY saved_at, id
	LIMIT (SELECT count(*) FROM beyond)
), replaced AS MATERIALIZED (
	SELECT p.token
	FROM oldest o CROSS JOIN LATERAL (
		SELECT p.token FROM formsvc.partials p
		WHERE p.form_id = $1::bytea AND p.open AND p.saved_at = o.saved_at AND p.id = o.id
		LIMIT 1
		FOR UPDATE) p
	WHERE o.place = 0
), room AS MATERIALIZED (
	SELECT (SELECT count(*) FROM replaced) = (SELECT count(*) FROM oldest o WHERE o.place = 0) AS made
), gone AS (
	DELETE FROM formsvc.partials p
	USING (SELECT * FROM unnest(ARRAY(SELECT r.token FROM replaced r CROSS JOIN room WHERE room.made)) AS r (token) LIMIT (SELECT count(*) FROM replaced)) r
	WHERE p.token = r.token
), made AS (
	INSERT INTO formsvc.partials (token, form_id, id, revision, created_at, saved_at, ends_at, answers, hidden, metadata, block, seconds, shared)
	SELECT g.token, $1::bytea, g.id, 1, g.saved_at, g.saved_at, g.ends_at, g.answers, g.hidden, g.metadata, g.block, g.seconds, g.shared
	FROM given g CROSS JOIN room WHERE room.made AND g.place NOT IN (SELECT o.place FROM oldest o)
	ON CONFLICT DO NOTHING
)
SELECT room.made, g.token FROM form CROSS JOIN room LEFT JOIN given g ON true`

// makePartials makes half responses of one form with one bound, and says what became of each.
func (s *Store) makePartials(ctx context.Context, of []save) ([]error, error) {
	form, most := of[0].Partial.FormID, of[0].Max
	rows, places := make([]save, 0, len(of)), make(map[[32]byte]int, len(of))
	for i := range of {
		if _, again := places[of[i].Token]; !again {
			places[of[i].Token] = i
			rows = append(rows, of[i])
		}
	}
	slices.SortFunc(rows, func(a, b save) int {
		return cmp.Or(a.Partial.SavedAt.Compare(b.Partial.SavedAt), bytes.Compare(a.Partial.ID[:], b.Partial.ID[:]))
	})
	now := rows[len(rows)-1].Partial.SavedAt
	over := 0 // that are replaced by those which come with them
	if most > 0 {
		over = max(0, len(rows)-most)
	}
	text := conn.Run(newPartials, append([]any{form[:], now.UTC(), int64(most)}, columnsOf(rows[over:])...)...)
	for range submitTries {
		out := slices.Repeat([]error{storage.ErrConflict}, len(of))
		for i := range rows[:over] {
			out[places[rows[i].Token]] = nil
		}
		var there, made bool
		var token []byte
		err := s.savePartial(ctx, s.lock(lockPartials, form), text.Each(func(rows pgx.Rows) error {
			return conn.EachRow(rows, []any{&made, &token}, func() {
				if there = true; len(token) > 0 {
					out[places[[32]byte(token)]] = nil
				}
			})
		}))
		switch {
		case err != nil:
			return nil, err
		case !there:
			return slices.Repeat([]error{storage.ErrNotFound}, len(of)), nil
		case made:
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w: half responses changed again and again", storage.ErrUnavailable)
}

type save = storage.SavePartialParams

// columnsOf are the arguments of newPartials from $4 on.
func columnsOf(rows []save) []any {
	return []any{
		conn.Column(rows, func(p *save) []byte { return p.Token[:] }),
		conn.Column(rows, func(p *save) []byte { return p.Partial.ID[:] }),
		conn.Column(rows, func(p *save) time.Time { return p.Partial.SavedAt.UTC() }),
		conn.Column(rows, func(p *save) time.Time { return p.Partial.EndsAt.UTC() }),
		conn.Column(rows, func(p *save) json.RawMessage { return p.Partial.Answers }),
		conn.Column(rows, func(p *save) json.RawMessage { return p.Partial.Hidden }),
		conn.Column(rows, func(p *save) json.RawMessage { return p.Partial.Metadata }),
		conn.Column(rows, func(p *save) string { return p.Partial.Block }),
		conn.Column(rows, func(p *save) float64 { return p.Partial.Seconds }),
		conn.Column(rows, func(p *save) bool { return p.Partial.Shared }),
	}
}

const partialColumns = `p.id, p.revision, p.answers, p.hidden, p.metadata, p.block, p.seconds, p.shared, p.created_at, p.saved_at, p.ends_at, p.submission_id`

// partialTargets are what partialColumns are scanned into. The three JSON values are borrowed.
func partialTargets(p *storage.Partial) []any {
	return []any{
		&p.ID, &p.Revision, &p.Answers, &p.Hidden, &p.Metadata, &p.Block, &p.Seconds, &p.Shared, &p.CreatedAt, &p.SavedAt, &p.EndsAt, &p.SubmissionID,
	}
}

const partialByToken = `
SELECT ` + partialColumns + `
FROM formsvc.partials p JOIN formsvc.forms f ON f.id = p.form_id
WHERE p.token = $2::bytea AND (p.form_id = $1::bytea AND p.ends_at > $3::timestamptz) IS TRUE AND ` + formThere

// Partial implements [storage.PartialStore].
func (s *Store) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	p := storage.Partial{FormID: form}
	err := s.db.ReadRow(ctx, partialByToken, func(rows pgx.Rows) error {
		err := conn.Scan(rows, partialTargets(&p)...)
		conn.Own(&p.Answers, &p.Hidden, &p.Metadata)
		return err
	}, form[:], token[:], now.UTC())
	if err != nil {
		return storage.Partial{}, err
	}
	return p, nil
}

// partialPage has the form out of the access check, as pageFrom does.
const partialPage = `
SELECT ` + partialColumns + `
FROM formsvc.partials p
WHERE p.form_id = (SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + formAccess + `)
	AND p.open AND p.ends_at > (SELECT $6::timestamptz)
	AND (p.saved_at, p.id) < (COALESCE((SELECT $3::timestamptz), 'infinity'), $4::bytea)
ORDER BY p.saved_at DESC, p.id DESC
LIMIT (SELECT $5::bigint + 1)`

// Partials implements [storage.PartialStore]. It is tried again like Submissions.
func (s *Store) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (more bool, err error) {
	var read pageRead
	err = s.readPage(ctx, &read, func(ctx context.Context) error {
		rows, err := s.db.Query(ctx, partialPage, slices.Concat([]any{form[:], userArg(who)}, pageArgs(q.Page), []any{q.Now.UTC()}))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if read.lent >= q.Page.Limit {
				read.more = read.lent > 0
				break
			}
			p := storage.Partial{FormID: form}
			if err := conn.Scan(rows, partialTargets(&p)...); err != nil {
				return err
			}
			read.lent++
			if read.refused = each(&p); read.refused != nil {
				return read.refused
			}
		}
		rows.Close()
		if err := rows.Err(); err != nil || read.lent > 0 {
			return err
		}
		return conn.NoRow(s.db.QueryRow(ctx, formIsThere, conn.Into(nil), form[:], userArg(who)), storage.ErrNotFound)
	})
	return read.more, err
}

// The statements of DeletePartials.
var (
	partialsByActor = deletePartials(formAccess)
	partialsByHost  = deletePartials(notPurged + ` AND $2::bytea IS NULL`)
)

// deletePartials removes half responses of the form $1, $6 at most. Without the form it has no row.
func deletePartials(access string) string {
	return `
WITH form AS MATERIALIZED (
	SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + access + `
), found AS MATERIALIZED (
	(SELECT p.token FROM formsvc.partials p WHERE p.form_id = (SELECT form.id FROM form) AND p.id = ANY ($3::bytea[]))
	UNION
	(SELECT p.token FROM formsvc.partials p WHERE p.token = $4::bytea AND (p.form_id = (SELECT form.id FROM form)) IS TRUE)
	UNION ` + savedBefore("p.open") + `
	UNION ` + savedBefore("NOT p.open") + `
), gone AS (
	DELETE FROM formsvc.partials p WHERE p.token = ANY (ARRAY(SELECT f.token FROM found f LIMIT (SELECT $6::bigint)))
	RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM found) > $6::bigint FROM form`
}

// savedBefore are those that were not submitted, or were.
func savedBefore(open string) string {
	return `(
		SELECT p.token FROM formsvc.partials p
		WHERE p.form_id = (SELECT form.id FROM form) AND ` + open + ` AND p.saved_at < (SELECT $5::timestamptz)
		ORDER BY p.saved_at, p.id
		LIMIT (SELECT $6::bigint + 1))`
}

// DeletePartials implements [storage.PartialStore]. Many are removed under the lock under which
// new ones take places, so that the two do not wait for rows of each other.
func (s *Store) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (n int, more bool, err error) {
	if p.Max < 1 {
		return 0, false, ctx.Err()
	}
	text := partialsByActor
	if who.Host() {
		text = partialsByHost
	}
	batch := []conn.Statement{conn.Run(text, form[:], userArg(who), conn.IDsArg(p.IDs), tokenArg(&p.Token), conn.TimeArg(p.SavedBefore), int64(p.Max)).Into(&n, &more)}
	if len(p.IDs) > 0 || !p.SavedBefore.IsZero() {
		batch = slices.Insert(batch, 0, s.lock(lockPartials, form))
	}
	if err = s.db.Change(ctx, batch...); err != nil { // it may be that of the commit
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
