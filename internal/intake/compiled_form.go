package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// PublishedForm returns a published form by its public ID.
func (i Intake) PublishedForm(ctx context.Context, publicID string) (storage.Form, *CompiledForm, error) {
	if !objectid.IsPublicID(publicID) {
		return storage.Form{}, nil, storage.ErrNotFound // some stores return other errors for arbitrary text
	}
	f, err := i.core.Storage.FormByPublicID(ctx, publicID)
	if err == nil && f.Status != storage.StatusPublished {
		err = storage.ErrNotFound
	}
	return i.withCompiled(f, err)
}

// Form returns a draft or published form by its ID.
func (i Intake) Form(ctx context.Context, id storage.ID) (storage.Form, *CompiledForm, error) {
	return i.withCompiled(i.core.Storage.Form(ctx, storage.AsHost(), id))
}

func (i Intake) withCompiled(f storage.Form, err error) (storage.Form, *CompiledForm, error) {
	if err != nil {
		return storage.Form{}, nil, err
	}
	known, err := i.compileCached(f)
	if err != nil {
		return storage.Form{}, nil, err
	}
	f.Definition = known.Definition
	return f, known, nil
}

// CompiledForm is an immutable compiled form. Its name and workspace can be outdated, because the cache does not
// compare them.
type CompiledForm struct {
	storage.Form
	Blocks   []schema.Block
	Settings schema.Settings
	Theme    schema.Theme
	answers  answers.Form
	clock    func() time.Time // of the service
	// committed says whether the form was read outside a host's transaction. After a rollback, another definition can get
	// the same revision.
	committed bool
}

// compiledFormBytes is added to a definition's size to get its size in the cache, although a compiled form uses about
// twelve times as much memory as its definition. A full cache uses 40 MB with 620 forms of 30 questions, and 94 MB with
// 91 forms of 3,000 choices.
const compiledFormBytes = 8 << 10

// compileCached compiles a stored form, or returns it from the cache. It compares the definition's bytes, because
// revisions can repeat after a rollback. If the definition is the same, the new entry shares its bytes.
func (i Intake) compileCached(f storage.Form) (*CompiledForm, error) {
	known, ok := i.forms.Get(f.ID)
	same := ok && known.Definition.Equal(&f.Definition)
	if same && known.isCurrentFor(&f) && (known.committed || i.inHostTransaction) {
		return known, nil
	}
	form := &CompiledForm{clock: i.core.Clock}
	if same {
		*form, f.Definition = *known, known.Definition
	} else if err := form.decodeAndCompile(i.core.AnswerSource(f.Definition)); err != nil {
		return nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	form.Form, form.committed = f, !i.inHostTransaction
	if !ok || form.committed || !known.committed {
		i.forms.Put(f.ID, form, compiledFormBytes+f.Definition.Size())
	}
	return form, nil
}

// Path returns the path for answers that may be incomplete, at the current time.
func (k *CompiledForm) Path(answers map[string]json.RawMessage, hidden map[string]string) (schema.Path, error) {
	path, err := k.answers.Path(answers, hidden, k.clock())
	if err != nil {
		return schema.Path{}, fmt.Errorf("formsvc: form %s: %w", k.ID, err)
	}
	return path, nil
}

// isCurrentFor reports whether the forms k and f treat submissions the same, apart from the definition.
func (k *CompiledForm) isCurrentFor(f *storage.Form) bool {
	return k.Revision == f.Revision && k.Status == f.Status && k.Acceptance == f.Acceptance
}

func (k *CompiledForm) decodeAndCompile(from answers.Source) (err error) {
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
