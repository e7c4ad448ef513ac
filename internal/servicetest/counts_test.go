package servicetest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// A summary of counts that are kept is that of a new count, whatever happened in another process: in zones
// with changes of clocks and with half hours, with imports, removals and submissions of late clocks.
func TestKeptCountsAreThoseOfANewCount(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "America/New_York", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham", "Africa/Cairo"}
	for name, store := range servicetest.Stores(t) {
		for i, zoneName := range zones {
			zone, err := time.LoadLocation(zoneName)
			expect.NoError(t, err)
			r := rand.New(rand.NewPCG(uint64(i), 9))
			start := time.Date(2024, 10, 28, 8, 0, 0, 0, time.UTC) // days before Cairo and New York change their clocks
			now := servicetest.NewClock(start)
			options := []formsvc.Option{formsvc.WithClock(now.Now), formsvc.WithTimeZone(zone), formsvc.WithoutRateLimit()}
			b := servicetest.SetupOn(t, store, options...)
			other := servicetest.New(t, store, options...).AsHost()
			form := b.Form(summaryForm, `{}`)
			steps := []func() error{
				func() error { now.Advance(time.Duration(r.IntN(40)) * time.Minute); return nil },
				func() error { now.Advance(time.Duration(r.IntN(4)) * 13 * time.Hour); return nil },
				func() error { // a clock that is late, an import, or neither
					back := []time.Duration{0, 0, 0, 5 * time.Minute, 30 * time.Hour, 2000 * time.Hour}[r.IntN(6)]
					_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: randomAnswers(r), CompletionTime: r.Float64(), SubmittedAt: now.Now().Add(-back)})
					return err
				},
				func() error {
					for s, err := range other.Submissions(t.Context(), form, formsvc.SubmissionQuery{Until: now.Now().Add(-time.Duration(r.IntN(100)) * time.Hour), Limit: 1}) {
						if err != nil {
							return err
						}
						return other.DeleteSubmission(t.Context(), form, s.ID)
					}
					return nil
				},
			}
			for range 30 {
				expect.NoError(t, steps[max(0, r.IntN(10)-6)]())
				if r.IntN(3) > 0 {
					expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: randomAnswers(r)}))
				}
				if r.IntN(4) == 0 { // many of one second, which can be the first of a day
					at := []time.Time{now.Now(), now.Now().Truncate(24 * time.Hour), now.Now().Add(-time.Hour)}[r.IntN(3)]
					for range 1 + r.IntN(8) {
						expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: randomAnswers(r), SubmittedAt: at}))
					}
				}
				today := time.Date(now.Now().In(zone).Year(), now.Now().In(zone).Month(), now.Now().In(zone).Day(), 0, 0, 0, 0, zone)
				q := []formsvc.SubmissionQuery{
					{}, {Since: today}, {Since: today.AddDate(0, 0, -3), Until: today.Add(-time.Second)}, {Since: now.Now().Add(-24 * time.Hour)}, {Until: today.AddDate(0, 0, -2)},
					{Since: now.Now().Truncate(24 * time.Hour)}, {Until: now.Now().Truncate(24 * time.Hour)},
				}[r.IntN(7)]
				want, err := b.WithStorage(store).AsHost().Summary(t.Context(), form, q)
				expect.NoError(t, err)
				within := []time.Duration{time.Nanosecond, time.Minute}[r.IntN(2)]
				got, err := b.AsHost().SummaryWithin(t.Context(), form, q, within)
				for n := 0; got.Incomplete && err == nil; n++ {
					expect.Require(t, got.Submissions <= want.Submissions && n <= 1000,
						"%s, %s, %+v: %d of %d responses, and not finished", name, zoneName, q, got.Submissions, want.Submissions)
					if n%3 == 0 { // another summary that ends within what is counted so far
						until := now.Now().Add(-time.Duration(r.IntN(48)) * time.Hour)
						expect.Must(b.AsHost().SummaryWithin(t.Context(), form, formsvc.SubmissionQuery{Until: until}, time.Nanosecond))
					}
					got, err = b.AsHost().SummaryWithin(t.Context(), form, q, within)
				}
				expect.NoError(t, err)
				if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
					t.Fatalf("%s, %s, %s, %+v: %s", name, zoneName, now.Now(), q, diff)
				}
			}
		}
	}
}

// slowRows takes a second of the bubble's time for each submission that it passes.
type slowRows struct {
	storage.Storage
	rows   int
	cancel func(row int)
}

func (s *slowRows) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return s.Storage.Submissions(context.WithoutCancel(ctx), actor, form, q, func(sub *storage.Submission) error {
		time.Sleep(time.Second)
		s.rows++
		s.cancel(s.rows)
		return each(sub)
	})
}

// A summary and a list with a filter end with the time or the context, also within the submissions of one second.
func TestReadsEndWithinOneSecondOfSubmissions(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]time.Duration{"cached": time.Hour, "recent": 0} {
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 5400)} {
			synctest.Test(t, func(t *testing.T) {
				now := servicetest.NewClock(time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC))
				store := &slowRows{memory.New(), 0, func(int) {}}
				b := servicetest.SetupOn(t, store, formsvc.WithClock(now.Now), formsvc.WithTimeZone(zone))
				form := b.Form(summaryForm, `{}`)
				for range 50 {
					expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, SubmittedAt: now.Now().Add(-back)}))
				}
				q := formsvc.SubmissionQuery{Where: schema.When("text").IsNot("x")}
				reads := map[string]func(ctx context.Context, within time.Duration) (int64, error){
					"a summary": func(ctx context.Context, within time.Duration) (int64, error) {
						s, err := b.AsHost().SummaryWithin(ctx, form, q, within)
						return s.Read, err
					},
					"a list": func(ctx context.Context, within time.Duration) (int64, error) {
						page, err := b.AsHost().SubmissionPage(ctx, form, q, within)
						return page.Read, err
					},
				}
				for read, do := range reads {
					began := time.Now()
					n := expect.Must(do(t.Context(), 3*time.Second))
					expect.That(t, 1 < n && n < 5 && time.Since(began) <= 5*time.Second, "%s of %s submissions within 3s: %d in %v", read, name, n, time.Since(began))
					ctx, cancel := context.WithCancel(t.Context())
					store.rows, store.cancel = 0, func(row int) {
						if row == 7 {
							cancel()
						}
					}
					_, err := do(ctx, time.Hour)
					expect.That(t, errors.Is(err, context.Canceled) && store.rows == 7, "%s of %s submissions: %v after %d rows", read, name, err, store.rows)
					store.cancel = func(int) {}
				}
				if back == 0 { // they are counted as soon as they can be cached
					now.Advance(time.Hour)
				}
				for calls := 0; ; calls++ {
					s := expect.Must(b.AsHost().SummaryWithin(t.Context(), form, q, 9*time.Second))
					if !s.Incomplete {
						expect.Equal(t, s.Submissions, 50, name)
						break
					}
					expect.Require(t, calls < 10, "%s: the summary is not finished after %d calls", name, calls)
				}
			})
		}
	}
}
