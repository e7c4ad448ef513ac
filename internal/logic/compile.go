package logic

import (
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
)

type node struct {
	operate operator // nil for a literal
	args    []node
	value   any // a literal's value, a constant path, or a compiledPattern
}

func (n *node) isLiteral() bool { return n.operate == nil }

// Logic is compiled JsonLogic. It is immutable and safe for concurrent use.
type Logic struct {
	root          node
	size          int
	reads         []string
	readsComputed bool
	readsToday    bool
}

// UnreadableError reports the parts that make the logic invalid, in the order in which they appear.
type UnreadableError struct{ Parts []Unreadable }

// Unreadable is a part that makes logic invalid.
type Unreadable struct {
	At       jsontree.Node // the operation or the pattern
	Operator string        // the unknown operator; empty if the part is a pattern
	Reason   string        // "operator", "pattern" or "pattern_size"
	Rule     string        // what the part must be, such as "must be a valid pattern"
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("logic: %s %.64q: %s", e.Parts[0].Reason, e.Parts[0].At.Raw(), e.Parts[0].Rule)
}

// Compiler compiles the logic of a form. It compiles the same pattern only once and limits the size of all patterns.
// The zero value is ready to use.
type Compiler struct {
	patterns     map[string]compiledPattern
	patternsSize int
}

// Compile compiles logic. The parser limits how deeply n is nested. The result keeps the text of n's tree in memory.
// Any error it returns is an [*UnreadableError].
func (c *Compiler) Compile(n jsontree.Node) (*Logic, error) {
	run := compilation{Compiler: c, logic: new(Logic)}
	run.logic.root = run.compileNode(n, true)
	if run.unreadable != nil {
		return nil, &UnreadableError{run.unreadable}
	}
	slices.Sort(run.logic.reads)
	run.logic.reads = slices.Clip(slices.Compact(run.logic.reads))
	return run.logic, nil
}

// Compile compiles logic that shares no patterns with other logic.
func Compile(n jsontree.Node) (*Logic, error) { return new(Compiler).Compile(n) }

// Size returns the number of operations and values. If arrays and texts are short, an evaluation takes at most this
// many steps.
func (l *Logic) Size() int { return l.size }

// ReadPaths returns the constant paths that the logic reads, sorted. any is true if it also reads computed paths.
func (l *Logic) ReadPaths() (paths []string, any bool) { return l.reads, l.readsComputed }

// IsConstant reports whether the logic reads neither data nor the day and therefore always has the same value.
func (l *Logic) IsConstant() bool { return len(l.reads) == 0 && !l.readsComputed && !l.readsToday }

// compilation compiles one logic.
type compilation struct {
	*Compiler
	logic      *Logic
	unreadable []Unreadable
}

// compileNode compiles n. If outer is true, the operator "var" reads from the data. Otherwise it reads from an array item.
func (c *compilation) compileNode(n jsontree.Node, outer bool) node {
	c.logic.size++
	switch {
	case n.Kind() == jsontree.Array:
		return c.compileList(n, outer)
	case n.Kind() == jsontree.Object && n.Len() == 1:
		return c.compileOperation(n, outer)
	default:
		c.logic.size += n.ValueCount() - 1
		return node{value: n.Value()}
	}
}

// compileList compiles an array. An array of literals is a literal.
func (c *compilation) compileList(n jsontree.Node, outer bool) node {
	args := c.compileArgs(n, outer)
	if slices.ContainsFunc(args, func(a node) bool { return !a.isLiteral() }) {
		return node{operate: evaluation.list, args: args}
	}
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i].value
	}
	return node{value: values}
}

func (c *compilation) compileArgs(n jsontree.Node, outer bool) []node {
	args := make([]node, 0, n.Len())
	for _, item := range n.All() {
		args = append(args, c.compileNode(item, outer))
	}
	return args
}

func (c *compilation) compileOperation(n jsontree.Node, outer bool) node {
	operand := n.First()
	name := operand.Name()
	run, ok := operators[name]
	if !ok {
		c.unreadable = append(c.unreadable, Unreadable{n, name, "operator", "must use an existing operator"})
		return node{}
	}
	o := node{operate: run}
	if name == "some" || name == "all" || name == "none" {
		return c.compileQuantifier(o, operand, outer)
	}
	if operand.Kind() == jsontree.Array {
		o.args = c.compileArgs(operand, outer)
	} else {
		o.args = []node{c.compileNode(operand, outer)}
	}
	switch name {
	case "var":
		return c.recordVariableRead(o, outer)
	case "missing":
		c.recordKeyReads(o.args, outer)
	case "missing_some":
		c.recordKeyReads(o.args[min(1, len(o.args)):], outer)
	case "match":
		return c.match(o, n)
	case "today":
		c.logic.readsToday = true
	}
	return o
}

// compileQuantifier compiles the operators "some", "all" and "none", whose condition reads array items.
func (c *compilation) compileQuantifier(o node, operand jsontree.Node, outer bool) node {
	items := operand
	var condition jsontree.Node
	if operand.Kind() == jsontree.Array {
		if items = operand.First(); items.Exists() {
			condition = items.Next()
		}
	}
	o.args = make([]node, 2)
	for i, arg := range []jsontree.Node{items, condition} {
		if arg.Exists() { // otherwise null
			o.args[i] = c.compileNode(arg, outer && i == 0)
		}
	}
	return o
}

// recordVariableRead compiles the operator "var". It records the path and precompiles constant paths.
func (c *compilation) recordVariableRead(o node, outer bool) node {
	if len(o.args) == 0 || !o.args[0].isLiteral() {
		c.logic.readsComputed = c.logic.readsComputed || outer
		return o
	}
	path, whole := pathOf(o.args[0].value)
	if outer {
		c.recordRead(path, whole)
	}
	if !whole && len(o.args) == 1 {
		return node{operate: evaluation.constantMember, value: path}
	}
	return o
}

func (c *compilation) recordKeyReads(args []node, outer bool) {
	if !outer {
		return
	}
	for i := range args {
		list, isList := args[i].value.([]any)
		switch {
		case !args[i].isLiteral():
			c.logic.readsComputed = true
		case !isList:
			c.recordRead(pathOf(args[i].value))
		}
		for _, key := range list {
			c.recordRead(pathOf(key))
		}
	}
}

func (c *compilation) recordRead(path string, whole bool) {
	if whole {
		c.logic.readsComputed = true
		return
	}
	c.logic.reads = append(c.logic.reads, path)
}

// pathOf returns the path in a value. whole is true if the path refers to all data.
func pathOf(v any) (path string, whole bool) {
	if v == nil || v == "" {
		return "", true
	}
	return formatValue(v), false
}
