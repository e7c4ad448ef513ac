package schema

// blockRules checks what no schema keyword says about the blocks of one form. It
// looks at what is well-typed and leaves the rest to the walk, so that the faults
// of both are reported together.
type blockRules struct {
	*check
	limits Limits
	ids    map[string]struct{} // the ids of the form's blocks so far, at every level
	total  int
}

func newBlockRules(c *check, l Limits) *blockRules {
	return &blockRules{check: c, limits: l, ids: make(map[string]struct{})}
}

// others takes the blocks into account that the form has besides those to be
// checked.
func (r *blockRules) others(blocks []node) {
	eachBlock(blocks, func(block *node) {
		r.total++
		if id := block.member("id"); id != nil {
			r.ids[id.text] = struct{}{}
		}
	})
}

// top checks the top-level blocks of a form.
func (r *blockRules) top(list *node, at *place) {
	if list.kind != kindArray {
		return
	}
	r.list(list, at, 1)
	r.counts(len(list.items), at)
}

// counts holds the number of blocks against the limits, when all are known.
func (r *blockRules) counts(top int, at *place) {
	if top > r.limits.Blocks {
		r.add(at, CodeTooMany, "a form has at most "+count(r.limits.Blocks, "block")+" at the top level")
	} else if r.total > r.limits.AllBlocks {
		r.add(at, CodeTooMany, "a form has at most "+count(r.limits.AllBlocks, "block")+", nested ones included")
	}
}

func (r *blockRules) list(list *node, at *place, level int) {
	if list.kind != kindArray {
		return
	}
	if level > r.limits.Nesting && len(list.items) > 0 {
		if r.found.full() {
			return
		}
		r.add(at, CodeTooMany, "blocks are nested at most "+count(r.limits.Nesting, "level")+" deep")
		r.passBy(list)
		return
	}
	for i := range list.items {
		here := at.item(i)
		r.block(&list.items[i], &here, level)
	}
}

// passBy tells the walk that what is inside of a list does not matter.
func (r *blockRules) passBy(list *node) {
	if r.skip == nil {
		r.skip = make(map[*node]struct{})
	}
	r.skip[list] = struct{}{}
}

func (r *blockRules) block(block *node, at *place, level int) {
	r.total++
	if block.kind != kindObject {
		return // an array has items and no names
	}
	for i := range block.items {
		member := &block.items[i]
		switch name := block.names[i]; name {
		case "id":
			r.id(member, at)
		case "label", "description":
			r.text(member, name, at)
		case "properties":
			here := at.member(name)
			r.url(member, "buttonLink", webOrContact, &here)
			r.url(member, "embedLink", webOnly, &here)
			r.url(member, "videoLink", webOnly, &here)
			r.url(member, "pdfLink", webOnly, &here)
		case "choices", "matrix_rows", "matrix_columns":
			here := at.member(name)
			r.choices(member, &here)
		case "children":
			here := at.member(name)
			r.list(member, &here, level+1)
		}
	}
}

func (r *blockRules) id(id *node, at *place) {
	if id.kind != kindString {
		return
	}
	if id.text == "." || id.text == ".." {
		r.addIn(at, "id", CodeBadFormat, "must not be . or .., which no path can carry")
	}
	if _, taken := r.ids[id.text]; taken {
		r.addIn(at, "id", CodeDuplicate, "must be unique in the whole form")
	}
	r.ids[id.text] = struct{}{}
}

func (r *blockRules) text(n *node, name string, at *place) {
	if n.kind == kindString && longerThan(n.text, r.limits.Text) {
		r.addIn(at, name, CodeTooLong, tooLong(r.limits.Text))
	}
}

func (r *blockRules) choices(list *node, at *place) {
	if list.kind != kindArray {
		return
	}
	if len(list.items) > r.limits.Choices {
		r.add(at, CodeTooMany, "must have at most "+count(r.limits.Choices, "item"))
	}
	var seen map[string]struct{}
	for i := range list.items {
		choice := &list.items[i]
		if label := choice.member("label"); label != nil {
			here := at.item(i)
			r.text(label, "label", &here)
		}
		id := choice.member("id")
		if id == nil || id.kind != kindString {
			continue
		}
		if seen == nil {
			seen = make(map[string]struct{}, len(list.items))
		}
		if _, twice := seen[id.text]; twice {
			here := at.item(i)
			r.addIn(&here, "id", CodeDuplicate, "must be unique in its list")
		}
		seen[id.text] = struct{}{}
	}
}

// eachBlock calls f for every block of a list and of the lists inside it.
func eachBlock(blocks []node, f func(block *node)) {
	for i := range blocks {
		f(&blocks[i])
		if children := blocks[i].member("children"); children != nil {
			eachBlock(children.items, f)
		}
	}
}
