package formsvc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// PublicForm is a published form as a page for respondents needs it, both as it
// is stored (Definition) and decoded (Blocks, Settings, Theme). Closed says that
// [Service.Submit] would return [ErrClosed] now. Slices and maps in it are shared with
// other calls: read them only.
type PublicForm struct {
	ID                   ID
	PublicID, Name, Type string
	// Closed: [Service.Submit] would return [ErrClosed] now.
	Closed        bool
	ClosedMessage string // settings.closedMessage
	Definition    Definition
	Blocks        []schema.Block
	Settings      schema.Settings
	Theme         schema.Theme
}

// PublicForm returns a published form by its public id. It returns [ErrNotFound]
// when there is none, or it is a draft or in the trash. A closed form is returned
// with Closed set.
func (s *Service) PublicForm(ctx context.Context, publicID string) (PublicForm, error) {
	if !objectid.IsPublicID(publicID) {
		return PublicForm{}, ErrNotFound // some stores refuse to compare with any text
	}
	f, err := s.storage.FormByPublicID(ctx, publicID)
	if err != nil {
		return PublicForm{}, err
	}
	if f.Status != storage.StatusPublished {
		return PublicForm{}, ErrNotFound
	}
	return s.publicForm(f)
}

// PreviewForm returns a form by its id as it is stored now, draft or published, with its
// warnings: see [Service.Warnings]. It returns [ErrNotFound] when there is none, or it is
// in the trash. It checks no access: a draft is shown to whom the host allows it.
func (s *Service) PreviewForm(ctx context.Context, id ID) (PublicForm, schema.Warnings, error) {
	f, err := s.storage.Form(ctx, storage.AsHost(), id)
	if err != nil {
		return PublicForm{}, nil, err
	}
	p, err := s.publicForm(f)
	if err != nil {
		return PublicForm{}, nil, err
	}
	warnings, err := s.Warnings(f.Definition)
	if err != nil {
		return PublicForm{}, nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return p, warnings, nil
}

// publicForm returns what a page needs of a stored form.
func (s *Service) publicForm(f Form) (PublicForm, error) {
	known, err := s.know(f)
	if err != nil {
		return PublicForm{}, err
	}
	return PublicForm{
		ID: f.ID, PublicID: f.PublicID, Name: f.Name, Type: f.Type,
		Closed:        f.IsClosed(s.clock()),
		ClosedMessage: known.settings.ClosedMessage,
		Definition:    known.Definition,
		Blocks:        known.blocks, Settings: known.settings, Theme: known.theme,
	}, nil
}

// knownForm is a form as it was read, with what its definition says. Nothing of it is
// changed. Name and workspace may be those of an earlier read: only what isAt compares, and
// the definition, are to be relied on.
type knownForm struct {
	Form
	blocks   []schema.Block
	settings schema.Settings
	theme    schema.Theme
	answers  *answers.Form
	// committed: the form was read from the service's own store. A host's
	// transaction may be rolled back, and its revision then comes to mean another
	// definition.
	committed bool
}

// knownFormBytes is what a known form takes at least. The cache counts it and the
// definition; what is decoded and compiled takes about twelve times the definition: a
// full cache is 40 MB with forms of 30 questions (620 of them), and 94 MB with forms
// of 3,000 choices (91 of them).
const knownFormBytes = 8 << 10

// formForSubmit returns a form from the cache, or reads it; fresh reports which. A
// cached form may be out of date: the storage refuses a submission that was
// checked against an old revision. A copy made by [Service.Using] always reads:
// its transaction may see another form than the cache holds.
func (s *Service) formForSubmit(ctx context.Context, id ID) (form *knownForm, fresh bool, err error) {
	if !s.borrowed {
		if form, ok := s.forms.Get(id); ok && form.committed {
			return form, false, nil
		}
	}
	form, err = s.readForm(ctx, id)
	return form, true, err
}

// readForm reads a form and knows what it says.
func (s *Service) readForm(ctx context.Context, id ID) (*knownForm, error) {
	f, err := s.storage.Form(ctx, storage.AsHost(), id)
	if err != nil {
		return nil, err
	}
	return s.know(f)
}

// know returns a form that was read with what its definition says. Of a definition that
// is known, nothing is decoded or compiled again, and its bytes take the place of those
// that were read: a process keeps them once. Bytes are compared, not revisions: a
// transaction that is rolled back makes another form of the same revision.
func (s *Service) know(f Form) (*knownForm, error) {
	known, ok := s.forms.Get(f.ID)
	same := ok && cache.Same(&known.Definition, &f.Definition)
	if same && known.isAt(&f) && (known.committed || s.borrowed) {
		return known, nil
	}
	form := new(knownForm)
	if same {
		*form, f.Definition = *known, known.Definition
	} else if err := form.read(s.core.Source(f.Definition), f.Definition.Theme); err != nil {
		return nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	form.Form, form.committed = f, !s.borrowed
	if !ok || form.committed || !known.committed {
		s.forms.Put(f.ID, form, knownFormBytes+cache.SizeOf(&f.Definition))
	}
	return form, nil
}

// isAt reports whether a form says what f says beside its definition, as far as a
// response is concerned.
func (k *knownForm) isAt(f *Form) bool {
	return k.Revision == f.Revision && k.Status == f.Status && k.Gate == f.Gate
}

// read decodes and compiles a definition.
func (k *knownForm) read(from answers.Source, theme json.RawMessage) (err error) {
	if k.blocks, err = schema.DecodeBlocks(from.Blocks); err != nil {
		return err
	}
	if k.settings, err = schema.DecodeSettings(from.Settings); err != nil {
		return err
	}
	if k.theme, err = schema.DecodeTheme(theme); err != nil {
		return err
	}
	k.answers, err = answers.Compile(from)
	return err
}
