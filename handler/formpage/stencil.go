package formpage

import (
	"html/template"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// A stencil is a template of fields.html, compiled for one type of data: html/template
// takes ten times as long to draw a field, and as much memory. It knows no contexts: a value
// stands in text or in an attribute in double quotes, and an address was checked before
// (webLink, policy.picture). What it does not know of templates ends the program when it
// starts; tests hold its output against that of html/template, with hostile values in every
// place.
type stencil struct{ draw op }

type (
	op     func(p *pen, f *frame)
	getter func(p *pen, f *frame) reflect.Value
)

// frame is one call of a stencil.
type frame struct {
	dot  reflect.Value
	vars [6]reflect.Value
}

// fieldStencil, problemStencil and lostStencil draw what there may be thousands of.
var fieldStencil, problemStencil, lostStencil = func() (*stencil, *stencil, *stencil) {
	c := stencils{made: map[string]*stencil{}}
	return c.of("field", reflect.TypeFor[field]()), c.of("problem", reflect.TypeFor[problem]()), c.of("lost", reflect.TypeFor[Unplaced]())
}()

// stencils compiles templates, each once for a type.
type stencils struct{ made map[string]*stencil }

func (c *stencils) of(name string, t reflect.Type) *stencil {
	key := name + " " + t.String()
	if c.made[key] == nil {
		s := &stencil{} // it may call itself
		c.made[key] = s
		in := scope{stencils: c, dot: t, vars: map[string]variable{"$": {0, t}}}
		s.draw = in.list(templates.Lookup(name).Tree.Root)
	}
	return c.made[key]
}

// scope is what is known of the data where a template is compiled.
type scope struct {
	*stencils
	dot  reflect.Type
	vars map[string]variable
}

type variable struct {
	slot int
	of   reflect.Type
}

func (s scope) declare(v *parse.VariableNode, t reflect.Type) int {
	known, ok := s.vars[v.Ident[0]]
	if !ok {
		known.slot = len(s.vars)
	}
	if ok && known.of != t || known.slot >= len(frame{}.vars) {
		panic("fields.html: " + v.String() + " is a variable of another type, or one too many")
	}
	s.vars[v.Ident[0]] = variable{known.slot, t}
	return known.slot
}

func (s scope) list(l *parse.ListNode) op {
	var ops []op
	if l != nil {
		for _, n := range l.Nodes {
			ops = append(ops, s.node(n))
		}
	}
	return func(p *pen, f *frame) {
		for _, o := range ops {
			o(p, f)
		}
	}
}

func (s scope) node(n parse.Node) op {
	switch n := n.(type) {
	case *parse.TextNode:
		text := string(n.Text)
		return func(p *pen, _ *frame) { p.markup(text) }
	case *parse.ActionNode:
		return s.action(n.Pipe)
	case *parse.IfNode:
		plain(len(n.Pipe.Cmds) == 1 && len(n.Pipe.Decl) == 0, n)
		is := s.test(n.Pipe.Cmds[0].Args)
		then, not := s.list(n.List), s.list(n.ElseList)
		return func(p *pen, f *frame) {
			if is(p, f) {
				then(p, f)
			} else {
				not(p, f)
			}
		}
	case *parse.WithNode:
		value, t := s.pipe(n.Pipe)
		inner := s
		inner.dot = t
		then := inner.list(n.List)
		plain(n.ElseList == nil && len(n.Pipe.Decl) == 0, n)
		return func(p *pen, f *frame) {
			if v := value(p, f); truth(v) {
				outer := f.dot
				f.dot = v
				then(p, f)
				f.dot = outer
			}
		}
	case *parse.RangeNode:
		return s.loop(n)
	case *parse.TemplateNode:
		value, t := s.pipe(n.Pipe)
		called := s.of(n.Name, t)
		return func(p *pen, f *frame) { called.on(p, value(p, f)) }
	}
	plain(false, n)
	return nil
}

func (st *stencil) on(p *pen, dot reflect.Value) {
	if p.depth == len(p.frames) {
		p.frames = append(p.frames, new(frame))
	}
	f := p.frames[p.depth]
	f.dot, f.vars[0] = dot, dot
	p.depth++
	st.draw(p, f)
	p.depth--
}

// loop ends when there is no more room on the page.
func (s scope) loop(n *parse.RangeNode) op {
	plain(n.ElseList == nil, n)
	list, t := s.pipe(n.Pipe)
	inner, index, item := s, -1, -1
	inner.dot = t.Elem()
	if d := n.Pipe.Decl; len(d) > 0 {
		item = s.declare(d[len(d)-1], t.Elem())
		if len(d) > 1 {
			index = s.declare(d[0], reflect.TypeFor[int]())
		}
	}
	each := inner.list(n.List)
	return func(p *pen, f *frame) {
		outer, all := f.dot, list(p, f)
		for i := 0; i < all.Len() && p.more(); i++ {
			f.dot = all.Index(i)
			if item > 0 {
				f.vars[item] = f.dot
			}
			if index > 0 {
				f.vars[index] = reflect.ValueOf(i)
			}
			each(p, f)
		}
		f.dot = outer
	}
}

func (s scope) action(pipe *parse.PipeNode) op {
	if cmd := pipe.Cmds[0]; len(cmd.Args) == 4 && strings.HasSuffix(cmd.Args[0].String(), ".T") {
		return s.word(cmd.Args)
	}
	if args := pipe.Cmds[0].Args; len(args) == 2 && len(pipe.Decl) == 0 && strings.HasSuffix(args[0].String(), ".T") {
		key := args[1].(*parse.StringNode).Text
		return func(p *pen, _ *frame) { p.text(p.words.get(key)) }
	}
	value, t := s.pipe(pipe)
	if len(pipe.Decl) > 0 {
		slot := s.declare(pipe.Decl[0], t)
		return func(p *pen, f *frame) { f.vars[slot] = value(p, f) }
	}
	plain(t.Kind() == reflect.String || reflect.Zero(t).CanInt(), pipe)
	write := (*pen).text
	name := pipe.String()
	switch name = name[strings.LastIndexByte(name, '.')+1:]; {
	case t == reflect.TypeFor[template.HTML]():
		write = (*pen).markup
	case name == "Value" || name == "Text" || name == "Token":
		write = (*pen).typed
	case slices.Contains([]string{"ID", "Name", "Block", "Remove", "Zone", "Input", "Color", "Icon", "URL", "Link", "Frame", "Video"}, name):
		write = (*pen).whole
	}
	return func(p *pen, f *frame) {
		v := value(p, f)
		if v.CanInt() {
			p.markup(strconv.FormatInt(v.Int(), 10))
			return
		}
		write(p, v.String())
	}
}

// word writes one of the page's texts with a value in it, which may be long.
func (s scope) word(args []parse.Node) op {
	key, place := args[1].(*parse.StringNode).Text, "{"+args[2].(*parse.StringNode).Text+"}"
	value, t := s.value(args[3])
	plain(t.Kind() == reflect.String, args[3])
	return func(p *pen, f *frame) {
		before, after, _ := strings.Cut(p.words.get(key), place)
		p.whole(before)
		p.text(value(p, f).String())
		p.whole(after)
	}
}

// pipe compiles what has a value. Of functions that are "or" and len.
func (s scope) pipe(pipe *parse.PipeNode) (getter, reflect.Type) {
	args := pipe.Cmds[0].Args
	plain(len(pipe.Cmds) == 1, pipe)
	switch args[0].String() {
	case "or":
		plain(len(args) == 3, pipe)
		first, t := s.value(args[1])
		other, _ := s.value(args[2])
		return func(p *pen, f *frame) reflect.Value {
			if v := first(p, f); truth(v) {
				return v
			}
			return other(p, f)
		}, t
	case "len":
		list, _ := s.value(args[1])
		return func(p *pen, f *frame) reflect.Value { return reflect.ValueOf(list(p, f).Len()) }, reflect.TypeFor[int]()
	}
	if len(args) > 1 {
		plain(strings.HasSuffix(args[0].String(), ".T"), pipe)
		return s.text(args)
	}
	return s.value(args[0])
}

// test compiles what is true or not.
func (s scope) test(args []parse.Node) func(p *pen, f *frame) bool {
	if inner, ok := args[0].(*parse.PipeNode); ok && len(args) == 1 {
		return s.test(inner.Cmds[0].Args)
	}
	name, isCall := args[0].(*parse.IdentifierNode)
	if !isCall || name.Ident == "len" {
		value, _ := s.pipe(&parse.PipeNode{Cmds: []*parse.CommandNode{{Args: args}}})
		return func(p *pen, f *frame) bool { return truth(value(p, f)) }
	}
	switch name.Ident {
	case "eq", "ne": // a text, and constants
		value, t := s.value(args[1])
		plain(t.Kind() == reflect.String, args[1])
		var others []string
		for i, arg := range args {
			if i > 1 {
				others = append(others, arg.(*parse.StringNode).Text)
			}
		}
		return func(p *pen, f *frame) bool {
			return slices.Contains(others, value(p, f).String()) == (name.Ident == "eq")
		}
	}
	var of []func(*pen, *frame) bool
	for _, arg := range args[1:] {
		of = append(of, s.test([]parse.Node{arg}))
	}
	switch name.Ident {
	case "not":
		return func(p *pen, f *frame) bool { return !of[0](p, f) }
	case "and", "or":
		return func(p *pen, f *frame) bool {
			for _, one := range of {
				if one(p, f) == (name.Ident == "or") {
					return name.Ident == "or"
				}
			}
			return name.Ident == "and"
		}
	}
	plain(false, name)
	return nil
}

// plain ends the program where a template has what a stencil does not know.
func plain(known bool, n parse.Node) {
	if !known {
		panic("fields.html: " + n.String() + " is not compiled")
	}
}

// text is one of the page's texts.
func (s scope) text(args []parse.Node) (getter, reflect.Type) {
	key := args[1].(*parse.StringNode).Text
	var params []getter
	for _, arg := range args[2:] {
		param, _ := s.value(arg)
		params = append(params, param)
	}
	return func(p *pen, f *frame) reflect.Value {
		var list []any
		for _, param := range params {
			list = append(list, param(p, f).Interface())
		}
		return reflect.ValueOf(p.words.get(key, list...))
	}, reflect.TypeFor[string]()
}

func (s scope) value(n parse.Node) (getter, reflect.Type) {
	switch n := n.(type) {
	case *parse.DotNode:
		return func(_ *pen, f *frame) reflect.Value { return f.dot }, s.dot
	case *parse.StringNode:
		v := reflect.ValueOf(n.Text)
		return func(*pen, *frame) reflect.Value { return v }, v.Type()
	case *parse.PipeNode:
		return s.pipe(n)
	case *parse.FieldNode:
		return members(func(_ *pen, f *frame) reflect.Value { return f.dot }, s.dot, n.Ident)
	case *parse.VariableNode:
		v := s.vars[n.Ident[0]]
		return members(func(_ *pen, f *frame) reflect.Value { return f.vars[v.slot] }, v.of, n.Ident[1:])
	}
	plain(false, n)
	return nil, nil
}

// members are the members, one in the other, of a value.
func members(of getter, t reflect.Type, names []string) (getter, reflect.Type) {
	for _, name := range names {
		outer := of
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			of = func(p *pen, f *frame) reflect.Value { return outer(p, f).Elem() }
		}
		holder := of
		member, ok := t.FieldByName(name)
		if !ok {
			panic("fields.html: there is no " + t.String() + "." + name)
		}
		of, t = func(p *pen, f *frame) reflect.Value { return holder(p, f).FieldByIndex(member.Index) }, member.Type
	}
	return of, t
}

// truth is what {{if}} goes by.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.String:
		return v.Len() > 0
	}
	return !v.IsZero()
}
