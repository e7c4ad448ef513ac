package storagetest

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func metricsCases() []Case {
	return []Case{
		{"sum", "Funnel sums the counts of one form.", funnelSums},
		{"counts_together", "CountFunnel adds all counts of a list and ignores missing forms, unless all are missing.", funnelTogether},
		{"submission_counts", "Submit adds one submission to the funnel at SubmittedAt.", funnelCountsSubmissions},
		{"window_of_minutes", "Funnel sums the window from <= t < to, by the minute for the last two days.", funnelMinutes},
		{"window_of_days", "Funnel is exact for windows of whole UTC days, however old.", funnelDays},
		{"counts_that_come_late", "A count for a time before the newest count is stored at its own time.", funnelLate},
		{"counts_from_the_future", "A count later than the store's clock does not fold earlier minutes into days.", funnelFuture},
		{"lifetime", "SetLifetimeCounters replaces the counters, zero counters remove them, and the counts of windows do not include them.", lifetimeCounters},
		{"totals", "SubmissionTotals returns the number of submissions of each requested form, including the lifetime counter.", submissionTotals},
		{"unknown_form", "CountFunnel, Funnel and SetLifetimeCounters return ErrNotFound for an unknown form.", funnelUnknownForm},
	}
}

// midnight is a UTC midnight, d days after the day of at(0).
func midnight(days int) time.Time {
	return time.Date(2026, 3, 4+days, 0, 0, 0, 0, time.UTC)
}

func (b *bundle) count(form storage.ID, when time.Time, views, starts, submissions int64) {
	b.Helper()
	b.ok(b.store.CountFunnel(b.Context(), counted(form, when, storage.Counters{Views: views, Starts: starts, Submissions: submissions})), "CountFunnel")
}

// counted is one count.
func counted(form storage.ID, when time.Time, c storage.Counters) []storage.FunnelCount {
	return []storage.FunnelCount{{Form: form, At: when, Counters: c}}
}

func (b *bundle) sums(form storage.ID, from, to time.Time, views, starts, submissions int64, what string) {
	b.Helper()
	want := storage.Counters{Views: views, Starts: starts, Submissions: submissions}
	same(b, b.funnel(form, from, to).Counters, want, "Funnel, %s", what)
}

func funnelSums(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	none := time.Time{}
	b.sums(f.ID, none, none, 0, 0, 0, "without counts")
	b.count(f.ID, at(0), 3, 2, 1)
	b.count(f.ID, at(0), 1, 0, 0)
	b.count(f.ID, at(time.Hour), 10, 20, 30)
	b.count(other.ID, at(0), 100, 100, 100)
	b.sums(f.ID, none, none, 14, 22, 31, "all time")
	same(b, b.funnel(f.ID, none, none).Lifetime, nil, "Lifetime that was never set")
}

func funnelTogether(b *bundle) {
	f, other, trashed := b.anyForm(), b.anyForm(), b.anyForm()
	b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), trashed.ID, storage.TrashParams{At: at(0)}), "TrashForm")
	view := func(form storage.ID, when time.Time, views int64) storage.FunnelCount {
		return counted(form, when, storage.Counters{Views: views, Starts: 1})[0]
	}
	gone := []storage.FunnelCount{view(newID(), midnight(0), 1), view(trashed.ID, midnight(0), 1)}
	b.is(b.store.CountFunnel(b.Context(), gone), storage.ErrNotFound, "CountFunnel of forms that there are not")
	b.is(b.store.CountFunnel(b.Context(), nil), storage.ErrNotFound, "CountFunnel of nothing")
	list := slices.Concat(gone, []storage.FunnelCount{view(f.ID, midnight(0), 1), view(other.ID, midnight(1), 10), view(f.ID, midnight(0), 100), view(f.ID, midnight(1), 1000)})
	b.ok(b.store.CountFunnel(b.Context(), list), "CountFunnel")
	b.sums(f.ID, midnight(0), midnight(1), 101, 2, 0, "the first day of a form")
	b.sums(f.ID, midnight(1), midnight(2), 1000, 1, 0, "its second day")
	b.sums(other.ID, time.Time{}, time.Time{}, 10, 1, 0, "another form")
	b.ok(b.store.RestoreForm(b.Context(), trashed.ID, storage.ID{}, at(0)), "RestoreForm")
	b.sums(trashed.ID, time.Time{}, time.Time{}, 0, 0, 0, "the form that was in the trash")
}

func funnelCountsSubmissions(b *bundle) {
	f := b.anyForm(withLimit(1))
	n := b.submit(f, withKey("once"))
	minute := n.Submission.SubmittedAt.Truncate(time.Minute)
	b.sums(f.ID, minute, minute.Add(time.Minute), 0, 0, 1, "the minute of SubmittedAt")
	_, _, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit, replayed")
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "the limit is reached")
	b.sums(f.ID, time.Time{}, time.Time{}, 0, 0, 1, "after a replay and a refusal")
}

func funnelMinutes(b *bundle) {
	f := b.anyForm()
	noon := midnight(10).Add(12 * time.Hour)
	const minute = time.Minute
	b.count(f.ID, noon.Add(-time.Microsecond), 1, 0, 0)
	b.count(f.ID, noon, 10, 0, 0)
	b.count(f.ID, noon.Add(minute-time.Microsecond), 100, 0, 0)
	b.count(f.ID, noon.Add(minute), 1000, 0, 0)
	for _, c := range []struct {
		name     string
		from, to time.Time
		want     int64
	}{
		{"one minute", noon, noon.Add(minute), 110},
		{"the minute before", noon.Add(-minute), noon, 1},
		{"two minutes", noon, noon.Add(2 * minute), 1110},
		{"since a minute", noon, time.Time{}, 1110},
		{"an empty window", noon, noon, 0},
		{"a window before all", noon.Add(-time.Hour), noon.Add(-minute), 0},
		{"a window after all", noon.Add(2 * minute), noon.Add(time.Hour), 0},
		{"the last 24 hours", noon.Add(-24 * time.Hour), noon.Add(minute), 111},
		{"all time", time.Time{}, time.Time{}, 1111},
	} {
		b.sums(f.ID, c.from, c.to, c.want, 0, 0, c.name)
	}
}

func funnelDays(b *bundle) {
	f := b.anyForm()
	views := int64(1)
	for _, day := range []int{0, 1, 40, 400} {
		b.count(f.ID, midnight(day), views, 0, 0)
		b.count(f.ID, midnight(day+1).Add(-time.Microsecond), views, 0, 0)
		views *= 10
	}
	for _, c := range []struct {
		name     string
		from, to time.Time
		want     int64
	}{
		{"the first day", midnight(0), midnight(1), 2},
		{"the second day", midnight(1), midnight(2), 20},
		{"two days", midnight(0), midnight(2), 22},
		{"the days between", midnight(2), midnight(40), 0},
		{"since a day", midnight(1), time.Time{}, 2220},
		{"until a day", time.Time{}, midnight(40), 22},
		{"the newest day", midnight(400), midnight(401), 2000},
		{"all time", time.Time{}, time.Time{}, 2222},
	} {
		b.sums(f.ID, c.from, c.to, c.want, 0, 0, c.name)
	}
}

func funnelLate(b *bundle) {
	f := b.anyForm()
	noon := midnight(10).Add(12 * time.Hour)
	b.count(f.ID, noon, 1, 0, 0)
	b.count(f.ID, midnight(3), 10, 0, 0)           // a week late
	b.count(f.ID, noon.Add(-time.Hour), 100, 0, 0) // an hour late
	b.sums(f.ID, midnight(3), midnight(4), 10, 0, 0, "a day of the past")
	b.sums(f.ID, noon.Add(-time.Hour), noon, 100, 0, 0, "the hour before the newest count")
	b.sums(f.ID, midnight(4), time.Time{}, 101, 0, 0, "the days since")
	b.sums(f.ID, time.Time{}, time.Time{}, 111, 0, 0, "all time")
}

func funnelFuture(b *bundle) {
	f := b.anyForm()
	now := time.Now().UTC().Truncate(time.Minute)
	for _, when := range []time.Time{now.Add(-20 * time.Hour), now.Add(10 * 24 * time.Hour), now.Add(-time.Hour)} {
		b.count(f.ID, when, 1, 0, 0)
		b.sweep(storage.SweepParams{Now: now, Max: 100})
	}
	b.sums(f.ID, now.Add(-24*time.Hour), now.Add(time.Minute), 2, 0, 0, "the last 24 hours")
	b.sums(f.ID, time.Time{}, time.Time{}, 3, 0, 0, "all time")
}

func lifetimeCounters(b *bundle) {
	f := b.anyForm()
	b.count(f.ID, at(0), 1, 1, 1)
	for _, want := range []storage.Counters{{Views: 100, Starts: 50, Submissions: 20}, {Starts: 1 << 40}} {
		b.ok(b.store.SetLifetimeCounters(b.Context(), f.ID, want), "SetLifetimeCounters")
		got := b.funnel(f.ID, midnight(0), midnight(1))
		same(b, got, storage.Funnel{Counters: storage.Counters{Views: 1, Starts: 1, Submissions: 1}, Lifetime: &want}, "Funnel with lifetime counters")
	}
	b.ok(b.store.SetLifetimeCounters(b.Context(), f.ID, storage.Counters{}), "SetLifetimeCounters of zero")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Lifetime, nil, "Lifetime after it was set to zero")
}

func submissionTotals(b *bundle) {
	owner := b.user()
	place := b.addWorkspace(owner).ID
	none, some, trashed, foreign := b.addForm(place), b.addForm(place), b.addForm(place), b.anyForm()
	for _, f := range []storage.Form{some, trashed, foreign} {
		b.submit(f)
	}
	b.erase(some.ID, 1, b.submit(some).Submission.ID)
	b.count(some.ID, midnight(-400), 7, 7, 10)
	b.ok(b.store.SetLifetimeCounters(b.Context(), some.ID, storage.Counters{Views: 100, Submissions: 100}), "SetLifetimeCounters")
	b.trashForm(trashed.ID)
	asked := []storage.ID{some.ID, none.ID, trashed.ID, foreign.ID, newID(), some.ID}
	for range 2 {
		got, err := b.store.SubmissionTotals(b.Context(), storage.As(owner), asked)
		b.ok(err, "SubmissionTotals")
		same(b, got, map[storage.ID]int64{some.ID: 112, none.ID: 0}, "SubmissionTotals")
		b.sweep(storage.SweepParams{Now: soon(), Max: 100}) // which sums up the funnel
	}
	got, err := b.store.SubmissionTotals(b.Context(), storage.AsHost(), nil)
	b.ok(err, "SubmissionTotals")
	same(b, len(got), 0, "forms of SubmissionTotals of none")
}

func funnelUnknownForm(b *bundle) {
	b.is(b.store.CountFunnel(b.Context(), counted(newID(), at(0), storage.Counters{Views: 1})), storage.ErrNotFound, "CountFunnel")
	_, err := b.store.Funnel(b.Context(), storage.AsHost(), newID(), storage.Window{})
	b.is(err, storage.ErrNotFound, "Funnel")
	b.is(b.store.SetLifetimeCounters(b.Context(), newID(), storage.Counters{Views: 1}), storage.ErrNotFound, "SetLifetimeCounters")
}
