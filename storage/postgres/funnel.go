package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

const (
	// foldEvery is how many counts come, on average, to one that folds the form's
	// log, so that the log stays short without anybody who looks after it.
	foldEvery = 256
	// foldMost bounds what one folding takes out of the log. It is larger than
	// foldEvery, so that a log that has become long becomes short again.
	foldMost = 4 * foldEvery
	// longLog is when who reads a funnel folds the log first next time.
	longLog = 2 * foldMost
)

const countFunnel = `
INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
SELECT f.id, $2::timestamptz, $3::bigint, $4::bigint, $5::bigint
FROM formsvc.forms f
WHERE f.id = $1::bytea AND f.trashed_at IS NULL`

// CountFunnel implements [storage.MetricsStore]. It appends a row to a log, which
// is folded into buckets now and then; counts never wait for each other.
func (s *Store) CountFunnel(ctx context.Context, form storage.ID, at time.Time, c storage.Counts) error {
	err := s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, countFunnel, form[:], at.UTC(), c.Views, c.Starts, c.Submissions)
		if err == nil && n == 0 {
			return storage.ErrNotFound
		}
		return err
	})
	if err == nil && s.dueToFold() {
		s.foldQuietly(ctx, form)
	}
	return err
}

// readFunnel sums what is in the log, in the days of the window and in the
// minutes at its ends.
const readFunnel = `
SELECT total.views, total.starts, total.submissions, total.waiting,
	l.form_id IS NOT NULL, l.views, l.starts, l.submissions
FROM formsvc.forms f
LEFT JOIN formsvc.form_lifetime l ON l.form_id = f.id
CROSS JOIN LATERAL (
	SELECT COALESCE(sum(part.views), 0)::bigint AS views, COALESCE(sum(part.starts), 0)::bigint AS starts,
		COALESCE(sum(part.submissions), 0)::bigint AS submissions, sum(part.waiting)::bigint AS waiting
	FROM (
		SELECT sum(g.views) AS views, sum(g.starts) AS starts, sum(g.submissions) AS submissions, count(*) AS waiting
		FROM formsvc.funnel_log g
		WHERE g.form_id = f.id
			AND g.at >= COALESCE($3::timestamptz, '-infinity') AND g.at < COALESCE($4::timestamptz, 'infinity')
		UNION ALL
		SELECT sum(d.views), sum(d.starts), sum(d.submissions), 0
		FROM formsvc.funnel_days d
		WHERE d.form_id = f.id
			AND d.day >= COALESCE($5::date, '-infinity') AND d.day < COALESCE($6::date, 'infinity')
		UNION ALL
		SELECT sum(m.views), sum(m.starts), sum(m.submissions), 0
		FROM formsvc.funnel_minutes m
		WHERE m.form_id = f.id AND m.minute >= $7::timestamptz AND m.minute < $8::timestamptz
		UNION ALL
		SELECT sum(m.views), sum(m.starts), sum(m.submissions), 0
		FROM formsvc.funnel_minutes m
		WHERE m.form_id = f.id AND m.minute >= $9::timestamptz AND m.minute < $10::timestamptz
	) part
) total
WHERE f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess

// Funnel implements [storage.MetricsStore].
func (s *Store) Funnel(ctx context.Context, who storage.Actor, form storage.ID, from, to time.Time) (storage.Funnel, error) {
	p := partition(from.UTC(), to.UTC())
	var out storage.Funnel
	var waiting int64
	err := s.read(ctx, func(ctx context.Context) error {
		out = storage.Funnel{}
		err := s.queryRow(ctx, readFunnel, func(rows pgx.Rows) error {
			var lifetime storage.Counters
			var set bool
			err := rows.Scan(&out.Views, &out.Starts, &out.Submissions, &waiting,
				&set, scanInt(&lifetime.Views), scanInt(&lifetime.Starts), scanInt(&lifetime.Submissions))
			if set {
				out.Lifetime = &lifetime
			}
			return err
		}, form[:], userArg(who), timeArg(from), timeArg(to),
			timeArg(p.days.from), timeArg(p.days.to), p.head.from, p.head.to, p.tail.from, p.tail.to)
		return noRow(err, storage.ErrNotFound)
	})
	if err != nil {
		return storage.Funnel{}, err
	}
	if waiting > longLog {
		s.foldQuietly(ctx, form)
	}
	return out, nil
}

// window is from <= t < to.
type window struct{ from, to time.Time }

// parts of a window: whole days, whose bounds may be zero for none, and the
// minutes before and after them.
type parts struct{ days, head, tail window }

const day = 24 * time.Hour

func partition(from, to time.Time) parts {
	nothing := window{time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()}
	p := parts{days: window{from, to}, head: nothing, tail: nothing}
	if !from.IsZero() {
		p.days.from = startOfDay(from.Add(day - 1))
	}
	if !to.IsZero() {
		p.days.to = startOfDay(to)
	}
	if !from.IsZero() && !to.IsZero() && p.days.from.After(p.days.to) { // within one day
		return parts{days: nothing, head: window{from, to}, tail: nothing}
	}
	if !from.IsZero() {
		p.head = window{from, p.days.from}
	}
	if !to.IsZero() {
		p.tail = window{p.days.to, to}
	}
	return p
}

// startOfDay returns the UTC midnight before t, also before 1970.
func startOfDay(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// fold moves the oldest rows of a form's log into its buckets. Of several calls
// at once one does the work and the others do nothing, so nobody waits. The rows
// of a form that is gone are dropped.
const fold = `
WITH moved AS (
	DELETE FROM formsvc.funnel_log g
	WHERE g.ctid = ANY (ARRAY(
		SELECT o.ctid FROM formsvc.funnel_log o
		WHERE o.form_id = $1::bytea AND (SELECT pg_try_advisory_xact_lock($2::bigint))
		ORDER BY o.at
		LIMIT $3::bigint
		FOR UPDATE))
	RETURNING g.at, g.views, g.starts, g.submissions
), minutes AS (
	SELECT date_trunc('minute', m.at, 'UTC') AS minute,
		sum(m.views)::bigint AS views, sum(m.starts)::bigint AS starts, sum(m.submissions)::bigint AS submissions
	FROM moved m
	GROUP BY 1
), kept AS (
	SELECT GREATEST(
		(SELECT max(m.minute) FROM minutes m),
		(SELECT b.minute FROM formsvc.funnel_minutes b WHERE b.form_id = $1::bytea ORDER BY b.minute DESC LIMIT 1)
	) - interval '2 days' AS since
), to_days AS (
	INSERT INTO formsvc.funnel_days AS b (form_id, day, views, starts, submissions)
	SELECT f.id, (m.minute AT TIME ZONE 'UTC')::date, sum(m.views)::bigint, sum(m.starts)::bigint, sum(m.submissions)::bigint
	FROM minutes m, formsvc.forms f
	WHERE f.id = $1::bytea
	GROUP BY 1, 2
	ON CONFLICT (form_id, day) DO UPDATE SET
		views = b.views + EXCLUDED.views, starts = b.starts + EXCLUDED.starts, submissions = b.submissions + EXCLUDED.submissions
), to_minutes AS (
	INSERT INTO formsvc.funnel_minutes AS b (form_id, minute, views, starts, submissions)
	SELECT f.id, m.minute, m.views, m.starts, m.submissions
	FROM minutes m, kept, formsvc.forms f
	WHERE f.id = $1::bytea AND m.minute >= kept.since
	ON CONFLICT (form_id, minute) DO UPDATE SET
		views = b.views + EXCLUDED.views, starts = b.starts + EXCLUDED.starts, submissions = b.submissions + EXCLUDED.submissions
), dropped AS (
	DELETE FROM formsvc.funnel_minutes b USING kept
	WHERE b.form_id = $1::bytea AND b.minute < kept.since
)
SELECT count(*) FROM moved`

// fold moves rows of the log into buckets and reports whether there are more.
func (s *Store) fold(ctx context.Context, form storage.ID) (more bool, err error) {
	var moved int64
	err = s.write(ctx, func(ctx context.Context) error {
		return s.queryRow(ctx, fold, func(rows pgx.Rows) error { return rows.Scan(&moved) },
			form[:], s.lockKey(lockFunnels, form), int64(foldMost))
	})
	return moved == foldMost, err
}

// dueToFold reports by chance, so that nothing has to be counted, whether a count
// is one that folds.
func (s *Store) dueToFold() bool { return s.chance(foldEvery) == 0 }

// foldQuietly folds as an aside of a call that has done its own work: an error is
// the business of nobody, as the log is right as it is. Inside a host's
// transaction it does nothing, because an error would end that.
func (s *Store) foldQuietly(ctx context.Context, form storage.ID) {
	if !s.inTx {
		_, _ = s.fold(ctx, form)
	}
}

// setLifetime tells with its row whether there is such a form; one in the trash
// counts.
const setLifetime = `
WITH form AS (
	SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea FOR KEY SHARE OF f
), dropped AS (
	DELETE FROM formsvc.form_lifetime l USING form
	WHERE l.form_id = form.id AND $2::bigint = 0 AND $3::bigint = 0 AND $4::bigint = 0
), kept AS (
	INSERT INTO formsvc.form_lifetime AS l (form_id, views, starts, submissions)
	SELECT form.id, $2::bigint, $3::bigint, $4::bigint FROM form
	WHERE $2::bigint <> 0 OR $3::bigint <> 0 OR $4::bigint <> 0
	ON CONFLICT (form_id) DO UPDATE SET
		views = EXCLUDED.views, starts = EXCLUDED.starts, submissions = EXCLUDED.submissions
)
SELECT 1 FROM form`

// SetLifetimeCounters implements [storage.MetricsStore].
func (s *Store) SetLifetimeCounters(ctx context.Context, form storage.ID, c storage.Counters) error {
	return s.write(ctx, func(ctx context.Context) error {
		err := s.queryRow(ctx, setLifetime, func(pgx.Rows) error { return nil }, form[:], c.Views, c.Starts, c.Submissions)
		return noRow(err, storage.ErrNotFound)
	})
}

// lockFunnels lets one call at a time fold a form's log.
const lockFunnels lockKind = "funnel"
