package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/parts"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Copies is c for the working copies of forms: its operations on a form and its blocks read and
// change the copy in place of the form. A form without a copy is read as it is, and gets one with
// the first change.
func (c *Core) Copies() *Core {
	copied := *c
	copied.Storage, copied.copies, copied.Versions = copies{c.Storage}, true, 0
	return &copied
}

// copies is a storage whose forms have the content of their working copies.
type copies struct{ storage.Storage }

// A formAndCopy is a form and its working copy, if it has one.
type formAndCopy struct {
	form     storage.Form
	content  storage.FormContent // of the copy, else of the form
	base     base
	document storage.Document // Revision 0: there is no copy
}

// shown is the form with the content and the revision of its copy. Revisions of copies are far
// above those of forms, so that a tag of one never stands for the other.
func (f *formAndCopy) shown() storage.Form {
	shown := f.form
	if f.document.Revision != 0 {
		shown.FormContent = f.content
		shown.Revision, shown.UpdatedAt = f.document.Revision, f.document.UpdatedAt
	}
	return shown
}

func (s copies) read(ctx context.Context, who storage.Actor, id storage.ID) (f formAndCopy, err error) {
	f.document, err = s.Document(ctx, who, id, workingCopy, "")
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return f, Supported(err)
	}
	there := err == nil
	if f.form, err = s.Storage.Form(ctx, who, id); err != nil {
		return f, err
	}
	if f.content = contentOf(&f.form); there {
		f.content, f.base, err = readDocument(f.document.Value)
	}
	return f, err
}

// Form returns a form with the content of its working copy.
func (s copies) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := s.read(ctx, who, id)
	return f.shown(), err
}

// UpdateForm changes the working copy, or makes it, and removes it when it has become what the form
// is: a form has unpublished changes as long as it has a copy. Of a change, which is conditional,
// only the name, the type and the sections are looked at.
func (s copies) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, change storage.FormChange) (storage.Form, error) {
	f, err := s.read(ctx, who, id)
	if err != nil {
		return storage.Form{}, err
	}
	if revision := f.shown().Revision; !slices.Contains(change.IfRevision, revision) {
		return storage.Form{}, &storage.RevisionError{Current: revision}
	}
	after := afterChange(f.content, &change)
	if reflect.DeepEqual(after, f.content) {
		return f.shown(), nil
	}
	if f.document.Revision == 0 {
		of, err := parts.Of(f.content)
		if err != nil {
			return storage.Form{}, err
		}
		f.base = base{Revision: f.form.Revision, Digests: of.Digests()}
	}
	user, _ := who.User()
	put := storage.DocumentChange{Kind: workingCopy, IfRevision: []int64{f.document.Revision}, InitialRevision: firstOfCopy(), By: user, At: change.At}
	if !reflect.DeepEqual(after, contentOf(&f.form)) {
		put.Value = document(after, &f.base)
	}
	f.document, err = s.PutDocument(ctx, who, id, put)
	f.content = after
	return f.shown(), err
}

// firstOfCopy is the first revision of a copy. It is another one each time: an editor that read a
// copy which was published or discarded meanwhile must not take a new one for it. JavaScript
// keeps such numbers.
func firstOfCopy() int64 { return 1<<40 + rand.Int64N(1<<51) } // #nosec G404 -- told apart, not kept secret

// Publish puts the working copy of a form in force: name, type and definition, merged with what was
// changed in the form meanwhile, and the status published, in one step that removes the copy. A
// form without a copy is published as it is. The condition is on the revision of the copy. It
// returns a [*schema.ConflictError] when both changed the same part, unless take says by its path whose it
// is. A dry run changes nothing and returns the form with the content that it would get.
func (c *Core) Publish(ctx context.Context, who storage.Actor, id storage.ID, condition Precondition, take map[string]schema.Side, dry bool) (storage.Form, error) {
	ctx = timeout.WithBudget(ctx)
	s := copies{c.Storage}
	for range MaxRaces {
		f, err := s.read(ctx, who, id)
		if err != nil {
			return storage.Form{}, err
		}
		if revision := f.shown().Revision; !condition.Holds(revision) {
			return storage.Form{}, &storage.RevisionError{Current: revision}
		}
		after := f.content
		if f.document.Revision != 0 {
			after, err = merge(f.base, f.content, contentOf(&f.form), take)
		}
		var change storage.FormChange
		if err == nil {
			change, err = c.replace(&f.form, after)
		}
		if err != nil {
			// Form and copy were read one after the other. What they say together is true when
			// the copy is still the same.
			if now, e := s.read(ctx, who, id); e == nil && now.document.Revision != f.document.Revision {
				continue
			}
			if clash, ok := errors.AsType[*schema.ConflictError](err); ok {
				clash.Revision = f.document.Revision
			}
			return storage.Form{}, err
		}
		if dry {
			f.form.FormContent = after
			return f.form, nil
		}
		published := storage.StatusPublished
		change.Status, change.IfRevision = &published, []int64{f.form.Revision}
		if err := c.keepVersion(ctx, who, &f.form, &change, true); err != nil {
			return storage.Form{}, err
		}
		removal := storage.DocumentChange{Kind: workingCopy, IfRevision: []int64{f.document.Revision}, At: change.At}
		if f.document.Revision != 0 {
			change.Documents = append(change.Documents, removal)
		}
		form, err := s.Storage.UpdateForm(ctx, who, id, change)
		if err == nil && form.Revision == f.form.Revision && f.document.Revision != 0 { // there was nothing to change
			_, err = s.PutDocument(ctx, who, id, removal)
		}
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return form, err
		}
	}
	return storage.Form{}, storage.ErrUnavailable
}

// Discard removes the working copy of a form. One that is not there is no error.
func (c *Core) Discard(ctx context.Context, who storage.Actor, id storage.ID, condition Precondition) error {
	revisions := condition.OnlyRevisions()
	if revisions != nil {
		revisions = append(revisions, 0) // one that is gone is what was asked for
	}
	_, err := c.Storage.PutDocument(ctx, who, id, storage.DocumentChange{Kind: workingCopy, IfRevision: revisions, At: c.Now()})
	return Supported(err)
}

// WithCopies returns which of the forms have a working copy. It leaves out forms that are not accessible.
func (c *Core) WithCopies(ctx context.Context, who storage.Actor, forms []storage.ID) ([]storage.ID, error) {
	found, err := c.Storage.FormsWithDocument(ctx, who, workingCopy, forms)
	return found, Supported(err)
}

// ofCopies refuses what a working copy does not have.
func ofCopies(status, workspace *string) error {
	var broken []error
	for path, given := range map[string]*string{"/status": status, "/workspace_id": workspace} {
		if given != nil {
			broken = append(broken, faults.One(path, schema.CodeNotAllowed, "cannot be changed in a working copy, which has only a name, a type and a definition"))
		}
	}
	return faults.Join(broken...)
}
