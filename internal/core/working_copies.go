package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/formsvc/formsvc/internal/formdiff"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Copies is c for the working copies of forms: its operations on a form and its blocks read and
// change the copy in place of the form. A form without a copy is read as it is, and gets one with
// the first change.
func (c *Core) ForWorkingCopies() *Core {
	copied := *c
	copied.Storage, copied.forWorkingCopies, copied.Versions = workingCopyStorage{c.Storage}, true, 0
	return &copied
}

// copies is a storage whose forms have the content of their working copies.
type workingCopyStorage struct{ storage.Storage }

// A formWithCopy is a form and its working copy, if it has one.
type formWithCopy struct {
	form     storage.Form
	content  storage.FormContent // of the copy, else of the form
	base     copyBase
	document storage.Document // Revision 0: there is no copy
}

// shown is the form with the content and the revision of its copy. Revisions of copies are far
// above those of forms, so that a tag of one never stands for the other.
func (f *formWithCopy) effectiveForm() storage.Form {
	shown := f.form
	if f.document.Revision != 0 {
		shown.FormContent = f.content
		shown.Revision, shown.UpdatedAt = f.document.Revision, f.document.UpdatedAt
	}
	return shown
}

func (s workingCopyStorage) readFormWithCopy(ctx context.Context, actor storage.Actor, id storage.ID) (f formWithCopy, err error) {
	f.document, err = s.Document(ctx, actor, id, kindWorkingCopy, "")
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return f, AsUnsupported(err)
	}
	there := err == nil
	if f.form, err = s.Storage.Form(ctx, actor, id); err != nil {
		return f, err
	}
	if f.content = contentOf(&f.form); there {
		f.content, f.base, err = decodeDocument(f.document.Value)
	}
	return f, err
}

// Form returns a form with the content of its working copy.
func (s workingCopyStorage) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := s.readFormWithCopy(ctx, actor, id)
	return f.effectiveForm(), err
}

// UpdateForm changes the working copy, or makes it, and removes it when it has become what the form
// is: a form has unpublished changes as long as it has a copy. Of a change, which is conditional,
// only the name, the type and the sections are looked at.
func (s workingCopyStorage) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, change storage.FormChange) (storage.Form, error) {
	f, err := s.readFormWithCopy(ctx, actor, id)
	if err != nil {
		return storage.Form{}, err
	}
	if revision := f.effectiveForm().Revision; !slices.Contains(change.IfRevision, revision) {
		return storage.Form{}, &storage.RevisionError{Current: revision}
	}
	after := applyChange(f.content, &change)
	if reflect.DeepEqual(after, f.content) {
		return f.effectiveForm(), nil
	}
	if f.document.Revision == 0 {
		of, err := formdiff.Split(f.content)
		if err != nil {
			return storage.Form{}, err
		}
		f.base = copyBase{Revision: f.form.Revision, Digests: of.Digests()}
	}
	user, _ := actor.User()
	put := storage.DocumentChange{Kind: kindWorkingCopy, IfRevision: []int64{f.document.Revision}, InitialRevision: newInitialRevision(), By: user, At: change.At}
	if !reflect.DeepEqual(after, contentOf(&f.form)) {
		put.Value = encodeDocument(after, &f.base)
	}
	f.document, err = s.PutDocument(ctx, actor, id, put)
	f.content = after
	return f.effectiveForm(), err
}

// newInitialRevision is the first revision of a copy. It is another one each time: an editor that read a
// copy which was published or discarded meanwhile must not take a new one for it. JavaScript
// keeps such numbers.
func newInitialRevision() int64 { return 1<<40 + rand.Int64N(1<<51) } // #nosec G404 -- told apart, not kept secret

// Publish puts the working copy of a form in force: name, type and definition, merged with what was
// changed in the form meanwhile, and the status published, in one step that removes the copy. A
// form without a copy is published as it is. The condition is on the revision of the copy. It
// returns a [*schema.ConflictError] when both changed the same part, unless take says by its path whose it
// is. A dry run changes nothing and returns the form with the content that it would get.
func (c *Core) Publish(ctx context.Context, actor storage.Actor, id storage.ID, condition Precondition, resolutions map[string]schema.Side, dry bool) (storage.Form, error) {
	ctx = timeout.WithBudget(ctx)
	s := workingCopyStorage{c.Storage}
	for range MaxConflictRetries {
		f, err := s.readFormWithCopy(ctx, actor, id)
		if err != nil {
			return storage.Form{}, err
		}
		if revision := f.effectiveForm().Revision; !condition.Holds(revision) {
			return storage.Form{}, &storage.RevisionError{Current: revision}
		}
		after := f.content
		if f.document.Revision != 0 {
			after, err = merge(f.base, f.content, contentOf(&f.form), resolutions)
		}
		var change storage.FormChange
		if err == nil {
			change, err = c.replaceContent(&f.form, after)
		}
		if err != nil {
			// Form and copy were read one after the other. What they say together is true when
			// the copy is still the same.
			if now, e := s.readFormWithCopy(ctx, actor, id); e == nil && now.document.Revision != f.document.Revision {
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
		if err := c.addVersion(ctx, actor, &f.form, &change, true); err != nil {
			return storage.Form{}, err
		}
		removal := storage.DocumentChange{Kind: kindWorkingCopy, IfRevision: []int64{f.document.Revision}, At: change.At}
		if f.document.Revision != 0 {
			change.Documents = append(change.Documents, removal)
		}
		form, err := s.Storage.UpdateForm(ctx, actor, id, change)
		if err == nil && form.Revision == f.form.Revision && f.document.Revision != 0 { // there was nothing to change
			_, err = s.PutDocument(ctx, actor, id, removal)
		}
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return form, err
		}
	}
	return storage.Form{}, storage.ErrUnavailable
}

// Discard removes the working copy of a form. One that is not there is no error.
func (c *Core) Discard(ctx context.Context, actor storage.Actor, id storage.ID, condition Precondition) error {
	revisions := condition.OnlyRevisions()
	if revisions != nil {
		revisions = append(revisions, 0) // one that is gone is what was asked for
	}
	_, err := c.Storage.PutDocument(ctx, actor, id, storage.DocumentChange{Kind: kindWorkingCopy, IfRevision: revisions, At: c.Now()})
	return AsUnsupported(err)
}

// FormsWithWorkingCopy returns which of the forms have a working copy. It leaves out forms that are not accessible.
func (c *Core) FormsWithWorkingCopy(ctx context.Context, actor storage.Actor, forms []storage.ID) ([]storage.ID, error) {
	found, err := c.Storage.FormsWithDocument(ctx, actor, kindWorkingCopy, forms)
	return found, AsUnsupported(err)
}

// rejectFormOnlyFields refuses what a working copy does not have.
func rejectFormOnlyFields(status, workspace *string) error {
	var broken []error
	for path, given := range map[string]*string{"/status": status, "/workspace_id": workspace} {
		if given != nil {
			broken = append(broken, violation.New(path, schema.CodeNotAllowed, "cannot be changed in a working copy, which has only a name, a type and a definition"))
		}
	}
	return violation.Join(broken...)
}
