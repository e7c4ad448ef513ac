package handler

import (
	"encoding/json"
	"net/url"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// listBlocks serves both collections of the API description: questions and blocks
// are the complete ordered top-level collection.
func listBlocks(c *call) error {
	f, err := c.h.core.Form(c.ctx(), c.actor(), c.target())
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
	block, err := c.h.core.Block(c.ctx(), c.actor(), c.target(), id)
	if err != nil {
		return err
	}
	return c.block(200, block)
}

func (c *call) block(status int, block core.Block) error {
	c.setETag(block.Revision)
	return c.body(status, func(w *jsontree.Writer) { w.Raw(block.JSON) })
}

func createBlock(c *call, body []byte) error {
	block, err := c.h.core.CreateBlock(c.ctx(), c.actor(), c.target(), body, c.ifMatch())
	if err != nil {
		return err
	}
	c.setLocation(c.h.base(c.r) + "/forms/" + c.namedID("formId").String() + "/blocks/" + url.PathEscape(block.ID))
	return c.block(201, block)
}

func replaceBlocks(c *call, body []byte) error {
	f, err := c.h.core.ReplaceBlocks(c.ctx(), c.actor(), c.target(), body, c.ifMatch())
	if err != nil {
		return err
	}
	c.setETag(f.Revision)
	return c.blockList(f.Definition.Blocks)
}

func updateBlock(c *call) error {
	id, err := c.param("blockId")
	if err != nil {
		return err
	}
	// A path is wrong before its body is looked at.
	if err := c.h.core.CheckBlockID(id); err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	block, err := c.h.core.UpdateBlock(c.ctx(), c.actor(), c.target(), id, body, c.ifMatch())
	if err != nil {
		return err
	}
	return c.block(200, block)
}

func deleteBlock(c *call) error {
	id, err := c.param("blockId")
	if err != nil {
		return err
	}
	revision, err := c.h.core.DeleteBlock(c.ctx(), c.actor(), c.target(), id, c.ifMatch())
	if err != nil {
		return err
	}
	c.setETag(revision)
	c.noContent()
	return nil
}
