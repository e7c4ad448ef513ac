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

// submits are the responses that a process stores at one time.
type submits struct {
	// together stores responses without a conflict, many at once: with the zero ID as their
	// key those to any form, without waiting for the lock of one, and with the form's ID
	// those that wait for its lock, count towards its limit, or have a unique answer. alone
	// finds out about the others, one after another, so that a form whose lock is held
	// keeps few connections.
	together groups[storage.ID, storage.NewSubmission, submitted]
	alone    groups[storage.ID, storage.NewSubmission, submitted]
	// counted has the revisions at which the submissions of a form are counted: only the
	// responses of such a form are stored by the statement that counts them. When the other
	// statement does not store a response, its caller knows that the form is counted.
	counted cache.Cache[storage.ID, int64]
}

const (
	// submitRows and submitBytes bound a group of responses.
	submitRows  = 128
	submitBytes = 1 << 20
)

func (s *Store) newSubmits() *submits {
	var all submits
	failed := func(err error) submitted { return submitted{err: err} }
	all.together.items, all.together.bytes = submitRows, submitBytes
	all.together.write = func(ctx context.Context, form storage.ID, take func() []storage.NewSubmission, back func()) []submitted {
		return withConnection(ctx, s, form, "together", take, back, failed, func(ctx context.Context, taken []storage.NewSubmission) ([]submitted, error) {
			return s.submitTogether(ctx, form, taken)
		})
	}
	all.alone.items = 1
	all.alone.write = func(ctx context.Context, form storage.ID, take func() []storage.NewSubmission, back func()) []submitted {
		return withConnection(ctx, s, form, "alone", take, back, failed, func(ctx context.Context, taken []storage.NewSubmission) ([]submitted, error) {
			out, err := s.submitAlone(ctx, taken[0])
			if out.counted {
				all.counted.Put(form, taken[0].FormRevision, 0)
			}
			return []submitted{out}, err
		})
	}
	return &all
}

// submitTogether stores those responses of a form, or with the zero ID of any form, that
// have no conflict. When one of them makes the statement fail, nothing is known of any. That
// may be because another transaction stored the same value between the statement's snapshot
// and its look at the value's lock.
func (s *Store) submitTogether(ctx context.Context, form storage.ID, taken []storage.NewSubmission) ([]submitted, error) {
	rows, places := s.rowsOf(taken)
	hands, committed := reserve(taken), false
	defer func() { hands.handOver(taken, committed) }() // whatever becomes of the statement
	forms := formsOf(rows)
	lock, send := s.tryForms(forms), s.db.Send
	if !form.IsZero() {
		lock, send = conn.Run(lockForSubmit, form[:], s.lockKey(lockForms, form)), s.db.SendWrite
	}
	args, leased := responseArgs(rows), len(hands.webhooks) > 0
	if leased {
		args = append(args, hands.webhooks, hands.events, hands.leases)
	}
	text := storeToForm
	switch {
	case form.IsZero() && leased:
		text = storeToFormsLeased
	case form.IsZero():
		text = storeToForms
	case leased:
		text = storeToFormLeased
	}
	out := make([]submitted, len(taken))
	err := send(ctx, lock, conn.Run(text, args...).Each(func(rows pgx.Rows) error {
		if leased {
			return scanLeased(rows, places, taken, out, hands)
		}
		var id storage.ID
		var others bool
		return conn.EachRow(rows, []any{&id, &others}, func() {
			out[places[id]].stored = true
			hands.others = hands.others || others
		})
	}))
	committed = err == nil
	// The write to any form waits for no lock: its responses go on by form.
	if (conn.Refused(err) || conn.LockHeld(err) && form.IsZero()) && ctx.Err() == nil {
		return slices.Repeat([]submitted{{refused: true}}, len(taken)), nil
	}
	return out, err
}

// formsOf returns the forms of responses in the order in which they are locked.
func formsOf(rows []responseRow) [][]byte {
	forms := conn.Column(rows, formOf)
	slices.SortFunc(forms, bytes.Compare)
	return slices.CompactFunc(forms, bytes.Equal)
}

func (s *Store) tryForms(forms [][]byte) conn.Statement {
	locks := conn.Column(forms, func(form *[]byte) int64 { return s.lockKey(lockForms, storage.ID(*form)) })
	return conn.Run(tryForms, forms, locks)
}

// scanLeased reads the ids of the stored responses, the leased deliveries, and the
// state of their webhooks.
func scanLeased(rows pgx.Rows, places map[storage.ID]int, taken []storage.NewSubmission, out []submitted, hands *hands) error {
	events := make(map[storage.ID]int, len(taken))
	for i := range taken {
		events[taken[i].Event.ID] = i
	}
	var leased []storage.ClaimedDelivery
	var id storage.ID
	var others bool
	var d storage.ClaimedDelivery
	targets := []any{&id, &others, &d.Lease.EventID, &d.Lease.Token, &d.Attempt}
	return conn.EachRow(rows, append(targets, knownTargets(&d)...), func() {
		switch {
		case !id.IsZero():
			out[places[id]].stored = true
			hands.others = hands.others || others
		case d.Attempt > 0:
			leased = append(leased, d)
		default:
			for _, l := range leased {
				if l.Lease.WebhookID != d.Lease.WebhookID {
					continue
				}
				of := events[l.Lease.EventID]
				n := &taken[of]
				d.Lease, d.Attempt = l.Lease, l.Attempt
				d.SubmissionID, d.EventType, d.Body = n.Submission.ID, n.Event.Type, n.Event.Body
				hands.leased[of] = append(hands.leased[of], d)
			}
		}
	})
}

// hands are the deliveries of a group that its callers send without a claim: the
// granted room, and the leased deliveries of each response.
type hands struct {
	webhooks, events [][]byte
	leases           []int64
	leased           [][]storage.ClaimedDelivery
	others           bool
}

func reserve(group []storage.NewSubmission) *hands {
	h := &hands{leased: make([][]storage.ClaimedDelivery, len(group))}
	for i := range group {
		if group[i].Dispatcher == nil {
			continue
		}
		webhooks, lease := group[i].Dispatcher.Reserve(group[i].Submission.FormID)
		for _, w := range webhooks {
			h.webhooks = append(h.webhooks, w[:])
			h.events = append(h.events, group[i].Event.ID[:])
			h.leases = append(h.leases, lease.Microseconds())
		}
	}
	return h
}

// handOver follows the commit.
func (h *hands) handOver(group []storage.NewSubmission, committed bool) {
	for i := range group {
		if to := group[i].Dispatcher; to != nil && committed {
			to.Dispatch(h.leased[i], h.others)
		} else if to != nil {
			to.Dispatch(nil, false)
		}
	}
}

// submitInBatch stores a response together with others: of any form, or else of its own form, or
// else alone.
func (s *Store) submitInBatch(ctx context.Context, n storage.NewSubmission) (out submitted, err error) {
	all := s.submits
	late, end := s.late(ctx)
	defer end()
	form, size := n.Submission.FormID, jsonBytes(&n.Submission)+len(n.Event.Body)
	counted, known := all.counted.Get(form)
	checked, begun := n.UniqueAnswer != nil || known && counted == n.FormRevision, false
	if !checked {
		out, begun, err = all.together.do(ctx, late, storage.ID{}, n, size)
	}
	if err == nil && !out.known() && !out.refused {
		out, begun, err = all.together.do(ctx, late, form, n, size)
	}
	if err == nil && !out.known() {
		out, begun, err = all.alone.do(ctx, late, form, n, 0)
	}
	return out, notWaited(ctx, err, begun)
}
