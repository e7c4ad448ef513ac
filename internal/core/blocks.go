package core

import (
	"context"
	"encoding/json"

	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Block returns a top-level block of a form.
func (c *Core) Block(ctx context.Context, actor storage.Actor, t Target, id string) (schema.StoredBlock, error) {
	f, err := c.Form(ctx, actor, t)
	if err != nil {
		return schema.StoredBlock{}, err
	}
	blocks, err := definition.ParseStoredBlocks(f.Definition.Blocks)
	if err != nil {
		return schema.StoredBlock{}, err
	}
	block, ok := blocks.Get(id)
	if !ok {
		return schema.StoredBlock{}, storage.ErrNotFound
	}
	return schema.StoredBlock{ID: id, JSON: block, Revision: f.Revision}, nil
}

// CreateBlock appends a block. It returns [schema.ErrBlockExists] if the form already has a block with the same ID.
func (c *Core) CreateBlock(ctx context.Context, actor storage.Actor, t Target, body []byte, condition Precondition) (schema.StoredBlock, error) {
	added, err := c.validator.ParseBlock(body)
	if err != nil {
		return schema.StoredBlock{}, err
	}
	added = added.WithTypesFrom(nil)
	updated, err := c.changeStoredBlocks(ctx, actor, t, condition, "/block", func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error) {
		if stored.HasAnyOf(added) {
			return nil, schema.ErrBlockExists
		}
		if err := added.CheckHiddenNames(hidden); err != nil {
			return nil, err
		}
		return c.validator.AppendBlock(stored, added)
	})
	return schema.StoredBlock{ID: added.ID(), JSON: added.Raw(), Revision: updated.Revision}, err
}

// ReplaceBlocks replaces all blocks of a form and returns the form.
func (c *Core) ReplaceBlocks(ctx context.Context, actor storage.Actor, t Target, body []byte, condition Precondition) (storage.Form, error) {
	blocks, err := c.validator.ParseBlocks(body)
	if err != nil {
		return storage.Form{}, err
	}
	return c.changeStoredBlocks(ctx, actor, t, condition, "/blocks", func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error) {
		typed, err := c.validator.InferTypes(blocks, stored)
		if err != nil {
			return nil, err
		}
		return typed.Raw(), blocks.CheckHiddenNames(hidden)
	})
}

// CheckBlockID checks that an ID is valid for a new block.
func (c *Core) CheckBlockID(id string) error { return c.validator.CheckBlockID(id) }

// UpdateBlock applies a merge patch to a block.
func (c *Core) UpdateBlock(ctx context.Context, actor storage.Actor, t Target, id string, body []byte, condition Precondition) (schema.StoredBlock, error) {
	if err := c.CheckBlockID(id); err != nil {
		return schema.StoredBlock{}, err
	}
	patch, err := c.validator.ParseBlockPatch(body)
	if err != nil {
		return schema.StoredBlock{}, err
	}
	var block json.RawMessage
	updated, err := c.changeStoredBlocks(ctx, actor, t, condition, "/block", func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error) {
		patched, all, ok, err := c.validator.ApplyPatch(stored, id, patch)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, storage.ErrNotFound
		}
		block = patched.Raw()
		return all, patched.CheckHiddenNames(hidden)
	})
	return schema.StoredBlock{ID: id, JSON: block, Revision: updated.Revision}, err
}

// DeleteBlock deletes a top-level block with its nested blocks. It returns the form's new revision.
func (c *Core) DeleteBlock(ctx context.Context, actor storage.Actor, t Target, id string, condition Precondition) (revision int64, err error) {
	if err := c.CheckBlockID(id); err != nil {
		return 0, err
	}
	updated, err := c.changeStoredBlocks(ctx, actor, t, condition, "/block", func(stored *definition.Blocks, _ json.RawMessage) (json.RawMessage, error) {
		left, ok := stored.Without(id)
		if !ok {
			return nil, storage.ErrNotFound
		}
		return left, nil
	})
	return updated.Revision, err
}

// changeStoredBlocks replaces a form's blocks with the result of compute. If the form becomes too large, the
// violation's path is pointer.
func (c *Core) changeStoredBlocks(ctx context.Context, actor storage.Actor, t Target, condition Precondition, pointer string,
	compute func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error),
) (storage.Form, error) {
	at := c.Now()
	return c.updateWithRetry(ctx, actor, t, condition, func(f *storage.Form) (storage.FormChange, error) {
		stored, err := definition.ParseStoredBlocks(f.Definition.Blocks)
		if err != nil {
			return storage.FormChange{}, err
		}
		blocks, err := compute(stored, f.Definition.HiddenFields)
		if err != nil {
			return storage.FormChange{}, err
		}
		change := storage.FormChange{
			Definition: storage.Definition{Blocks: blocks, Format: definition.Format},
			At:         at,
		}
		return change, c.validator.CheckSize(f.Definition, change.Definition, pointer)
	})
}
