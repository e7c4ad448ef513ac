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

// ForWorkingCopies returns a copy of c that operates on forms' working copies. The first change to a form creates its
// working copy.
func (c *Core) ForWorkingCopies() *Core {
	copied := *c
	copied.Storage, copied.forWorkingCopies, copied.Versions = workingCopyStorage{c.Storage}, true, 0
	return &copied
}

type workingCopyStorage struct{ storage.Storage }

type formWithCopy struct {
	form     storage.Form
	content  storage.FormContent // from the working copy if there is one, otherwise from the form
	base     copyBase
	document storage.Document // Revision is 0 without a working copy
}

// effectiveForm returns the form with the content and revision of its working copy. Working copies have much higher
// revisions than forms, so their ETags always differ.
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
		return f, TranslateUnimplemented(err)
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

func (s workingCopyStorage) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := s.readFormWithCopy(ctx, actor, id)
	return f.effectiveForm(), err
}

// UpdateForm creates or changes the working copy, or deletes it if its content is now the same as the form's content.
// Therefore a form has unpublished changes if and only if it has a working copy. Only the name, type and sections of
// change are used, and change.IfRevision is required.
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
		of, err := formdiff.SplitContent(f.content)
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

// newInitialRevision returns a random first revision for a working copy, so that editors cannot confuse the working
// copy with an earlier one. JavaScript can represent the number exactly.
func newInitialRevision() int64 { return 1<<40 + rand.Int64N(1<<51) } // #nosec G404 -- unique, but not secret

// Publish publishes a form's working copy. In one transaction, it merges the copy with later changes to the form, sets
// the status and deletes the copy. Without a working copy, it only publishes the form. condition applies to the working
// copy's revision. If the form and the copy changed the same part and resolutions does not select a side, Publish
// returns a [*schema.ConflictError]. If dry is true, it only returns the resulting form.
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
			after, err = mergeWorkingCopy(f.base, f.content, contentOf(&f.form), resolutions)
		}
		var change storage.FormChange
		if err == nil {
			change, err = c.newContentChange(&f.form, after)
		}
		if err != nil {
			// The form and the copy were read separately, so the error is valid only if the copy is unchanged.
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
		if err == nil && form.Revision == f.form.Revision && f.document.Revision != 0 { // the form did not change
			_, err = s.PutDocument(ctx, actor, id, removal)
		}
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return form, err
		}
	}
	return storage.Form{}, storage.ErrUnavailable
}

// Discard deletes a form's working copy, if any.
func (c *Core) Discard(ctx context.Context, actor storage.Actor, id storage.ID, condition Precondition) error {
	revisions := condition.OnlyRevisions()
	if revisions != nil {
		revisions = append(revisions, 0) // a missing copy counts as already discarded
	}
	_, err := c.Storage.PutDocument(ctx, actor, id, storage.DocumentChange{Kind: kindWorkingCopy, IfRevision: revisions, At: c.Now()})
	return TranslateUnimplemented(err)
}

// FormsWithWorkingCopy returns the accessible forms that have a working copy.
func (c *Core) FormsWithWorkingCopy(ctx context.Context, actor storage.Actor, forms []storage.ID) ([]storage.ID, error) {
	found, err := c.Storage.FormsWithDocument(ctx, actor, kindWorkingCopy, forms)
	return found, TranslateUnimplemented(err)
}

func rejectFormOnlyFields(status, workspace *string) error {
	var broken []error
	for path, value := range map[string]*string{"/status": status, "/workspace_id": workspace} {
		if value != nil {
			broken = append(broken, violation.New(path, schema.CodeNotAllowed, "cannot be changed in a working copy, which has only a name, a type and a definition"))
		}
	}
	return violation.Join(broken...)
}
