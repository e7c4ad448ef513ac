package formsvc

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/formsvc/formsvc/internal/answers"
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
	return s.decodeForm(f)
}

// PreviewForm returns a form by its id as it is stored now, draft or published, with its
// warnings: see [Service.Warnings]. It returns [ErrNotFound] when there is none, or it is
// in the trash. It checks no access: a draft is shown to whom the host allows it.
func (s *Service) PreviewForm(ctx context.Context, id ID) (PublicForm, schema.Warnings, error) {
	f, err := s.storage.Form(ctx, storage.AsHost(), id)
	if err != nil {
		return PublicForm{}, nil, err
	}
	p, err := s.decodeForm(f)
	if err != nil {
		return PublicForm{}, nil, err
	}
	warnings, err := s.Warnings(f.Definition)
	if err != nil {
		return PublicForm{}, nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return p, warnings, nil
}

// decodeForm returns what a page needs of a stored form.
func (s *Service) decodeForm(f Form) (p PublicForm, err error) {
	d, err := s.decoded.of(f)
	if err != nil {
		return PublicForm{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return PublicForm{
		ID: f.ID, PublicID: f.PublicID, Name: f.Name, Type: f.Type,
		Closed:        f.IsClosed(s.clock()),
		ClosedMessage: d.settings.ClosedMessage,
		Definition:    d.definition,
		Blocks:        d.blocks, Settings: d.settings, Theme: d.theme,
	}, nil
}

// decodedForm is a definition beside what it says. Nothing of it is changed.
type decodedForm struct {
	definition storage.Definition
	blocks     []schema.Block
	settings   schema.Settings
	theme      schema.Theme
}

func (d *decodedForm) size() int {
	raw := &d.definition
	return len(raw.Blocks) + len(raw.Settings) + len(raw.Theme) + len(raw.Variables) + len(raw.HiddenFields)
}

// is compares bytes, not revisions: a transaction that is rolled back makes another form
// of the same revision.
func (d *decodedForm) is(f storage.Definition) bool {
	raw := &d.definition
	return raw.Format == f.Format && bytes.Equal(raw.Blocks, f.Blocks) && bytes.Equal(raw.Settings, f.Settings) &&
		bytes.Equal(raw.Theme, f.Theme) && bytes.Equal(raw.Variables, f.Variables) && bytes.Equal(raw.HiddenFields, f.HiddenFields)
}

// decodedForms keeps decoded forms by id, within the bounds of formCache. A service and
// its copies on transactions share one.
type decodedForms struct {
	mu    sync.RWMutex
	forms map[ID]*decodedForm
	size  int
}

// of returns what a form's definition says. Decoding 30 blocks costs a
// thousand times as much as comparing them.
func (c *decodedForms) of(f Form) (*decodedForm, error) {
	c.mu.RLock()
	known := c.forms[f.ID]
	c.mu.RUnlock()
	if known != nil && known.is(f.Definition) {
		return known, nil
	}
	d := &decodedForm{definition: f.Definition}
	var err error
	if d.blocks, err = schema.DecodeBlocks(f.Definition.Blocks); err != nil {
		return nil, err
	}
	if d.settings, err = schema.DecodeSettings(f.Definition.Settings); err != nil {
		return nil, err
	}
	if d.theme, err = schema.DecodeTheme(f.Definition.Theme); err != nil {
		return nil, err
	}
	c.put(f.ID, d)
	return d, nil
}

// put keeps a form. Any other ones make room for it.
func (c *decodedForms) put(id ID, d *decodedForm) {
	if d.size() > maxCachedBytes/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
	for victim := range c.forms { // map order is random enough
		if len(c.forms) < maxCachedForms && c.size+d.size() <= maxCachedBytes {
			break
		}
		c.remove(victim)
	}
	if c.forms == nil {
		c.forms = map[ID]*decodedForm{}
	}
	c.forms[id] = d
	c.size += d.size()
}

func (c *decodedForms) remove(id ID) {
	if old := c.forms[id]; old != nil {
		c.size -= old.size()
		delete(c.forms, id)
	}
}

// compiledForm is what Submit needs of a form, at one revision.
type compiledForm struct {
	revision int64
	status   string
	gate     storage.Gate
	answers  *answers.Form
	source   formSource // what answers were compiled from
	// committed: the form was read from the service's own store. A host's
	// transaction may be rolled back, and its revision then comes to mean another
	// definition.
	committed bool
}

// formSource is the part of a definition that answers depend on.
type formSource struct{ blocks, settings, variables, hiddenFields []byte }

func (s formSource) size() int {
	return len(s.blocks) + len(s.settings) + len(s.variables) + len(s.hiddenFields)
}

func (s formSource) is(d storage.Definition) bool {
	return bytes.Equal(s.blocks, d.Blocks) && bytes.Equal(s.settings, d.Settings) &&
		bytes.Equal(s.variables, d.Variables) && bytes.Equal(s.hiddenFields, d.HiddenFields)
}

// compiledForm returns a form from the cache, or reads it; fresh reports which. A
// cached form may be out of date: the storage refuses a submission that was
// checked against an old revision. A copy made by [Service.Using] always reads:
// its transaction may see another form than the cache holds.
func (s *Service) compiledForm(ctx context.Context, id ID) (form *compiledForm, fresh bool, err error) {
	if !s.borrowed {
		if form := s.forms.get(id); form != nil && form.committed {
			return form, false, nil
		}
	}
	form, err = s.readForm(ctx, id)
	return form, true, err
}

// readForm reads a form and caches it. It compiles the form unless the cache holds
// one that was compiled from the same bytes: compiling costs more than reading.
func (s *Service) readForm(ctx context.Context, id ID) (*compiledForm, error) {
	f, err := s.storage.Form(ctx, storage.AsHost(), id)
	if err != nil {
		return nil, err
	}
	form := &compiledForm{revision: f.Revision, status: f.Status, gate: f.Gate, committed: !s.borrowed}
	if known := s.forms.get(id); known != nil && known.source.is(f.Definition) {
		form.answers, form.source = known.answers, known.source
	} else {
		form.answers, err = answers.Compile(s.source(f.Definition))
		if err != nil {
			return nil, fmt.Errorf("formsvc: form %s: %w", id, err)
		}
		// Copies, because the store may have cut these from one piece of memory
		// with the rest of the definition.
		form.source = formSource{
			bytes.Clone(f.Definition.Blocks), bytes.Clone(f.Definition.Settings),
			bytes.Clone(f.Definition.Variables), bytes.Clone(f.Definition.HiddenFields),
		}
	}
	s.forms.put(id, form)
	return form, nil
}

// The cache is bounded by the number of forms and by the bytes that they were
// compiled from. A compiled form takes about ten times those, at most 24 MB.
const (
	maxCachedForms = 1000
	maxCachedBytes = 8 << 20
)

// formCache keeps compiled forms by id. A service and its copies on transactions
// share one.
type formCache struct {
	mu    sync.RWMutex
	forms map[ID]*compiledForm
	size  int
}

func newFormCache() *formCache { return &formCache{forms: map[ID]*compiledForm{}} }

func (c *formCache) get(id ID) *compiledForm {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.forms[id]
}

// put keeps a form, unless what is there is worth more: a committed form is
// replaced only by one that is committed too and not older.
func (c *formCache) put(id ID, form *compiledForm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.forms[id]; old != nil {
		if old.committed && (!form.committed || old.revision > form.revision) {
			return
		}
		c.size -= old.source.size()
		delete(c.forms, id)
	}
	for victim, other := range c.forms { // any ones: map order is random enough
		if len(c.forms) < maxCachedForms && c.size+form.source.size() <= maxCachedBytes {
			break
		}
		c.size -= other.source.size()
		delete(c.forms, victim)
	}
	c.forms[id] = form
	c.size += form.source.size()
}
