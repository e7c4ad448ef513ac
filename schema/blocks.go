package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Blocks is the ordered collection of a form's top-level blocks, with their raw
// bytes. It is immutable and safe for concurrent use. It shares memory with what
// it was read from, and what its methods return shares memory with it: neither
// may be changed.
type Blocks struct {
	raw  []byte
	list *node // an array in raw
	sent int   // index of the one block that the request carried; -1: all of them
}

// StoredBlocks reads what [Blocks.Raw] made; empty or nil is no block. No rule is
// applied. It is an error when raw is no JSON or no array of blocks.
func StoredBlocks(raw json.RawMessage) (*Blocks, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("[]")
	}
	list, err := parseStored(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: stored blocks: %w", err)
	}
	if !isBlockList(list) {
		return nil, errors.New("schema: stored blocks: not an array of objects")
	}
	return &Blocks{raw: raw, list: list, sent: -1}, nil
}

func isBlockList(list *node) bool {
	if list.kind != kindArray {
		return false
	}
	for i := range list.items {
		block := &list.items[i]
		if block.kind != kindObject {
			return false
		}
		if children := block.member("children"); children != nil && !isBlockList(children) {
			return false
		}
	}
	return true
}

// newBlocks takes the checked array out of a body, with the edits that fall into
// it.
func newBlocks(body []byte, list *node, edits []edit) *Blocks {
	b := &Blocks{raw: body, list: list, sent: -1}
	return b.edited(edits)
}

// edited returns b with its bytes changed. The edits leave it an array of blocks.
func (b *Blocks) edited(edits []edit) *Blocks {
	if !anyWithin(edits, b.list.start, b.list.end) {
		return b
	}
	return reread(splice(b.raw, b.list.start, b.list.end, edits), b.sent)
}

// ofItems makes a collection of blocks out of their bytes.
func ofItems(items []json.RawMessage, sent int) *Blocks {
	size := 2
	for _, item := range items {
		size += len(item) + 1
	}
	raw := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, item...)
	}
	return reread(append(raw, ']'), sent)
}

// reread parses bytes that were made out of parsed ones, so it cannot fail.
func reread(raw []byte, sent int) *Blocks {
	list, err := parseStored(raw)
	if err != nil {
		panic(fmt.Sprintf("schema: edited blocks are no JSON: %v", err))
	}
	return &Blocks{raw: raw, list: list, sent: sent}
}

func (b *Blocks) bytes(n *node) json.RawMessage {
	return json.RawMessage(b.raw[n.start:n.end:n.end])
}

// Raw returns the JSON array: members, their order and number literals as they
// were sent, times normalised, and types filled in once [Blocks.WithTypesFrom]
// has been applied.
func (b *Blocks) Raw() json.RawMessage {
	return b.bytes(b.list)
}

// Items returns the top-level blocks in order.
func (b *Blocks) Items() []json.RawMessage {
	items := make([]json.RawMessage, len(b.list.items))
	for i := range b.list.items {
		items[i] = b.bytes(&b.list.items[i])
	}
	return items
}

// Get returns the top-level block with that id; false when there is none.
func (b *Blocks) Get(id string) (json.RawMessage, bool) {
	i := b.index(id)
	if i < 0 {
		return nil, false
	}
	return b.bytes(&b.list.items[i]), true
}

// index returns the position of a top-level block, -1 when there is none.
func (b *Blocks) index(id string) int {
	for i := range b.list.items {
		if n := b.list.items[i].member("id"); n != nil && n.kind == kindString && n.text == id {
			return i
		}
	}
	return -1
}

// HasAnyOf reports whether any block of other has the id of any block of b; on
// both sides blocks of all levels count.
func (b *Blocks) HasAnyOf(other *Blocks) bool {
	ids := b.ids()
	found := false
	eachBlock(other.list.items, func(block *node) {
		if id := block.member("id"); id != nil && ids[id.text] != nil {
			found = true
		}
	})
	return found
}

// ids returns the blocks of all levels by id.
func (b *Blocks) ids() map[string]*node {
	ids := make(map[string]*node, len(b.list.items))
	eachBlock(b.list.items, func(block *node) {
		if id := block.member("id"); id != nil {
			ids[id.text] = block
		}
	})
	return ids
}

// WithTypesFrom returns b with a type for every block that has none: that of the
// block with the same id in stored, at whatever level, else one that follows from
// its members. A nil stored has no blocks.
func (b *Blocks) WithTypesFrom(stored *Blocks) *Blocks {
	var known map[string]*node
	var edits []edit
	eachBlock(b.list.items, func(block *node) {
		id := block.member("id")
		if id == nil || block.member("type") != nil {
			return
		}
		if known == nil && stored != nil {
			known = stored.ids()
		}
		literal := inferType(block)
		if old := known[id.text]; old != nil {
			if n := old.member("type"); n != nil {
				literal = string(stored.bytes(n))
			}
		}
		edits = append(edits, withType(block, literal))
	})
	return b.edited(edits)
}

// withType plans to give a type to a block that has an id and no type.
func withType(block *node, literal string) edit {
	behind := block.member("id").end
	return edit{start: behind, end: behind, text: `,"type":` + literal}
}

// inferType tells the type of a new block that names none, as a JSON literal.
func inferType(block *node) string {
	switch {
	case block.member("choices") != nil:
		if properties := block.member("properties"); properties != nil {
			if multi := properties.member("multiSelection"); multi != nil && multi.truth {
				return `"multiple_choice"`
			}
		}
		return `"single_choice"`
	case block.member("matrix_rows") != nil:
		return `"matrix"`
	case block.member("children") != nil:
		return `"group"`
	default:
		return `"short_text"`
	}
}

// Without returns b without the top-level block with that id; false when there
// is none.
func (b *Blocks) Without(id string) (*Blocks, bool) {
	i := b.index(id)
	if i < 0 {
		return nil, false
	}
	items := b.Items()
	return ofItems(append(items[:i:i], items[i+1:]...), -1), true
}

// CheckHiddenNames checks that no hidden field has the name of a block, at any
// level. It is for writes that give only one of the two sections: hidden is then
// the stored or the given one. hiddenPath is the pointer of the hidden fields in
// the body; "" says that the blocks are what was given and stand at blocksPath,
// which is the one block itself for what [Writes.Block], [Writes.Append] and
// [Writes.Apply] return.
func CheckHiddenNames(blocks *Blocks, hidden json.RawMessage, blocksPath, hiddenPath string) error {
	if len(bytes.TrimSpace(hidden)) == 0 {
		return nil
	}
	list, err := parseStored(hidden)
	if err != nil {
		return fmt.Errorf("schema: hidden fields: %w", err)
	}
	if len(list.items) == 0 {
		return nil
	}
	var c check
	if hiddenPath != "" {
		taken := make(map[string]struct{})
		for id := range blocks.ids() {
			taken[id] = struct{}{}
		}
		c.hiddenFields(list, taken, &place{name: hiddenPath, index: -1})
		return c.found.err()
	}
	names := make(map[string]struct{}, len(list.items))
	for i := range list.items {
		names[list.items[i].text] = struct{}{}
	}
	at := place{name: blocksPath, index: -1}
	if blocks.sent >= 0 {
		c.blockNames(&blocks.list.items[blocks.sent], names, &at)
	} else {
		c.listNames(blocks.list, names, &at)
	}
	return c.found.err()
}

func (c *check) listNames(list *node, names map[string]struct{}, at *place) {
	for i := range list.items {
		here := at.item(i)
		c.blockNames(&list.items[i], names, &here)
	}
}

func (c *check) blockNames(block *node, names map[string]struct{}, at *place) {
	if id := block.member("id"); id != nil {
		if _, taken := names[id.text]; taken {
			c.addIn(at, "id", CodeDuplicate, "must differ from the names of the hidden fields")
		}
	}
	if children := block.member("children"); children != nil {
		here := at.member("children")
		c.listNames(children, names, &here)
	}
}
