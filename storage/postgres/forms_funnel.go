package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// longLogRows is the number of rows above which reading a form's log also moves a batch of rows into buckets. Summing
// this many rows takes about 1 ms. Because of sweeps, the log usually has fewer rows.
const longLogRows = 2048

const countFunnel = `
INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
SELECT c.form_id, min(c.at), sum(c.views)::bigint, sum(c.starts)::bigint, sum(c.submissions)::bigint
FROM unnest((SELECT $1::bytea[]), (SELECT $2::timestamptz[]), (SELECT $3::bigint[]), (SELECT $4::bigint[]), (SELECT $5::bigint[])) AS c (form_id, at, views, starts, submissions)
GROUP BY c.form_id, date_trunc('minute', c.at, 'UTC')
HAVING (SELECT ` + formNotTrashed + ` FROM formsvc.forms f WHERE f.id = c.form_id)`

// CountFunnel implements [storage.MetricsStore]. It appends a row for each form and minute to a log, so that calls do
// not wait for each other. Sweeps move the rows into buckets, by minute and by day.
func (s *Store) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	return s.db.ChangeRow(ctx, countFunnel,
		conn.ColumnArg(counts, func(c *storage.FunnelCount) []byte { return c.Form[:] }),
		conn.ColumnArg(counts, func(c *storage.FunnelCount) time.Time { return c.At.UTC() }),
		conn.ColumnArg(counts, func(c *storage.FunnelCount) int64 { return c.Views }),
		conn.ColumnArg(counts, func(c *storage.FunnelCount) int64 { return c.Starts }),
		conn.ColumnArg(counts, func(c *storage.FunnelCount) int64 { return c.Submissions }))
}

// readFunnel sums the counts in the log, on the window's whole days, and in the minutes before and after these days.
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
WHERE f.id = $1::bytea AND ` + formAccess

// Funnel implements [storage.MetricsStore].
func (s *Store) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	p := splitWindow(storage.Window{From: w.From.UTC(), To: w.To.UTC()})
	var out storage.Funnel
	var lifetime storage.Counters
	var waiting int64
	var set bool
	err := s.db.ReadRow(ctx, readFunnel, conn.RowScanner(&out.Views, &out.Starts, &out.Submissions, &waiting,
		&set, &lifetime.Views, &lifetime.Starts, &lifetime.Submissions),
		form[:], userArg(actor), conn.TimeArg(w.From), conn.TimeArg(w.To),
		conn.TimeArg(p.days.From), conn.TimeArg(p.days.To), p.head.From, p.head.To, p.tail.From, p.tail.To)
	if err != nil {
		return storage.Funnel{}, err
	}
	if set {
		out.Lifetime = &lifetime
	}
	if waiting > longLogRows && !s.db.InTx { // an error would abort the host's transaction
		if _, err := s.foldForm(ctx, form); err != nil {
			s.log.ErrorContext(ctx, "formsvc: failed to combine a form's views, starts and submissions",
				"form", form.String(), "error", err)
		}
	}
	return out, nil
}

const submissionTotals = `
SELECT f.id, (COALESCE((SELECT l.submissions FROM formsvc.form_lifetime l WHERE l.form_id = f.id), 0)
	+ COALESCE((SELECT sum(g.submissions) FROM formsvc.funnel_log g WHERE g.form_id = f.id), 0)
	+ COALESCE((SELECT sum(d.submissions) FROM formsvc.funnel_days d WHERE d.form_id = f.id), 0))::bigint
FROM formsvc.forms f
WHERE f.id = ANY ((SELECT $1::bytea[])::bytea[]) AND ` + formAccess

// SubmissionTotals implements [storage.MetricsStore].
func (s *Store) SubmissionTotals(ctx context.Context, actor storage.Actor, forms []storage.ID) (map[storage.ID]int64, error) {
	totals := make(map[storage.ID]int64, len(forms))
	var form storage.ID
	var submissions int64
	err := s.db.Read(ctx, func(ctx context.Context) error {
		return s.db.Each(ctx, submissionTotals, []any{&form, &submissions}, func() { totals[form] = submissions }, conn.IDsArg(forms), userArg(actor))
	})
	return totals, err
}

// windowParts contains a window's whole days, and the minutes before and after them. A zero time in days means no
// limit.
type windowParts struct{ days, head, tail storage.Window }

const day = 24 * time.Hour

func splitWindow(w storage.Window) windowParts {
	nothing := storage.Window{From: time.Unix(0, 0).UTC(), To: time.Unix(0, 0).UTC()}
	p := windowParts{days: w, head: nothing, tail: nothing}
	if !w.From.IsZero() {
		p.days.From = w.From.Add(day - 1).Truncate(day) // the first midnight (UTC) in the window
		p.head = storage.Window{From: w.From, To: p.days.From}
	}
	if !w.To.IsZero() {
		p.days.To = w.To.Truncate(day)
		p.tail = storage.Window{From: p.days.To, To: w.To}
	}
	if !w.From.IsZero() && !w.To.IsZero() && p.days.From.After(p.days.To) { // the window contains no midnight
		return windowParts{days: nothing, head: w, tail: nothing}
	}
	return p
}

// foldRows moves the log rows in the CTE picked into their forms' buckets. It drops the rows of removed
// forms. If several calls run concurrently, only one of them moves rows. Minute buckets are kept for two days, counted
// back from the newest count or the server's time, whichever is earlier. A process whose clock is ahead therefore
// removes no minutes. As in a purge, days are locked before minutes.
const foldRows = `, moved AS (
	DELETE FROM formsvc.funnel_log g
	WHERE g.ctid = ANY (ARRAY(SELECT l.place FROM picked l)) AND (g.tableoid, g.ctid) IN (SELECT l.rel, l.place FROM picked l)
	RETURNING g.form_id, g.at, g.views, g.starts, g.submissions
), minutes AS MATERIALIZED (
	SELECT m.form_id, date_trunc('minute', m.at, 'UTC') AS minute,
		sum(m.views)::bigint AS views, sum(m.starts)::bigint AS starts, sum(m.submissions)::bigint AS submissions
	FROM moved m
	GROUP BY 1, 2
), kept AS MATERIALIZED (
	SELECT n.form_id, LEAST(clock_timestamp(), GREATEST(n.newest, (
			SELECT b.minute FROM formsvc.funnel_minutes b WHERE b.form_id = n.form_id ORDER BY b.minute DESC LIMIT 1
		))) - interval '2 days' AS since
	FROM (SELECT m.form_id, max(m.minute) AS newest FROM minutes m GROUP BY 1) n
	WHERE (SELECT f.purged_at IS NULL FROM formsvc.forms f WHERE f.id = n.form_id)
), to_days AS (
	INSERT INTO formsvc.funnel_days AS b (form_id, day, views, starts, submissions)
	SELECT m.form_id, (m.minute AT TIME ZONE 'UTC')::date, sum(m.views)::bigint, sum(m.starts)::bigint, sum(m.submissions)::bigint
	FROM minutes m JOIN kept k ON k.form_id = m.form_id
	GROUP BY 1, 2
	ON CONFLICT (form_id, day) DO UPDATE SET
		views = b.views + EXCLUDED.views, starts = b.starts + EXCLUDED.starts, submissions = b.submissions + EXCLUDED.submissions
	RETURNING 1
), to_minutes AS (
	INSERT INTO formsvc.funnel_minutes AS b (form_id, minute, views, starts, submissions)
	SELECT m.form_id, m.minute, m.views, m.starts, m.submissions
	FROM minutes m JOIN kept k ON k.form_id = m.form_id
	WHERE m.minute >= k.since AND (SELECT count(*) FROM to_days) >= 0
	ON CONFLICT (form_id, minute) DO UPDATE SET
		views = b.views + EXCLUDED.views, starts = b.starts + EXCLUDED.starts, submissions = b.submissions + EXCLUDED.submissions
), past AS MATERIALIZED (
	SELECT b.rel, b.place FROM kept k
	CROSS JOIN LATERAL (
		SELECT b.tableoid AS rel, b.ctid AS place FROM formsvc.funnel_minutes b WHERE b.form_id = k.form_id AND b.minute < k.since
	) b
), dropped AS (
	DELETE FROM formsvc.funnel_minutes b
	WHERE b.ctid = ANY (ARRAY(SELECT l.place FROM past l)) AND (b.tableoid, b.ctid) IN (SELECT l.rel, l.place FROM past l)
)
SELECT count(*), (SELECT p.form_id FROM picked p ORDER BY p.form_id DESC LIMIT 1) FROM moved`

var (
	foldLog     = fmt.Sprintf(foldTemplate, "o.form_id > $1::bytea")
	foldFormLog = fmt.Sprintf(foldTemplate, "o.form_id = $1::bytea")
)

const foldTemplate = `
WITH picked AS MATERIALIZED (
	SELECT o.tableoid AS rel, o.ctid AS place, o.form_id FROM formsvc.funnel_log o
	WHERE %s AND (SELECT pg_try_advisory_xact_lock($2::bigint))
	ORDER BY o.form_id, o.at, o.id
	LIMIT (SELECT $3::bigint)
	FOR UPDATE
)` + foldRows

func (s *Store) foldRows(ctx context.Context, text string, form []byte, most int64) (moved int64, last storage.ID, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		return s.db.SendWrite(ctx, conn.NewStatement(text, form, s.lockKey(lockFunnels, storage.ID{}), most).ScanInto(&moved, &last))
	})
	return moved, last, err
}

// foldForm moves the oldest rows of a form's log into buckets and returns their number.
func (s *Store) foldForm(ctx context.Context, form storage.ID) (moved int64, err error) {
	moved, _, err = s.foldRows(ctx, foldFormLog, form[:], 2*longLogRows)
	return moved, err
}

// foldCounts moves a batch of log rows into buckets. It starts after the last form of the previous batch.
func (s *Store) foldCounts(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (more bool, err error) {
	after := []byte{}
	if last := s.sweepPosition.funnel.Load(); last != nil {
		after = last[:]
	}
	moved, last, err := s.foldRows(ctx, foldLog, after, int64(p.Max))
	switch {
	case err != nil || moved == 0:
		s.sweepPosition.funnel.Store(nil)
	case moved > 0:
		s.sweepPosition.funnel.Store(&last)
	}
	// After the last form, the next call starts at the first form again. If this call started there, nothing is left.
	return moved > 0 && (moved == int64(p.Max) || len(after) > 0), err
}

// setLifetime returns a row if the form exists, even if it is in the trash.
const setLifetime = `
WITH form AS (
	SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND ` + notPurged + ` FOR KEY SHARE OF f
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
	return s.db.Change(ctx, conn.NewStatement(setLifetime, form[:], c.Views, c.Starts, c.Submissions).ScanInto(nil))
}
