package main

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
)

// mutants are stores with a fault, by name. The soak has to find each.
var mutants = map[string]func(storage.Storage) storage.Storage{
	"":                 func(s storage.Storage) storage.Storage { return s },
	"done before sent": func(s storage.Storage) storage.Storage { return doneBeforeSent{s} },
	"forgets":          func(s storage.Storage) storage.Storage { return &forgets{Storage: s} },
	"before commit":    func(s storage.Storage) storage.Storage { return acknowledgesBeforeCommit{s} },
	"changes bodies":   func(s storage.Storage) storage.Storage { return changesBodies{s} },
	"delivers twice":   func(s storage.Storage) storage.Storage { return deliversTwice{s} },
	"sleeps":           func(s storage.Storage) storage.Storage { return sleeps{s} },
	"loses edits":      func(s storage.Storage) storage.Storage { return losesEdits{s} },
	"loses saves":      func(s storage.Storage) storage.Storage { return losesSaves{s} },
}

// doneBeforeSent ends deliveries when they are claimed.
type doneBeforeSent struct{ storage.Storage }

func (m doneBeforeSent) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	claimed, more, err := m.Storage.ClaimDeliveries(ctx, p)
	if err != nil {
		return nil, false, err
	}
	done := make([]storage.Result, len(claimed))
	for i, d := range claimed {
		done[i] = storage.Result{Lease: d.Lease, Delivery: &storage.Delivery{
			ID: d.Lease.EventID, WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, EventType: d.EventType,
			SubmissionID: d.SubmissionID, Attempt: d.Attempt, Status: 200, Success: true, CreatedAt: time.Now(),
		}}
	}
	_, err = m.FinishDeliveries(ctx, done)
	return claimed, more, err
}

// Submit hands nothing over, so that all deliveries are claimed.
func (m doneBeforeSent) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	n.Dispatcher = nil
	return m.Storage.Submit(ctx, n)
}

// forgets acknowledges every third submission without storing it.
type forgets struct {
	storage.Storage
	n atomic.Int64
}

func (m *forgets) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if m.n.Add(1)%3 == 0 {
		return n.Submission, false, nil
	}
	return m.Storage.Submit(ctx, n)
}

// acknowledgesBeforeCommit stores submissions after it has acknowledged them, within
// a moment: what a group commit does that does not wait for its commit.
type acknowledgesBeforeCommit struct{ storage.Storage }

func (m acknowledgesBeforeCommit) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	time.AfterFunc(50*time.Millisecond, func() { _, _, _ = m.Storage.Submit(context.WithoutCancel(ctx), n) })
	return n.Submission, false, nil
}

// changesBodies sends other bytes when it tries again.
type changesBodies struct{ storage.Storage }

func (m changesBodies) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	claimed, more, err := m.Storage.ClaimDeliveries(ctx, p)
	for i, d := range claimed {
		if d.Attempt > 1 {
			claimed[i].Body = append(bytes.Clone(d.Body), ' ')
		}
	}
	return claimed, more, err
}

// deliversTwice takes the success of a first attempt for a failure.
type deliversTwice struct{ storage.Storage }

func (m deliversTwice) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	for i, r := range done {
		if r.Delivery != nil && r.Delivery.Success && r.Delivery.Attempt == 1 {
			again := *r.Delivery
			again.Success = false
			done[i].Delivery, done[i].RetryIn = &again, time.Millisecond
		}
	}
	return m.Storage.FinishDeliveries(ctx, done)
}

// sleeps loses the wake-up of what is to be tried again.
type sleeps struct{ storage.Storage }

func (m sleeps) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	for i := range done {
		if done[i].RetryIn > 0 {
			done[i].RetryIn = 1000 * time.Hour
		}
	}
	return m.Storage.FinishDeliveries(ctx, done)
}

// losesEdits acknowledges changes of a form without storing them.
type losesEdits struct{ storage.Storage }

func (m losesEdits) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, _ storage.FormChange) (storage.Form, error) {
	return m.Form(ctx, who, id)
}

// losesSaves acknowledges saves of partial submissions without storing them.
type losesSaves struct{ storage.Storage }

func (losesSaves) SavePartial(context.Context, storage.SavePartialParams) (int64, error) {
	return 1, nil
}

func TestTheSoakFindsFaultyStores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mutant string
		plan   plan
		want   string
	}{
		// Nothing is refused: only kills lose events.
		"deliveries are done before they are sent": {"done before sent", plan{processes: 1, kills: 3}, ledger.LostEvent},
		"an acknowledged submission is not stored": {"forgets", plan{processes: 1}, ledger.LostSubmission},
		// Only a kill comes between the acknowledgement and the commit.
		"acknowledged before the commit":       {"before commit", plan{processes: 1, kills: 3}, ledger.LostSubmission},
		"a body changes when it is sent again": {"changes bodies", plan{processes: 1, refused: 0.2}, ledger.ChangedBody},
		"an event is delivered again":          {"delivers twice", plan{processes: 1}, ledger.TooManyDuplicates},
		"a retry is never due":                 {"sleeps", plan{processes: 1, refused: 0.2}, ledger.LostEvent},
		"an acknowledged edit is not stored":   {"loses edits", plan{processes: 1}, ledger.LostWrite},
		"an acknowledged save is not stored":   {"loses saves", plan{processes: 1}, ledger.LostWrite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quick(c.plan)
			p.mutant = c.mutant
			p.drain = 10 * time.Second // what is left then may be a fault, too
			r := soakOn(t, p)
			if got := ledger.Kinds(r.findings); !slices.Contains(got, c.want) {
				t.Errorf("found %q, want %q\n%s", got, c.want, r)
			}
		})
	}
}
