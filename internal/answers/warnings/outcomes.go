package warnings

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/path"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

func (w *warner) checkConditions(step int) {
	s := &w.form.Steps[step]
	for block := s.From; block < s.To; block++ {
		w.checkChecks(block)
	}
	compiled := &s.Rule
	tree, err := jsontree.Parse(w.blocks[s.From].Properties.Rule, answertype.ParseLimits)
	if err != nil || compiled.IsEmpty() {
		return
	}
	defer tree.Release()
	rule := tree.Root()
	before, after := place{s.From, false, -1}, place{s.From, true, -1}
	w.checkCondition(rule.Member("show"), compiled.Show, before)
	w.checkCondition(rule.Member("require"), compiled.Require, before)
	for _, j := range compiled.Next {
		for place, item := range rule.Member("next").All() {
			if place == j.Place {
				w.checkCondition(item.Member("if"), j.When, after)
			}
		}
	}
	for _, value := range rule.Member("set").All() {
		w.checkAssignment(value, after)
	}
}

// checkChecks warns of checks that always refuse an answer, or never.
func (w *warner) checkChecks(block int) {
	b := &w.form.Blocks[block]
	if len(b.Checks) == 0 {
		return
	}
	tree, err := jsontree.Parse(w.blocks[block].Properties.Rule, answertype.ParseLimits)
	if err != nil {
		return
	}
	defer tree.Release()
	for index, item := range tree.Root().Member("check").All() {
		i := slices.IndexFunc(b.Checks, func(c compile.Check) bool { return c.Index == index })
		if i < 0 {
			continue
		}
		if name := b.Checks[i].Host; name != "" {
			if !hasName(w.hostChecks, name) {
				w.addPending(block, item.Member("host").Pointer(w.rulePath(block)), schema.WarnUnknownName, answertype.Explanation{Reason: "host_check", Message: "the check " + answertype.QuoteJSON(name) + " does not exist, so no answer can be checked and accepted", Params: map[string]any{"name": name}})
			}
			continue
		}
		condition, l := item.Member("if"), b.Checks[i].If
		w.checkCondition(condition, l, place{block, true, block})
		switch holds, constant := w.constantValue(l); {
		case !constant || !l.IsConstant():
		case holds:
			w.addPending(block, condition.Pointer(w.rulePath(block)), schema.WarnAlwaysHolds, alwaysTrue)
		default:
			w.addPending(block, condition.Pointer(w.rulePath(block)), schema.WarnNeverHolds, neverTrue)
		}
	}
}

var (
	alwaysTrue = answertype.Explanation{Message: "this condition is always true"}
	neverTrue  = answertype.Explanation{Message: "this condition is never true"}
)

// checkAssignment checks the conditions of "if" expressions in the value assigned to a variable.
func (w *warner) checkAssignment(n jsontree.Node, at place) {
	name, operands := parseOperation(n)
	for i, operand := range operands {
		if (name == "if" || name == "?:") && i%2 == 0 && i < len(operands)-1 {
			if l, err := w.compiler.Compile(operand); err == nil {
				w.checkCondition(operand, l, at)
			}
		}
		w.checkAssignment(operand, at)
	}
}

// query determines whether a condition can hold and whether it can fail.
type query struct {
	*warner
	firstUnknown int                       // first block whose answer is unknown
	answered     int                       // block that always has an answer, or -1
	known        map[jsontree.Node][2]bool // cached outcomes
	found        *conditionResult
}

// warnConstant adds warnings if a condition, or part of it, always holds or always fails.
func (q query) warnConstant(n jsontree.Node) {
	can, fail := q.outcomes(n)
	warn := func(code string, why answertype.Explanation) {
		q.found.findings = append(q.found.findings, finding{n.Pointer(""), code, why})
	}
	switch {
	case !can:
		warn(schema.WarnNeverHolds, q.explain(n))
	case !fail:
		warn(schema.WarnAlwaysHolds, alwaysTrue)
	case joinsConditions(n):
		_, operands := parseOperation(n)
		for _, operand := range operands {
			q.warnConstant(operand)
		}
	}
}

// parseOperation returns the operator and operands of n, or "" if n is a value.
func parseOperation(n jsontree.Node) (name string, operands []jsontree.Node) {
	if n.Kind() != jsontree.Object || n.Len() != 1 {
		return "", nil
	}
	arg := n.First()
	if arg.Kind() != jsontree.Array {
		return arg.Name(), []jsontree.Node{arg}
	}
	for _, operand := range arg.All() {
		operands = append(operands, operand)
	}
	return arg.Name(), operands
}

func joinsConditions(n jsontree.Node) bool {
	name, operands := parseOperation(n)
	return (name == "and" || name == "or") && len(operands) > 1
}

// outcomes reports whether a condition can hold and whether it can fail. Operands that read the same answers are
// evaluated together. Other operands are treated as independent.
func (q query) outcomes(n jsontree.Node) (can, fail bool) {
	if known, ok := q.known[n]; ok {
		return known[0], known[1]
	}
	defer func() { q.known[n] = [2]bool{can, fail} }()
	if !joinsConditions(n) {
		return q.tryAnswers([]jsontree.Node{n}, true)
	}
	name, operands := parseOperation(n)
	all := name == "and"
	can, fail = all, !all
	for _, group := range q.groupByReads(operands) {
		var may, mayNot bool
		if len(group) == 1 {
			may, mayNot = q.outcomes(group[0])
		} else {
			may, mayNot = q.tryAnswers(group, all)
		}
		if all {
			can, fail = can && may, fail || mayNot
		} else {
			can, fail = can || may, fail && mayNot
		}
	}
	return can, fail
}

func (q query) groupByReads(conditions []jsontree.Node) (groups [][]jsontree.Node) {
	var reads []map[string]bool
	for _, n := range conditions {
		group, read := []jsontree.Node{n}, make(map[string]bool)
		for name := range q.usageOf(n).subjects {
			read[name] = true
		}
		for i := len(groups) - 1; i >= 0; i-- {
			shared := false
			for name := range read {
				shared = shared || reads[i][name]
			}
			if shared {
				group = append(slices.Clone(groups[i]), group...)
				maps.Copy(read, reads[i])
				groups, reads = slices.Delete(groups, i, i+1), slices.Delete(reads, i, i+1)
			}
		}
		groups, reads = append(groups, group), append(reads, read)
	}
	return groups
}

// usage describes what conditions read and compare.
type usage struct {
	answertype.ComparedValues
	compiled []*logic.Logic
	subjects map[string]*subject // by the start of the subject's path
	// needsAllAnswers means that the candidates must cover all answers, because the conditions do more than compare
	// one answer with values. readsUnknown means that the conditions read unknown answers.
	needsAllAnswers, readsUnknown bool
}

// subject is an answer, hidden field or variable that conditions read.
type subject struct {
	kind, name string
	block      int // index in Form.Blocks
	parts      []string
}

func (q query) usageOf(conditions ...jsontree.Node) usage {
	u := usage{subjects: make(map[string]*subject)}
	for _, n := range conditions {
		l, err := q.compiler.Compile(n)
		if err != nil {
			u.readsUnknown = true
			continue
		}
		u.compiled = append(u.compiled, l)
		paths, any := l.ReadPaths()
		u.readsUnknown = u.readsUnknown || any
		for _, path := range paths {
			q.addRead(&u, path)
		}
		u.addValues(n)
	}
	return u
}

func (q query) addRead(u *usage, path string) {
	kind, rest, _ := strings.Cut(path, ".")
	s := subject{kind: kind}
	var ok bool
	switch kind {
	case "answers":
		s.block, s.name, ok = lookupName(q.form.Index, rest)
		ok = ok && s.block < q.firstUnknown && q.form.Blocks[s.block].Rule != nil
	case "hidden":
		_, s.name, ok = lookupName(q.form.HiddenNames, rest)
	case "variables":
		s.block, s.name, ok = lookupName(q.form.VariableIndex, rest)
	}
	if !ok {
		u.readsUnknown = true
		return
	}
	key := kind + "." + s.name
	if u.subjects[key] == nil {
		u.subjects[key] = &s
	}
	part := strings.TrimPrefix(strings.TrimPrefix(rest, s.name), ".")
	if part != "" {
		u.subjects[key].parts = append(u.subjects[key].parts, part)
	}
}

func (u *usage) addValues(n jsontree.Node) {
	switch n.Kind() {
	case jsontree.String:
		u.Texts = append(u.Texts, n.Text())
		if f, err := strconv.ParseFloat(n.Text(), 64); err == nil {
			u.Numbers = append(u.Numbers, f)
		}
	case jsontree.Number:
		u.Numbers = append(u.Numbers, n.Float())
	case jsontree.Bool:
		u.Texts = append(u.Texts, logic.FormatValue(n.Value()))
	case jsontree.Array:
		if list, ok := n.Value().([]any); ok {
			u.Lists, u.Texts = append(u.Lists, list), append(u.Texts, logic.FormatValue(list))
		}
		for _, item := range n.All() {
			u.addValues(item)
		}
	case jsontree.Object:
		u.addOperation(n)
	}
}

func (u *usage) addOperation(n jsontree.Node) {
	name, operands := parseOperation(n)
	read, text, length := 0, false, false
	for _, operand := range operands {
		length = length || strings.HasSuffix(operand.Member("var").Text(), ".length")
		if operand.Kind() == jsontree.Object {
			read++
		}
		text = text || operand.Kind() == jsontree.String
	}
	switch name {
	case "var":
		operands = operands[min(1, len(operands)):] // skip the variable's name, but keep the default value
	case "and", "or", "!", "!!", "if", "?:":
	case "match":
		operands, u.needsAllAnswers = operands[:1], true
	case "today":
		u.readsUnknown = true
	case "==", "===", "!=", "!==":
		u.needsAllAnswers = u.needsAllAnswers || read > 1
	case "<", "<=", ">", ">=":
		u.Ordered, u.OrderedText, u.needsAllAnswers = u.Ordered || !length, u.OrderedText || text, u.needsAllAnswers || read > 1
	case "in":
		if len(operands) > 1 && operands[1].Kind() != jsontree.Array {
			if piece := logic.FormatValue(operands[0].Value()); piece != "" && operands[0].Kind() != jsontree.Null {
				u.Substrings = append(u.Substrings, piece)
			}
		}
		u.needsAllAnswers = u.needsAllAnswers || read > 1
	default:
		u.needsAllAnswers = true
	}
	for _, operand := range operands {
		u.addValues(operand)
	}
}

const maxTries = 2000

// tryAnswers evaluates conditions with candidate answers. If all is true, it joins the conditions with "and", otherwise
// with "or".
func (q query) tryAnswers(conditions []jsontree.Node, all bool) (can, fail bool) {
	u := q.usageOf(conditions...)
	left := min(compile.MaxRuleSteps, constantSteps-q.constantStepsUsed)
	if u.readsUnknown || left < 0 {
		return true, true
	}
	budget := logic.NewBudget(left)
	data := map[string]any{"answers": map[string]any{}, "hidden": map[string]any{}, "variables": map[string]any{}}
	var lists []*candidates
	coverage := answertype.CoversAll
	for _, key := range slices.Sorted(maps.Keys(u.subjects)) {
		s := u.subjects[key]
		a := q.candidatesFor(s, u.ComparedValues)
		a.budget = &budget
		a.target = data[s.kind].(map[string]any) //nolint:forcetypeassert // data contains only maps
		lists, coverage = append(lists, a), min(coverage, a.coverage)
	}
	tries := 0
	var with func(i int) (done bool)
	with = func(i int) bool {
		if i < len(lists) {
			return lists[i].tryEach(func() bool { return with(i + 1) })
		}
		tries++
		holds := func(l *logic.Logic) bool { return l.Holds(data, &budget) }
		if decided := slices.ContainsFunc(u.compiled, func(l *logic.Logic) bool { return holds(l) != all }); decided != all {
			can = true
		} else {
			fail = true
		}
		return can && fail || tries > maxTries || budget.Exceeded()
	}
	with(0)
	q.constantStepsUsed += left - budget.Left()
	if tries > maxTries || budget.Exceeded() || coverage == answertype.CoversNothing || u.needsAllAnswers && coverage != answertype.CoversAll {
		return true, true
	}
	return can, fail
}

type candidates struct {
	name      string
	target    map[string]any
	alwaysSet bool // the value is never missing
	coverage  answertype.Coverage
	unchecked []any // candidates that check has not yet accepted or rejected
	checked   []any
	check     func(any, *logic.Budget) (any, bool)
	budget    *logic.Budget
}

// tryEach calls the function try for each valid value, and first without a value if it can be missing, until try returns
// true.
func (a *candidates) tryEach(try func() bool) (done bool) {
	delete(a.target, a.name)
	if !a.alwaysSet && try() {
		return true
	}
	for i := 0; i < len(a.checked) || len(a.unchecked) > 0; {
		if i == len(a.checked) {
			value, ok := a.check(a.unchecked[0], a.budget)
			a.unchecked = a.unchecked[1:]
			if !ok {
				continue
			}
			a.checked = append(a.checked, value)
		}
		a.target[a.name] = a.checked[i]
		if i++; try() {
			return true
		}
	}
	return false
}

// checkSteps is the cost of checking an answer, in logic.Budget steps.
const checkSteps = 50

func (q query) candidatesFor(s *subject, c answertype.ComparedValues) *candidates {
	a := &candidates{name: s.name, coverage: answertype.CoversAll, check: func(v any, _ *logic.Budget) (any, bool) { return v, true }}
	c.Parts = s.parts
	switch s.kind {
	case "answers":
		a.alwaysSet = s.block == q.answered
		if all := q.answersByBlock[s.block]; all != nil && len(s.parts) == 0 && !a.alwaysSet {
			return all
		}
		b := &q.form.Blocks[s.block]
		required := q.isRequired(s.block)
		a.unchecked, a.coverage = answertype.Candidates(b.Rule, c)
		a.check = func(v any, budget *logic.Budget) (any, bool) {
			budget.Spend(checkSteps)
			return path.RuleValue(b, []byte(answertype.EncodeJSON(v)), required, budget)
		}
		if a.coverage == answertype.CoversAll && len(s.parts) == 0 && !a.alwaysSet {
			q.answersByBlock[s.block] = a
		}
	case "hidden":
		a.unchecked, a.coverage = answertype.HiddenCandidates(c)
	case "variables":
		a.unchecked, a.alwaysSet = []any{q.form.Variables[s.block].Initial}, true
		if q.firstSet[s.block] > 0 {
			values, coverage := answertype.VariableCandidates(c)
			a.unchecked, a.coverage = append(a.unchecked, values...), coverage
		}
	}
	if s.kind != "answers" && len(s.parts) > 0 {
		a.coverage = answertype.CoversNothing
	}
	return a
}

func (q query) explain(n jsontree.Node) answertype.Explanation {
	if joinsConditions(n) {
		_, operands := parseOperation(n)
		for _, operand := range operands {
			if can, _ := q.outcomes(operand); !can {
				return q.explain(operand)
			}
		}
		return answertype.Explanation{Reason: "together", Message: "this condition is never true: no answers meet all its parts"}
	}
	u := q.usageOf(n)
	for _, key := range slices.Sorted(maps.Keys(u.subjects)) {
		s := u.subjects[key]
		if s.kind != "answers" {
			return answertype.Explanation{Reason: "value", Message: "this condition is never true: " + answertype.QuoteJSON(s.name) + " never has this value", Params: map[string]any{"label": s.name}}
		}
		name, params := q.blockName(s.block)
		labels := answertype.ChoiceLabels(q.form.Blocks[s.block].Rule)
		for _, text := range u.Texts {
			if _, ok := labels[text]; ok || labels == nil {
				continue
			}
			params["choice"] = text
			for id, label := range labels {
				if label == text && text != "" {
					return answertype.Explanation{Reason: "label", Message: "the answer to " + name + " is compared with " + answertype.QuoteJSON(text) + ", which is the label of the choice with the ID " + answertype.QuoteJSON(id), Params: params}
				}
			}
			return answertype.Explanation{Reason: "choice", Message: "this condition is never true: " + name + " does not have the choice " + answertype.QuoteJSON(text), Params: params}
		}
		return answertype.Explanation{Reason: "value", Message: "this condition is never true: " + name + " never has this answer", Params: params}
	}
	return neverTrue
}

// blockName returns a block's quoted label or ID, and its parameters for an Explanation.
func (w *warner) blockName(block int) (string, map[string]any) {
	b := w.blocks[block]
	label := b.PlainLabel()
	return answertype.QuoteJSON(cmp.Or(label, b.ID)), map[string]any{"block": b.ID, "label": label}
}
