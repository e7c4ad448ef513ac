package definition

import (
	"encoding/json"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/schema"
)

// ParseBlock checks a createBlock body and returns the block. [Validator.AppendBlock] checks the form's limits.
func (w *Validator) ParseBlock(body []byte) (*Blocks, error) {
	r, err := readAndCheck(body, blockCreateSchema, func(r *request) {
		if block := r.root.Member("block"); block.Exists() {
			newBlockChecker(&r.Check, w).checkOne(block, 1)
		}
	})
	if err != nil {
		return nil, err
	}
	return &Blocks{list: r.root.Member("block"), one: true, edits: r.Edits}, nil
}

// ParseBlocks checks a replaceBlocks body.
func (w *Validator) ParseBlocks(body []byte) (*Blocks, error) {
	r, err := readAndCheck(body, blocksReplaceSchema, func(r *request) { newBlockChecker(&r.Check, w).checkTop(r.root.Member("blocks")) })
	if err != nil {
		return nil, err
	}
	return &Blocks{list: r.root.Member("blocks"), edits: r.Edits}, nil
}

// ParseBlockPatch checks an updateBlock body and returns the patch. [Validator.ApplyPatch] checks the resulting block.
func (w *Validator) ParseBlockPatch(body []byte) (jsontree.Node, error) {
	r, err := readAndCheck(body, blockUpdateSchema, func(*request) {})
	if err != nil {
		return jsontree.Node{}, err
	}
	return r.root.Member("block"), nil
}

// AppendBlock adds a block from [Validator.ParseBlock] to the stored blocks and checks the rules that apply to the whole
// form. The paths in a *[schema.Error] start with /block.
func (w *Validator) AppendBlock(stored, added *Blocks) (json.RawMessage, error) {
	var c validation.Check
	rules := newBlockChecker(&c, w)
	rules.addOthers(stored.topBlocks())
	rules.checkOne(added.list, stored.list.Len()+1)
	checkTotalSize(&c, added.list, stored.list, added.list)
	if err := c.Violations.Err(); err != nil {
		return nil, err
	}
	return joinItems(append(stored.Items(), added.Raw())), nil
}

// ApplyPatch applies a merge patch (RFC 7396) to a top-level block and checks the result. It preserves the order of
// fields and unchanged literals. If the type is missing or null, the stored type is kept. The ID cannot change.
// ApplyPatch returns the block and all blocks. ok is false if the block does not exist. The paths in a *[schema.Error]
// start with /block.
func (w *Validator) ApplyPatch(stored *Blocks, id string, patch jsontree.Node) (block *Blocks, all json.RawMessage, ok bool, err error) {
	top := stored.topBlocks()
	i := stored.indexOf(id)
	if i < 0 {
		return nil, nil, false, nil
	}
	// Parsing cannot fail because of the depth, because both trees are within the depth limit.
	tree, err := jsontree.Parse(jsontree.Merge(top[i], patch), jsontree.Limits{})
	if err != nil {
		return nil, nil, true, err
	}
	merged := tree.Root()
	c := validation.Check{Base: "/block"}
	if sent := patch.Member("id"); sent.Exists() && sent.Text() != id {
		c.AddMember(merged, "id", schema.CodeNotAllowed, "cannot be changed")
	}
	rules := newBlockChecker(&c, w)
	rules.stored = stored.nodesByID()
	eachBlock(top[i:i+1], func(block jsontree.Node) { rules.cellsBefore += countCells(block, rules.blockType(block)) })
	rules.addOthers(slices.Concat(top[:i], top[i+1:]))
	rules.checkOne(merged, len(top))
	if err := c.Validate(merged, blockWriteSchema); err != nil {
		return nil, nil, true, err
	}
	checkTotalSize(&c, merged, stored.list, merged)
	if err := c.Violations.Err(); err != nil {
		return nil, nil, true, err
	}
	jsontree.SortEdits(c.Edits)
	block = &Blocks{list: merged, one: true, base: "/block", edits: c.Edits}
	block = block.WithTypesFrom(stored)
	items := stored.Items()
	items[i] = block.Raw()
	return block, joinItems(items), true, nil
}

// checkTotalSize reports a violation if several writes together have made the blocks larger than a request body can be.
func checkTotalSize(c *validation.Check, at jsontree.Node, parts ...jsontree.Node) {
	total := 0
	for _, part := range parts {
		total += part.ValueCount()
	}
	if total > jsontree.MaxValues {
		c.Add(at, schema.CodeTooMany, "the blocks of a form can have at most 100,000 values")
	}
}
