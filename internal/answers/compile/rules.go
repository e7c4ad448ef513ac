package compile

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// StepRule is the compiled properties.rule of a top-level block. Missing and invalid parts are empty.
type StepRule struct {
	Show, Require *logic.Logic
	Set           []Assignment
	Next          []Jump
}

// Check refuses the answer to a block.
type Check struct {
	Host    string // the name of the host's check; if set, If, Say and Message are empty
	If      *logic.Logic
	Say     string // the message as written, with marks
	Message string // the message without formats
	Index   int    // in the rule's check
}

// Assignment sets a variable.
type Assignment struct {
	Variable int // index in Form.Variables
	Value    *logic.Logic
}

// Jump skips the steps before its target.
type Jump struct {
	When  *logic.Logic // nil means always
	To    int          // index in Form.Steps, or ToEnd
	Place int          // index in the rule's "next" list, counting ignored jumps
}

// ToEnd is the value of Jump.To for a jump to the first ending.
const ToEnd = -1

const targetEnd = "end"

// MaxRuleSteps limits the steps that all rules together can take for one submission. A step takes about 20 ns and at
// most 45 ns, so rules add less than 5 ms to a submission (BenchmarkWorstRules). A form with 20 rules needs a few
// hundred steps.
const MaxRuleSteps = 100_000

type ruleCompiler struct {
	form     *Form
	step     int // index in Form.Steps of the current rule
	block    int // index in Form.Blocks of the current rule's block
	observer Observer
	// The patterns of checks count separately, because writes limit only them.
	patterns, checkPatterns logic.Compiler
}

// Observer receives information about the rules for warnings.
type Observer struct {
	// Ignored is called for each part of a rule that has no effect.
	Ignored func(block int, n jsontree.Node, code string, why answertype.Explanation)
	// Compiled is called for each compiled logic l and its source n. If after is true, l runs after its block's answer
	// is read.
	Compiled func(block int, n jsontree.Node, l *logic.Logic, after bool)
}

// compileRule compiles the rule of a step. Unknown fields are ignored, and null is treated as missing.
func (c *ruleCompiler) compileRule(raw json.RawMessage) StepRule {
	return jsontree.Inspect(raw, answertype.ParseLimits, func(rule jsontree.Node) StepRule {
		return StepRule{
			Show:    c.compileLogic(&c.patterns, rule.Member("show"), false),
			Require: c.compileLogic(&c.patterns, rule.Member("require"), false),
			Set:     c.compileAssignments(rule.Member("set")),
			Next:    c.compileJumps(rule.Member("next")),
		}
	})
}

// IsEmpty reports whether the rule has no valid part.
func (b *StepRule) IsEmpty() bool {
	return b.Show == nil && b.Require == nil && b.Set == nil && b.Next == nil
}

func (c *ruleCompiler) compileLogic(patterns *logic.Compiler, n jsontree.Node, after bool) *logic.Logic {
	if n.Kind() == jsontree.Null {
		return nil
	}
	l, err := patterns.Compile(n)
	if err != nil {
		why := answertype.Explanation{Reason: "logic", Message: "this logic is invalid and is ignored"}
		if unreadable, ok := err.(*logic.UnreadableError); ok { //nolint:errorlint // Compile returns no wrapped errors
			part := unreadable.Parts[0]
			n, why.Reason = part.At, part.Reason
			why.Message = "this logic is ignored: its pattern " + part.Rule
			if part.Reason == "operator" {
				why.Params = map[string]any{"operator": part.Operator}
				why.Message = "the operator " + answertype.QuoteJSON(part.Operator) + " does not exist, so the logic is ignored"
			}
		}
		c.reportIgnored(n, schema.WarnUnreadableLogic, why)
		return nil
	}
	if c.observer.Compiled != nil {
		c.observer.Compiled(c.block, n, l, after)
	}
	return l
}

// hasKind reports whether a part of a rule has the JSON type. It reports a part of another type, unless it is missing.
func (c *ruleCompiler) hasKind(n jsontree.Node, kind jsontree.Kind, name, described string) bool {
	if n.Kind() != kind && n.Kind() != jsontree.Null {
		c.reportIgnored(n, schema.WarnMalformedRule, answertype.Explanation{Reason: name, Message: answertype.QuoteJSON(name) + " is not " + described + ", so it is ignored"})
	}
	return n.Kind() == kind
}

// compileChecks compiles the checks of the current block. Writes reject the invalid checks that this ignores.
func (c *ruleCompiler) compileChecks(list jsontree.Node) []Check {
	if !c.hasKind(list, jsontree.Array, "check", "an array") {
		return nil
	}
	var checks []Check
	for index, item := range list.All() {
		if host := item.Member("host").Text(); host != "" {
			checks = append(checks, Check{Host: strings.Clone(host), Index: index})
			continue
		}
		condition, say := item.Member("if"), item.Member("say")
		if condition.Kind() == jsontree.Null || say.Text() == "" {
			c.reportIgnored(item, schema.WarnMalformedRule, answertype.Explanation{Reason: "check", Message: "this check is not an object with \"if\" and \"say\" or with \"host\", so it is ignored"})
			continue
		}
		if l := c.compileLogic(&c.checkPatterns, condition, true); l != nil {
			text := strings.Clone(say.Text())
			checks = append(checks, Check{If: l, Say: text, Message: schema.ParseText(text, schema.Formatting|schema.Insertions).Plain(), Index: index})
		}
	}
	return checks
}

func (c *ruleCompiler) compileAssignments(set jsontree.Node) []Assignment {
	if !c.hasKind(set, jsontree.Object, "set", "an object") {
		return nil
	}
	var list []Assignment
	for _, value := range set.All() {
		// Answers are stored by name, so a variable cannot have the name of a block or hidden field. The API rejects
		// such variables in new definitions.
		variable, ok := c.form.VariableIndex[value.Name()]
		if _, block := c.form.Index[value.Name()]; !ok || block || c.form.HiddenNames[value.Name()] {
			c.reportIgnored(value, schema.WarnUnknownName, answertype.Explanation{Reason: "set", Message: "the form has no variable with this name, so this has no effect", Params: map[string]any{"name": value.Name()}})
			continue
		}
		if l := c.compileLogic(&c.patterns, value, true); l != nil {
			list = append(list, Assignment{variable, l})
		}
	}
	return list
}

func (c *ruleCompiler) compileJumps(next jsontree.Node) []Jump {
	if !c.hasKind(next, jsontree.Array, "next", "an array") {
		return nil
	}
	var list []Jump
	for place, item := range next.All() {
		if item.Kind() != jsontree.Object {
			c.reportIgnored(item, schema.WarnMalformedRule, answertype.Explanation{Reason: "jump", Message: "this jump is not an object with \"to\", so it is ignored"})
			continue
		}
		to, ok := c.resolveTarget(item)
		if !ok {
			continue
		}
		j := Jump{To: to, Place: place}
		if condition := item.Member("if"); condition.Kind() != jsontree.Null {
			if j.When = c.compileLogic(&c.patterns, condition, true); j.When == nil {
				continue
			}
		}
		list = append(list, j)
	}
	return list
}

func (c *ruleCompiler) resolveTarget(item jsontree.Node) (to int, ok bool) {
	name := item.Member("to")
	if name.Kind() != jsontree.String {
		c.reportIgnored(item, schema.WarnMalformedRule, answertype.Explanation{Reason: "jump", Message: "the \"to\" of this jump is not a block ID, so the jump is ignored"})
		return 0, false
	}
	if name.Text() == targetEnd {
		return ToEnd, true
	}
	block, ok := c.form.Index[name.Text()]
	if ok {
		to, ok = slices.BinarySearchFunc(c.form.Steps, block, func(s Step, from int) int { return cmp.Compare(s.From, from) })
	}
	switch {
	case !ok:
		c.reportIgnored(name, schema.WarnUnknownTarget, answertype.Explanation{Message: "the form has no top-level block with this ID, so this is ignored", Params: map[string]any{"block": name.Text()}})
	case to <= c.step:
		c.reportIgnored(name, schema.WarnBackwardJump, answertype.Explanation{Message: "logic can only go to a later block, so this is ignored"})
		ok = false
	}
	return to, ok
}

func (c *ruleCompiler) reportIgnored(n jsontree.Node, code string, why answertype.Explanation) {
	if c.observer.Ignored != nil {
		c.observer.Ignored(c.block, n, code, why)
	}
}

// NormalizeVariable checks that v is a finite number or a string within the limit for variables.
func NormalizeVariable(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return v + 0, !math.IsNaN(v) && !math.IsInf(v, 0) // + 0 converts -0 to 0
	case string:
		return v, !violation.LongerThan(v, answertype.MaxShortText)
	default:
		return nil, false
	}
}
