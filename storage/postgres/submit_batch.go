package postgres

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

type submitBatches struct {
	// batched stores submissions that have no conflict. If the key is the zero ID, a batch contains submissions to any
	// form, and does not wait for locks. If the key is a form's ID, the batch contains submissions that wait for the
	// form's lock, count against its limit or have a unique answer. single determines the outcomes of all other
	// submissions one by one, so that a locked form uses few connections.
	batched batcher[storage.ID, storage.NewSubmission, submitResult]
	single  batcher[storage.ID, storage.NewSubmission, submitResult]
	// counted contains the revisions at which forms count their submissions. Only a batch for a single form stores
	// submissions to these forms. If a batch for any form does not store a submission, single finds out whether its
	// form counts submissions.
	counted cache.Cache[storage.ID, int64]
}

const (
	submitRows  = 128
	submitBytes = 1 << 20
)

func (s *Store) newSubmitBatches() *submitBatches {
	var all submitBatches
	failed := func(err error) submitResult { return submitResult{err: err} }
	all.batched.maxItems, all.batched.maxBytes = submitRows, submitBytes
	all.batched.write = func(ctx context.Context, form storage.ID, takeItems func() []storage.NewSubmission, returnItems func()) []submitResult {
		return writeWithConnection(ctx, s, form, "together", takeItems, returnItems, failed, func(ctx context.Context, items []storage.NewSubmission) ([]submitResult, error) {
			return s.submitBatch(ctx, form, items)
		})
	}
	all.single.maxItems = 1
	all.single.write = func(ctx context.Context, form storage.ID, takeItems func() []storage.NewSubmission, returnItems func()) []submitResult {
		return writeWithConnection(ctx, s, form, "alone", takeItems, returnItems, failed, func(ctx context.Context, items []storage.NewSubmission) ([]submitResult, error) {
			out, err := s.submitSingle(ctx, items[0])
			if out.counted {
				all.counted.Put(form, items[0].FormRevision, 0)
			}
			return []submitResult{out}, err
		})
	}
	return &all
}

// submitBatch stores the submissions that have no conflict. A zero form means any form. If one submission makes the
// statement fail, the outcomes of all submissions in the batch are undecided. For example, another transaction may
// store the same value after the statement takes its snapshot and before it tries to lock the value.
func (s *Store) submitBatch(ctx context.Context, form storage.ID, items []storage.NewSubmission) ([]submitResult, error) {
	rows, places := s.distinctRows(items)
	direct, committed := reserveDeliveries(items), false
	defer func() { direct.dispatch(items, committed) }() // even if the statement fails
	forms := sortedForms(rows)
	lock, send := s.tryFormLocksStatement(forms), s.db.Send
	if !form.IsZero() {
		lock, send = conn.NewStatement(lockForSubmit, form[:], s.lockKey(lockForms, form)), s.db.SendWrite
	}
	args, leased := insertArgs(rows), len(direct.webhooks) > 0
	if leased {
		args = append(args, direct.webhooks, direct.events, direct.leases)
	}
	text := insertForForm
	switch {
	case form.IsZero() && leased:
		text = insertForFormsLeased
	case form.IsZero():
		text = insertForForms
	case leased:
		text = insertForFormLeased
	}
	out := make([]submitResult, len(items))
	err := send(ctx, lock, conn.NewStatement(text, args...).ReadEach(func(rows pgx.Rows) error {
		if leased {
			return scanInserted(rows, places, items, out, direct)
		}
		var id storage.ID
		var others bool
		return conn.EachRow(rows, []any{&id, &others}, func() {
			out[places[id]].stored = true
			direct.unleased = direct.unleased || others
		})
	}))
	committed = err == nil
	// A batch for any form does not wait for locks. If a lock is held, its submissions continue in batches by form.
	if (conn.IsPermanent(err) || conn.IsLockHeld(err) && form.IsZero()) && ctx.Err() == nil {
		return slices.Repeat([]submitResult{{statementFailed: true}}, len(items)), nil
	}
	return out, err
}

func sortedForms(rows []submissionRow) [][]byte {
	forms := conn.ColumnArg(rows, formIDArg)
	slices.SortFunc(forms, bytes.Compare)
	return slices.CompactFunc(forms, bytes.Equal)
}

func (s *Store) tryFormLocksStatement(forms [][]byte) conn.Statement {
	locks := conn.ColumnArg(forms, func(form *[]byte) int64 { return s.lockKey(lockForms, storage.ID(*form)) })
	return conn.NewStatement(tryLockForms, forms, locks)
}

func scanInserted(rows pgx.Rows, places map[storage.ID]int, items []storage.NewSubmission, out []submitResult, direct *directDeliveries) error {
	events := make(map[storage.ID]int, len(items))
	for i := range items {
		events[items[i].Event.ID] = i
	}
	type leasedDelivery struct {
		storage.ClaimedDelivery
		detailed bool
	}
	var leased []leasedDelivery
	var id storage.ID
	var others, detailed bool
	var d storage.ClaimedDelivery
	targets := []any{&id, &others, &d.Lease.EventID, &d.Lease.Token, &d.Attempt}
	return conn.EachRow(rows, append(append(targets, webhookStateTargets(&d)...), &detailed), func() {
		switch {
		case !id.IsZero():
			out[places[id]].stored = true
			direct.unleased = direct.unleased || others
		case d.Attempt > 0:
			leased = append(leased, leasedDelivery{d, detailed})
		default:
			for _, l := range leased {
				if l.Lease.WebhookID != d.Lease.WebhookID {
					continue
				}
				of := events[l.Lease.EventID]
				n := &items[of]
				d.Lease, d.Attempt = l.Lease, l.Attempt
				d.SubmissionID, d.EventType, d.Body = n.Submission.ID, n.Event.Type, n.Event.BodyFor(l.detailed)
				direct.leased[of] = append(direct.leased[of], d)
			}
		}
	})
}

// directDeliveries contains a batch's deliveries for direct dispatch: the reserved webhooks and events, and each
// submission's leased deliveries.
type directDeliveries struct {
	webhooks, events [][]byte
	leases           []int64
	leased           [][]storage.ClaimedDelivery
	unleased         bool
}

func reserveDeliveries(batch []storage.NewSubmission) *directDeliveries {
	d := &directDeliveries{leased: make([][]storage.ClaimedDelivery, len(batch))}
	for i := range batch {
		if batch[i].Dispatcher == nil {
			continue
		}
		webhooks, lease := batch[i].Dispatcher.Reserve(batch[i].Submission.FormID)
		for _, w := range webhooks {
			d.webhooks = append(d.webhooks, w[:])
			d.events = append(d.events, batch[i].Event.ID[:])
			d.leases = append(d.leases, lease.Microseconds())
		}
	}
	return d
}

func (d *directDeliveries) dispatch(batch []storage.NewSubmission, committed bool) {
	for i := range batch {
		if to := batch[i].Dispatcher; to != nil && committed {
			to.Dispatch(d.leased[i], d.unleased)
		} else if to != nil {
			to.Dispatch(nil, false)
		}
	}
}

// submitInBatch tries to store a submission in a batch for any form, then in a batch for its form, and finally alone.
func (s *Store) submitInBatch(ctx context.Context, n storage.NewSubmission) (out submitResult, err error) {
	all := s.submitBatches
	timedOut, end := s.newTimeoutTimer(ctx)
	defer end()
	form, size := n.Submission.FormID, jsonSize(&n.Submission)+len(n.Event.Body)+len(n.Event.Details)
	counted, known := all.counted.Get(form)
	checked, begun := n.UniqueAnswer != nil || known && counted == n.FormRevision, false
	alone := n.OnePerRespondent // because a batch's statement takes locks after its snapshot
	if !checked && !alone {
		out, begun, err = all.batched.addAndWait(ctx, timedOut, storage.ID{}, n, size)
	}
	if err == nil && !alone && !out.decided() && !out.statementFailed {
		out, begun, err = all.batched.addAndWait(ctx, timedOut, form, n, size)
	}
	if err == nil && !out.decided() {
		out, begun, err = all.single.addAndWait(ctx, timedOut, form, n, 0)
	}
	return out, abandonedError(ctx, err, begun)
}
