package memory

import (
	"context"
	"encoding/json"
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

// size is how many bytes the three sections have.
func (sub *submission) size() int {
	return len(sub.rec.Answers) + len(sub.rec.Metadata) + len(sub.rec.Hidden)
}

func copySubmission(rec storage.Submission) storage.Submission {
	buf := make(arena, 0, len(rec.Answers)+len(rec.Metadata)+len(rec.Hidden))
	return buf.submission(rec)
}

func (a *arena) submission(rec storage.Submission) storage.Submission {
	rec.Answers = json.RawMessage(a.copy(rec.Answers))
	rec.Metadata = json.RawMessage(a.copy(rec.Metadata))
	rec.Hidden = json.RawMessage(a.copy(rec.Hidden))
	return rec
}

// Submit implements [storage.SubmissionStore]. Beyond the contract it returns
// ErrConflict when the form has a submission with the same id, or a pending
// delivery with the same event id.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, false, err
	}
	if err := check(n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden,
		n.UniqueField.Block, n.IdempotencyKey, n.Event.Type, n.Submission.SubmittedAt); err != nil {
		return storage.Submission{}, false, err
	}
	sub := &submission{
		rec:     copySubmission(n.Submission),
		key:     n.IdempotencyKey,
		eventID: n.Event.ID,
	}
	sub.rec.FormRevision = n.FormRevision
	sub.rec.SubmittedAt = utc(sub.rec.SubmittedAt)

	var granted []storage.ID
	var lease time.Duration
	if n.HandOver != nil {
		granted, lease = n.HandOver.Reserve(n.Submission.FormID)
	}
	clock := s.now()
	s.mu.Lock()
	stored, replayed, err := s.submit(sub, n)
	var leased []claim
	others := false
	if err == nil && !replayed {
		leased, others = s.enqueue(sub, n.Event, granted, lease, clock)
	}
	s.mu.Unlock()
	if n.HandOver != nil {
		n.HandOver.HandOver(handOut(leased), others)
	}
	if err != nil {
		return storage.Submission{}, false, err
	}
	return copySubmission(stored.rec), replayed, nil
}

// submit stores sub, or finds the submission that has its idempotency key. Every
// check comes before the first change.
func (s *Store) submit(sub *submission, n storage.NewSubmission) (stored *submission, replayed bool, err error) {
	f := s.live(sub.rec.FormID) // in the trash it does not exist, not even for a replay
	if f == nil {
		return nil, false, storage.ErrNotFound
	}
	if earlier := f.byKey[sub.key]; earlier != nil {
		return earlier, true, nil
	}
	switch {
	case n.FormRevision != f.rec.Revision:
		return nil, false, &storage.RevisionError{Current: f.rec.Revision}
	case f.rec.Status != storage.StatusPublished:
		return nil, false, storage.ErrNotFound
	case f.full():
		return nil, false, storage.ErrLimitReached
	case n.UniqueAnswer != nil && f.answers.taken(n.UniqueField, n.UniqueAnswer):
		return nil, false, storage.ErrDuplicate
	case f.byID[sub.rec.ID] != nil:
		return nil, false, storage.ErrConflict
	}
	for _, w := range f.webhooks.items {
		if w.lane.pending[n.Event.ID] != nil {
			return nil, false, storage.ErrConflict
		}
	}

	f.byID[sub.rec.ID] = sub
	f.submissions.add(sub)
	if sub.key != "" {
		f.byKey[sub.key] = sub
	}
	if n.UniqueAnswer != nil {
		f.answers.enter(n.UniqueField, n.UniqueAnswer, sub.rec.ID)
		f.compareBy(n.UniqueField)
	}
	f.funnel.add(sub.rec.SubmittedAt, s.now(), storage.Counts{Submissions: 1})
	return sub, false, nil
}

// enqueue queues the event of a response for each enabled webhook of the form. It
// leases what is granted and has nothing before it.
func (s *Store) enqueue(sub *submission, e storage.Event, granted []storage.ID, lease time.Duration, clock time.Time) (leased []claim, others bool) {
	if e.ID.IsZero() {
		return nil, false
	}
	added := newEvent(e, sub.rec.ID)
	for _, w := range s.forms[sub.rec.FormID].webhooks.items {
		if !w.rec.Enabled {
			continue
		}
		free := slices.Contains(granted, w.rec.ID) && !w.lane.paused(clock)
		w.lane.ripen(clock)
		free = free && w.lane.next(clock) == nil
		d := w.lane.add(added, ordinary, clock)
		if free {
			leased = append(leased, s.queue.lease(w, d, lease, clock))
		}
		others = others || !free
		s.queue.place(w, clock)
	}
	return leased, others
}

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (storage.Submission, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, err
	}
	s.mu.RLock()
	var sub *submission
	if f := s.live(form); f != nil {
		sub = f.byKey[idempotencyKey]
	}
	s.mu.RUnlock()
	if sub == nil {
		return storage.Submission{}, storage.ErrNotFound
	}
	return copySubmission(sub.rec), nil
}

// Submission implements [storage.SubmissionStore].
func (s *Store) Submission(ctx context.Context, who storage.Actor, form, id storage.ID) (storage.Submission, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, err
	}
	s.mu.RLock()
	var sub *submission
	if f := s.visible(who, form); f != nil {
		sub = f.byID[id]
	}
	s.mu.RUnlock()
	if sub == nil {
		return storage.Submission{}, storage.ErrNotFound
	}
	return copySubmission(sub.rec), nil
}

// Submissions implements [storage.SubmissionStore]. Stored records never change, so they
// are lent as they are, when the lock is free again.
func (s *Store) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionQuery, each func(*storage.Submission) error) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := check(q.Since, q.Until, q.Page); err != nil {
		return false, err
	}
	s.mu.RLock()
	f := s.visible(who, form)
	if f == nil {
		s.mu.RUnlock()
		return false, storage.ErrNotFound
	}
	found, more := f.page(q)
	s.mu.RUnlock()
	return more, lend(found, each)
}

func lend(found []*submission, each func(*storage.Submission) error) error {
	var rec storage.Submission
	for _, sub := range found {
		rec = sub.rec
		if err := each(&rec); err != nil {
			return err
		}
	}
	return nil
}

// page returns the records of a page, and whether the list goes on.
func (f *form) page(q storage.SubmissionQuery) (found []*submission, more bool) {
	items := f.submissions.after(q.Page.After)
	if !q.Until.IsZero() {
		items = items[:min(len(items), f.submissions.upTo(q.Until))]
	}
	if !q.Since.IsZero() {
		items = items[min(len(items), f.submissions.older(storage.Position{Time: q.Since})):]
	}
	found = newest(items, q.Page.Limit)
	fit := fitting(found, q.MaxBytes)
	return found[:fit], fit > 0 && fit < len(items)
}

// fitting returns how many of the records, from the first on, have most bytes or
// less together: one at least, if there is any.
func fitting(found []*submission, most int) int {
	if most < 1 {
		return len(found)
	}
	size := 0
	for i, sub := range found {
		size += sub.size()
		if i > 0 && size > most {
			return i
		}
	}
	return len(found)
}

// DeleteSubmission implements [storage.SubmissionStore].
func (s *Store) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.visible(who, form)
	if f == nil || f.byID[id] == nil {
		return storage.ErrNotFound
	}
	f.answers.forget(id)
	f.remove(f.byID[id])
	return nil
}

// remove takes a submission out of everything but the entered answers.
func (f *form) remove(sub *submission) {
	delete(f.byID, sub.rec.ID)
	f.submissions.remove(sub)
	if sub.key != "" {
		delete(f.byKey, sub.key)
	}
	for _, w := range f.webhooks.items {
		w.forget(sub)
	}
}
