package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// uniqueAnswers indexes a form's taken answers.
type uniqueAnswers struct {
	counts       map[uniqueAnswer]int // number of submissions with each answer
	bySubmission map[storage.ID][]uniqueAnswer

	// pending contains the submissions that the backfill has not indexed yet, ordered by ID. It can contain submissions
	// that no longer exist. Each batch gives the form a new pass number. The form with the lowest number is next.
	pending []storage.ID
	pass    int64
}

type uniqueAnswer struct {
	field  storage.UniqueField
	digest string
}

func (a *uniqueAnswers) isTaken(field storage.UniqueField, digest []byte) bool {
	return a.counts[uniqueAnswer{field, string(digest)}] > 0
}

// isTakenByOther is like isTaken, but returns false if the submission itself has the answer.
func (a *uniqueAnswers) isTakenByOther(field storage.UniqueField, digest []byte, id storage.ID) bool {
	return a.isTaken(field, digest) && !slices.Contains(a.bySubmission[id], uniqueAnswer{field, string(digest)})
}

// add adds an entry unless the submission already has one for the field.
func (a *uniqueAnswers) add(field storage.UniqueField, digest []byte, id storage.ID) {
	if !a.contains(field, id) {
		answer := uniqueAnswer{field, string(digest)}
		a.counts[answer]++
		a.bySubmission[id] = append(a.bySubmission[id], answer)
	}
}

func (a *uniqueAnswers) contains(field storage.UniqueField, id storage.ID) bool {
	return slices.ContainsFunc(a.bySubmission[id], func(answer uniqueAnswer) bool { return answer.field == field })
}

func (a *uniqueAnswers) removeSubmission(id storage.ID) {
	for _, answer := range a.bySubmission[id] {
		if a.counts[answer]--; a.counts[answer] == 0 {
			delete(a.counts, answer)
		}
	}
	delete(a.bySubmission, id)
}

func (f *form) duplicateCheckReady() bool {
	return f.rec.Acceptance.Unique.Block != "" && len(f.answers.pending) == 0
}

func (s *Store) restartBackfill(f *form) {
	f.answers.pending = nil
	if f.rec.Acceptance.Unique.Block != "" {
		f.answers.pending = slices.SortedFunc(maps.Keys(f.byID), compareIDs)
	}
	s.backfillPasses++
	f.answers.pass = s.backfillPasses
}

// upgradeRules restarts the backfill with the newer rules if the caller and the form use different rules for the field.
func (s *Store) upgradeRules(f *form, field storage.UniqueField) {
	gate := &f.rec.Acceptance.Unique
	if gate.Block != "" && gate.Block == field.Block && gate.Rules != field.Rules {
		gate.Rules = max(gate.Rules, field.Rules)
		s.restartBackfill(f)
	}
}

// PendingBackfill implements [storage.DuplicateStore]. It reads all forms.
func (s *Store) PendingBackfill(ctx context.Context, p storage.PendingBackfillParams) (storage.PendingBackfill, error) {
	return withLockResult(ctx, s, nil, func() (storage.PendingBackfill, error) {
		var next *form
		for _, f := range s.forms {
			if p.Max < 1 {
				break
			}
			if field := f.rec.Acceptance.Unique; field.Rules < p.Rules {
				s.upgradeRules(f, storage.UniqueField{Block: field.Block, Rules: p.Rules})
			}
			if !f.inTrash() && f.rec.Acceptance.Unique.Rules == p.Rules && len(f.answers.pending) > 0 &&
				(next == nil || f.answers.pass < next.answers.pass) {
				next = f
			}
		}
		if next == nil {
			return storage.PendingBackfill{}, nil
		}
		out := storage.PendingBackfill{Cursor: storage.BackfillCursor{Form: next.rec.ID, Field: next.rec.Acceptance.Unique, Pass: next.answers.pass}}
		size := 0
		for _, id := range next.answers.pending {
			sub := next.byID[id]
			if sub == nil || next.answers.contains(out.Cursor.Field, id) {
				continue
			}
			size += len(sub.rec.Answers)
			if n := len(out.Submissions); n == p.Max || n > 0 && p.MaxBytes > 0 && size > p.MaxBytes {
				out.Cursor.To = id // start of the next batch
				break
			}
			out.Submissions = append(out.Submissions, storage.SubmissionAnswers{ID: id, Answers: slices.Clone(sub.rec.Answers)})
		}
		return out, nil
	})
}

// BackfillAnswers implements [storage.DuplicateStore].
func (s *Store) BackfillAnswers(ctx context.Context, at storage.BackfillCursor, digests []storage.AnswerDigest) error {
	return withLock(ctx, s, nil, func() error {
		f := s.visibleForm(storage.AsHost(), at.Form)
		if f == nil || f.answers.pass != at.Pass {
			return nil
		}
		for _, e := range digests {
			if f.byID[e.Submission] != nil {
				f.answers.add(at.Field, e.Digest, e.Submission)
			}
		}
		s.backfillPasses++
		f.answers.pass = s.backfillPasses
		end := slices.Index(f.answers.pending, at.To)
		if end < 0 { // the last batch
			end = len(f.answers.pending)
		}
		f.answers.pending = f.answers.pending[end:]
		return nil
	})
}
