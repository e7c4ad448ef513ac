package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// submission never changes once it is stored.
type submission struct {
	rec     storage.Submission
	key     string // idempotency key; empty: none
	eventID storage.ID
}

func (sub *submission) place() storage.Position {
	return storage.Position{Time: sub.rec.SubmittedAt, ID: sub.rec.ID}
}

func copySubmission(rec storage.Submission) storage.Submission {
	rec.Answers, rec.Metadata, rec.Hidden = bytes.Clone(rec.Answers), bytes.Clone(rec.Metadata), bytes.Clone(rec.Hidden)
	return rec
}

// read returns the record as the caller's own, or ErrNotFound for nil.
func (sub *submission) read() (storage.Submission, error) {
	if sub == nil {
		return storage.Submission{}, storage.ErrNotFound
	}
	return copySubmission(sub.rec), nil
}

// Submit implements [storage.SubmissionStore]. Beyond the contract it returns
// ErrConflict when the form has a submission with the same id, or a pending
// delivery with the same event id.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (rec storage.Submission, replayed bool, err error) {
	var granted []storage.ID
	var lease time.Duration
	var leased []storage.ClaimedDelivery
	others := false
	if n.Dispatcher != nil {
		granted, lease = n.Dispatcher.Reserve(n.Submission.FormID)
		defer func() { n.Dispatcher.Dispatch(leased, others) }() // when the store is unlocked
	}
	values := []any{
		n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden, n.UniqueField.Block,
		n.IdempotencyKey, n.Event.Type, n.Submission.SubmittedAt,
	}
	rec, err = getWith(ctx, s, s.form(storage.AsHost(), n.Submission.FormID), values, func(f *form) (storage.Submission, error) {
		switch earlier := f.byKey[n.IdempotencyKey]; {
		case earlier != nil:
			replayed = true
			return earlier.read()
		case n.FormRevision != f.rec.Revision:
			return storage.Submission{}, &storage.RevisionError{Current: f.rec.Revision}
		case f.rec.Status != storage.StatusPublished:
			return storage.Submission{}, storage.ErrNotFound
		case f.full():
			return storage.Submission{}, storage.ErrLimitReached
		case n.UniqueAnswer != nil && f.answers.taken(n.UniqueField, n.UniqueAnswer):
			return storage.Submission{}, storage.ErrDuplicate
		case f.byID[n.Submission.ID] != nil,
			slices.ContainsFunc(f.webhooks, func(w *webhook) bool { return w.queue.byEvent[n.Event.ID] != nil }):
			return storage.Submission{}, storage.ErrConflict
		}
		clock := s.now()
		sub := s.store(f, n)
		f.funnel.add(sub.rec.SubmittedAt, clock, storage.Counters{Submissions: 1})
		f.emptyPartial(n.Partial, sub)
		leased, others = s.enqueue(f, sub, n.Event, granted, lease, clock)
		return copySubmission(sub.rec), nil
	})
	return rec, replayed, err
}

// store makes the records of a submission.
func (s *Store) store(f *form, n storage.NewSubmission) *submission {
	sub := &submission{rec: copySubmission(n.Submission), key: n.IdempotencyKey, eventID: n.Event.ID}
	sub.rec.FormRevision = n.FormRevision
	sub.rec.SubmittedAt = utc(sub.rec.SubmittedAt)
	f.byID[sub.rec.ID] = sub
	f.submissions.add(sub)
	if sub.key != "" {
		f.byKey[sub.key] = sub
	}
	if n.UniqueAnswer != nil {
		f.answers.enter(n.UniqueField, n.UniqueAnswer, sub.rec.ID)
		s.compareBy(f, n.UniqueField)
	}
	return sub
}

// enqueue queues the event of a response for each enabled webhook of the form. It
// leases deliveries that are granted and have none waiting before them.
func (s *Store) enqueue(f *form, sub *submission, e storage.Event, granted []storage.ID, lease time.Duration, clock time.Time) (leased []storage.ClaimedDelivery, others bool) {
	if e.ID.IsZero() || len(f.webhooks) == 0 {
		return nil, false
	}
	added := newEvent(e, sub.rec.ID)
	for _, w := range f.webhooks {
		if !w.rec.Enabled {
			continue
		}
		free := slices.Contains(granted, w.rec.ID) && !w.paused(clock) && len(w.due(clock, 1)) == 0
		d := &delivery{event: added, queued: clock, attempt: 1}
		w.queue.add(d)
		if free {
			leased = append(leased, s.lease(w, d, lease, clock))
		}
		others = others || !free
	}
	return leased, others
}

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, formID storage.ID, idempotencyKey string) (storage.Submission, error) {
	return getWith(ctx, s, s.form(storage.AsHost(), formID), nil, func(f *form) (storage.Submission, error) {
		return f.byKey[idempotencyKey].read()
	})
}

// Submission implements [storage.SubmissionStore].
func (s *Store) Submission(ctx context.Context, who storage.Actor, formID, id storage.ID) (storage.Submission, error) {
	return getWith(ctx, s, s.form(who, formID), nil, func(f *form) (storage.Submission, error) {
		return f.byID[id].read()
	})
}

// Submissions implements [storage.SubmissionStore]. Stored records never change, so they
// are lent as they are, when the store is unlocked again.
func (s *Store) Submissions(ctx context.Context, who storage.Actor, formID storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	found, err := getWith(ctx, s, s.form(who, formID), []any{q.Since, q.Until, q.Page}, func(f *form) (found []*submission, _ error) {
		found, more = f.page(q)
		return found, nil
	})
	var rec storage.Submission
	for _, sub := range found {
		rec = sub.rec
		if err := each(&rec); err != nil {
			return more, err
		}
	}
	return more, err
}

// page returns the records of a page, newest first, and whether the list goes on.
func (f *form) page(q storage.SubmissionsParams) (found []*submission, more bool) {
	from, to := f.submissions.before(storage.Position{Time: q.Since}), len(f.submissions.items)
	if !q.Until.IsZero() {
		to = f.submissions.before(storage.Position{Time: q.Until.Add(1)})
	}
	if q.Page.After != nil {
		to = min(to, f.submissions.before(*q.Page.After))
	}
	found = make([]*submission, 0, max(0, min(q.Page.Limit, to-from)))
	size, at := 0, to
	for ; at > from && to-at < q.Page.Limit; at-- {
		sub := f.submissions.items[at-1]
		size += len(sub.rec.Answers) + len(sub.rec.Metadata) + len(sub.rec.Hidden)
		if q.MaxBytes > 0 && size > q.MaxBytes && at < to {
			break
		}
		found = append(found, sub)
	}
	return found, at > from && at < to
}

// DeleteSubmission implements [storage.SubmissionStore].
func (s *Store) DeleteSubmission(ctx context.Context, who storage.Actor, formID, id storage.ID) error {
	return doWith(ctx, s, s.form(who, formID), nil, func(f *form) error {
		return f.erase(id)
	})
}

// SubmissionsRemoved implements [storage.SubmissionStore].
func (s *Store) SubmissionsRemoved(ctx context.Context, who storage.Actor, formID storage.ID) (int64, error) {
	return getWith(ctx, s, s.form(who, formID), nil, func(f *form) (int64, error) { return f.removed, nil })
}

// erase removes a submission with its entered answers.
func (f *form) erase(id storage.ID) error {
	sub := f.byID[id]
	if sub == nil {
		return storage.ErrNotFound
	}
	f.answers.free(id)
	delete(f.byID, id)
	delete(f.byKey, sub.key)
	f.submissions.remove(sub)
	f.removed++
	for _, w := range f.webhooks {
		w.forget(sub)
	}
	return nil
}
