package servicetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

func TestImportOfOldResponses(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		settings := `{"duplicateField":"mail","responseLimit":6,"closeAt":"2020-01-01T00:00:00Z"}`
		form := b.Form(servicetest.MailBlocks, `{"duplicateField":"mail"}`)
		url, _ := servicetest.Receiver(t)
		b.Webhook(form, url, servicetest.Secret)
		old := time.Date(2019, 3, 4, 5, 6, 7, 890_000_000, time.FixedZone("", 3600))
		imported := func(at time.Time, mail string, deliver bool) (formsvc.Submission, error) {
			return b.Submit(t.Context(), formsvc.Response{
				FormID: form, Answers: servicetest.Answers("mail", mail), SubmittedAt: at, Deliver: deliver, IdempotencyKey: mail,
			})
		}
		pending := func() int64 {
			stats, err := b.Store.QueueStats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return stats.Due + stats.Waiting
		}

		now, err := b.Answer(form, "mail", `"now@example.com"`)
		if err != nil {
			t.Fatal(err)
		}
		b.Settings(form, settings)
		if _, err := b.Answer(form, "mail", `"late@example.com"`); !errors.Is(err, formsvc.ErrClosed) {
			t.Errorf("a response of today to a form that is closed: %v", err)
		}
		if pending() != 1 {
			t.Fatalf("%d deliveries are pending", pending())
		}
		want := []formsvc.ID{now.ID}
		var order []formsvc.ID
		for i := range 4 {
			s, err := imported(old.AddDate(0, -i, 0), fmt.Sprintf(`"%d@example.com"`, i), i == 3)
			if err != nil {
				t.Fatal(err)
			}
			if !s.SubmittedAt.Equal(old.AddDate(0, -i, 0).Truncate(time.Second)) || s.SubmittedAt.Location() != time.UTC || s.FormRevision == 0 {
				t.Errorf("submitted at %v, of revision %d", s.SubmittedAt, s.FormRevision)
			}
			want = append(want, s.ID)
		}
		if pending() != 2 {
			t.Errorf("%d deliveries are pending after one of 4 was imported with its event, want 2", pending())
		}
		for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, s.ID)
		}
		if !slices.Equal(order, want) {
			t.Errorf("listed %v, want %v", order, want)
		}
		for period, n := range map[formsvc.Period]int64{formsvc.PeriodAll: 5, formsvc.Period12m: 1, formsvc.PeriodToday: 1} {
			m, err := b.AsHost().Metrics(t.Context(), form, period)
			if err != nil || m.Submissions != n {
				t.Errorf("%s: %d submissions, %v, want %d", period, m.Submissions, err, n)
			}
		}

		again, err := imported(old, `"0@example.com"`, false)
		if err != nil || again.ID != want[1] {
			t.Errorf("a repeated import: %v, %v", again.ID, err)
		}
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("mail", `"1@EXAMPLE.com"`), SubmittedAt: old}); !errors.Is(err, formsvc.ErrDuplicate) {
			t.Errorf("an address that is taken: %v", err)
		}
		if _, err := imported(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), `"closed@example.com"`, false); !errors.Is(err, formsvc.ErrClosed) {
			t.Errorf("a response of the moment of closing: %v", err)
		}
		var faults *formsvc.Error
		b.Settings(form, `{}`)
		_, err = imported(time.Now().Add(time.Minute), `"future@example.com"`, false)
		if !errors.As(err, &faults) || len(faults.Violations) != 1 || faults.Violations[0].Path != "/submitted_at" || faults.Violations[0].Code != schema.CodeOutOfRange {
			t.Errorf("a response of the future: %v", err)
		}
		b.Settings(form, settings)
		if _, err := imported(old, `"5@example.com"`, false); err != nil {
			t.Error(err)
		}
		if _, err := imported(old, `"6@example.com"`, false); !errors.Is(err, formsvc.ErrClosed) {
			t.Errorf("a response beyond the limit: %v", err)
		}
	})
}

// Faults of a response beside its answers are named and have their parameters.
func TestSubmitRefusesWhatStandsBesideTheAnswers(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(`[{"id":"a","type":"number"}]`, `{}`)
	for path, r := range map[string]formsvc.Response{
		"/submitted_at":    {SubmittedAt: time.Time{}.Add(time.Nanosecond)},
		"/idempotency_key": {IdempotencyKey: strings.Repeat("k", 256)},
		"/completion_time": {CompletionTime: -1},
	} {
		for _, key := range []string{r.IdempotencyKey, "\x00"} {
			if key == "\x00" && path != "/idempotency_key" {
				continue
			}
			r.FormID, r.IdempotencyKey = form, key
			_, err := b.Submit(t.Context(), r)
			var invalid *formsvc.Error
			if !errors.As(err, &invalid) || len(invalid.Violations) != 1 || invalid.Violations[0].Path != path {
				t.Errorf("%s: %v", path, err)
				continue
			}
			v := invalid.Violations[0]
			always, _ := schema.CodeParams(v.Code)
			for _, name := range always {
				if v.Params[name] == nil {
					t.Errorf("%s %s has no %s", path, v.Code, name)
				}
			}
		}
	}
	for _, at := range []time.Time{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		var invalid *formsvc.Error
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, SubmittedAt: at}); !errors.As(err, &invalid) {
			t.Errorf("%v: %v", at, err)
		}
	}
}
