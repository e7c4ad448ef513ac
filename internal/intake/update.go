package intake

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// UpdateParams is a change of a submission. Package formsvc documents it. Input contains only what changes.
type UpdateParams struct {
	Input
	FormID, ID   storage.ID
	ByRespondent bool
	Precondition core.Precondition
}

// Update checks a changed submission against the current form and stores it. Only actors who can read the submission
// can change it.
func (i Intake) Update(ctx context.Context, actor storage.Actor, p *UpdateParams) (storage.Submission, error) {
	if p.ByRespondent && !actor.Host() {
		return storage.Submission{}, violation.New("/by_respondent", schema.CodeNotAllowed, "can be set only by the host")
	}
	ctx = timeout.WithBudget(ctx)
	for range core.MaxConflictRetries {
		old, err := i.core.Storage.Submission(ctx, actor, p.FormID, p.ID)
		if err != nil {
			return storage.Submission{}, err
		}
		if !p.Precondition.Holds(old.Revision) {
			return storage.Submission{}, &storage.RevisionError{Current: old.Revision, Kind: "submission"}
		}
		_, form, err := i.Form(ctx, p.FormID)
		if err != nil {
			return storage.Submission{}, err
		}
		u, err := i.newUpdate(ctx, form, old, p)
		if err != nil {
			return storage.Submission{}, err
		}
		u.By, _ = actor.User()
		u.ByRespondent = p.ByRespondent
		if err := i.core.RemoveDroppedFiles(ctx, old, u); err != nil {
			return storage.Submission{}, err
		}
		changed, err := i.core.Storage.UpdateSubmission(ctx, actor, u)
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return changed, core.TranslateUnimplemented(err)
		}
	}
	return storage.Submission{}, storage.ErrUnavailable
}

// newUpdate checks the stored answers together with the changes.
func (i Intake) newUpdate(ctx context.Context, form *CompiledForm, old storage.Submission, p *UpdateParams) (u storage.SubmissionUpdate, err error) {
	stored, err := decodeItems(old.Answers)
	if err != nil {
		return u, err
	}
	if form, err = form.ForChanges(&old); err != nil {
		return u, err
	}
	in := form.before.Input
	in.Answers, in.HostAnswers, in.Hidden = maps.Clone(in.Answers), maps.Clone(in.HostAnswers), maps.Clone(in.Hidden)
	maps.Copy(in.Answers, p.Answers)
	maps.Copy(in.HostAnswers, p.HostAnswers)
	maps.Copy(in.Hidden, p.Hidden)
	in.LegalTexts = p.LegalTexts
	checked, err := form.answers.Check(in)
	if err == nil && form.answers.AsksHost() {
		checked, err = form.checkWithHost(ctx, in, old.Respondent, checked)
	}
	if err != nil {
		return u, err
	}
	fresh, err := decodeItems(checked.List)
	if err != nil {
		return u, err
	}
	text, all := p.merge(form.answers, stored, fresh)
	merged, at := encodeStored(text, all), i.core.Clock().UTC()
	changed, event := old, i.core.NewID(at)
	changed.Hidden, changed.Revision, changed.ChangedAt = merged.Hidden, old.Revision+1, at
	return storage.SubmissionUpdate{
		FormID: form.ID, ID: old.ID, IfRevision: old.Revision, FormRevision: form.Revision, At: at,
		Answers: text, Hidden: merged.Hidden, UniqueAnswer: checked.Unique, Ending: checked.Ending,
		UniqueField: storage.UniqueField{Block: form.Acceptance.Unique.Block, Rules: answers.IdentityRules},
		Event:       storage.Event{ID: event, Type: eventResponseUpdated, Body: i.encodeEvent(event, changed, merged), Details: form.eventDetails("")},
	}, nil
}

// item is one answer of a stored list, with the bytes of the whole list item.
type item struct {
	schema.Answer
	raw json.RawMessage
}

func decodeItems(list json.RawMessage) (items []item, err error) {
	decoded, err := schema.DecodeAnswers(list)
	if err != nil || len(decoded) == 0 {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(list, &raw); err != nil {
		return nil, err
	}
	for i := range decoded {
		items = append(items, item{decoded[i], raw[i]})
	}
	return items, nil
}

// merge returns the checked answers, with the stored bytes of each answer that did not change, such as the legal text
// that the respondent accepted. The stored answers that stay without a check follow the last answer to a block.
func (p *UpdateParams) merge(form answers.Form, stored, checked []item) (json.RawMessage, []schema.Answer) {
	indexOf := func(items []item, id string) int {
		return slices.IndexFunc(items, func(a item) bool { return a.ID == id })
	}
	kept := slices.DeleteFunc(slices.Clone(stored), func(a item) bool { return indexOf(checked, a.ID) >= 0 || !p.stays(form, &a.Answer) })
	blocks := slices.IndexFunc(checked, func(a item) bool { return a.Type == schema.TypeHidden || a.Type == schema.TypeVariable })
	if blocks < 0 {
		blocks = len(checked)
	}
	var w jsontree.Writer
	var all []schema.Answer
	w.Array()
	for _, a := range slices.Insert(checked, blocks, kept...) {
		if at := indexOf(stored, a.ID); at >= 0 && stored[at].Type == a.Type && a.Type != schema.TypeVariable && !p.changes(form, &a.Answer) {
			a = stored[at]
		}
		w.Raw(a.raw)
		all = append(all, a.Answer)
	}
	w.EndArray()
	return w.Bytes(), all
}

// changes reports whether the change contains a value for the answer, from the side that may give it.
func (p *UpdateParams) changes(form answers.Form, a *schema.Answer) (ok bool) {
	switch {
	case a.Type == schema.TypeHidden:
		_, ok = p.Hidden[a.ID]
	case form.IsFromHost(a):
		_, ok = p.HostAnswers[a.ID]
	default:
		_, ok = p.Answers[a.ID]
	}
	return ok
}

// stays reports whether a stored answer that is not on the path stays: because its block was deleted or has another type
// now, or because only the host may give it. The respondent's files go with their block, and payments stay.
func (p *UpdateParams) stays(form answers.Form, a *schema.Answer) bool {
	if a.Type == schema.TypeVariable || !form.Has(a) {
		return a.Type != schema.TypeVariable
	}
	file := a.Type == schema.TypeFileUpload || a.Type == schema.TypeSignature
	return form.IsFromHost(a) && !p.changes(form, a) && !file
}
