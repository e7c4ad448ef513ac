package handler

import (
	"net/url"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// listBlocks serves both /questions and /blocks.
func listBlocks(c *call) error {
	return c.sendBlocks(c.h.core.Form(c.ctx(), c.actor(), c.formTarget()))
}

func (c *call) sendBlocks(f *storage.Form, err error) error {
	if err != nil {
		return err
	}
	c.setETag(f.Revision)
	return c.sendObject(func(w *jsontree.Writer) {
		w.Name("items").Raw(f.Blocks)
	})
}

func getBlock(c *call) error {
	return c.sendBlock(c.h.core.Block(c.ctx(), c.actor(), c.formTarget(), c.pathParam("blockId")))
}

func (c *call) sendBlock(block schema.StoredBlock, err error) error {
	if err != nil {
		return err
	}
	c.setETag(block.Revision)
	return c.sendJSON(func(w *jsontree.Writer) { w.Raw(block.JSON) })
}

func createBlock(c *call, body []byte) error {
	block, err := c.h.core.CreateBlock(c.ctx(), c.actor(), c.formTarget(), body, c.parseIfMatch())
	c.setCreated("/forms/"+c.pathID("formId").String()+"/blocks/", url.PathEscape(block.ID), err)
	return c.sendBlock(block, err)
}

func replaceBlocks(c *call, body []byte) error {
	f, err := c.h.core.ReplaceBlocks(c.ctx(), c.actor(), c.formTarget(), body, c.parseIfMatch())
	return c.sendBlocks(&f, err)
}

func updateBlock(c *call) error {
	id := c.pathParam("blockId")
	// Errors in the path are reported before errors in the body.
	if err := c.h.core.CheckBlockID(id); err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	return c.sendBlock(c.h.core.UpdateBlock(c.ctx(), c.actor(), c.formTarget(), id, body, c.parseIfMatch()))
}

func deleteBlock(c *call) error {
	revision, err := c.h.core.DeleteBlock(c.ctx(), c.actor(), c.formTarget(), c.pathParam("blockId"), c.parseIfMatch())
	if err != nil {
		return err
	}
	c.setETag(revision)
	return c.sendNoContent(nil)
}
