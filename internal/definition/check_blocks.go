package definition

import (
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// blockChecker checks the rules for blocks that JSON Schema cannot express. It ignores values of the wrong type,
// because the schemas report them.
type blockChecker struct {
	*validation.Check
	limits      schema.Limits
	zone        *time.Location  // time zone of calendar days
	ids         map[string]bool // IDs of all blocks so far, including nested blocks
	total       int
	cells       int
	cellsBefore int                      // cells of the replaced block
	stored      map[string]jsontree.Node // stored blocks, for the types of blocks without a type
	compiler    logic.Compiler           // limits the patterns of the form's checks

	setElsewhere map[string]bool // variables that other blocks' rules set
	setHere      []jsontree.Node // fields of "set" objects in the checked rules
}

func newBlockChecker(c *validation.Check, w *Validator) *blockChecker {
	return &blockChecker{Check: c, limits: w.limits, zone: w.zone, ids: make(map[string]bool)}
}

func (r *blockChecker) addOthers(blocks []jsontree.Node) {
	r.setElsewhere = namesOf(variablesSetBy(blocks...))
	eachBlock(blocks, func(block jsontree.Node) {
		r.total++
		r.cells += countCells(block, r.blockType(block))
		if id := block.Member("id"); id.Exists() {
			r.ids[id.Text()] = true
		}
		for _, check := range checksOf(block).All() {
			r.compile(check.Member("if")) // only counts its patterns
		}
	})
}

func (r *blockChecker) checkTop(list jsontree.Node) {
	if list.Kind() != jsontree.Array {
		return
	}
	r.checkList(list, 1)
	r.checkCounts(list.Len(), list)
	r.checkFormCells(r.cells, list)
	r.checkVariables()
}

// checkOne checks a top-level block that is added or changed. top is the total number of top-level blocks.
func (r *blockChecker) checkOne(block jsontree.Node, top int) {
	others := r.cells
	r.checkBlock(block, 1)
	r.checkCounts(top, block)
	r.checkFormCells(r.cells-others, block)
	r.checkVariables()
}

// checkVariables checks that no rule sets a variable with the name of a block, because stored answers contain both by
// name.
func (r *blockChecker) checkVariables() {
	for _, variable := range r.setHere {
		if r.ids[variable.Name()] {
			r.Add(variable, schema.CodeDuplicate, "must differ from the IDs of blocks")
		}
	}
}

func variablesSetBy(blocks ...jsontree.Node) (variables []jsontree.Node) {
	for _, block := range blocks {
		if set := block.Member("properties").Member("rule").Member("set"); set.Kind() == jsontree.Object {
			variables = append(variables, childNodes(set)...)
		}
	}
	return variables
}

func (r *blockChecker) checkCounts(top int, at jsontree.Node) {
	if top > r.limits.Blocks {
		r.Add(at, schema.CodeTooMany, "a form can have at most "+violation.FormatCount(r.limits.Blocks, "block")+" at the top level")
	} else if r.total > r.limits.AllBlocks {
		r.Add(at, schema.CodeTooMany, "a form can have at most "+violation.FormatCount(r.limits.AllBlocks, "block")+", including nested blocks")
	}
}

func (r *blockChecker) checkList(list jsontree.Node, level int) {
	if list.Kind() != jsontree.Array {
		return
	}
	if level > r.limits.Nesting && list.Len() > 0 {
		if r.Violations.IsFull() {
			return
		}
		r.Add(list, schema.CodeTooMany, "blocks can be nested at most "+violation.FormatCount(r.limits.Nesting, "level")+" deep")
		r.SkipValue(list)
		return
	}
	for _, block := range list.All() {
		r.checkBlock(block, level)
	}
}

func (r *blockChecker) checkBlock(block jsontree.Node, level int) {
	r.total++
	if block.Kind() != jsontree.Object {
		return
	}
	r.addCells(block)
	r.checkChecks(checksOf(block))
	if level == 1 {
		r.setHere = append(r.setHere, variablesSetBy(block)...)
	}
	for _, member := range block.All() {
		switch member.Name() {
		case "id":
			r.checkID(member)
		case "label", "description":
			r.checkText(member)
		case "properties":
			checkLink(r.Check, member, "buttonLink")
			checkURL(r.Check, member, "embedLink")
			checkURL(r.Check, member, "videoLink")
			checkURL(r.Check, member, "pdfLink")
			r.checkRuleSize(member.Member("rule"))
			r.normalizeDay(member.Member("beforeDate"))
			r.normalizeDay(member.Member("afterDate"))
			for _, date := range member.Member("specificDates").All() {
				r.normalizeDay(date)
			}
		case "choices", "matrix_rows", "matrix_columns":
			r.checkChoices(member)
		case "children":
			r.checkList(member, level+1)
		}
	}
}

func (r *blockChecker) checkID(id jsontree.Node) {
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

func (r *blockChecker) checkText(n jsontree.Node) {
	if n.Kind() == jsontree.String && violation.LongerThan(n.Text(), r.limits.Text) {
		r.Add(n, schema.CodeTooLong, violation.TooLongMessage(r.limits.Text))
	}
}

// checkRuleSize limits the size of a rule, because every submission evaluates it.
func (r *blockChecker) checkRuleSize(rule jsontree.Node) {
	if rule.Exists() && len(rule.Raw()) > r.limits.Rule {
		r.Add(rule, schema.CodeTooLong, "must have at most "+violation.FormatCount(r.limits.Rule, "byte"))
	}
}

// normalizeDay converts a date limit with a UTC offset to the start of that day in the service's time zone. A limit in
// UTC stays unchanged, so that a stored limit can be sent again.
func (r *blockChecker) normalizeDay(bound jsontree.Node) {
	if bound.Kind() != jsontree.String {
		return
	}
	t, ok := jsontree.ParseTimeKeepingOffset(bound.Text())
	if !ok {
		return
	}
	if _, offset := t.Zone(); offset != 0 {
		r.ReplaceTime(bound, calendar.StartOfDay(t, r.zone))
	}
}

func (r *blockChecker) checkChoices(list jsontree.Node) {
	if list.Kind() != jsontree.Array {
		return
	}
	if list.Len() > r.limits.Choices {
		r.Add(list, schema.CodeTooMany, "must have at most "+violation.FormatCount(r.limits.Choices, "item"))
	}
	seen := make(map[string]bool, list.Len())
	for _, choice := range list.All() {
		r.checkText(choice.Member("label"))
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
