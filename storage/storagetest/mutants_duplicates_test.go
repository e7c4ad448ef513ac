package storagetest

import (
	"context"

	"github.com/formsvc/formsvc/storage"
)

func duplicateMutants() []mutant {
	return []mutant{
		{"looks at no unique answer", []string{"duplicates/earlier_submissions", "concurrency/unique_when_covered", "concurrency/enter_and_submit"},
			func(s storage.Storage) storage.Storage {
				return editsSubmit{s, func(n *storage.NewSubmission) { n.UniqueAnswer = nil }}
			}},
		{"enters nothing", []string{"duplicates/earlier_submissions", "duplicates/field_set_again", "duplicates/by_form", "concurrency/enter_and_change"},
			func(s storage.Storage) storage.Storage {
				return editsEntries{s, func(*storage.EntryPlace, *[]storage.EnteredAnswer) {}, true}
			}},
		{"enters at whatever place", []string{"duplicates/place_of_another_round", "duplicates/entered_twice"},
			func(s storage.Storage) storage.Storage { return anyPlace{s} }},
		{"says that a form is covered when it has a unique field", []string{"duplicates/earlier_submissions", "duplicates/pieces", "duplicates/newer_rules", "duplicates/submit_by_other_rules"},
			func(s storage.Storage) storage.Storage { return coveredAtOnce{s} }},
		{"never says that a form is covered", []string{"duplicates/covered_when_empty", "duplicates/same_field", "duplicates/every_form_in_turn", "duplicates/purged"},
			func(s storage.Storage) storage.Storage { return neverCovered{s} }},
		{"hands out everything in one piece", []string{"duplicates/pieces"},
			func(s storage.Storage) storage.Storage {
				return editsPieces{s, func(p *storage.NotEnteredParams) { p.Max, p.MaxBytes = everyRecord, 0 }}
			}},
		{"enters for a form in the trash", []string{"duplicates/trash"},
			func(s storage.Storage) storage.Storage { return entersTrash{s} }},
		{"frees the answers of a submission that is deleted never", []string{"duplicates/deleted_meanwhile", "duplicates/taken_while_any_has_it"},
			func(s storage.Storage) storage.Storage { return keepsAnswers{s} }},
	}
}

type editsEntries struct {
	storage.Storage
	edit func(*storage.EntryPlace, *[]storage.EnteredAnswer)
	none bool
}

func (m editsEntries) EnterAnswers(ctx context.Context, at storage.EntryPlace, entered []storage.EnteredAnswer) error {
	if m.none {
		entered = nil
	}
	m.edit(&at, &entered)
	return m.Storage.EnterAnswers(ctx, at, entered)
}

type anyPlace struct{ storage.Storage }

func (m anyPlace) EnterAnswers(ctx context.Context, at storage.EntryPlace, entered []storage.EnteredAnswer) error {
	now, err := m.NotEntered(ctx, storage.NotEnteredParams{Rules: at.Field.Rules, Max: everyRecord})
	if err != nil || now.Place.Form != at.Form {
		return m.Storage.EnterAnswers(ctx, at, entered)
	}
	return m.Storage.EnterAnswers(ctx, now.Place, entered)
}

type coveredAtOnce struct{ storage.Storage }

func (m coveredAtOnce) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, who, id)
	f.DuplicatesCovered = f.Gate.Unique.Block != ""
	return f, err
}

type neverCovered struct{ storage.Storage }

func (m neverCovered) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, who, id)
	f.DuplicatesCovered = false
	return f, err
}

type editsPieces struct {
	storage.Storage
	edit func(*storage.NotEnteredParams)
}

func (m editsPieces) NotEntered(ctx context.Context, p storage.NotEnteredParams) (storage.NotEntered, error) {
	m.edit(&p)
	return m.Storage.NotEntered(ctx, p)
}

// entersTrash takes the form out of the trash for as long as it enters.
type entersTrash struct{ storage.Storage }

func (m entersTrash) EnterAnswers(ctx context.Context, at storage.EntryPlace, entered []storage.EnteredAnswer) error {
	if _, err := m.Form(ctx, storage.AsHost(), at.Form); err == nil {
		return m.Storage.EnterAnswers(ctx, at, entered)
	}
	if err := m.RestoreForm(ctx, at.Form, storage.ID{}, at0); err != nil {
		return err
	}
	if err := m.Storage.EnterAnswers(ctx, at, entered); err != nil {
		return err
	}
	return m.TrashForm(ctx, storage.AsHost(), at.Form, storage.TrashParams{At: at0})
}

var at0 = at(0)

// keepsAnswers stores a deleted submission's answers again under another id.
type keepsAnswers struct{ storage.Storage }

func (m keepsAnswers) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	old, err := m.Submission(ctx, who, form, id)
	if err != nil {
		return err
	}
	if err := m.Storage.DeleteSubmission(ctx, who, form, id); err != nil {
		return err
	}
	f, err := m.Form(ctx, who, form)
	if err != nil {
		return err
	}
	n := submissionAt(f, at0)
	unique(fieldOne, answerIn(old.Answers))(&n)
	_, _, _ = m.Submit(ctx, n) // it may be taken
	return nil
}
