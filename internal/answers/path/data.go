package path

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// A ruleData is the object that rules read. Its fields "answers", "hidden" and "variables" are the other types. A value
// is computed when a rule reads it, and the cost counts toward the rules' budget. Each type implements [logic.Object].
type (
	ruleData     struct{ *walk }
	answerData   struct{ *walk }
	hiddenData   struct{ *walk }
	variableData struct{ *walk }
)

func (d ruleData) Member(name string) (any, bool) {
	switch name {
	case "answers":
		return answerData(d), true
	case "hidden":
		return hiddenData(d), true
	case "variables":
		return variableData(d), true
	default:
		return nil, false
	}
}

func (d ruleData) Members() map[string]any {
	return map[string]any{"answers": answerData(d), "hidden": hiddenData(d), "variables": variableData(d)}
}

func (d answerData) Member(id string) (any, bool) {
	at, ok := d.form.Index[id]
	if !ok || d.answerRanges[at] == [2]int{} {
		return nil, false
	}
	if d.ruleValues == nil {
		d.ruleValues = make([]any, len(d.answerRanges))
	}
	if d.ruleValues[at] == nil {
		stored := d.w.StoredValue(d.answerRanges[at])
		d.ruleValues[at] = StoredRuleValue(d.form.Blocks[at].Shape, stored, &d.budget)
	}
	return d.ruleValues[at], true
}

func (d answerData) Members() map[string]any {
	return d.collectMembers(d, len(d.answerRanges), func(i int) string { return d.form.Blocks[i].ID })
}

func (d hiddenData) Member(name string) (any, bool) {
	text := d.in.Hidden[name]
	if text == "" || !d.form.HiddenNames[name] {
		return nil, false
	}
	d.budget.SpendText(len(text))
	if d.budget.Exceeded() || answertype.CheckHiddenText(text).IsSet() {
		return nil, false
	}
	return text, true
}

func (d hiddenData) Members() map[string]any {
	return d.collectMembers(d, len(d.form.Hidden), func(i int) string { return d.form.Hidden[i].Name })
}

// collectMembers returns the fields of an object. It stops when the budget is exceeded.
func (k *walk) collectMembers(object logic.Object, count int, name func(i int) string) map[string]any {
	all := make(map[string]any)
	for i := 0; i < count && !k.budget.Exceeded(); i++ {
		k.budget.Spend(1)
		if v, ok := object.Member(name(i)); ok {
			all[name(i)] = v
		}
	}
	return all
}

func (d variableData) Member(name string) (any, bool) {
	if v, ok := d.setVariables[name]; ok {
		return v, true
	}
	at, ok := d.form.VariableIndex[name]
	if !ok {
		return nil, false
	}
	return d.form.Variables[at].Initial, true
}

func (d variableData) Members() map[string]any {
	d.budget.Spend(len(d.form.Variables))
	if d.budget.Exceeded() {
		return nil
	}
	return d.allVariables()
}

func (k *walk) allVariables() map[string]any {
	all := make(map[string]any, len(k.form.Variables))
	for i := range k.form.Variables {
		all[k.form.Variables[i].Name] = k.form.Variables[i].Initial
	}
	maps.Copy(all, k.setVariables)
	return all
}

// assignVariables assigns variables. It computes all values first, because the order of fields in an object must not
// matter.
func (k *walk) assignVariables(list []compile.Assignment) {
	var few [4]any
	values := few[:0]
	for i := range list {
		values = append(values, list[i].Value.Eval(ruleData{k}, &k.budget))
	}
	if k.budget.Exceeded() {
		return
	}
	for i := range list {
		v, ok := compile.NormalizeVariable(values[i])
		if !ok {
			continue
		}
		if k.setVariables == nil {
			k.setVariables = make(map[string]any)
		}
		k.setVariables[k.form.Variables[list[i].Variable].Name] = v
	}
}

// RuleValue returns the value that rules see for an answer. It returns false if the block rejects the answer.
func RuleValue(b *compile.Block, raw json.RawMessage, required bool, budget *logic.Budget) (any, bool) {
	tree, err := jsontree.Parse(raw, answertype.ParseLimits)
	if err != nil {
		return nil, false
	}
	defer tree.Release()
	var w jsontree.Writer
	r := answertype.Report{Limit: math.MaxInt}
	r.BeginAnswer(b.ID, b.Path, required)
	if answertype.IsBlank(tree.Root()) || tree.Root().HasNUL() {
		return nil, false
	}
	if b.Rule.Check(&w, tree.Root(), &r); r.HasViolations() || w.Len() == 0 {
		return nil, false
	}
	return StoredRuleValue(b.Shape, w.Bytes(), budget), true
}

// StoredRuleValue converts a stored answer for rules, and charges the cost to budget. A choice becomes its ID, or an
// object with the other text. A matrix becomes an object with such a value for each row. Times are converted to UTC.
func StoredRuleValue(s schema.AnswerShape, stored []byte, budget *logic.Budget) any {
	// Parsing 8 bytes takes about as long as one step.
	if budget.Spend(1 + len(stored)/8); budget.Exceeded() {
		return nil
	}
	if s != schema.ShapeDate || len(stored) == len(`"2006-01-02"`) { // only times need a conversion to UTC
		if v, ok := decodePlain(stored); ok {
			return v
		}
	}
	tree, err := jsontree.Parse(stored, answertype.ParseLimits)
	if err != nil {
		return nil // unreachable, because stored answers are valid JSON
	}
	defer tree.Release()
	n := tree.Root()
	switch s {
	case schema.ShapeChoice, schema.ShapeChoices, schema.ShapeRanking:
		return choiceIDs(n)
	case schema.ShapeMatrix:
		rows := make(map[string]any, n.Len())
		for _, row := range n.All() {
			rows[row.Name()] = choiceIDs(row)
		}
		return rows
	case schema.ShapeDate:
		if t, err := time.Parse(time.RFC3339, n.Text()); err == nil {
			return jsontree.FormatTime(t.UTC())
		}
	}
	return n.Value()
}

// decodePlain decodes stored numbers, booleans and strings without escapes, which do not need a parser.
func decodePlain(stored []byte) (any, bool) {
	switch stored[0] {
	case '"':
		return string(stored[1 : len(stored)-1]), bytes.IndexByte(stored, '\\') < 0
	case 't', 'f':
		return stored[0] == 't', true
	case '{', '[':
		return nil, false
	default:
		f, err := strconv.ParseFloat(string(stored), 64)
		return f, err == nil
	}
}

func choiceIDs(n jsontree.Node) any {
	if n.Kind() == jsontree.Array {
		list := make([]any, 0, n.Len())
		for _, item := range n.All() {
			list = append(list, choiceIDs(item))
		}
		return list
	}
	if id := n.Member("id"); id.Exists() {
		return id.Text()
	}
	return n.Value()
}
