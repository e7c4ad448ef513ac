package formsvc

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// FormQuery selects forms of a list. The zero value selects all accessible ones.
type FormQuery struct {
	// Workspace narrows the list to one workspace. Zero: all.
	Workspace ID
	// Limit ends the list after so many forms. Below 1: no limit.
	Limit int
}

// FormCreate is a form to make. It begins as a draft.
type FormCreate struct {
	Workspace ID     // required
	Name      string // 1 to 200 characters without the white space around it, none of control or direction
	Type      string // SINGLE (the default) or MULTI
	// Definition has the sections as the API takes them. Sections that are nil are
	// empty. Format is ignored.
	Definition Definition
}

// FormUpdate says what to change of a form. What is nil stays; at least one member must
// be set. A section that is given replaces the stored one as a whole.
type FormUpdate struct {
	Name   *string
	Status *string // draft or published
	// Workspace moves the form. Only the owner of the workspace that it leaves may.
	Workspace *ID
	// Definition has the sections to replace. Format is ignored.
	Definition Definition
	// IfRevision makes the change conditional: the form's revision must be this one, else
	// the error is a [*RevisionError]. 0: no condition.
	IfRevision int64
}

// StoredBlock is one top-level block of a form as it is stored, at the form's revision.
type StoredBlock struct {
	ID       string
	JSON     json.RawMessage
	Revision int64
}

// StoredBlocks are the top-level blocks of a form in their order, as a JSON array, at the
// form's revision.
type StoredBlocks struct {
	JSON     json.RawMessage
	Revision int64
}

// Decode returns the blocks as Go values.
func (b StoredBlocks) Decode() ([]schema.Block, error) { return schema.DecodeBlocks(b.JSON) }

// Forms lists forms without their definitions, newest first.
func (c Client) Forms(ctx context.Context, q FormQuery) iter.Seq2[Form, error] {
	return list(ctx, q.Limit, clientPage, func(page storage.Page) ([]Form, bool, error) {
		found, err := c.core().Storage.Forms(ctx, c.who, storage.FormsParams{WorkspaceID: q.Workspace, Page: page})
		return found, len(found) == page.Limit, err
	}, func(f *Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} })
}

// Form returns one form with its definition.
func (c Client) Form(ctx context.Context, id ID) (Form, error) {
	return ownForm(c.core().Storage.Form(ctx, c.who, id))
}

// ownForm gives the caller bytes of its own: a storage may hand out the same to everybody.
func ownForm(f Form, err error) (Form, error) {
	d := &f.Definition
	for _, section := range []*json.RawMessage{&d.Blocks, &d.Settings, &d.Theme, &d.Variables, &d.HiddenFields} {
		*section = bytes.Clone(*section)
	}
	if err != nil {
		return Form{}, err
	}
	return f, nil
}

// CreateForm makes a form.
func (c Client) CreateForm(ctx context.Context, n FormCreate) (Form, error) {
	b := core.NewBody().ID("workspace_id", n.Workspace).Text("name", n.Name)
	if n.Type != "" {
		b.Text("type", n.Type)
	}
	return ownForm(core.Write(c.core(), b.Definition(n.Definition), func(body []byte) (Form, error) {
		return c.core().CreateForm(ctx, c.who, body)
	}))
}

// UpdateForm changes a form and returns it as it is then.
func (c Client) UpdateForm(ctx context.Context, id ID, u FormUpdate) (Form, error) {
	b := core.NewBody().Optional("name", u.Name).Optional("status", u.Status)
	if u.Workspace != nil {
		b.Text("workspace_id", u.Workspace.String())
	}
	return ownForm(core.Write(c.core(), b.Definition(u.Definition), func(body []byte) (Form, error) {
		return c.core().UpdateForm(ctx, c.who, core.Target{ID: id}, body, precondition([]Condition{IfRevision(u.IfRevision)}))
	}))
}

// PublishForm sets a form's status to published: it takes responses from then on, unless
// it is closed.
func (c Client) PublishForm(ctx context.Context, id ID) (Form, error) {
	status := storage.StatusPublished
	return c.UpdateForm(ctx, id, FormUpdate{Status: &status})
}

// TrashForm moves a form to the trash.
func (c Client) TrashForm(ctx context.Context, id ID, conditions ...Condition) error {
	return c.core().TrashForm(ctx, c.who, id, precondition(conditions))
}

// Blocks returns the top-level blocks of a form.
func (c Client) Blocks(ctx context.Context, form ID) (StoredBlocks, error) {
	return ownBlocks(c.core().Storage.Form(ctx, c.who, form))
}

// ownBlocks does so for all blocks of a form.
func ownBlocks(f Form, err error) (StoredBlocks, error) {
	if err != nil {
		return StoredBlocks{}, err
	}
	return StoredBlocks{JSON: bytes.Clone(f.Definition.Blocks), Revision: f.Revision}, nil
}

// Block returns one top-level block of a form.
func (c Client) Block(ctx context.Context, form ID, id string) (StoredBlock, error) {
	return ownBlock(c.core().Block(ctx, c.who, core.Target{ID: form}, id))
}

// ownBlock gives the caller bytes of its own, as ownForm does.
func ownBlock(b core.Block, err error) (StoredBlock, error) {
	if err != nil {
		return StoredBlock{}, err
	}
	b.JSON = bytes.Clone(b.JSON)
	return StoredBlock(b), nil
}

// CreateBlock appends a block, given as JSON; json.Marshal of a [schema.Block] will do.
// It returns [ErrBlockExists] when the form has one with its id.
func (c Client) CreateBlock(ctx context.Context, form ID, block json.RawMessage, conditions ...Condition) (StoredBlock, error) {
	return ownBlock(core.Write(c.core(), core.NewBody().JSON("block", block), func(body []byte) (core.Block, error) {
		return c.core().CreateBlock(ctx, c.who, core.Target{ID: form}, body, precondition(conditions))
	}))
}

// ReplaceBlocks replaces all blocks of a form, or puts them in another order. A block
// without a type keeps the one that it has.
func (c Client) ReplaceBlocks(ctx context.Context, form ID, blocks json.RawMessage, conditions ...Condition) (StoredBlocks, error) {
	return ownBlocks(core.Write(c.core(), core.NewBody().JSON("blocks", blocks), func(body []byte) (Form, error) {
		return c.core().ReplaceBlocks(ctx, c.who, core.Target{ID: form}, body, precondition(conditions))
	}))
}

// UpdateBlock applies a merge patch (RFC 7396) to one top-level block.
func (c Client) UpdateBlock(ctx context.Context, form ID, id string, patch json.RawMessage, conditions ...Condition) (StoredBlock, error) {
	return ownBlock(core.Write(c.core(), core.NewBody().JSON("block", patch), func(body []byte) (core.Block, error) {
		return c.core().UpdateBlock(ctx, c.who, core.Target{ID: form}, id, body, precondition(conditions))
	}))
}

// DeleteBlock removes one top-level block with all blocks inside it, and returns the
// form's new revision.
func (c Client) DeleteBlock(ctx context.Context, form ID, id string, conditions ...Condition) (revision int64, err error) {
	return c.core().DeleteBlock(ctx, c.who, core.Target{ID: form}, id, precondition(conditions))
}

// Warnings returns the warnings of a stored form, see [Service.Warnings].
func (c Client) Warnings(ctx context.Context, form ID) (schema.Warnings, error) {
	f, err := c.Form(ctx, form)
	if err != nil {
		return nil, err
	}
	return c.s.Warnings(f.Definition)
}
