package handler

import (
	"encoding/json"
	"net/url"

	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// listBlocks serves both collections of the API description: questions and blocks
// are the complete ordered top-level collection.
func listBlocks(c *call) error {
	f, err := c.currentForm()
	if err != nil {
		return err
	}
	c.setETag(f.Revision)
	return c.blockList(f.Definition.Blocks)
}

func (c *call) blockList(blocks json.RawMessage) error {
	return c.body(200, func(w *jsontree.Writer) {
		w.Object()
		w.Name("items").Raw(blocks)
		w.EndObject()
	})
}

func getBlock(c *call) error {
	id, err := c.param("blockId")
	if err != nil {
		return err
	}
	f, err := c.currentForm()
	if err != nil {
		return err
	}
	blocks, err := definition.StoredBlocks(f.Definition.Blocks)
	if err != nil {
		return err
	}
	block, ok := blocks.Get(id)
	if !ok {
		return errNotFound
	}
	c.setETag(f.Revision)
	return c.block(200, block)
}

func (c *call) block(status int, block json.RawMessage) error {
	return c.body(status, func(w *jsontree.Writer) { w.Raw(block) })
}

func createBlock(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	added, err := c.h.writes.Block(body)
	if err != nil {
		return err
	}
	added = added.WithTypesFrom(nil)
	updated, err := c.changeStoredBlocks("/block", func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error) {
		if stored.HasAnyOf(added) {
			return nil, errBlockExists
		}
		if err := added.CheckHiddenNames(hidden); err != nil {
			return nil, err
		}
		return c.h.writes.Append(stored, added)
	})
	if err != nil {
		return err
	}
	block := added.Raw()
	c.setETag(updated.Revision)
	c.setLocation(c.h.base(c.r) + "/forms/" + updated.ID.String() + "/blocks/" + url.PathEscape(added.ID()))
	return c.block(201, block)
}

func replaceBlocks(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	blocks, err := c.h.writes.Blocks(body)
	if err != nil {
		return err
	}
	updated, err := c.changeStoredBlocks("/blocks", func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error) {
		return blocks.WithTypesFrom(stored).Raw(), blocks.CheckHiddenNames(hidden)
	})
	if err != nil {
		return err
	}
	c.setETag(updated.Revision)
	return c.blockList(updated.Definition.Blocks)
}

func updateBlock(c *call) error {
	id, err := c.blockID()
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	patch, err := c.h.writes.BlockPatch(body)
	if err != nil {
		return err
	}
	var block json.RawMessage
	updated, err := c.changeStoredBlocks("/block", func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error) {
		patched, all, ok, err := c.h.writes.Apply(stored, id, patch)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errNotFound
		}
		block = patched.Raw()
		if err := patched.CheckHiddenNames(hidden); err != nil {
			return nil, err
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	c.setETag(updated.Revision)
	return c.block(200, block)
}

func deleteBlock(c *call) error {
	id, err := c.blockID()
	if err != nil {
		return err
	}
	updated, err := c.changeStoredBlocks("/block", func(stored *definition.Blocks, _ json.RawMessage) (json.RawMessage, error) {
		left, ok := stored.Without(id)
		if !ok {
			return nil, errNotFound
		}
		return left, nil
	})
	if err != nil {
		return err
	}
	c.setETag(updated.Revision)
	c.noContent()
	return nil
}

// blockID is the block id of a path that is to be written to.
func (c *call) blockID() (string, error) {
	id, err := c.param("blockId")
	if err != nil {
		return "", err
	}
	return id, c.h.writes.CheckBlockID(id)
}

// changeStoredBlocks replaces the blocks of the path's form by what compute makes
// of them. The pointer is that of what was sent, for a form that becomes too large.
func (c *call) changeStoredBlocks(pointer string, compute func(stored *definition.Blocks, hidden json.RawMessage) (json.RawMessage, error)) (storage.Form, error) {
	id, err := c.idParam("formId")
	if err != nil {
		return storage.Form{}, err
	}
	at := c.h.now()
	return c.updateFrom(id, func(f *storage.Form) (storage.FormChange, error) {
		stored, err := definition.StoredBlocks(f.Definition.Blocks)
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
		return change, c.h.writes.CheckSize(f.Definition, change.Definition, pointer)
	})
}
