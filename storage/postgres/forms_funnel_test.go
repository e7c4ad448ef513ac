package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// counted is one count.
func counted(form storage.ID, at time.Time, c storage.Counters) []storage.FunnelCount {
	return []storage.FunnelCount{{Form: form, At: at, Counters: c}}
}

// The parts of a window are the window, each minute once.
func TestPartition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minute := func(name string) time.Time {
			n := rapid.Int64Range(-5*24*60, 5*24*60).Draw(t, name)
			if n == 0 {
				return time.Time{}
			}
			return time.Unix(n*60, 0).UTC()
		}
		all := storage.Window{From: minute("from"), To: minute("to")}
		p := partition(all)
		contains := func(w storage.Window, at time.Time, open bool) bool {
			return (open && w.From.IsZero() || !at.Before(w.From)) && (open && w.To.IsZero() || at.Before(w.To))
		}
		at := time.Unix(rapid.Int64Range(-6*24*60, 6*24*60).Draw(t, "at")*60, 0).UTC()
		n := 0
		year, month, day := at.Date()
		if contains(p.days, time.Date(year, month, day, 0, 0, 0, 0, time.UTC), true) {
			n++
		}
		if contains(p.head, at, false) {
			n++
		}
		if contains(p.tail, at, false) {
			n++
		}
		want := 0
		if contains(all, at, true) {
			want = 1
		}
		if n != want {
			t.Fatalf("%v is %d times in the parts of %+v: %+v", at, n, all, p)
		}
	})
}

// Folding changes where counts are, not what they add up to, and keeps minutes
// for two days.
func TestFold(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	start := pgseed.Start()
	times := []time.Time{start, start.Add(time.Minute), start.Add(30 * time.Hour), start.Add(72 * time.Hour), start.Add(72*time.Hour + 59*time.Second)}
	for _, at := range times {
		must(t, s.CountFunnel(t.Context(), counted(form, at, storage.Counters{Views: 1, Starts: 2, Submissions: 3})))
	}
	check := func(when string, from, to time.Time, want int64) {
		t.Helper()
		got, err := s.Funnel(t.Context(), host, form, storage.Window{From: from, To: to})
		if err != nil || got.Counters != (storage.Counters{Views: want, Starts: 2 * want, Submissions: 3 * want}) {
			t.Errorf("%s: %+v, %v; want %d views", when, got, err, want)
		}
	}
	for range 2 {
		check("all time", time.Time{}, time.Time{}, 5)
		check("the first day", start, start.Add(day), 2)
		check("a minute", start.Add(72*time.Hour), start.Add(72*time.Hour+time.Minute), 2)
		check("since a time of day", start.Add(30*time.Hour), time.Time{}, 3)
		if _, err := s.foldForm(t.Context(), form); err != nil {
			t.Fatal(err)
		}
	}
	wantRows(t, pool, s, 0, "funnel_log")
	wantRows(t, pool, s, 2, "funnel_minutes")
	must(t, s.CountFunnel(t.Context(), counted(form, start, storage.Counters{Views: 1, Starts: 2, Submissions: 3})))
	if _, err := s.foldForm(t.Context(), form); err != nil {
		t.Fatal(err)
	}
	check("a day of the past, counted late", start, start.Add(day), 3)
	wantRows(t, pool, s, 2, "funnel_minutes")
}

// Counts of a host's transaction are folded like all others, and a log that has become
// long is folded by a read; a fault of that is logged and is not the read's.
func TestALongLogIsFoldedByARead(t *testing.T) {
	t.Parallel()
	owner, pool := seeded(t)
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	fill := func(rows int) {
		t.Helper()
		execute(t, pool, owner, `
			INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
			SELECT $1::bytea, $2::timestamptz, 1, 0, 0 FROM generate_series(1, $3::integer)`, pgx.QueryExecModeExec, form[:], pgseed.Start(), rows)
	}
	read := func(s *Store, want int64) {
		t.Helper()
		if got, err := s.Funnel(t.Context(), host, form, storage.Window{}); err != nil || got.Views != want {
			t.Errorf("%d views, want %d (%v)", got.Views, want, err)
		}
	}
	var log bytes.Buffer
	s := New(pool, WithSchema(owner.db.Schema), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	fill(longLog)
	read(s, longLog)
	wantRows(t, pool, s, longLog, "funnel_log")
	fill(1)
	read(s, longLog+1)
	if n := count(t, pool, s, "funnel_log"); n != 0 || log.Len() > 0 {
		t.Errorf("%d rows are left of a long log\n%s", n, &log)
	}
	read(s, longLog+1)

	execute(t, pool, s, "ALTER TABLE formsvc.funnel_days ADD CHECK (views <= 0) NOT VALID")
	fill(longLog + 1)
	read(s, 2*longLog+2)
	if !strings.Contains(log.String(), "not folded") || !strings.Contains(log.String(), form.String()) {
		t.Errorf("the log says %q", &log)
	}
	if _, err := s.Sweep(t.Context(), storage.SweepParams{Max: 100}); err == nil {
		var more error
		for range sweepSteps { // the step that folds is one of them
			_, err := s.Sweep(t.Context(), storage.SweepParams{Max: 100})
			more = errors.Join(more, err)
		}
		if more == nil {
			t.Error("sweeps report no fault")
		}
	}
}

// Folding takes turns: forms whose log goes on growing do not keep it from the others.
func TestFoldingGoesRoundTheForms(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	counts := func(form, n int) {
		for range n {
			must(t, s.CountFunnel(t.Context(), counted(pgseed.ID(pgseed.Form, form), pgseed.Start(), storage.Counters{Views: 1})))
		}
	}
	counts(0, 10)
	counts(2, 10)
	p := storage.SweepParams{Max: 10}
	for range 2 * len(sweepSteps) {
		counts(0, 10) // the first form is never done
		if _, err := s.foldCounts(t.Context(), p, &storage.Swept{}); err != nil {
			t.Fatal(err)
		}
	}
	last := pgseed.ID(pgseed.Form, 2)
	var left int
	if err := pool.QueryRow(t.Context(), s.db.SQL("SELECT count(*) FROM formsvc.funnel_log WHERE form_id = $1"), last[:]).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d counts of the last form are not folded (%v)", left, err)
	}
}

// A popular form that is viewed a thousand times at once is one row of the log for each minute.
func TestCountsOfAMinuteAreOneRow(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	var counts []storage.FunnelCount
	for i := range 240 { // in turns: two forms, and both in two minutes
		counts = append(counts, storage.FunnelCount{
			Form: pgseed.ID(pgseed.Form, i%2), At: pgseed.Start().Add(time.Duration(i) * 500 * time.Millisecond), Counters: storage.Counters{Views: 1, Starts: 2, Submissions: 3},
		})
	}
	must(t, s.CountFunnel(t.Context(), counts))
	var rows, forms, minutes, least int
	err := pool.QueryRow(t.Context(), s.db.SQL(`SELECT count(*), count(DISTINCT form_id), count(DISTINCT date_trunc('minute', at)),
		min(LEAST(views, starts / 2, submissions / 3)) FROM formsvc.funnel_log`)).Scan(&rows, &forms, &minutes, &least)
	if err != nil || rows != 4 || forms != 2 || minutes != 2 || least != 60 {
		t.Errorf("%d rows of %d forms in %d minutes, the least with %d views: %v", rows, forms, minutes, least, err)
	}
}
