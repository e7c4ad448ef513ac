package storagetest

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func submitMutants() []mutant {
	return []mutant{
		{"ignores idempotency keys", []string{"submissions/idempotency_replay", "submissions/store_and_read", "concurrency/submit_idempotency"},
			submits(func(n *storage.NewSubmission) { n.IdempotencyKey = "" })},
		{"compares idempotency keys without their case", []string{"submissions/idempotency_by_form"},
			submits(func(n *storage.NewSubmission) { n.IdempotencyKey = string(bytes.ToLower([]byte(n.IdempotencyKey))) })},
		{"queues events without an id", []string{"concurrency/submit_without_event"},
			submits(func(n *storage.NewSubmission) {
				if n.Event.ID.IsZero() {
					n.Event = newEvent()
				}
			})},
		{"ignores unique answers", []string{"submissions/unique_answer", "concurrency/submit_unique_answer"},
			submits(func(n *storage.NewSubmission) { n.UniqueAnswer = nil })},
		{"takes a missing unique answer for an empty one", []string{"submissions/unique_answer_by_form"},
			submits(func(n *storage.NewSubmission) {
				if n.UniqueAnswer == nil {
					n.UniqueAnswer = []byte{}
				}
			})},
		{"stores one submission beyond the limit", []string{"submissions/limit", "concurrency/submit_limit", "forms/full"},
			wrap[looseLimit]},
		{"checks the revision before the idempotency key", []string{"submissions/idempotency_before_checks"}, wrap[revisionFirst]},
		{"counts refused submissions", []string{"submissions/refused_changes_nothing", "metrics/submission_counts"}, wrap[countsRefused]},
		{"forgets submissions in the funnel", []string{"metrics/submission_counts", "concurrency/submit_counts"}, wrap[forgetfulFunnel]},
		{"takes counts of unknown forms without an error", []string{"metrics/counts_together", "metrics/unknown_form"}, wrap[countsUnknown]},
		{"takes the end of a window as inclusive", []string{"metrics/window_of_minutes"}, wrap[inclusiveWindow]},
		{"forgets counts after a year", []string{"metrics/window_of_days"}, wrap[forgetsOld]},
		{"adds the lifetime counters to the counts", []string{"metrics/lifetime"}, wrap[lifetimeInCounts]},
		{"leaves the lifetime counters out of totals", []string{"metrics/totals"}, wrap[recentTotals]},
		{"removes a deleted submission from the funnel", []string{"submissions/delete_keeps_funnel"}, wrap[rewritesFunnel]},
	}
}

// editsSubmit changes what is submitted.
type editsSubmit struct {
	storage.Storage
	edit func(*storage.NewSubmission)
}

func submits(edit func(*storage.NewSubmission)) wrapper {
	return func(s storage.Storage) storage.Storage { return editsSubmit{s, edit} }
}

func (m editsSubmit) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	m.edit(&n)
	return m.Storage.Submit(ctx, n)
}

type looseLimit struct{ storage.Storage }

func (m looseLimit) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	if f.Acceptance.ResponseLimit > 0 {
		f.Acceptance.ResponseLimit++
	}
	return m.Storage.CreateForm(ctx, actor, f)
}

type revisionFirst struct{ storage.Storage }

func (m revisionFirst) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	f, err := m.Form(ctx, storage.AsHost(), n.Submission.FormID)
	if err == nil && f.Revision != n.FormRevision {
		return storage.Submission{}, false, &storage.RevisionError{Current: f.Revision}
	}
	return m.Storage.Submit(ctx, n)
}

type countsRefused struct{ storage.Storage }

func (m countsRefused) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s, replayed, err := m.Storage.Submit(ctx, n)
	if err != nil {
		_ = m.CountFunnel(ctx, counted(n.Submission.FormID, n.Submission.SubmittedAt, storage.Counters{Submissions: 1}))
	}
	return s, replayed, err
}

type countsUnknown struct{ storage.Storage }

func (m countsUnknown) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	if err := m.Storage.CountFunnel(ctx, counts); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil
}

type recentTotals struct{ storage.Storage }

func (m recentTotals) SubmissionTotals(ctx context.Context, actor storage.Actor, forms []storage.ID) (map[storage.ID]int64, error) {
	totals, err := m.Storage.SubmissionTotals(ctx, actor, forms)
	for form := range totals {
		f, _ := m.Funnel(ctx, actor, form, storage.Window{})
		totals[form] = f.Submissions
	}
	return totals, err
}

type forgetfulFunnel struct{ storage.Storage }

func (m forgetfulFunnel) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	f, err := m.Storage.Funnel(ctx, actor, form, w)
	f.Submissions = 0
	return f, err
}

type inclusiveWindow struct{ storage.Storage }

func (m inclusiveWindow) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	f, err := m.Storage.Funnel(ctx, actor, form, w)
	if !w.To.IsZero() {
		last, _ := m.Storage.Funnel(ctx, actor, form, storage.Window{From: w.To, To: w.To.Add(time.Minute)})
		f.Views += last.Views
	}
	return f, err
}

type forgetsOld struct{ storage.Storage }

func (m forgetsOld) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	if first := midnight(30); w.From.Before(first) {
		w.From = first
	}
	return m.Storage.Funnel(ctx, actor, form, w)
}

type lifetimeInCounts struct{ storage.Storage }

func (m lifetimeInCounts) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	f, err := m.Storage.Funnel(ctx, actor, form, w)
	if f.Lifetime != nil {
		f.Views += f.Lifetime.Views
	}
	return f, err
}

type rewritesFunnel struct{ storage.Storage }

func (m rewritesFunnel) DeleteSubmission(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	s, err := m.Submission(ctx, actor, form, id)
	if err != nil {
		return err
	}
	if err := m.CountFunnel(ctx, counted(form, s.SubmittedAt, storage.Counters{Submissions: -1})); err != nil {
		return err
	}
	return m.Storage.DeleteSubmission(ctx, actor, form, id)
}

func duplicateMutants() []mutant {
	return []mutant{
		{"looks at no unique answer", []string{"duplicates/earlier_submissions", "concurrency/unique_when_covered", "concurrency/enter_and_submit"},
			submits(func(n *storage.NewSubmission) { n.UniqueAnswer = nil })},
		{"enters nothing", []string{"duplicates/earlier_submissions", "duplicates/field_set_again", "duplicates/by_form", "concurrency/enter_and_change"},
			wrap[entersNothing]},
		{"enters at whatever place", []string{"duplicates/place_of_another_round", "duplicates/entered_twice"}, wrap[anyPlace]},
		{"says that a form is covered when it has a unique field", []string{"duplicates/earlier_submissions", "duplicates/pieces", "duplicates/newer_rules", "duplicates/submit_by_other_rules"},
			wrap[coveredAtOnce]},
		{"never says that a form is covered", []string{"duplicates/covered_when_empty", "duplicates/same_field", "duplicates/every_form_in_turn", "duplicates/purged"},
			wrap[neverCovered]},
		{"hands out everything in one piece", []string{"duplicates/pieces"}, wrap[onePiece]},
		{"enters for a form in the trash", []string{"duplicates/trash"}, wrap[entersTrash]},
		{"frees the answers of a submission that is deleted never", []string{"duplicates/deleted_meanwhile", "duplicates/taken_while_any_has_it"},
			wrap[keepsAnswers]},
	}
}

type entersNothing struct{ storage.Storage }

func (m entersNothing) BackfillAnswers(ctx context.Context, at storage.BackfillCursor, _ []storage.AnswerDigest) error {
	return m.Storage.BackfillAnswers(ctx, at, nil)
}

type anyPlace struct{ storage.Storage }

func (m anyPlace) BackfillAnswers(ctx context.Context, at storage.BackfillCursor, entered []storage.AnswerDigest) error {
	now, err := m.PendingBackfill(ctx, storage.PendingBackfillParams{Rules: at.Field.Rules, Max: everyRecord})
	if err != nil || now.Cursor.Form != at.Form {
		return m.Storage.BackfillAnswers(ctx, at, entered)
	}
	return m.Storage.BackfillAnswers(ctx, now.Cursor, entered)
}

type coveredAtOnce struct{ storage.Storage }

func (m coveredAtOnce) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, actor, id)
	f.DuplicateCheckReady = f.Acceptance.Unique.Block != ""
	return f, err
}

type neverCovered struct{ storage.Storage }

func (m neverCovered) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, actor, id)
	f.DuplicateCheckReady = false
	return f, err
}

type onePiece struct{ storage.Storage }

func (m onePiece) PendingBackfill(ctx context.Context, p storage.PendingBackfillParams) (storage.PendingBackfill, error) {
	p.Max, p.MaxBytes = everyRecord, 0
	return m.Storage.PendingBackfill(ctx, p)
}

// entersTrash takes the form out of the trash for as long as it enters.
type entersTrash struct{ storage.Storage }

func (m entersTrash) BackfillAnswers(ctx context.Context, at storage.BackfillCursor, entered []storage.AnswerDigest) error {
	if _, err := m.Form(ctx, storage.AsHost(), at.Form); err == nil {
		return m.Storage.BackfillAnswers(ctx, at, entered)
	}
	if err := m.RestoreForm(ctx, at.Form, storage.ID{}, at0); err != nil {
		return err
	}
	if err := m.Storage.BackfillAnswers(ctx, at, entered); err != nil {
		return err
	}
	return m.TrashForm(ctx, storage.AsHost(), at.Form, storage.TrashParams{At: at0})
}

var at0 = at(0)

// keepsAnswers stores a deleted submission's answers again under another id.
type keepsAnswers struct{ storage.Storage }

func (m keepsAnswers) DeleteSubmission(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	old, err := m.Submission(ctx, actor, form, id)
	if err != nil {
		return err
	}
	if err := m.Storage.DeleteSubmission(ctx, actor, form, id); err != nil {
		return err
	}
	f, err := m.Form(ctx, actor, form)
	if err != nil {
		return err
	}
	n := submissionAt(f, at0)
	unique(fieldOne, answerIn(old.Answers))(&n)
	_, _, _ = m.Submit(ctx, n) // it may be taken
	return nil
}
