package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

const module = "github.com/formsvc/formsvc"

// surface is what the module exports, as types, with the packages that were asked for beside it.
type surface struct {
	public []*types.Package
	all    map[string]*types.Package
}

// readSurface reads the public packages of the module in a folder.
func readSurface(root string, beside ...string) (*surface, error) {
	config := &packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports, Dir: root}
	list, err := packages.Load(config, append(beside, "./...")...)
	if err != nil {
		return nil, err
	}
	s := &surface{all: make(map[string]*types.Package)}
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, errors.Join(fmt.Errorf("package %s", p.PkgPath), p.Errors[0])
		}
		s.all[p.PkgPath] = p.Types
		if isPublic(p.PkgPath) && p.Name != "main" {
			s.public = append(s.public, p.Types)
		}
	}
	return s, nil
}

// isPublic reports whether hosts can import a package of the module.
func isPublic(name string) bool {
	below, of := strings.CutPrefix(name, module)
	return of && !strings.Contains(below+"/", "/internal/") && !strings.HasPrefix(below, "/examples/")
}

// compareSurfaces asks apidiff what has changed from a written surface to that of a folder.
func compareSurfaces(before []byte, root string) (changes, error) {
	w := written{archive: txtar.Parse(before), checked: make(map[string]*types.Package)}
	if err := w.parse(); err != nil {
		return changes{}, err
	}
	now, err := readSurface(root, slices.Sorted(maps.Keys(w.beside))...)
	if err != nil {
		return changes{}, err
	}
	w.now = now
	old := apidiff.Module{Path: module}
	for _, file := range w.archive.Files {
		p, err := w.Import(file.Name)
		if err != nil {
			return changes{}, fmt.Errorf("the surface of the last release: %w", err)
		}
		if isPublic(file.Name) {
			old.Packages = append(old.Packages, p)
		}
	}
	var c changes
	for _, change := range apidiff.ModuleChanges(&old, &apidiff.Module{Path: module, Packages: now.public}).Changes {
		if change.Compatible {
			c.additions = append(c.additions, change.Message)
		} else {
			c.breaks = append(c.breaks, change.Message)
		}
	}
	c.sort()
	return c, nil
}

// written reads a surface that was written.
type written struct {
	archive *txtar.Archive
	fset    *token.FileSet
	files   map[string]*ast.File
	beside  map[string]bool // the packages of others that it names
	now     *surface
	checked map[string]*types.Package
}

func (w *written) parse() error {
	w.fset, w.files, w.beside = token.NewFileSet(), make(map[string]*ast.File), make(map[string]bool)
	for _, file := range w.archive.Files {
		tree, err := parser.ParseFile(w.fset, file.Name, file.Data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		w.files[file.Name] = tree
		for _, spec := range tree.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); !strings.HasPrefix(name, module) {
				w.beside[name] = true
			}
		}
	}
	return nil
}

// Import implements [types.Importer]. Packages of others are those of today, so that their types
// are the same on both sides.
func (w *written) Import(name string) (*types.Package, error) {
	if p := w.checked[name]; p != nil {
		return p, nil
	}
	file, ok := w.files[name]
	if !ok {
		if p := w.now.all[name]; p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("there is no package %s", name)
	}
	config := types.Config{Importer: w, IgnoreFuncBodies: true}
	p, err := config.Check(name, w.fset, []*ast.File{file}, nil)
	w.checked[name] = p
	return p, err
}

// write returns the surface as Go without bodies: what the public packages export, and the types
// of other packages that this names.
func (s *surface) write() []byte {
	w := writer{files: make(map[string]*stub), done: make(map[types.Object]bool)}
	for _, p := range s.public {
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				w.object(o)
			}
		}
	}
	for len(w.wanted) > 0 {
		o := w.wanted[0]
		w.wanted = w.wanted[1:]
		w.object(o)
	}
	var out txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		out.Files = append(out.Files, txtar.File{Name: name, Data: w.files[name].bytes()})
	}
	return txtar.Format(&out)
}

// stub is the text of one package.
type stub struct {
	of      *types.Package
	imports map[string]string // from the name to the path
	lines   []string
}

func (s *stub) bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", s.of.Name())
	for _, name := range slices.Sorted(maps.Keys(s.imports)) {
		fmt.Fprintf(&b, "import %s %q\n", name, s.imports[name])
	}
	slices.Sort(s.lines)
	fmt.Fprintf(&b, "\n%s\n", strings.Join(s.lines, "\n"))
	return []byte(b.String())
}

// name implements [types.Qualifier].
func (s *stub) name(p *types.Package) string {
	if p == s.of {
		return ""
	}
	for name := p.Name(); ; name += "_" {
		if known, ok := s.imports[name]; !ok || known == p.Path() {
			s.imports[name] = p.Path()
			return name
		}
	}
}

type writer struct {
	files  map[string]*stub
	done   map[types.Object]bool
	wanted []types.Object
}

func (w *writer) object(o types.Object) {
	if w.done[o] {
		return
	}
	w.done[o] = true
	f := w.files[o.Pkg().Path()]
	if f == nil {
		f = &stub{of: o.Pkg(), imports: make(map[string]string)}
		w.files[o.Pkg().Path()] = f
	}
	add := func(format string, args ...any) { f.lines = append(f.lines, fmt.Sprintf(format, args...)) }
	switch o := o.(type) {
	case *types.Const:
		if o.Val().Kind() == constant.Float {
			panic("a constant that is no integer: " + o.Name()) // its text would be a fraction
		}
		typ := ""
		if b, ok := o.Type().(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
			typ = " " + w.text(f, o.Type())
		}
		add("const %s%s = %s", o.Name(), typ, o.Val().ExactString())
	case *types.Var:
		add("var %s %s", o.Name(), w.text(f, o.Type()))
	case *types.Func:
		add("func %s%s", o.Name(), strings.TrimPrefix(w.text(f, o.Type()), "func"))
	case *types.TypeName:
		if o.IsAlias() {
			add("type %s = %s", o.Name(), w.text(f, o.Type().(*types.Alias).Rhs()))
			return
		}
		named := o.Type().(*types.Named)
		if named.TypeParams().Len() > 0 {
			panic("a type with parameters: " + o.Name())
		}
		add("type %s %s", o.Name(), w.text(f, named.Underlying()))
		for m := range named.Methods() {
			if m.Exported() {
				sig := m.Signature()
				add("func (%s) %s%s", w.text(f, sig.Recv().Type()), m.Name(), strings.TrimPrefix(w.text(f, sig), "func"))
			}
		}
	}
}

// text returns a type as it is written in a package, and wants the types of the module in it.
// Fields that are not exported are one without a name, which is comparable when they are.
func (w *writer) text(f *stub, t types.Type) string {
	switch t := t.(type) {
	case *types.Struct:
		var fields []string
		hidden := false
		for field := range t.Fields() {
			switch {
			case field.Embedded():
				fields = append(fields, w.text(f, field.Type()))
			case field.Exported():
				fields = append(fields, field.Name()+" "+w.text(f, field.Type()))
			default:
				hidden = true
			}
		}
		switch {
		case hidden && types.Comparable(t):
			fields = append(fields, "_ struct{}")
		case hidden:
			fields = append(fields, "_ [0]func()")
		}
		return "struct{ " + strings.Join(fields, "; ") + " }"
	case *types.Named:
		w.want(t.Obj())
		for arg := range t.TypeArgs().Types() {
			w.text(f, arg)
		}
	case *types.Alias:
		w.want(t.Obj())
	case *types.Pointer:
		return "*" + w.text(f, t.Elem())
	case *types.Slice:
		return "[]" + w.text(f, t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.text(f, t.Elem()))
	case *types.Map:
		return "map[" + w.text(f, t.Key()) + "]" + w.text(f, t.Elem())
	case *types.Chan:
		w.text(f, t.Elem())
	case *types.Signature:
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range list.Variables() {
				w.text(f, v.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			w.text(f, m.Type())
		}
		for embedded := range t.EmbeddedTypes() {
			w.text(f, embedded)
		}
	}
	return unnamed.ReplaceAllString(types.TypeString(t, f.name), "")
}

// unnamed are the names that compiled packages have for results without one.
var unnamed = regexp.MustCompile(`#rv\d+ `)

func (w *writer) want(o *types.TypeName) {
	if o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module) {
		w.wanted = append(w.wanted, o)
	}
}
