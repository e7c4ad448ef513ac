package logic

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Budget is a number of steps that evaluations can share. It must not be copied while in use.
type Budget struct {
	// Now is the time for the operator today, in the time zone that decides the day. If it is zero, today is null.
	Now  time.Time
	left int
}

// NewBudget returns a budget of the given number of steps.
func NewBudget(steps int) Budget { return Budget{left: steps} }

// Spend takes steps for work outside an evaluation, such as creating a value.
func (b *Budget) Spend(steps int) { b.left -= steps }

// SpendText takes steps for processing a text of the given length in bytes.
func (b *Budget) SpendText(bytes int) { b.left -= 1 + bytes/bytesPerStep }

// Left returns the remaining steps. It is negative if the budget is exceeded.
func (b *Budget) Left() int { return b.left }

// Exceeded reports whether the budget is exceeded. If so, results are undefined.
func (b *Budget) Exceeded() bool { return b.left < 0 }

const bytesPerStep = 16

// Eval evaluates the logic with data. The result is undefined if the budget is exceeded.
func (l *Logic) Eval(data any, b *Budget) any {
	return evaluation{b}.eval(&l.root, data)
}

// Holds evaluates the logic and reports whether the result is truthy.
func (l *Logic) Holds(data any, b *Budget) bool { return isTruthy(l.Eval(data, b)) }

type evaluation struct{ *Budget }

// spendText takes the steps for a text. It always returns true, so that it can be used in conditions.
func (e evaluation) spendText(bytes int) bool {
	e.left -= bytes / bytesPerStep
	return true
}

func (e evaluation) formatValue(v any) string {
	e.spendSize(v)
	if e.Exceeded() {
		return ""
	}
	return formatValue(v)
}

func (e evaluation) spendSize(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			e.Spend(3)
			if e.spendSize(item); e.Exceeded() {
				return
			}
		}
	case string:
		e.spendText(len(v))
	case float64:
		e.Spend(4) // formatting the shortest digits costs a few operations
	}
}

func (e evaluation) eval(n *node, data any) any {
	if e.Spend(1); e.Exceeded() {
		return nil
	}
	if n.isLiteral() {
		return n.value
	}
	return n.operate(e, n, data)
}

type operator func(e evaluation, n *node, data any) any

var operators = map[string]operator{
	"if": evaluation.branch, "?:": evaluation.branch,
	"and": newShortCircuit(false), "or": newShortCircuit(true),
	"!":  func(e evaluation, n *node, data any) any { return !isTruthy(e.evalArg(n, 0, data)) },
	"!!": func(e evaluation, n *node, data any) any { return isTruthy(e.evalArg(n, 0, data)) },

	"==": newComparison(evaluation.looseEqual, true), "!=": newComparison(evaluation.looseEqual, false),
	"===": newComparison(evaluation.strictEqual, true), "!==": newComparison(evaluation.strictEqual, false),
	"<":  newOrdering(func(order int) bool { return order < 0 }, true),
	"<=": newOrdering(func(order int) bool { return order <= 0 }, true),
	">":  newOrdering(func(order int) bool { return order > 0 }, false),
	">=": newOrdering(func(order int) bool { return order >= 0 }, false),

	"min": newExtreme(math.Inf(1), func(a, b float64) bool { return a < b }),
	"max": newExtreme(math.Inf(-1), func(a, b float64) bool { return a > b }),
	"+":   evaluation.sum, "*": evaluation.product, "-": evaluation.subtract,
	"/": newArithmetic(func(a, b float64) float64 { return a / b }), "%": newArithmetic(math.Mod),

	"round": evaluation.round, "match": evaluation.match, "length": evaluation.length,
	"today": evaluation.today, "days": evaluation.days,

	"cat": evaluation.cat, "substr": evaluation.substr, "in": newComparison(evaluation.isIn, true), "merge": evaluation.merge,
	"var": evaluation.variable, "missing": evaluation.missing, "missing_some": evaluation.missingSome,
	"some": newQuantifier(true, true, false), "all": newQuantifier(false, false, false), "none": newQuantifier(true, false, true),
}

func (e evaluation) evalArg(n *node, i int, data any) any {
	if i >= len(n.args) {
		return nil
	}
	return e.eval(&n.args[i], data)
}

func (e evaluation) evalArgs(n *node, data any) []any {
	list := make([]any, 0, min(len(n.args), max(0, e.left)))
	for i := range n.args {
		if e.Exceeded() {
			return nil
		}
		list = append(list, e.eval(&n.args[i], data))
	}
	return list
}

func (e evaluation) list(n *node, data any) any { return e.evalArgs(n, data) }

func (e evaluation) constantMember(n *node, data any) any {
	v, _ := e.lookupPath(data, n.value.(string))
	return v
}

// newShortCircuit implements "and" and "or". The operator returns the first argument whose truth equals holds, or the
// last argument.
func newShortCircuit(holds bool) operator {
	return func(e evaluation, n *node, data any) (last any) {
		for i := range n.args {
			if last = e.eval(&n.args[i], data); isTruthy(last) == holds {
				break
			}
		}
		return last
	}
}

// newComparison compares two arguments. If holds is false, it negates the result.
func newComparison(relation func(e evaluation, a, b any) bool, holds bool) operator {
	return func(e evaluation, n *node, data any) any {
		return relation(e, e.evalArg(n, 0, data), e.evalArg(n, 1, data)) == holds
	}
}

func (e evaluation) branch(n *node, data any) any {
	i := 0
	for ; i+1 < len(n.args); i += 2 {
		if isTruthy(e.eval(&n.args[i], data)) {
			return e.eval(&n.args[i+1], data)
		}
	}
	return e.evalArg(n, i, data)
}

// newOrdering implements <, <=, > and >=. If between is true, it accepts a third argument.
func newOrdering(holds func(order int) bool, between bool) operator {
	return func(e evaluation, n *node, data any) any {
		inOrder := func(a, b any) bool {
			order, ordered := e.compare(a, b)
			return ordered && holds(order)
		}
		b := e.evalArg(n, 1, data)
		if !inOrder(e.evalArg(n, 0, data), b) {
			return false
		}
		return !between || len(n.args) < 3 || inOrder(b, e.evalArg(n, 2, data))
	}
}

func (e evaluation) sum(n *node, data any) any {
	sum := 0.0
	for i := range n.args {
		sum += e.toLeadingNumber(e.eval(&n.args[i], data))
	}
	return sum
}

func (e evaluation) product(n *node, data any) any {
	if len(n.args) < 2 {
		only := e.evalArg(n, 0, data)
		if only == nil && len(n.args) == 1 {
			return 0.0
		}
		return only
	}
	product := 1.0
	for i := range n.args {
		product *= e.toLeadingNumber(e.eval(&n.args[i], data))
	}
	return product
}

func newArithmetic(of func(a, b float64) float64) operator {
	return func(e evaluation, n *node, data any) any {
		if len(n.args) < 2 {
			return math.NaN()
		}
		return of(e.toNumber(e.eval(&n.args[0], data)), e.toNumber(e.eval(&n.args[1], data)))
	}
}

var difference = newArithmetic(func(a, b float64) float64 { return a - b })

// subtract implements -. It negates a single argument.
func (e evaluation) subtract(n *node, data any) any {
	if len(n.args) == 1 {
		return -e.toNumber(e.eval(&n.args[0], data))
	}
	return difference(e, n, data)
}

// newExtreme implements "min" and "max". from is the result for an empty argument list.
func newExtreme(from float64, beyond func(a, b float64) bool) operator {
	return func(e evaluation, n *node, data any) any {
		result := from
		for i := range n.args {
			next := e.toNumber(e.eval(&n.args[i], data))
			if math.IsNaN(next) {
				return next
			}
			if beyond(next, result) {
				result = next
			}
		}
		return result
	}
}

func (e evaluation) toNumber(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return v
	default:
		return parseNumber(e.numericText(v))
	}
}

// toLeadingNumber returns the number at the start of a value, or NaN. null is 0, so that unanswered operands count as
// 0.
func (e evaluation) toLeadingNumber(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case float64:
		return v
	default:
		return parseLeadingNumber(e.numericText(v))
	}
}

// numericText returns a value's text for parsing as a number. It takes one step per byte, because parsing digits is
// slower than other work on text.
func (e evaluation) numericText(v any) string {
	s := e.formatValue(v)
	if e.Spend(len(s)); e.Exceeded() {
		return ""
	}
	return s
}

func (e evaluation) cat(n *node, data any) any {
	var b strings.Builder
	for i := range n.args {
		v := e.eval(&n.args[i], data)
		if v == nil {
			continue
		}
		s := e.formatValue(v)
		if e.Exceeded() {
			return ""
		}
		b.WriteString(s)
	}
	return b.String()
}

// substr implements substr. Positions count code points, and negative positions count from the end.
func (e evaluation) substr(n *node, data any) any {
	source := e.evalArg(n, 0, data)
	if source == nil {
		return ""
	}
	s := e.formatValue(source)
	start := e.toNumber(e.evalArg(n, 1, data))
	length := math.Inf(1)
	if len(n.args) > 2 {
		length = truncateOrZero(e.toNumber(e.eval(&n.args[2], data)))
	}
	e.spendText(2 * len(s))
	if e.Exceeded() {
		return ""
	}
	size := float64(utf8.RuneCountInString(s))
	start = truncateOrZero(start)
	if start < 0 {
		start = max(0, size+start)
	}
	start = min(start, size)
	if length < 0 {
		length += size - start
	}
	length = max(0, min(length, size-start))
	from := runeOffset(s, int(start))
	return s[from : from+runeOffset(s[from:], int(length))]
}

func truncateOrZero(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return math.Trunc(f)
}

func runeOffset(s string, index int) int {
	if index == 0 {
		return 0
	}
	for at := range s {
		if index == 0 {
			return at
		}
		index--
	}
	return len(s)
}

func (e evaluation) isIn(item, within any) bool {
	switch within := within.(type) {
	case string:
		if within == "" || item == nil {
			return false
		}
		piece := e.formatValue(item)
		e.spendText(len(within))
		return !e.Exceeded() && strings.Contains(within, piece)
	case []any:
		for _, other := range within {
			if e.Exceeded() {
				return false
			}
			if e.strictEqual(item, other) {
				return true
			}
		}
	}
	return false
}

func (e evaluation) merge(n *node, data any) any {
	merged := []any{}
	for i := range n.args {
		v := e.eval(&n.args[i], data)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		if e.Spend(len(list)); e.Exceeded() {
			return nil
		}
		merged = append(merged, list...)
	}
	return merged
}

func (e evaluation) variable(n *node, data any) any {
	path := e.evalArg(n, 0, data)
	if path == nil || path == "" {
		return data
	}
	if v, ok := e.lookupPath(data, e.formatValue(path)); ok {
		return v
	}
	return e.evalArg(n, 1, data)
}

// lookupPath follows a path into data. It tries the rest of the path as a name before splitting it at the first dot.
func (e evaluation) lookupPath(data any, path string) (any, bool) {
	for {
		e.Spend(1)
		e.spendText(len(path))
		if e.Exceeded() {
			return nil, false
		}
		if v, ok := e.member(data, path); ok {
			return v, true
		}
		name, rest, dotted := strings.Cut(path, ".")
		if !dotted {
			return nil, false
		}
		next, ok := e.member(data, name)
		if !ok {
			return nil, false
		}
		data, path = next, rest
	}
}

// member returns a field of a value. Arrays and texts have indexes and a length as fields.
func (e evaluation) member(v any, name string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		member, ok := v[name]
		return member, ok
	case Object:
		return v.Member(name)
	case []any:
		if name == "length" {
			return float64(len(v)), true
		}
		if i, ok := parseIndex(name); ok && i < len(v) {
			return v[i], true
		}
	case string:
		i, isIndex := parseIndex(name)
		if name != "length" && !isIndex {
			return nil, false
		}
		e.spendText(len(v))
		if name == "length" {
			return float64(utf8.RuneCountInString(v)), true
		}
		if from := runeOffset(v, i); from < len(v) {
			_, size := utf8.DecodeRuneInString(v[from:])
			return v[from : from+size], true
		}
	}
	return nil, false
}

// parseIndex parses an array index, which must not have a leading zero.
func parseIndex(name string) (int, bool) {
	if name == "" || len(name) > 9 || len(name) > 1 && name[0] == '0' || digitsEnd(name, 0) < len(name) {
		return 0, false
	}
	i, err := strconv.Atoi(name)
	return i, err == nil
}

func (e evaluation) missing(n *node, data any) any {
	return e.findMissingKeys(e.evalArgs(n, data), data)
}

// findMissingKeys returns the keys whose value is null or empty. The first element can be an array of keys.
func (e evaluation) findMissingKeys(keys []any, data any) []any {
	if len(keys) > 0 {
		if list, ok := keys[0].([]any); ok {
			keys = list
		}
	}
	missing := []any{}
	for _, key := range keys {
		if e.Exceeded() {
			return nil
		}
		v := data
		if key != nil && key != "" {
			v, _ = e.lookupPath(data, e.formatValue(key))
		}
		if v == nil || v == "" {
			missing = append(missing, key)
		}
	}
	return missing
}

// missingSome returns the keys without a value, or nothing if enough keys have a value.
func (e evaluation) missingSome(n *node, data any) any {
	need, options := e.evalArg(n, 0, data), e.evalArg(n, 1, data)
	keys, ok := options.([]any)
	if !ok && options != nil {
		keys = []any{options}
	}
	missing := e.findMissingKeys(keys, data)
	if float64(len(keys)-len(missing)) >= e.toNumber(need) {
		return []any{}
	}
	return missing
}

// newQuantifier implements "some", "all" and "none". The operator returns found if the condition equals sought for an
// item, and !found otherwise. For an empty array, the operator returns ofNone.
func newQuantifier(sought, found, ofNone bool) operator {
	return func(e evaluation, n *node, data any) any {
		items, _ := e.eval(&n.args[0], data).([]any)
		if len(items) == 0 {
			return ofNone
		}
		for _, item := range items {
			holds := isTruthy(e.eval(&n.args[1], item))
			if e.Exceeded() {
				return false
			}
			if holds == sought {
				return found
			}
		}
		return !found
	}
}
