package storagetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func concurrentLimitCases() []Case {
	return []Case{
		{"create_key_limit", "50 calls of CreateKey at once with a max of 20 leave exactly 20 keys.", parallelKeys},
		{"create_workspace_limit", "30 calls of CreateWorkspace at once with a max of 10 leave exactly 10 workspaces.", parallelWorkspaces},
		{"create_webhook_limit", "40 calls of CreateWebhook at once with a max of 20 leave exactly 20 webhooks.", parallelWebhooks},
		{"submit_limit", "100 calls of Submit at once against a response limit of 10 store exactly 10.", parallelSubmits},
		{"submit_unique_answer", "Of 50 concurrent submissions with the same unique answer, exactly one is stored.", parallelUnique},
		{"submit_idempotency", "Of 50 concurrent submissions with the same idempotency key, one is stored and all callers receive it.", parallelIdempotent},
		{"submit_without_event", "An event without an ID is not queued, whatever is stored concurrently.", submitWithoutEvent},
		{"submit_counts", "Concurrent submissions, views and deliveries are all counted.", parallelCounts},
		{"set_limit_during_submits", "A response limit that is set while submissions are in flight is not exceeded.", limitDuringSubmits},
	}
}

// outcome counts what came of calls that were made at once. Every error has to
// be the one that the contract names.
func (b *bundle) outcome(errs []error, refusal error, what string) (done int) {
	b.Helper()
	for i, err := range errs {
		switch {
		case err == nil:
			done++
		case !errors.Is(err, refusal):
			b.is(err, refusal, "%s, call %d of %d concurrent calls", what, i+1, len(errs))
		}
	}
	return done
}

func parallelKeys(b *bundle) {
	user := b.user()
	errs := together(50, func(i int) error {
		var hash [32]byte
		rand.Read(hash[:])
		k := storage.Key{ID: newID(), UserID: user, Name: fmt.Sprint(i), Scopes: storage.Scopes(), CreatedAt: at(0)}
		return b.store.CreateKey(b.Context(), storage.NewKey{User: newUser(user), Key: k, Hash: hash, Max: 20})
	})
	same(b, b.outcome(errs, storage.ErrLimitReached, "CreateKey"), 20, "calls of CreateKey that succeeded")
	keys, err := b.store.Keys(b.Context(), user)
	b.ok(err, "Keys")
	same(b, len(keys), 20, "number of keys")
}

func parallelWorkspaces(b *bundle) {
	owner := b.user()
	workspaces := make([]storage.Workspace, 30)
	for i := range workspaces {
		workspaces[i] = b.newWorkspace(owner)
	}
	errs := together(len(workspaces), func(i int) error { return b.store.CreateWorkspace(b.Context(), workspaces[i], 10) })
	same(b, b.outcome(errs, storage.ErrLimitReached, "CreateWorkspace"), 10, "calls of CreateWorkspace that succeeded")
	list, err := b.store.Workspaces(b.Context(), storage.As(owner), storage.Page{Limit: 100})
	b.ok(err, "Workspaces")
	same(b, len(list), 10, "number of workspaces")
}

func parallelWebhooks(b *bundle) {
	f := b.anyForm()
	webhooks := make([]storage.Webhook, 40)
	for i := range webhooks {
		webhooks[i] = b.newWebhook(f.ID)
	}
	errs := together(len(webhooks), func(i int) error { return b.createWebhook(webhooks[i], 20) })
	same(b, b.outcome(errs, storage.ErrLimitReached, "CreateWebhook"), 20, "calls of CreateWebhook that succeeded")
	list, err := b.store.Webhooks(b.Context(), storage.AsHost(), storage.Page{Limit: 100})
	b.ok(err, "Webhooks")
	same(b, len(list), 20, "number of webhooks")
}

func parallelSubmits(b *bundle) {
	f := b.anyForm(withLimit(10))
	errs := together(100, func(int) error {
		_, _, err := b.store.Submit(b.Context(), submissionAt(f, at(0)))
		return err
	})
	same(b, b.outcome(errs, storage.ErrLimitReached, "Submit"), 10, "calls of Submit that succeeded")
	same(b, len(b.submissions(f.ID)), 10, "number of submissions")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Submissions, int64(10), "submissions in the funnel")
	b.full(f, true, "after as many submissions as the limit allows")
}

func parallelUnique(b *bundle) {
	f := b.anyForm()
	errs := together(50, func(int) error {
		n := submissionAt(f, at(0))
		n.UniqueAnswer = []byte("the same")
		_, _, err := b.store.Submit(b.Context(), n)
		return err
	})
	same(b, b.outcome(errs, storage.ErrDuplicate, "Submit"), 1, "calls of Submit that succeeded")
	same(b, len(b.submissions(f.ID)), 1, "number of submissions")
}

func parallelIdempotent(b *bundle) {
	f := b.anyForm(withLimit(1))
	b.addWebhook(f.ID)
	const n = 50
	got := make([]storage.Submission, n)
	var stored atomic.Int64
	errs := together(n, func(i int) error {
		s := submissionAt(f, at(0))
		s.IdempotencyKey, s.UniqueAnswer = "the same", []byte("the same")
		var replayed bool
		var err error
		got[i], replayed, err = b.store.Submit(b.Context(), s)
		if err == nil && !replayed {
			stored.Add(1)
		}
		return err
	})
	for _, err := range errs {
		b.ok(err, "Submit with an idempotency key that concurrent calls use")
	}
	same(b, stored.Load(), int64(1), "calls of Submit that were not replayed")
	want := only(b, b.submissions(f.ID), "Submissions")
	for i := range got {
		same(b, got[i], want, "what Submit returned to caller %d", i+1)
	}
	same(b, b.stats().Due, int64(1), "pending deliveries")
}

func parallelCounts(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.addWebhook(f.ID)
	const n = 40
	errs := together(2*n, func(i int) error {
		if i%2 == 0 {
			return b.store.CountFunnel(b.Context(), counted(f.ID, at(0), storage.Counters{Views: 2, Starts: 1}))
		}
		_, _, err := b.store.Submit(b.Context(), submissionAt(f, at(0)))
		return err
	})
	for _, err := range errs {
		b.ok(err, "CountFunnel and Submit concurrently")
	}
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Counters, storage.Counters{Views: 2 * n, Starts: n, Submissions: n}, "Funnel")
	same(b, len(b.submissions(f.ID)), n, "number of submissions")
	same(b, b.stats().Due, int64(2*n), "pending deliveries")
}

func limitDuringSubmits(b *bundle) {
	const limit, submitters = 10, 24
	for range 4 {
		f := b.anyForm()
		full := false
		errs := together(submitters+1, func(i int) error {
			if i == 0 {
				got, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID,
					storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: limit}, At: at(time.Hour)})
				full = got.LimitReached
				return err
			}
			n := submissionAt(f, at(0))
			_, _, err := b.store.Submit(b.Context(), n)
			for errors.Is(err, storage.ErrRevisionMismatch) {
				now, readErr := b.store.Form(b.Context(), storage.AsHost(), f.ID)
				if readErr != nil {
					return readErr
				}
				n.FormRevision = now.Revision
				_, _, err = b.store.Submit(b.Context(), n)
			}
			return err
		})
		done := b.outcome(errs, storage.ErrLimitReached, "UpdateForm and Submit") - 1
		stored := len(b.submissions(f.ID))
		same(b, stored, done, "number of submissions: as many as calls of Submit that succeeded")
		// When fewer were stored as the limit was set, it holds exactly.
		if !full && stored != limit {
			b.Errorf("submissions: want exactly %d, because the form was not full when the limit was set, got %d", limit, stored)
		}
		if full && stored < limit {
			b.Errorf("submissions: want at least %d, because the form was full when the limit was set, got %d", limit, stored)
		}
	}
}
