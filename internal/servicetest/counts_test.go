package servicetest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
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
				today := time.Date(now.Now().In(zone).Year(), now.Now().In(zone).Month(), now.Now().In(zone).Day(), 0, 0, 0, 0, zone)
				q := []formsvc.SubmissionQuery{
					{}, {Since: today}, {Since: today.AddDate(0, 0, -3), Until: today.Add(-time.Second)}, {Since: now.Now().Add(-24 * time.Hour)}, {Until: today.AddDate(0, 0, -2)},
				}[r.IntN(5)]
				want, err := b.WithStorage(store).AsHost().Summary(t.Context(), form, q)
				expect.NoError(t, err)
				within := []time.Duration{time.Nanosecond, time.Minute}[r.IntN(2)]
				got, err := b.AsHost().SummaryWithin(t.Context(), form, q, within)
				for n := 0; got.Incomplete && err == nil; n++ {
					expect.Require(t, got.Submissions <= want.Submissions && n <= 1000,
						"%s, %s, %+v: %d of %d responses, and not finished", name, zoneName, q, got.Submissions, want.Submissions)
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
