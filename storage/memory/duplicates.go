package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// uniqueAnswers are the answers of a form that are taken. The zero value has none.
type uniqueAnswers struct {
	counts map[uniqueAnswer]int // how many submissions have the answer
	of     map[storage.ID][]uniqueAnswer
	// progress is how far they are entered for the gate's field; nil: all are.
	progress *progress
	rounds   int64
}

type uniqueAnswer struct {
	field  storage.UniqueField
	digest string
}

type progress struct {
	round int64
	turn  int64 // of forms with progress, the one with the lowest is next
	// todo are the submissions that were there when the round began, in the order of
	// ids. Those that are deleted meanwhile stay.
	todo []storage.ID
}

func (a *uniqueAnswers) taken(field storage.UniqueField, digest []byte) bool {
	return a.counts[uniqueAnswer{field, string(digest)}] > 0
}

// enter makes the entry of a submission. It keeps one that is there for the field.
func (a *uniqueAnswers) enter(field storage.UniqueField, digest []byte, id storage.ID) {
	if a.entered(field, id) {
		return
	}
	if a.counts == nil {
		a.counts, a.of = make(map[uniqueAnswer]int), make(map[storage.ID][]uniqueAnswer)
	}
	answer := uniqueAnswer{field, string(digest)}
	a.counts[answer]++
	a.of[id] = append(a.of[id], answer)
}

func (a *uniqueAnswers) entered(field storage.UniqueField, id storage.ID) bool {
	return slices.ContainsFunc(a.of[id], func(answer uniqueAnswer) bool { return answer.field == field })
}

// forget removes the entries of a submission.
func (a *uniqueAnswers) forget(id storage.ID) {
	for _, answer := range a.of[id] {
		if a.counts[answer]--; a.counts[answer] == 0 {
			delete(a.counts, answer)
		}
	}
	delete(a.of, id)
}

func (f *form) covered() bool {
	return f.rec.Gate.Unique.Block != "" && f.answers.progress == nil
}

// enterAnew begins entering for the gate's field.
func (f *form) enterAnew() {
	f.answers.progress = nil
	if f.rec.Gate.Unique.Block == "" || len(f.submissions.items) == 0 {
		return
	}
	todo := slices.Collect(maps.Keys(f.byID))
	slices.SortFunc(todo, compareIDs)
	f.answers.rounds++
	f.answers.progress = &progress{round: f.answers.rounds, todo: todo}
}

// compareBy begins entering anew, by the newer rules, when answers to the gate's field
// are compared by others than the gate's.
func (f *form) compareBy(field storage.UniqueField) {
	old := f.rec.Gate.Unique
	if old.Block == "" || old.Block != field.Block || old.Rules == field.Rules {
		return
	}
	rec := *f.rec
	rec.Gate.Unique.Rules = max(old.Rules, field.Rules)
	f.rec = &rec
	f.enterAnew()
}

// NotEntered implements [storage.DuplicateStore]. It looks at all forms.
func (s *Store) NotEntered(ctx context.Context, p storage.NotEnteredParams) (storage.NotEntered, error) {
	if err := ctx.Err(); err != nil || p.Max < 1 {
		return storage.NotEntered{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var next *form
	for _, f := range s.forms {
		if f.trashed() {
			continue
		}
		if field := f.rec.Gate.Unique; field.Block != "" && field.Rules < p.Rules {
			f.compareBy(storage.UniqueField{Block: field.Block, Rules: p.Rules})
		}
		if f.rec.Gate.Unique.Rules == p.Rules && f.answers.progress != nil &&
			(next == nil || f.answers.progress.turn < next.answers.progress.turn) {
			next = f
		}
	}
	if next == nil {
		return storage.NotEntered{}, nil
	}
	return next.notEntered(p), nil
}

func (f *form) notEntered(p storage.NotEnteredParams) storage.NotEntered {
	field, at := f.rec.Gate.Unique, f.answers.progress
	out := storage.NotEntered{Place: storage.EntryPlace{Form: f.rec.ID, Field: field, Round: at.round}}
	out.Place.From = at.todo[0]
	size, n := 0, 0
	for _, id := range at.todo {
		sub := f.byID[id]
		if sub == nil || f.answers.entered(field, id) {
			continue
		}
		size += len(sub.rec.Answers)
		if n++; n > p.Max || n > 1 && p.MaxBytes > 0 && size > p.MaxBytes {
			out.Place.To = id // where the next piece begins
			break
		}
		out.Submissions = append(out.Submissions, storage.SubmissionAnswers{ID: id, Answers: slices.Clone(sub.rec.Answers)})
	}
	return out
}

// EnterAnswers implements [storage.DuplicateStore].
func (s *Store) EnterAnswers(ctx context.Context, at storage.EntryPlace, entered []storage.EnteredAnswer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.live(at.Form)
	if f == nil || f.answers.progress == nil || f.answers.progress.round != at.Round {
		return nil
	}
	p := f.answers.progress
	if p.todo[0] != at.From {
		return nil
	}
	for _, e := range entered {
		if f.byID[e.Submission] != nil {
			f.answers.enter(at.Field, e.Digest, e.Submission)
		}
	}
	end := len(p.todo)
	if !at.To.IsZero() {
		end = slices.Index(p.todo, at.To)
	}
	s.entries++
	p.turn = s.entries
	if p.todo = p.todo[end:]; len(p.todo) == 0 {
		f.answers.progress = nil
	}
	return nil
}
