package definition

import (
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/schema"
)

// blockRules checks the rules for the blocks of one form that no schema keyword can
// say. It looks at well-typed values and leaves the rest to the walk, so that the
// faults of both are reported together.
type blockRules struct {
	*validation.Check
	limits schema.Limits
	zone   *time.Location  // of calendar days
	ids    map[string]bool // the ids of the form's blocks so far, at every level
	total  int
	cells  int
	before int                      // the cells that the written block had
	stored map[string]jsontree.Node // give types to blocks without one

	setElsewhere map[string]bool // names that rules of the other blocks set
	setHere      []jsontree.Node // the members of set in the rules that are checked
}

func newBlockRules(c *validation.Check, w *Writes) *blockRules {
	return &blockRules{Check: c, limits: w.limits, zone: w.zone, ids: make(map[string]bool)}
}

// others takes the top-level blocks into account that the form has besides those to be
// checked.
func (r *blockRules) others(blocks []jsontree.Node) {
	r.setElsewhere = namesOf(setBy(blocks...))
	eachBlock(blocks, func(block jsontree.Node) {
		r.total++
		r.cells += cells(block, r.kind(block))
		if id := block.Member("id"); id.Exists() {
			r.ids[id.Text()] = true
		}
	})
}

// top checks the top-level blocks of a form.
func (r *blockRules) top(list jsontree.Node) {
	if list.Kind() != jsontree.Array {
		return
	}
	r.list(list, 1)
	r.counts(list.Len(), list)
	r.formCells(r.cells, list)
	r.variables()
}

// one checks a top-level block that is added or changed. top is the number of all.
func (r *blockRules) one(block jsontree.Node, top int) {
	others := r.cells
	r.block(block, 1)
	r.counts(top, block)
	r.formCells(r.cells-others, block)
	r.variables()
}

// variables checks that no rule sets a variable with the name of a block: both are kept
// among the answers, by name.
func (r *blockRules) variables() {
	for _, variable := range r.setHere {
		if r.ids[variable.Name()] {
			r.Add(variable, schema.CodeDuplicate, "must differ from the IDs of blocks")
		}
	}
}

// setBy returns the variables that the rules of top-level blocks set: members of objects.
func setBy(blocks ...jsontree.Node) (variables []jsontree.Node) {
	for _, block := range blocks {
		if set := block.Member("properties").Member("rule").Member("set"); set.Kind() == jsontree.Object {
			variables = append(variables, itemsOf(set)...)
		}
	}
	return variables
}

// counts holds the number of blocks against the limits, when all are known.
func (r *blockRules) counts(top int, at jsontree.Node) {
	if top > r.limits.Blocks {
		r.Add(at, schema.CodeTooMany, "a form can have at most "+faults.Count(r.limits.Blocks, "block")+" at the top level")
	} else if r.total > r.limits.AllBlocks {
		r.Add(at, schema.CodeTooMany, "a form can have at most "+faults.Count(r.limits.AllBlocks, "block")+", including nested blocks")
	}
}

func (r *blockRules) list(list jsontree.Node, level int) {
	if list.Kind() != jsontree.Array {
		return
	}
	if level > r.limits.Nesting && list.Len() > 0 {
		if r.Faults.Full() {
			return
		}
		r.Add(list, schema.CodeTooMany, "blocks can be nested at most "+faults.Count(r.limits.Nesting, "level")+" deep")
		r.Skip(list)
		return
	}
	for _, block := range list.All() {
		r.block(block, level)
	}
}

func (r *blockRules) block(block jsontree.Node, level int) {
	r.total++
	if block.Kind() != jsontree.Object {
		return
	}
	r.countCells(block)
	if level == 1 {
		r.setHere = append(r.setHere, setBy(block)...)
	}
	for _, member := range block.All() {
		switch member.Name() {
		case "id":
			r.id(member)
		case "label", "description":
			r.text(member)
		case "properties":
			checkLink(r.Check, member, "buttonLink")
			checkURL(r.Check, member, "embedLink")
			checkURL(r.Check, member, "videoLink")
			checkURL(r.Check, member, "pdfLink")
			r.rule(member.Member("rule"))
			r.day(member.Member("beforeDate"))
			r.day(member.Member("afterDate"))
			for _, date := range member.Member("specificDates").All() {
				r.day(date)
			}
		case "choices", "matrix_rows", "matrix_columns":
			r.choices(member)
		case "children":
			r.list(member, level+1)
		}
	}
}

func (r *blockRules) id(id jsontree.Node) {
	if id.Kind() != jsontree.String {
		return
	}
	text := id.Text()
	if text == "." || text == ".." {
		r.Add(id, schema.CodeBadFormat, "must not be . or .., because URL paths cannot contain them")
	}
	if r.ids[text] {
		r.Add(id, schema.CodeDuplicate, "must be unique in the whole form")
	} else if r.setElsewhere[text] {
		r.Add(id, schema.CodeDuplicate, "must differ from variables that rules set")
	}
	r.ids[text] = true
}

func (r *blockRules) text(n jsontree.Node) {
	if n.Kind() == jsontree.String && faults.LongerThan(n.Text(), r.limits.Text) {
		r.Add(n, schema.CodeTooLong, faults.TooLong(r.limits.Text))
	}
}

// rule bounds what every response to the form will have to evaluate.
func (r *blockRules) rule(rule jsontree.Node) {
	if rule.Exists() && len(rule.Raw()) > r.limits.Rule {
		r.Add(rule, schema.CodeTooLong, "must have at most "+faults.Count(r.limits.Rule, "byte"))
	}
}

// day gives a bound of a date that is written with an offset the day as written: what
// is stored is the start of that day in the service's zone. A bound in UTC is a point in
// time, whose day in that zone counts; so what is read and sent again stays.
func (r *blockRules) day(bound jsontree.Node) {
	if bound.Kind() != jsontree.String {
		return
	}
	t, ok := jsontree.ParseWrittenTime(bound.Text())
	if !ok {
		return
	}
	if _, offset := t.Zone(); offset != 0 {
		r.Replace(bound, calendar.Start(t, r.zone))
	}
}

func (r *blockRules) choices(list jsontree.Node) {
	if list.Kind() != jsontree.Array {
		return
	}
	if list.Len() > r.limits.Choices {
		r.Add(list, schema.CodeTooMany, "must have at most "+faults.Count(r.limits.Choices, "item"))
	}
	seen := make(map[string]bool, list.Len())
	for _, choice := range list.All() {
		r.text(choice.Member("label"))
		id := choice.Member("id")
		if id.Kind() != jsontree.String {
			continue
		}
		if seen[id.Text()] {
			r.Add(id, schema.CodeDuplicate, "must be unique in its list")
		}
		seen[id.Text()] = true
	}
}
