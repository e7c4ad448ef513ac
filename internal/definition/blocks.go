package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/schema"
)

// Blocks holds a form's top-level blocks, or a single block, with the edits to apply before storage. It is immutable
// and safe for concurrent use.
type Blocks struct {
	list  jsontree.Node // an array of blocks, or the single block
	one   bool
	base  string          // JSON Pointer of the tree's root in the body
	edits []jsontree.Edit // sorted; can contain edits outside the list
	typed bool            // every block has a type or gets a type from an edit
}

// ParseStoredBlocks parses stored blocks without checking rules. It treats an empty raw as an empty array. It returns
// an error if raw is not an array of blocks.
func ParseStoredBlocks(raw json.RawMessage) (*Blocks, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("[]")
	}
	tree, err := jsontree.Parse(raw, jsontree.Limits{})
	if err != nil {
		return nil, fmt.Errorf("parse stored blocks: %w", err)
	}
	if !isBlockList(tree.Root()) {
		return nil, fmt.Errorf("parse stored blocks: %w", errNotStored)
	}
	return &Blocks{list: tree.Root()}, nil
}

func isBlockList(list jsontree.Node) bool {
	if list.Kind() != jsontree.Array {
		return false
	}
	for _, block := range list.All() {
		if block.Kind() != jsontree.Object {
			return false
		}
		if children := block.Member("children"); children.Exists() && !isBlockList(children) {
			return false
		}
	}
	return true
}

func joinItems(items []json.RawMessage) json.RawMessage {
	size := 2
	for _, item := range items {
		size += len(item) + 1
	}
	w := jsontree.NewWriter(make([]byte, 0, size))
	w.Array()
	for _, item := range items {
		w.Raw(item)
	}
	w.EndArray()
	return w.Bytes()
}

func (b *Blocks) editedJSON(n jsontree.Node) json.RawMessage {
	return jsontree.ApplyEdits(n.Source(), n.Start(), n.End(), b.edits)
}

// Raw returns the array or the single block, with the edits applied: normalized times, and the types that
// [Blocks.WithTypesFrom] added. Otherwise it preserves fields, their order and number literals.
func (b *Blocks) Raw() json.RawMessage {
	return b.editedJSON(b.list)
}

func (b *Blocks) topBlocks() []jsontree.Node {
	if b.one {
		return []jsontree.Node{b.list}
	}
	return childNodes(b.list)
}

func childNodes(list jsontree.Node) []jsontree.Node {
	all := make([]jsontree.Node, 0, list.Len())
	for _, item := range list.All() {
		all = append(all, item)
	}
	return all
}

// Items returns the top-level blocks in order.
func (b *Blocks) Items() []json.RawMessage {
	top := b.topBlocks()
	items := make([]json.RawMessage, len(top), len(top)+1)
	for i, block := range top {
		items[i] = b.editedJSON(block)
	}
	return items
}

// ID returns the ID of the single block.
func (b *Blocks) ID() string { return b.list.Member("id").Text() }

// Get returns a top-level block by ID and reports whether it exists.
func (b *Blocks) Get(id string) (json.RawMessage, bool) {
	i := b.indexOf(id)
	if i < 0 {
		return nil, false
	}
	return b.editedJSON(b.topBlocks()[i]), true
}

func (b *Blocks) indexOf(id string) int {
	return slices.IndexFunc(b.topBlocks(), func(block jsontree.Node) bool {
		n := block.Member("id")
		return n.Kind() == jsontree.String && n.Text() == id
	})
}

func eachBlock(blocks []jsontree.Node, f func(block jsontree.Node)) {
	for _, block := range blocks {
		f(block)
		eachBlock(childNodes(block.Member("children")), f)
	}
}

// HasAnyOf reports whether b and other have a block ID in common. It includes nested blocks.
func (b *Blocks) HasAnyOf(other *Blocks) bool {
	ids := b.nodesByID()
	for id := range other.nodesByID() {
		if ids[id].Exists() {
			return true
		}
	}
	return false
}

func (b *Blocks) nodesByID() map[string]jsontree.Node {
	ids := make(map[string]jsontree.Node, b.list.Len())
	eachBlock(b.topBlocks(), func(block jsontree.Node) {
		if id := block.Member("id"); id.Exists() {
			ids[id.Text()] = block
		}
	})
	return ids
}

// WithTypesFrom returns b with a type for every block. It copies a missing type from the stored block with the same ID,
// at any level, or else infers the type. stored can be nil.
func (b *Blocks) WithTypesFrom(stored *Blocks) *Blocks {
	if b.typed {
		return b
	}
	var known map[string]jsontree.Node
	var types []jsontree.Edit
	eachBlock(b.topBlocks(), func(block jsontree.Node) {
		id := block.Member("id")
		if !id.Exists() || block.Member("type").Exists() {
			return
		}
		if known == nil && stored != nil {
			known = stored.nodesByID()
		}
		literal := inferType(block)
		if old := known[id.Text()]; old.Exists() {
			if n := old.Member("type"); n.Exists() {
				literal = n.Raw()
			}
		}
		types = append(types, jsontree.Edit{Start: id.End(), End: id.End(), Text: `,"type":` + literal})
	})
	if types == nil {
		return b
	}
	typed := *b
	typed.typed = true
	typed.edits = slices.Concat(b.edits, types)
	jsontree.SortEdits(typed.edits)
	return &typed
}

// inferType infers the type of a new block without a type. It returns a JSON literal.
func inferType(block jsontree.Node) string {
	switch {
	case block.Member("choices").Exists():
		if block.Member("properties").Member("multiSelection").Bool() {
			return `"` + schema.TypeMultipleChoice + `"`
		}
		return `"` + schema.TypeSingleChoice + `"`
	case block.Member("matrix_rows").Exists():
		return `"` + schema.TypeMatrix + `"`
	case block.Member("children").Exists():
		return `"` + schema.TypeGroup + `"`
	default:
		return `"` + schema.TypeShortText + `"`
	}
}

// Without returns all blocks except one top-level block, and reports whether that block exists.
func (b *Blocks) Without(id string) (json.RawMessage, bool) {
	i := b.indexOf(id)
	if i < 0 {
		return nil, false
	}
	return joinItems(slices.Delete(b.Items(), i, i+1)), true
}

// CheckHiddenNames checks that no block and no rule variable has the name of a hidden field. Violations point to the
// blocks.
func (b *Blocks) CheckHiddenNames(hidden json.RawMessage) error {
	fields, err := parseHiddenFields(hidden)
	if err != nil || fields.Len() == 0 {
		return err
	}
	names := make(map[string]bool, fields.Len())
	for _, name := range fields.All() {
		names[name.Text()] = true
	}
	c := validation.Check{Base: b.base}
	eachBlock(b.topBlocks(), func(block jsontree.Node) {
		if id := block.Member("id"); id.Exists() && names[id.Text()] {
			c.Add(id, schema.CodeDuplicate, "must differ from the names of hidden fields")
		}
	})
	for _, variable := range variablesSetBy(b.topBlocks()...) {
		if names[variable.Name()] {
			c.Add(variable, schema.CodeDuplicate, "must differ from the names of hidden fields")
		}
	}
	return c.Violations.Err()
}

// CheckHiddenFields checks that no hidden field has the name of a block or rule variable. Violations point to the
// hidden fields, at path.
func (b *Blocks) CheckHiddenFields(hidden json.RawMessage, path string) error {
	fields, err := parseHiddenFields(hidden)
	if err != nil {
		return err
	}
	taken := make(map[string]bool)
	for id := range b.nodesByID() {
		taken[id] = true
	}
	c := validation.Check{Base: path}
	checkHiddenFields(&c, fields, taken, namesOf(variablesSetBy(b.topBlocks()...)))
	return c.Violations.Err()
}

// parseHiddenFields parses hidden fields. An empty raw means that there are no hidden fields.
func parseHiddenFields(raw json.RawMessage) (jsontree.Node, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return jsontree.Node{}, nil
	}
	tree, err := jsontree.Parse(raw, jsontree.Limits{})
	if err != nil {
		return jsontree.Node{}, fmt.Errorf("parse stored hidden fields: %w", err)
	}
	return tree.Root(), nil
}
