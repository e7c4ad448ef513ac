package intake

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Published returns a published form by its public id: as it was read, and as it is compiled.
func (i Intake) Published(ctx context.Context, publicID string) (storage.Form, *CompiledForm, error) {
	if !objectid.IsPublicID(publicID) {
		return storage.Form{}, nil, storage.ErrNotFound // some stores refuse to compare with any text
	}
	f, err := i.core.Storage.FormByPublicID(ctx, publicID)
	if err == nil && f.Status != storage.StatusPublished {
		err = storage.ErrNotFound
	}
	return i.withCompiled(f, err)
}

// Form returns a form by its id, draft or published, in the same way.
func (i Intake) Form(ctx context.Context, id storage.ID) (storage.Form, *CompiledForm, error) {
	return i.withCompiled(i.core.Storage.Form(ctx, storage.AsHost(), id))
}

// shown returns a form that was read and what is known of it, with one definition for both.
func (i Intake) withCompiled(f storage.Form, err error) (storage.Form, *CompiledForm, error) {
	if err != nil {
		return storage.Form{}, nil, err
	}
	known, err := i.compile(f)
	if err != nil {
		return storage.Form{}, nil, err
	}
	f.Definition = known.Definition
	return f, known, nil
}

// CompiledForm is a form as it was read, with what its definition says. Nothing of it is
// changed. Name and workspace may be those of an earlier read: only what matches compares, and
// the definition, are to be relied on.
type CompiledForm struct {
	storage.Form
	Blocks   []schema.Block
	Settings schema.Settings
	Theme    schema.Theme
	answers  answers.Form
	// committed: the form was read from the service's own storage. A host's
	// transaction may be rolled back, and its revision then comes to mean another
	// definition.
	committed bool
}

// compiledFormBytes is the least memory that a known form takes. The cache counts it and the
// definition; what is decoded and compiled takes about twelve times the definition: a
// full cache is 40 MB with forms of 30 questions (620 of them), and 94 MB with forms of
// 3,000 choices (91 of them).
const compiledFormBytes = 8 << 10

// know returns a form that was read with what its definition says. Of a definition that
// is known, nothing is decoded or compiled again, and its bytes take the place of those
// that were read: a process keeps them once. Bytes are compared, not revisions: a
// transaction that is rolled back makes another form of the same revision.
func (i Intake) compile(f storage.Form) (*CompiledForm, error) {
	known, ok := i.forms.Get(f.ID)
	same := ok && known.Definition.Equal(&f.Definition)
	if same && known.matches(&f) && (known.committed || i.inHostTransaction) {
		return known, nil
	}
	form := new(CompiledForm)
	if same {
		*form, f.Definition = *known, known.Definition
	} else if err := form.decode(i.core.AnswerSource(f.Definition)); err != nil {
		return nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	form.Form, form.committed = f, !i.inHostTransaction
	if !ok || form.committed || !known.committed {
		i.forms.Put(f.ID, form, compiledFormBytes+f.Definition.Size())
	}
	return form, nil
}

// Path returns the way through the form for answers that may be incomplete.
func (k *CompiledForm) Path(answers map[string]json.RawMessage, hidden map[string]string) (schema.Path, error) {
	path, err := k.answers.Path(answers, hidden)
	if err != nil {
		return schema.Path{}, fmt.Errorf("formsvc: form %s: %w", k.ID, err)
	}
	return path, nil
}

// matches reports whether a form says what f says beside its definition, as far as a
// response is concerned.
func (k *CompiledForm) matches(f *storage.Form) bool {
	return k.Revision == f.Revision && k.Status == f.Status && k.Acceptance == f.Acceptance
}

// read decodes and compiles a definition.
func (k *CompiledForm) decode(from answers.Source) (err error) {
	if k.Blocks, err = schema.DecodeBlocks(from.Blocks); err != nil {
		return err
	}
	if k.Settings, err = schema.DecodeSettings(from.Settings); err != nil {
		return err
	}
	if k.Theme, err = schema.DecodeTheme(from.Theme); err != nil {
		return err
	}
	k.answers, err = answers.Compile(from)
	return err
}
