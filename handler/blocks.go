package handler

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// listBlocks serves both collections of the specification: questions and blocks
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
	return c.body(200, func(b []byte) []byte {
		b = append(b, `{"items":`...)
		b = append(b, blocks...)
		return append(b, '}')
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
	blocks, err := schema.StoredBlocks(f.Definition.Blocks)
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
	return c.body(status, func(b []byte) []byte { return append(b, block...) })
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
	updated, err := c.changeStoredBlocks(func(stored *schema.Blocks, hidden json.RawMessage) (*schema.Blocks, error) {
		if stored.HasAnyOf(added) {
			return nil, errBlockExists
		}
		if err := schema.CheckHiddenNames(added, hidden, "/block", ""); err != nil {
			return nil, err
		}
		grown, err := c.h.writes.Append(stored, added)
		if err != nil {
			return nil, err
		}
		return grown, c.fits(stored, grown)
	})
	if err != nil {
		return err
	}
	block := added.Items()[0]
	c.setETag(updated.Revision)
	c.setLocation(c.h.base(c.r) + "/forms/" + updated.ID.String() + "/blocks/" + url.PathEscape(idOf(block)))
	return c.block(201, block)
}

func idOf(block json.RawMessage) string {
	var named struct{ ID string }
	// It was validated: there is an id, and it is a string.
	_ = json.Unmarshal(block, &named)
	return named.ID
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
	updated, err := c.changeStoredBlocks(func(stored *schema.Blocks, hidden json.RawMessage) (*schema.Blocks, error) {
		return blocks.WithTypesFrom(stored), schema.CheckHiddenNames(blocks, hidden, "/blocks", "")
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
	updated, err := c.changeStoredBlocks(func(stored *schema.Blocks, hidden json.RawMessage) (*schema.Blocks, error) {
		patched, ok, err := c.h.writes.Apply(stored, id, patch)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errNotFound
		}
		block, _ = patched.Get(id)
		if err := schema.CheckHiddenNames(patched, hidden, "/block", ""); err != nil {
			return nil, err
		}
		return patched, c.fits(stored, patched)
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
	updated, err := c.changeStoredBlocks(func(stored *schema.Blocks, _ json.RawMessage) (*schema.Blocks, error) {
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

// fits refuses blocks that grew, one by one, beyond what a request could replace.
func (c *call) fits(before, after *schema.Blocks) error {
	limit, size := c.h.config.Limits.Body, int64(len(after.Raw()))
	if size <= limit || size <= int64(len(before.Raw())) {
		return nil
	}
	return invalid(schema.Violation{
		Path: "/block", Code: schema.CodeTooLong,
		Message: "the blocks of the form would take more than " + strconv.FormatInt(limit, 10) + " bytes",
	})
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
// of them.
func (c *call) changeStoredBlocks(compute func(stored *schema.Blocks, hidden json.RawMessage) (*schema.Blocks, error)) (storage.Form, error) {
	id, err := c.idParam("formId")
	if err != nil {
		return storage.Form{}, err
	}
	at := c.h.now()
	return c.updateFrom(id, func(f *storage.Form) (storage.FormChange, error) {
		stored, err := schema.StoredBlocks(f.Definition.Blocks)
		if err != nil {
			return storage.FormChange{}, err
		}
		blocks, err := compute(stored, f.Definition.HiddenFields)
		if err != nil {
			return storage.FormChange{}, err
		}
		return storage.FormChange{
			Definition: storage.Definition{Blocks: blocks.Raw(), Format: schema.Format},
			At:         at,
		}, nil
	})
}
