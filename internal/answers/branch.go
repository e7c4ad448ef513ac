package answers

import (
	"encoding/json"
	"math"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// branch is what properties.rule of a top-level block says, compiled. What the rule
// leaves out, or what cannot be read, is nil or empty.
type branch struct {
	show, require *logic.Logic
	set           []assignment
	next          []jump
}

// assignment gives a variable a new value.
type assignment struct {
	variable int // index in Form.variables
	value    *logic.Logic
}

// jump passes over the steps before another one.
type jump struct {
	when  *logic.Logic // nil: always
	to    int          // index in Form.steps, or toEnd
	place int          // index in the rule's next
}

// toEnd is the target of a jump to the first ending.
const toEnd = -1

// end is the target's name in a rule.
const end = "end"

// ruleSteps is what all rules of a form may cost a response, in steps of a
// logic.Budget. A step takes about 20 ns, at worst 45, so that rules add less than
// 5 ms to any response (BenchmarkWorstRules). A form with 20 rules takes some hundred
// steps.
const ruleSteps = 100_000

// ruleCompiler compiles the rules of a form.
type ruleCompiler struct {
	steps     map[string]int // top-level blocks, by id
	variables map[string]int // those that a rule may set
	at        int            // the step whose rule is read
	to        watch
}

// watch is told what the compiler comes upon in the rule of a step: for warnings.
type watch struct {
	// ignored is called for what has no effect.
	ignored func(step int, n jsontree.Node, code, message string)
	// compiled is called for the logic l that was made of n. after: the logic runs when the
	// answer of its own block is taken.
	compiled func(step int, n jsontree.Node, l *logic.Logic, after bool)
}

// read compiles the rule of the step at. Members that a rule does not have are free; null
// is as good as absent.
func (c *ruleCompiler) read(raw json.RawMessage, at int) *branch {
	tree, err := jsontree.Parse(raw, answerBounds)
	if err != nil {
		return nil // no write stores such a rule
	}
	defer tree.Release()
	c.at = at
	rule := tree.Root()
	b := &branch{
		show:    c.logic(rule.Member("show"), false),
		require: c.logic(rule.Member("require"), false),
		set:     c.assignments(rule.Member("set")),
		next:    c.jumps(rule.Member("next")),
	}
	if b.show == nil && b.require == nil && b.set == nil && b.next == nil {
		return nil
	}
	return b
}

// logic compiles n; nil when it is absent or cannot be read.
func (c *ruleCompiler) logic(n jsontree.Node, after bool) *logic.Logic {
	if n.Kind() == jsontree.Null {
		return nil
	}
	l, err := logic.Compile(n)
	if err != nil {
		c.unreadable(n, err)
		return nil
	}
	if c.to.compiled != nil {
		c.to.compiled(c.at, n, l, after)
	}
	return l
}

func (c *ruleCompiler) assignments(set jsontree.Node) []assignment {
	if set.Kind() != jsontree.Object {
		if set.Kind() != jsontree.Null {
			c.ignore(set, schema.WarnMalformedRule, "set is not an object, so it is ignored")
		}
		return nil
	}
	var list []assignment
	for _, value := range set.All() {
		variable, ok := c.variables[value.Name()]
		if !ok {
			c.ignore(value, schema.WarnUnknownName, "the form has no variable of this name, so setting it has no effect")
			continue
		}
		if l := c.logic(value, true); l != nil {
			list = append(list, assignment{variable, l})
		}
	}
	return list
}

func (c *ruleCompiler) jumps(next jsontree.Node) []jump {
	if next.Kind() != jsontree.Array {
		if next.Kind() != jsontree.Null {
			c.ignore(next, schema.WarnMalformedRule, "next is not an array, so it is ignored")
		}
		return nil
	}
	var list []jump
	for place, item := range next.All() {
		if item.Kind() != jsontree.Object {
			c.ignore(item, schema.WarnMalformedRule, "a jump must be an object with \"to\", so this is ignored")
			continue
		}
		to, ok := c.target(item)
		if !ok {
			continue
		}
		j := jump{to: to, place: place}
		if condition := item.Member("if"); condition.Kind() != jsontree.Null {
			if j.when = c.logic(condition, true); j.when == nil {
				continue
			}
		}
		list = append(list, j)
	}
	return list
}

// target is where a jump leads.
func (c *ruleCompiler) target(item jsontree.Node) (to int, ok bool) {
	name := item.Member("to")
	if name.Kind() != jsontree.String {
		c.ignore(item, schema.WarnMalformedRule, "this jump has no \"to\" that names a block, so it is ignored")
		return 0, false
	}
	if name.Text() == end {
		return toEnd, true
	}
	to, ok = c.steps[name.Text()]
	switch {
	case !ok:
		c.ignore(name, schema.WarnUnknownTarget, "the form has no top-level block of this id, so the jump is ignored")
	case to <= c.at:
		c.ignore(name, schema.WarnBackwardJump, "a jump leads to a later block only, so this one is ignored")
		ok = false
	}
	return to, ok
}

func (c *ruleCompiler) ignore(n jsontree.Node, code, message string) {
	if c.to.ignored != nil {
		c.to.ignored(c.at, n, code, message)
	}
}

func (c *ruleCompiler) unreadable(n jsontree.Node, err error) {
	message := "this logic cannot be read, so it is ignored"
	if unreadable, ok := err.(*logic.UnreadableError); ok { //nolint:errorlint // Compile returns no other
		n = unreadable.At
		message = "there is no operator " + quoted(unreadable.Operator) + ", so the logic is ignored"
	}
	c.ignore(n, schema.WarnUnreadableLogic, message)
}

// variableValue is what a variable may hold: a finite number, or a text that is not
// longer than that of a hidden field.
func variableValue(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return v + 0, !math.IsNaN(v) && !math.IsInf(v, 0) // not the negative zero
	case string:
		return v, !faults.LongerThan(v, maxShortText)
	default:
		return nil, false
	}
}
