package logic

import (
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
)

type node struct {
	operate operator // nil for a literal
	args    []node
	value   any // a literal's value, or a constant path
}

func (n *node) isLiteral() bool { return n.operate == nil }

// Logic is compiled JsonLogic. It is immutable and safe for concurrent use.
type Logic struct {
	root          node
	size          int
	reads         []string
	readsComputed bool
}

// UnreadableError is the error for an unknown operator.
type UnreadableError struct {
	Operator string
	At       jsontree.Node // the operation with the unknown operator
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("logic: unknown operator %.64q", e.Operator)
}

// Compile compiles logic. The parser limits how deeply n is nested. The result keeps the text of n's tree in memory.
// Any error it returns is an [*UnreadableError].
func Compile(n jsontree.Node) (*Logic, error) {
	c := compiler{logic: new(Logic)}
	root, err := c.compileNode(n, true)
	if err != nil {
		return nil, err
	}
	c.logic.root = root
	slices.Sort(c.logic.reads)
	c.logic.reads = slices.Clip(slices.Compact(c.logic.reads))
	return c.logic, nil
}

// Size returns the number of operations and values. If arrays and texts are short, an evaluation takes at most this
// many steps.
func (l *Logic) Size() int { return l.size }

// ReadPaths returns the constant paths that the logic reads, sorted. any is true if it also reads computed paths.
func (l *Logic) ReadPaths() (paths []string, any bool) { return l.reads, l.readsComputed }

// IsConstant reports whether the logic reads no data and therefore always has the same value.
func (l *Logic) IsConstant() bool { return len(l.reads) == 0 && !l.readsComputed }

type compiler struct{ logic *Logic }

// compileNode compiles n. If outer is true, the operator "var" reads from the data. Otherwise it reads from an array
// item.
func (c *compiler) compileNode(n jsontree.Node, outer bool) (node, error) {
	c.logic.size++
	switch {
	case n.Kind() == jsontree.Array:
		return c.compileList(n, outer)
	case n.Kind() == jsontree.Object && n.Len() == 1:
		return c.compileOperation(n, outer)
	default:
		c.logic.size += n.ValueCount() - 1
		return node{value: n.Value()}, nil
	}
}

// compileList compiles an array. An array of literals is a literal.
func (c *compiler) compileList(n jsontree.Node, outer bool) (node, error) {
	args, err := c.compileArgs(n, outer)
	if err != nil {
		return node{}, err
	}
	if slices.ContainsFunc(args, func(a node) bool { return !a.isLiteral() }) {
		return node{operate: evaluation.list, args: args}, nil
	}
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i].value
	}
	return node{value: values}, nil
}

func (c *compiler) compileArgs(n jsontree.Node, outer bool) ([]node, error) {
	args := make([]node, 0, n.Len())
	for _, item := range n.All() {
		arg, err := c.compileNode(item, outer)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

func (c *compiler) compileOperation(n jsontree.Node, outer bool) (node, error) {
	operand := n.First()
	name := operand.Name()
	run, ok := operators[name]
	if !ok {
		return node{}, &UnreadableError{Operator: name, At: n}
	}
	o := node{operate: run}
	if name == "some" || name == "all" || name == "none" {
		return c.compileQuantifier(o, operand, outer)
	}
	var err error
	if operand.Kind() == jsontree.Array {
		o.args, err = c.compileArgs(operand, outer)
	} else {
		o.args = make([]node, 1)
		o.args[0], err = c.compileNode(operand, outer)
	}
	if err != nil {
		return node{}, err
	}
	switch name {
	case "var":
		return c.recordVariableRead(o, outer), nil
	case "missing":
		c.recordKeyReads(o.args, outer)
	case "missing_some":
		c.recordKeyReads(o.args[min(1, len(o.args)):], outer)
	}
	return o, nil
}

// compileQuantifier compiles the operators "some", "all" and "none", whose condition reads array items.
func (c *compiler) compileQuantifier(o node, operand jsontree.Node, outer bool) (node, error) {
	items := operand
	var condition jsontree.Node
	if operand.Kind() == jsontree.Array {
		if items = operand.First(); items.Exists() {
			condition = items.Next()
		}
	}
	o.args = make([]node, 2)
	for i, arg := range []jsontree.Node{items, condition} {
		if !arg.Exists() {
			continue // null
		}
		var err error
		if o.args[i], err = c.compileNode(arg, outer && i == 0); err != nil {
			return node{}, err
		}
	}
	return o, nil
}

// recordVariableRead compiles the operator "var". It records the path and precompiles constant paths.
func (c *compiler) recordVariableRead(o node, outer bool) node {
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

func (c *compiler) recordKeyReads(args []node, outer bool) {
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

func (c *compiler) recordRead(path string, whole bool) {
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
