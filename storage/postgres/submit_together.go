package postgres

import (
	"context"
	"fmt"
	"runtime"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// submits are the responses that a process stores at one time, by form.
type submits struct {
	// together stores responses without a conflict, many at once. alone finds out about
	// the others, one after another, so that a form whose lock is held keeps few
	// connections.
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

func (s *Store) newSubmits(pool conn.Pool) *submits {
	var all submits
	all.together.items, all.together.bytes = submitRows, submitBytes
	all.together.write = func(ctx context.Context, form storage.ID, take func() []storage.NewSubmission) []submitted {
		return s.withConnection(ctx, pool, take, func(ctx context.Context, on *Store, taken []storage.NewSubmission) ([]submitted, error) {
			counted, known := all.counted.Get(form)
			return on.submitTogether(ctx, form, taken, known && counted == taken[0].FormRevision)
		})
	}
	all.alone.items = 1
	all.alone.write = func(ctx context.Context, form storage.ID, take func() []storage.NewSubmission) []submitted {
		return s.withConnection(ctx, pool, take, func(ctx context.Context, on *Store, taken []storage.NewSubmission) ([]submitted, error) {
			out, err := on.submitAlone(ctx, taken[0])
			if out.counted {
				all.counted.Put(form, taken[0].FormRevision, 0)
			}
			return []submitted{out}, err
		})
	}
	return &all
}

// withConnection takes responses as soon as there is a connection, and does
// something with them on it, again when that fails for a passing reason.
func (s *Store) withConnection(ctx context.Context, pool conn.Pool, take func() []storage.NewSubmission,
	do func(context.Context, *Store, []storage.NewSubmission) ([]submitted, error),
) []submitted {
	var taken []storage.NewSubmission
	var out []submitted
	err := s.db.Write(ctx, func(ctx context.Context) error {
		c, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer c.Release()
		if taken == nil {
			// Callers that can run come first and join: with 16 of them in a loop a tenth
			// more responses are stored in a second.
			runtime.Gosched()
			taken = take()
		}
		if len(taken) > 0 {
			out, err = do(ctx, s.On(c), taken)
		}
		return err
	})
	if err == nil {
		return out
	}
	if taken == nil {
		taken = take()
	}
	out = make([]submitted, len(taken))
	for i := range out {
		out[i].err = err
	}
	return out
}

// submitTogether stores those responses of a form that have no conflict. When one of
// them makes the statement fail, nothing is known of any.
func (s *Store) submitTogether(ctx context.Context, form storage.ID, taken []storage.NewSubmission, counted bool) ([]submitted, error) {
	out, err := s.storeTogether(ctx, form, taken, counted)
	if conn.SQLState(err) == conn.UniqueViolation {
		// Another transaction stored the same value between the statement's snapshot and
		// its look at the value's lock. The second run sees that value, and leaves out only
		// its repetition.
		out, err = s.storeTogether(ctx, form, taken, counted)
	}
	if conn.Refused(err) && ctx.Err() == nil {
		return make([]submitted, len(taken)), nil
	}
	return out, err
}

func (s *Store) storeTogether(ctx context.Context, form storage.ID, taken []storage.NewSubmission, counted bool) ([]submitted, error) {
	rows, places, checked := s.rowsOf(taken)
	hands, committed := reserve(form, taken), false
	defer func() { hands.handOver(taken, committed) }() // whatever becomes of the statement
	how := storing{one: len(rows) == 1, checked: checked || counted, leased: len(hands.webhooks) > 0}

	lock := s.lockFormShared(form)
	if how.checked {
		lock = conn.Run(lockForSubmit, form[:], s.lockKey(lockForms, form))
	}
	args := how.args(form[:], rows)
	if how.leased {
		args = append(args, hands.webhooks, hands.events, hands.leases)
	}
	out := make([]submitted, len(taken))
	err := s.db.Send(ctx, lock, conn.Run(how.text(), args...).Each(func(rows pgx.Rows) error {
		if how.leased {
			return scanLeased(rows, places, taken, out, hands)
		}
		var id storage.ID
		return conn.EachRow(rows, []any{&id, &hands.others}, func() { out[places[id]].stored = true })
	}))
	committed = err == nil
	return out, err
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

func reserve(form storage.ID, group []storage.NewSubmission) *hands {
	h := &hands{leased: make([][]storage.ClaimedDelivery, len(group))}
	for i := range group {
		if group[i].HandOver == nil {
			continue
		}
		webhooks, lease := group[i].HandOver.Reserve(form)
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
		switch {
		case group[i].HandOver == nil:
		case committed:
			group[i].HandOver.HandOver(h.leased[i], h.others)
		default:
			group[i].HandOver.HandOver(nil, false)
		}
	}
}

// submit stores a response together with others of its form, or else alone.
func (all *submits) submit(ctx context.Context, n storage.NewSubmission) (submitted, error) {
	out, begun, err := all.together.do(ctx, n.Submission.FormID, n, jsonBytes(&n.Submission)+len(n.Event.Body))
	if err == nil && !out.known() {
		out, begun, err = all.alone.do(ctx, n.Submission.FormID, n, 0)
	}
	if err != nil && begun {
		err = fmt.Errorf("%w: %w", err, storage.ErrOutcomeUnknown)
	}
	return out, err
}
