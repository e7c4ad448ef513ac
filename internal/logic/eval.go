package logic

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Budget is what evaluations may cost together. It must not be copied while in use.
type Budget struct{ left int }

// NewBudget returns a budget of so many steps.
func NewBudget(steps int) Budget { return Budget{left: steps} }

// Spend takes steps for work that is done for an evaluation, such as making a value.
func (b *Budget) Spend(steps int) { b.left -= steps }

// SpendText takes the steps for so many bytes of text.
func (b *Budget) SpendText(bytes int) { b.left -= 1 + bytes/bytesPerStep }

// Left returns the steps that are left; below 0 the budget is exceeded.
func (b *Budget) Left() int { return b.left }

// Exceeded reports that the budget is used up. The results of what ran meanwhile mean
// nothing.
func (b *Budget) Exceeded() bool { return b.left < 0 }

const bytesPerStep = 16

// Eval evaluates the logic over data. When the budget is exceeded, the result means
// nothing.
func (l *Logic) Eval(data any, b *Budget) any {
	e := evaluation{budget: b}
	return e.eval(&l.root, data)
}

// Holds reports whether the value of the logic counts as true.
func (l *Logic) Holds(data any, b *Budget) bool { return truthy(l.Eval(data, b)) }

type evaluation struct{ budget *Budget }

func (e *evaluation) spend(steps int) { e.budget.left -= steps }

// spendText returns true, so that it fits into a condition.
func (e *evaluation) spendText(bytes int) bool {
	e.budget.left -= bytes / bytesPerStep
	return true
}

func (e *evaluation) over() bool { return e.budget.left < 0 }

// text is [text] within the budget.
func (e *evaluation) text(v any) string {
	e.spendSize(v)
	if e.over() {
		return ""
	}
	return text(v)
}

// spendSize takes the steps for writing a value as text.
func (e *evaluation) spendSize(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			e.spend(3)
			if e.spendSize(item); e.over() {
				return
			}
		}
	case string:
		e.spendText(len(v))
	case float64:
		e.spend(4) // the shortest digits take as long as a few operations
	}
}

func (e *evaluation) eval(n *node, data any) any {
	e.spend(1)
	if e.over() {
		return nil
	}
	switch n.op {
	case opLiteral:
		return n.value
	case opMember:
		v, _ := e.lookup(data, n.value.(string))
		return v
	case opList:
		return e.all(n, data)
	case opIf:
		return e.branch(n, data)
	case opAnd, opOr:
		var last any
		for i := range n.args {
			if last = e.eval(&n.args[i], data); truthy(last) == (n.op == opOr) {
				break
			}
		}
		return last
	case opNot:
		return !truthy(e.arg(n, 0, data))
	case opTruthy:
		return truthy(e.arg(n, 0, data))
	case opEqual:
		return e.equal(e.arg(n, 0, data), e.arg(n, 1, data))
	case opNotEqual:
		return !e.equal(e.arg(n, 0, data), e.arg(n, 1, data))
	case opSame:
		return e.same(e.arg(n, 0, data), e.arg(n, 1, data))
	case opNotSame:
		return !e.same(e.arg(n, 0, data), e.arg(n, 1, data))
	case opLess, opLessEqual, opGreater, opGreaterEqual:
		return e.ordered(n, data)
	case opMin, opMax, opAdd, opSubtract, opMultiply, opDivide, opModulo:
		return e.arithmetic(n, data)
	case opCat:
		return e.cat(n, data)
	case opSubstr:
		return e.substr(n, data)
	case opIn:
		return e.in(e.arg(n, 0, data), e.arg(n, 1, data))
	case opMerge:
		return e.merge(n, data)
	case opVar:
		return e.variable(n, data)
	case opMissing:
		return e.missing(e.all(n, data), data)
	case opMissingSome:
		return e.missingSome(e.arg(n, 0, data), e.arg(n, 1, data), data)
	default: // opSome, opAll, opNone
		return e.quantify(n, data)
	}
}

// arg is the value of an argument, nil where there is none.
func (e *evaluation) arg(n *node, i int, data any) any {
	if i >= len(n.args) {
		return nil
	}
	return e.eval(&n.args[i], data)
}

func (e *evaluation) all(n *node, data any) []any {
	list := make([]any, 0, min(len(n.args), max(0, e.budget.left)))
	for i := range n.args {
		if e.over() {
			return nil
		}
		list = append(list, e.eval(&n.args[i], data))
	}
	return list
}

func (e *evaluation) branch(n *node, data any) any {
	i := 0
	for ; i+1 < len(n.args); i += 2 {
		if truthy(e.eval(&n.args[i], data)) {
			return e.eval(&n.args[i+1], data)
		}
	}
	return e.arg(n, i, data)
}

// ordered is <, <=, > or >=. The first two take a third argument: between.
func (e *evaluation) ordered(n *node, data any) bool {
	holds := func(a, b any) bool {
		order, ordered := e.compare(a, b)
		switch {
		case !ordered:
			return false
		case n.op == opLess:
			return order < 0
		case n.op == opLessEqual:
			return order <= 0
		case n.op == opGreater:
			return order > 0
		default:
			return order >= 0
		}
	}
	b := e.arg(n, 1, data)
	if !holds(e.arg(n, 0, data), b) {
		return false
	}
	if len(n.args) < 3 || n.op == opGreater || n.op == opGreaterEqual {
		return true
	}
	return holds(b, e.arg(n, 2, data))
}

func (e *evaluation) arithmetic(n *node, data any) any {
	switch n.op {
	case opAdd:
		sum := 0.0
		for i := range n.args {
			sum += e.leading(e.eval(&n.args[i], data))
		}
		return sum
	case opMultiply:
		if len(n.args) < 2 {
			return e.arg(n, 0, data)
		}
		product := 1.0
		for i := range n.args {
			product *= e.leading(e.eval(&n.args[i], data))
		}
		return product
	case opMin, opMax:
		return e.extreme(n, data)
	}
	if len(n.args) == 1 && n.op == opSubtract {
		return -e.number(e.eval(&n.args[0], data))
	}
	if len(n.args) < 2 {
		return math.NaN()
	}
	a, b := e.number(e.eval(&n.args[0], data)), e.number(e.eval(&n.args[1], data))
	switch n.op {
	case opSubtract:
		return a - b
	case opDivide:
		return a / b
	default:
		return math.Mod(a, b)
	}
}

func (e *evaluation) extreme(n *node, data any) float64 {
	result := math.Inf(1)
	if n.op == opMax {
		result = math.Inf(-1)
	}
	for i := range n.args {
		next := e.number(e.eval(&n.args[i], data))
		if math.IsNaN(next) || n.op == opMin && next < result || n.op == opMax && next > result {
			result = next
		}
		if math.IsNaN(result) {
			break
		}
	}
	return result
}

// number is [number] within the budget.
func (e *evaluation) number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string, []any, map[string]any, Object:
		return parseNumber(e.digits(v))
	default:
		return number(v)
	}
}

// leading is the number that a value begins with; it is not a number where it begins
// with none, as null does.
func (e *evaluation) leading(v any) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return parseLeading(e.digits(v))
}

// digits is the text of a value to be read as a number. That takes a step for each
// byte: of many digits it costs far more than other work on a text.
func (e *evaluation) digits(v any) string {
	s := e.text(v)
	if e.spend(len(s)); e.over() {
		return ""
	}
	return s
}

func (e *evaluation) cat(n *node, data any) string {
	var b strings.Builder
	for i := range n.args {
		v := e.eval(&n.args[i], data)
		if v == nil {
			continue
		}
		s := e.text(v)
		if e.over() {
			return ""
		}
		b.WriteString(s)
	}
	return b.String()
}

// substr is a piece of a text, counted in code points. Negative positions count from
// the end.
func (e *evaluation) substr(n *node, data any) string {
	source := e.arg(n, 0, data)
	if source == nil {
		return ""
	}
	s := e.text(source)
	start := e.number(e.arg(n, 1, data))
	length := math.Inf(1)
	if len(n.args) > 2 {
		length = integer(e.number(e.eval(&n.args[2], data)))
	}
	e.spendText(2 * len(s))
	if e.over() {
		return ""
	}
	size := float64(utf8.RuneCountInString(s))
	start = integer(start)
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

// integer is a number without its fraction; what is not a number is 0.
func integer(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return math.Trunc(f)
}

// runeOffset returns where the code point with that index begins.
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

// in reports whether an array has an item, or a text a piece.
func (e *evaluation) in(item, within any) bool {
	switch within := within.(type) {
	case string:
		if within == "" || item == nil {
			return false
		}
		piece := e.text(item)
		e.spendText(len(within))
		return !e.over() && strings.Contains(within, piece)
	case []any:
		for _, other := range within {
			if e.over() {
				return false
			}
			if e.same(item, other) {
				return true
			}
		}
	}
	return false
}

func (e *evaluation) merge(n *node, data any) []any {
	merged := []any{}
	for i := range n.args {
		v := e.eval(&n.args[i], data)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		if e.spend(len(list)); e.over() {
			return nil
		}
		merged = append(merged, list...)
	}
	return merged
}

func (e *evaluation) variable(n *node, data any) any {
	path := e.arg(n, 0, data)
	if path == nil || path == "" {
		return data
	}
	if v, ok := e.lookup(data, e.text(path)); ok {
		return v
	}
	return e.arg(n, 1, data)
}

// lookup follows a path into data. What is left of the path is tried as one name
// before it is split at its first dot.
func (e *evaluation) lookup(data any, path string) (any, bool) {
	for {
		e.spend(1)
		e.spendText(len(path))
		if e.over() {
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

// member is an own member of a value. Arrays and texts have their items by index, and
// their length.
func (e *evaluation) member(v any, name string) (any, bool) {
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
		if i, ok := index(name); ok && i < len(v) {
			return v[i], true
		}
	case string:
		i, isIndex := index(name)
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

// index reads an array index: digits without a leading zero.
func index(name string) (int, bool) {
	if name == "" || len(name) > 9 || len(name) > 1 && name[0] == '0' || digitsEnd(name, 0) < len(name) {
		return 0, false
	}
	i, err := strconv.Atoi(name)
	return i, err == nil
}

// missing returns the keys whose value is null or empty. The first one may be an array
// of keys.
func (e *evaluation) missing(keys []any, data any) []any {
	if len(keys) > 0 {
		if list, ok := keys[0].([]any); ok {
			keys = list
		}
	}
	missing := []any{}
	for _, key := range keys {
		if e.over() {
			return nil
		}
		v := data
		if key != nil && key != "" {
			v, _ = e.lookup(data, e.text(key))
		}
		if v == nil || v == "" {
			missing = append(missing, key)
		}
	}
	return missing
}

// missingSome is missing, but nothing when at least need of the keys have a value.
func (e *evaluation) missingSome(need, options, data any) []any {
	keys, ok := options.([]any)
	if !ok && options != nil {
		keys = []any{options}
	}
	missing := e.missing(keys, data)
	if float64(len(keys)-len(missing)) >= e.number(need) {
		return []any{}
	}
	return missing
}

// quantify is some, all or none.
func (e *evaluation) quantify(n *node, data any) bool {
	items, _ := e.eval(&n.args[0], data).([]any)
	if len(items) == 0 {
		return n.op == opNone
	}
	for _, item := range items {
		holds := truthy(e.eval(&n.args[1], item))
		if e.over() {
			return false
		}
		if holds != (n.op == opAll) {
			return n.op == opSome
		}
	}
	return n.op != opSome
}
