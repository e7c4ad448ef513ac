package memory

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func BenchmarkForm(b *testing.B) {
	f := setup(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.store.Form(ctx, f.owner, f.form); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFormParallel(b *testing.B) {
	f := setup(b)
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := f.store.Form(ctx, f.owner, f.form); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkFormForKey(b *testing.B) {
	f := setup(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		got, err := f.store.FormForKey(ctx, storage.FormForKeyParams{Hash: f.hash, Form: f.form, Scope: storage.ScopeFormsRead})
		if err != nil || got.Form == nil {
			b.Fatal(got.Form, err)
		}
	}
}

func BenchmarkSubmissions(b *testing.B) {
	for _, rows := range []int{1e3, 1e5} {
		f := setup(b)
		for i := range rows {
			f.submit(b, i)
		}
		deepest := storage.Position{Time: start.Add(100 * time.Second), ID: id('s', 100)}
		for _, page := range []struct {
			name  string
			after *storage.Position
		}{{"first", nil}, {"deepest", &deepest}} {
			b.Run(fmt.Sprintf("rows=%d/page=%s", rows, page.name), func(b *testing.B) {
				ctx := context.Background()
				q := storage.SubmissionQuery{Page: storage.Page{After: page.after, Limit: 100}}
				b.ReportAllocs()
				for b.Loop() {
					got, err := f.store.Submissions(ctx, f.owner, f.form, q)
					if err != nil || len(got.Submissions) != 100 {
						b.Fatal(len(got.Submissions), err)
					}
				}
			})
		}
	}
}

func BenchmarkSubmit(b *testing.B) {
	for _, webhooks := range []int{0, 1} {
		b.Run(fmt.Sprintf("webhooks=%d", webhooks), func(b *testing.B) {
			f := setup(b)
			for i := range webhooks {
				f.addWebhook(b, i)
			}
			ctx := context.Background()
			r := f.response(0)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				// What differs from one response to the next, made cheaply.
				r.Submission.ID, r.Event.ID = id('s', n), id('e', n)
				r.Submission.SubmittedAt = start.Add(time.Duration(n) * time.Millisecond)
				r.IdempotencyKey, r.UniqueAnswer = string(r.Event.ID[:]), r.Submission.ID[:]
				if _, _, err := f.store.Submit(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkClaim claims, and gives back, one delivery of each of 64 webhooks
// while each has a backlog.
func BenchmarkClaim(b *testing.B) {
	f := setup(b)
	for i := range 64 {
		f.addWebhook(b, i)
	}
	for i := range 200 {
		f.submit(b, i)
	}
	ctx := context.Background()
	p := storage.ClaimParams{Now: start.Add(time.Hour), Lease: time.Minute, Max: 64, PerWebhook: 1}
	b.ReportAllocs()
	for b.Loop() {
		claimed, err := f.store.ClaimDeliveries(ctx, p)
		if err != nil || len(claimed) != 64 {
			b.Fatal(len(claimed), err)
		}
		done := make([]storage.Result, len(claimed))
		for i, d := range claimed {
			done[i].Lease = d.Lease
		}
		if fenced, err := f.store.FinishDeliveries(ctx, done, 100); err != nil || len(fenced) != 0 {
			b.Fatal(fenced, err)
		}
	}
}
