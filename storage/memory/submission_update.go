package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// UpdateSubmission implements [storage.SubmissionUpdateStore].
func (s *Store) UpdateSubmission(ctx context.Context, actor storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	values := []any{u.Answers, u.Hidden, u.Ending, u.UniqueField.Block, u.Event.Type, requiredTime(u.At)}
	return withRecordResult(ctx, s, s.findForm(actor, u.FormID), values, func(f *form) (storage.Submission, error) {
		sub := f.byID[u.ID]
		switch {
		case sub == nil:
			return storage.Submission{}, storage.ErrNotFound
		case u.IfRevision != sub.rec.Revision:
			return storage.Submission{}, &storage.RevisionError{Current: sub.rec.Revision, Kind: "submission"}
		case u.FormRevision != f.rec.Revision:
			return storage.Submission{}, &storage.RevisionError{Current: f.rec.Revision}
		case u.UniqueAnswer != nil && f.answers.isTakenByOther(u.UniqueField, u.UniqueAnswer, u.ID):
			return storage.Submission{}, storage.ErrDuplicate
		}
		changed := *sub // lists can still read the old one
		old := &sub.rec
		changed.history = append(slices.Clone(sub.history), storage.SubmissionState{
			Revision: old.Revision, FormRevision: old.FormRevision, Answers: old.Answers, Hidden: old.Hidden,
			ReplacedAt: toUTC(u.At), ReplacedBy: u.By, ReplacedByRespondent: u.ByRespondent,
		})
		changed.history = changed.history[max(0, len(changed.history)-storage.MaxSubmissionStates):]
		changed.rec.Answers, changed.rec.Hidden = bytes.Clone(u.Answers), bytes.Clone(u.Hidden)
		changed.rec.Ending = u.Ending
		changed.rec.FormRevision, changed.rec.Revision, changed.rec.ChangedAt = u.FormRevision, old.Revision+1, toUTC(u.At)
		s.replaceSubmission(f, sub, &changed)
		s.replaceAnswer(f, &changed, u)
		asking := slices.DeleteFunc(slices.Clone(f.webhooks), func(w *webhook) bool { return !w.rec.Updates })
		s.enqueueEvent(&changed, u.Event, asking, nil, 0, s.now())
		return copySubmission(changed.rec), nil
	})
}

func (s *Store) replaceSubmission(f *form, old, changed *submission) {
	f.byID[old.rec.ID] = changed
	if old.key != "" {
		f.byKey[old.key] = changed
	}
	at, _ := f.submissions.search(old.position())
	f.submissions.items[at] = changed
	f.removed++
}

// replaceAnswer replaces the entries of a changed submission. The backfill repeats its current batch, whose digests can
// be those of the old answers.
func (s *Store) replaceAnswer(f *form, changed *submission, u storage.SubmissionUpdate) {
	f.answers.removeSubmission(u.ID)
	if changed.rec.Respondent != "" {
		f.answers.add(respondentField, []byte(changed.rec.Respondent), u.ID)
	}
	s.backfillPasses++
	f.answers.pass = s.backfillPasses
	if u.UniqueAnswer != nil {
		f.answers.add(u.UniqueField, u.UniqueAnswer, u.ID)
		s.upgradeRules(f, u.UniqueField)
	}
}

// SubmissionHistory implements [storage.SubmissionUpdateStore].
func (s *Store) SubmissionHistory(ctx context.Context, actor storage.Actor, formID, id storage.ID) ([]storage.SubmissionState, error) {
	return withRecordResult(ctx, s, s.findForm(actor, formID), nil, func(f *form) (states []storage.SubmissionState, _ error) {
		sub := f.byID[id]
		if sub == nil {
			return nil, storage.ErrNotFound
		}
		for _, state := range slices.Backward(sub.history) {
			state.Answers, state.Hidden = bytes.Clone(state.Answers), bytes.Clone(state.Hidden)
			states = append(states, state)
		}
		return states, nil
	})
}
