package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type submission struct {
	rec     storage.Submission // never changes
	key     string             // idempotency key; empty if there is none
	eventID storage.ID
	history []storage.SubmissionState // earlier states, oldest first; never changes
}

func (sub *submission) position() storage.Position {
	return storage.Position{Time: sub.rec.SubmittedAt, ID: sub.rec.ID}
}

func copySubmission(rec storage.Submission) storage.Submission {
	rec.Answers, rec.Metadata, rec.Hidden = bytes.Clone(rec.Answers), bytes.Clone(rec.Metadata), bytes.Clone(rec.Hidden)
	return rec
}

// cloneOrNotFound returns a copy of the record, or ErrNotFound if sub is nil.
func (sub *submission) cloneOrNotFound() (storage.Submission, error) {
	if sub == nil {
		return storage.Submission{}, storage.ErrNotFound
	}
	return copySubmission(sub.rec), nil
}

// Submit implements [storage.SubmissionStore]. In addition to the contract, it returns ErrConflict if the form has a
// submission with the same ID, or a pending delivery with the same event ID.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (rec storage.Submission, replayed bool, err error) {
	var granted []storage.ID
	var lease time.Duration
	var leased []storage.ClaimedDelivery
	others := false
	if n.Dispatcher != nil {
		granted, lease = n.Dispatcher.Reserve(n.Submission.FormID)
		defer func() { n.Dispatcher.Dispatch(leased, others) }() // after unlocking the store
	}
	values := []any{
		n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden, n.Submission.Respondent, n.Submission.Ending, n.UniqueField.Block,
		n.IdempotencyKey, n.Event.Type, n.Submission.SubmittedAt,
	}
	rec, err = withRecordResult(ctx, s, s.findForm(storage.AsHost(), n.Submission.FormID), values, func(f *form) (storage.Submission, error) {
		switch earlier := f.byKey[n.IdempotencyKey]; {
		case earlier != nil:
			replayed = true
			return earlier.cloneOrNotFound()
		case n.FormRevision != f.rec.Revision:
			return storage.Submission{}, &storage.RevisionError{Current: f.rec.Revision}
		case f.rec.Status != storage.StatusPublished:
			return storage.Submission{}, storage.ErrNotFound
		case n.OnePerRespondent && f.answers.isTaken(respondentField, []byte(n.Submission.Respondent)):
			return storage.Submission{}, f.answeredError(n.Submission.Respondent)
		case f.limitReached():
			return storage.Submission{}, storage.ErrLimitReached
		case n.UniqueAnswer != nil && f.answers.isTaken(n.UniqueField, n.UniqueAnswer):
			return storage.Submission{}, storage.ErrDuplicate
		case f.byID[n.Submission.ID] != nil,
			slices.ContainsFunc(f.webhooks, func(w *webhook) bool { return w.queue.byEvent[n.Event.ID] != nil }):
			return storage.Submission{}, storage.ErrConflict
		}
		clock := s.now()
		sub := s.addSubmission(f, n)
		f.funnel.add(sub.rec.SubmittedAt, clock, storage.Counters{Submissions: 1})
		f.clearPartial(n.Partial, sub)
		leased, others = s.enqueueEvent(sub, n.Event, f.webhooks, granted, lease, clock)
		return copySubmission(sub.rec), nil
	})
	return rec, replayed, err
}

func (s *Store) addSubmission(f *form, n storage.NewSubmission) *submission {
	sub := &submission{rec: copySubmission(n.Submission), key: n.IdempotencyKey, eventID: n.Event.ID}
	sub.rec.FormRevision, sub.rec.Revision, sub.rec.ChangedAt = n.FormRevision, 1, time.Time{}
	sub.rec.SubmittedAt = toUTC(sub.rec.SubmittedAt)
	f.byID[sub.rec.ID] = sub
	f.submissions.add(sub)
	if sub.key != "" {
		f.byKey[sub.key] = sub
	}
	if sub.rec.Respondent != "" {
		f.answers.add(respondentField, []byte(sub.rec.Respondent), sub.rec.ID)
	}
	if n.UniqueAnswer != nil {
		f.answers.add(n.UniqueField, n.UniqueAnswer, sub.rec.ID)
		s.upgradeRules(f, n.UniqueField)
	}
	return sub
}

// enqueueEvent queues a submission's event for each of the enabled webhooks. It leases the delivery to a webhook if
// granted contains the webhook and no other delivery to it is waiting.
func (s *Store) enqueueEvent(sub *submission, e storage.Event, webhooks []*webhook, granted []storage.ID, lease time.Duration, clock time.Time) (leased []storage.ClaimedDelivery, others bool) {
	if e.ID.IsZero() || len(webhooks) == 0 {
		return nil, false
	}
	plain := newEvent(e, sub.rec.ID, false)
	var detailed *event
	for _, w := range webhooks {
		if !w.rec.Enabled {
			continue
		}
		added := plain
		if w.rec.FormDetails {
			if detailed == nil {
				detailed = newEvent(e, sub.rec.ID, true)
			}
			added = detailed
		}
		free := slices.Contains(granted, w.rec.ID) && !w.isPaused(clock) && len(w.dueDeliveries(clock, 1)) == 0
		d := &delivery{event: added, queuedAt: clock, attempt: 1}
		w.queue.add(d)
		if free {
			leased = append(leased, s.leaseDelivery(w, d, lease, clock))
		}
		others = others || !free
	}
	return leased, others
}

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, formID storage.ID, idempotencyKey string) (storage.Submission, error) {
	return withRecordResult(ctx, s, s.findForm(storage.AsHost(), formID), nil, func(f *form) (storage.Submission, error) {
		return f.byKey[idempotencyKey].cloneOrNotFound()
	})
}

// Submission implements [storage.SubmissionStore].
func (s *Store) Submission(ctx context.Context, actor storage.Actor, formID, id storage.ID) (storage.Submission, error) {
	return withRecordResult(ctx, s, s.findForm(actor, formID), nil, func(f *form) (storage.Submission, error) {
		return f.byID[id].cloneOrNotFound()
	})
}

// Submissions implements [storage.SubmissionStore]. It passes stored records without copying them, because they never
// change, and only after unlocking the store.
func (s *Store) Submissions(ctx context.Context, actor storage.Actor, formID storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	found, err := withRecordResult(ctx, s, s.findForm(actor, formID), []any{q.Since, q.Until, q.Respondent, q.Page}, func(f *form) (found []*submission, _ error) {
		found, more = f.listSubmissions(q)
		return found, nil
	})
	return more, cmp.Or(passSubmissions(found, each), err)
}

// passSubmissions calls the function each for every submission, until it returns an error.
func passSubmissions(found []*submission, each func(*storage.Submission) error) error {
	var rec storage.Submission
	for _, sub := range found {
		rec = sub.rec
		if err := each(&rec); err != nil {
			return err
		}
	}
	return nil
}

// listSubmissions returns the records on a page, newest first, and reports whether the list continues.
func (f *form) listSubmissions(q storage.SubmissionsParams) (found []*submission, more bool) {
	from, to := f.submissions.countBefore(storage.Position{Time: q.Since}), len(f.submissions.items)
	if !q.Until.IsZero() {
		to = f.submissions.countBefore(storage.Position{Time: q.Until.Add(1)})
	}
	if q.Page.After != nil {
		to = min(to, f.submissions.countBefore(*q.Page.After))
	}
	listed := f.submissions.items[min(from, to):to]
	if q.Respondent != "" {
		listed = slices.DeleteFunc(slices.Clone(listed), func(sub *submission) bool { return sub.rec.Respondent != q.Respondent })
	}
	return trimPage(listed, q)
}

// trimPage returns the newest of the submissions, which are sorted oldest first, within the page's limits.
func trimPage(listed []*submission, q storage.SubmissionsParams) (found []*submission, more bool) {
	found = make([]*submission, 0, max(0, min(q.Page.Limit, len(listed))))
	size := 0
	for _, sub := range slices.Backward(listed) {
		size += len(sub.rec.Answers) + len(sub.rec.Metadata) + len(sub.rec.Hidden)
		if len(found) >= q.Page.Limit || q.MaxBytes > 0 && size > q.MaxBytes && len(found) > 0 {
			break
		}
		found = append(found, sub)
	}
	return found, len(found) > 0 && len(found) < len(listed)
}

// DeleteSubmission implements [storage.SubmissionStore].
func (s *Store) DeleteSubmission(ctx context.Context, actor storage.Actor, formID, id storage.ID) error {
	return withRecord(ctx, s, s.findForm(actor, formID), nil, func(f *form) error {
		return f.eraseSubmission(id)
	})
}

// SubmissionsRemoved implements [storage.SubmissionStore].
func (s *Store) SubmissionsRemoved(ctx context.Context, actor storage.Actor, formID storage.ID) (int64, error) {
	return withRecordResult(ctx, s, s.findForm(actor, formID), nil, func(f *form) (int64, error) { return f.removed, nil })
}

// eraseSubmission removes a submission and its indexed answers.
func (f *form) eraseSubmission(id storage.ID) error {
	sub := f.byID[id]
	if sub == nil {
		return storage.ErrNotFound
	}
	f.answers.removeSubmission(id)
	delete(f.byID, id)
	delete(f.byKey, sub.key)
	f.submissions.remove(sub)
	f.removed++
	for _, w := range f.webhooks {
		w.forgetSubmission(sub)
	}
	return nil
}
