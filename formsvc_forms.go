package formsvc

import (
	"context"
	"fmt"
	"sync"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// PublicForm is a published form as a page for respondents needs it, both as it
// is stored and decoded.
type PublicForm struct {
	ID                   ID
	PublicID, Name, Type string
	// Closed: [Service.Submit] would return [ErrClosed] now.
	Closed        bool
	ClosedMessage string // settings.closedMessage
	Definition    storage.Definition
	Blocks        []schema.Block
	Settings      schema.Settings
	Theme         schema.Theme
}

// PublicForm returns a published form by its public id. It returns [ErrNotFound]
// when there is none, or it is a draft or in the trash. A closed form is returned
// with Closed set.
func (s *Service) PublicForm(ctx context.Context, publicID string) (PublicForm, error) {
	f, err := s.storage.FormByPublicID(ctx, publicID)
	if err != nil {
		return PublicForm{}, err
	}
	if f.Status != storage.StatusPublished {
		return PublicForm{}, ErrNotFound
	}
	p := PublicForm{
		ID: f.ID, PublicID: f.PublicID, Name: f.Name, Type: f.Type,
		Closed:     schema.Gate(f.Gate).IsClosed(f.Full, s.clock()),
		Definition: f.Definition,
	}
	if p.Blocks, err = schema.DecodeBlocks(f.Definition.Blocks); err != nil {
		return PublicForm{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	if p.Settings, err = schema.DecodeSettings(f.Definition.Settings); err != nil {
		return PublicForm{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	if p.Theme, err = schema.DecodeTheme(f.Definition.Theme); err != nil {
		return PublicForm{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	p.ClosedMessage = p.Settings.ClosedMessage
	return p, nil
}

// compiledForm is what Submit needs of a form, at one revision.
type compiledForm struct {
	revision int64
	status   string
	gate     storage.Gate
	answers  *schema.Form
	size     int // bytes of the definition
}

// compiledForm returns a form from the cache, or reads it; fresh tells which. A
// cached form may be behind: the storage refuses a submission that was checked
// against an old revision.
func (s *Service) compiledForm(ctx context.Context, id ID) (form *compiledForm, fresh bool, err error) {
	if form := s.forms.get(id); form != nil {
		return form, false, nil
	}
	form, err = s.readForm(ctx, id)
	return form, true, err
}

// readForm reads and compiles a form, and caches it.
func (s *Service) readForm(ctx context.Context, id ID) (*compiledForm, error) {
	f, err := s.storage.Form(ctx, storage.AsHost(), id)
	if err != nil {
		return nil, err
	}
	if known := s.forms.get(id); known != nil && known.revision == f.Revision {
		return known, nil // compiling costs more than reading
	}
	answers, err := schema.CompileForm(f.Definition.Blocks, f.Definition.Settings, f.Definition.HiddenFields, s.limits.Definition())
	if err != nil {
		return nil, fmt.Errorf("formsvc: form %s: %w", id, err)
	}
	form := &compiledForm{
		revision: f.Revision, status: f.Status, gate: f.Gate, answers: answers,
		size: len(f.Definition.Blocks) + len(f.Definition.Settings) + len(f.Definition.HiddenFields),
	}
	s.forms.put(id, form)
	return form, nil
}

// The cache is bounded by the number of forms and by the bytes of their
// definitions. A compiled form takes about ten times those.
const (
	maxCachedForms = 1000
	maxCachedBytes = 8 << 20
)

// formCache keeps compiled forms by id. A nil cache keeps nothing: a copy of the
// service on a transaction sees revisions that may never be committed.
type formCache struct {
	mu    sync.RWMutex
	forms map[ID]*compiledForm
	size  int
}

func newFormCache() *formCache { return &formCache{forms: map[ID]*compiledForm{}} }

func (c *formCache) get(id ID) *compiledForm {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.forms[id]
}

func (c *formCache) put(id ID, form *compiledForm) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.forms[id]
	if old != nil {
		if old.revision > form.revision {
			return
		}
		c.size -= old.size
		delete(c.forms, id)
	}
	for victim, other := range c.forms { // any ones: map order is random enough
		if len(c.forms) < maxCachedForms && c.size+form.size <= maxCachedBytes {
			break
		}
		c.size -= other.size
		delete(c.forms, victim)
	}
	c.forms[id] = form
	c.size += form.size
}
