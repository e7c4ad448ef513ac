package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/storage"
)

// kindEnsured is the kind of the document with the state that EnsureForm last stored. Its key is the workspace in the
// call, because a form can move. The document is separate from the form, so no other operation changes or copies it.
const kindEnsured = "ensured"

// encodeState returns a digest of everything in a form that EnsureForm stores, as JSON. Whitespace and the order of
// fields do not matter, because other programs change them when they write a form to a file.
func encodeState(f *storage.Form) []byte {
	var content any
	d := json.NewDecoder(bytes.NewReader(encodeDocument(contentOf(f), nil)))
	d.UseNumber()
	_ = d.Decode(&content)                                            // the sections are valid
	state, _ := json.Marshal([]any{f.WorkspaceID, f.Status, content}) //nolint:errchkjson // decoded JSON
	sum := sha256.Sum256(state)
	return strconv.AppendQuote(nil, hex.EncodeToString(sum[:]))
}

// ParseForm checks a form in JSON that has a name, a type and a definition, but no workspace.
func (c *Core) ParseForm(data []byte) (storage.FormContent, error) {
	w, err := c.validator.ParseFormContent(bytes.Clone(data)) // the result shares its bytes
	if err != nil {
		return storage.FormContent{}, convertSyntaxError(err)
	}
	f, err := c.newForm(w)
	return f.FormContent, err
}

// EnsureForm creates and publishes a form with a public ID that the host chooses, or updates the form. If someone
// edited the form after the last call, EnsureForm reports it as edited, and changes nothing unless overwrite is true.
func (c *Core) EnsureForm(ctx context.Context, publicID string, body []byte, overwrite bool) (f storage.Form, edited bool, err error) {
	w, err := c.validator.ParseFormCreate(body)
	if err != nil {
		return storage.Form{}, false, err
	}
	wanted, err := c.newForm(w)
	if err != nil {
		return storage.Form{}, false, err
	}
	wanted.PublicID, wanted.Status = publicID, storage.StatusPublished
	if warnings, err := c.Warnings(wanted.Definition, wanted.Type); err == nil && len(warnings) > 0 {
		c.Log.WarnContext(ctx, "form has warnings", "form", publicID, "warnings", warnings)
	}
	state := encodeState(&wanted)
	ctx = timeout.WithBudget(ctx)
	for range MaxConflictRetries {
		f, edited, err = c.tryEnsureForm(ctx, wanted, state, overwrite)
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return f, edited, err
		}
	}
	return storage.Form{}, false, storage.ErrUnavailable
}

// tryEnsureForm is one attempt of EnsureForm, with the state of the wanted form. It returns a RevisionError after a
// concurrent change.
func (c *Core) tryEnsureForm(ctx context.Context, wanted storage.Form, state []byte, overwrite bool) (f storage.Form, edited bool, err error) {
	host := storage.AsHost()
	if f, err = c.findOrCreate(ctx, wanted); err != nil {
		return f, false, err
	}
	last, err := c.findDocument(ctx, f.ID, kindEnsured, wanted.WorkspaceID.String())
	if err == nil && last.Revision == 0 && f.WorkspaceID != wanted.WorkspaceID {
		err = storage.ErrConflict
	}
	if err != nil {
		return f, false, err
	}
	// No other operation publishes a form at revision 1. If the last state is missing at this revision, the process that
	// created the form was stopped before it could store the state, so the form is not edited.
	isNew := last.Revision == 0 && f.Revision == 1 && f.Status == storage.StatusPublished
	workingCopy, err := c.findDocument(ctx, f.ID, kindWorkingCopy, "")
	if err != nil {
		return f, false, err
	}
	stored := encodeState(&f)
	isChanged := !bytes.Equal(stored, last.Value)
	if isChanged {
		// The form and its last state were read separately. They belong together only if the form has not changed since.
		now, err := c.Storage.Form(ctx, host, f.ID)
		if err == nil && now.Revision != f.Revision {
			err = &storage.RevisionError{Current: now.Revision}
		}
		if err != nil {
			return f, false, err
		}
	}
	isEqual := bytes.Equal(stored, state)
	edited = isChanged && !isEqual && !isNew || workingCopy.Revision != 0
	if edited && !overwrite || isEqual && !isChanged && !edited {
		return f, edited, nil
	}
	change := storage.FormChange{
		Name: &wanted.Name, Type: &wanted.Type, Status: &wanted.Status, WorkspaceID: &wanted.WorkspaceID,
		Definition: wanted.Definition, Acceptance: &wanted.Acceptance, IfRevision: []int64{f.Revision}, At: c.Now(),
	}
	documents := []storage.DocumentChange{
		{Kind: kindWorkingCopy, IfRevision: []int64{workingCopy.Revision}, At: change.At},
		{Kind: kindEnsured, Key: wanted.WorkspaceID.String(), Value: state, IfRevision: []int64{last.Revision}, At: change.At},
	}
	if !isEqual {
		if err := c.addVersion(ctx, host, &f, &change, true); err != nil {
			return f, false, err
		}
		change.Documents = append(change.Documents, documents...)
		f, err = c.Storage.UpdateForm(ctx, host, f.ID, change)
		return f, false, err
	}
	for _, d := range documents { // an update without changes would not write them
		if _, err := c.Storage.PutDocument(ctx, host, f.ID, d); err != nil {
			return f, false, err
		}
	}
	return f, false, nil
}

// findDocument returns a document of a form, or the zero value if there is none.
func (c *Core) findDocument(ctx context.Context, form storage.ID, kind, key string) (storage.Document, error) {
	d, err := c.Storage.Document(ctx, storage.AsHost(), form, kind, key)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Document{}, nil
	}
	return d, err
}

// findOrCreate returns the form with the public ID of wanted, or creates it. It returns ErrConflict if the form is in
// the trash.
func (c *Core) findOrCreate(ctx context.Context, wanted storage.Form) (storage.Form, error) {
	f, err := c.Storage.FormByPublicID(ctx, wanted.PublicID)
	if !errors.Is(err, storage.ErrNotFound) {
		return f, err
	}
	if _, err := c.FormsWithWorkingCopy(ctx, storage.AsHost(), nil); err != nil {
		return f, err // the storage does not support documents
	}
	err = c.Storage.CreateForm(ctx, storage.AsHost(), wanted)
	if !errors.Is(err, storage.ErrConflict) {
		return wanted, err
	}
	if f, err = c.Storage.FormByPublicID(ctx, wanted.PublicID); errors.Is(err, storage.ErrNotFound) {
		err = storage.ErrConflict
	}
	return f, err
}
