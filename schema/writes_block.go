package schema

import (
	"encoding/json"
	"slices"
)

// BlockPatch is a checked merge patch of one block ([Writes.BlockPatch]).
type BlockPatch struct {
	raw   []byte
	block *node
}

// Block checks the body of createBlock and returns its one block. That the form
// has room for it is for [Writes.Append].
func (w *Writes) Block(body []byte) (*Blocks, error) {
	r, err := read(body)
	if err != nil {
		return nil, err
	}
	if block := r.root.member("block"); block != nil {
		at := r.place.member("block")
		rules := newBlockRules(&r.check, w.limits)
		rules.block(block, &at, 1)
		rules.counts(1, &at)
	}
	r.walk(r.root, w.blockCreate, &r.place)
	if err := r.found.err(); err != nil {
		return nil, err
	}
	block := r.section(r.root.member("block"))
	return ofItems([]json.RawMessage{block}, 0), nil
}

// Blocks checks the body of replaceBlocks.
func (w *Writes) Blocks(body []byte) (*Blocks, error) {
	r, err := read(body)
	if err != nil {
		return nil, err
	}
	if list := r.root.member("blocks"); list != nil {
		at := r.place.member("blocks")
		newBlockRules(&r.check, w.limits).top(list, &at)
	}
	r.walk(r.root, w.blocksReplace, &r.place)
	if err := r.found.err(); err != nil {
		return nil, err
	}
	return newBlocks(r.raw, r.root.member("blocks"), r.edits), nil
}

// BlockPatch checks the body of updateBlock as far as that can be done without
// the block. The rest is for [Writes.Apply].
func (w *Writes) BlockPatch(body []byte) (*BlockPatch, error) {
	r, err := read(body)
	if err != nil {
		return nil, err
	}
	r.walk(r.root, w.blockUpdate, &r.place)
	if err := r.found.err(); err != nil {
		return nil, err
	}
	return &BlockPatch{raw: r.raw, block: r.root.member("block")}, nil
}

// Append adds the block of [Writes.Block] behind the stored ones and checks what
// concerns the form as a whole. Paths of the *[Error] begin with /block.
func (w *Writes) Append(stored, added *Blocks) (*Blocks, error) {
	var c check
	at := place{name: "/block", index: -1}
	rules := newBlockRules(&c, w.limits)
	rules.others(stored.list.items)
	for i := range added.list.items {
		rules.block(&added.list.items[i], &at, 1)
	}
	top := len(stored.list.items) + len(added.list.items)
	rules.counts(top, &at)
	c.room(&at, stored.list, added.list)
	if err := c.found.err(); err != nil {
		return nil, err
	}
	return ofItems(slices.Concat(stored.Items(), added.Items()), top-1), nil
}

// Apply changes the top-level block with that id by an RFC 7396 merge patch:
// null removes a member, objects are merged, everything else is replaced. The
// order of members and the literals of what the patch does not name stay. The
// whole result is checked as any block; paths of the *[Error] begin with /block.
// Types that are missing are filled in as by [Blocks.WithTypesFrom], so a type of
// null leaves the stored one. The id cannot change. It is false when there is no
// such block.
func (w *Writes) Apply(stored *Blocks, id string, p *BlockPatch) (*Blocks, bool, error) {
	i := stored.index(id)
	if i < 0 {
		return nil, false, nil
	}
	merged := mergePatch(stored.raw, &stored.list.items[i], p.raw, p.block)
	block, err := parseStored(merged)
	if err != nil { // two trees within the bounds of depth merge into one within them
		return nil, true, err
	}
	var c check
	at := place{name: "/block", index: -1}
	if sent := p.block.member("id"); sent != nil && sent.text != id {
		c.found.add("/block/id", CodeNotAllowed, "cannot be changed")
	}
	rules := newBlockRules(&c, w.limits)
	rules.others(stored.list.items[:i])
	rules.others(stored.list.items[i+1:])
	rules.block(block, &at, 1)
	rules.counts(len(stored.list.items), &at)
	c.walk(block, w.blockWrite, &at)
	c.room(&at, stored.list, block)
	if err := c.found.err(); err != nil {
		return nil, true, err
	}
	items := stored.Items()
	items[i] = splice(merged, 0, len(merged), c.edits)
	return ofItems(items, i).WithTypesFrom(stored), true, nil
}

// room refuses blocks that grew, write by write, beyond what one body could
// carry.
func (c *check) room(at *place, parts ...*node) {
	total := 0
	for _, part := range parts {
		total += size(part)
	}
	if total > maxNodes {
		c.add(at, CodeTooMany, "the blocks of a form have at most 100,000 values")
	}
}

func size(n *node) int {
	total := 1
	for i := range n.items {
		total += size(&n.items[i])
	}
	return total
}
