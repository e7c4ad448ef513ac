package formsvc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/importer"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// withoutExample are exported functions, methods and types that need no example, and why.
var withoutExample = map[string]string{
	"storage.HeldError":               "a store tells the dispatcher by it what to give again",
	"storage.SubmissionsForKey":       "a step that a store may leave out, as examples/storage does",
	"storage.SubmissionsForKeyParams": "the same",
	"storage.WebhooksForKey":          "the same",
	"storage.WebhooksForKeyParams":    "the same",
}

// wiring is in the first sentence about what only the root package calls.
var wiring = regexp.MustCompile(`promise before v1`)

// calledByOthers are methods that a host does not call itself: package fmt, package errors,
// encoding/json, database/sql and the like do.
var calledByOthers = regexp.MustCompile(`^(String|Format|LogValue|Error|Is|Unwrap|MarshalJSON|UnmarshalJSON|MarshalText|UnmarshalText|Scan|Value|BytesValue|ServeHTTP)$`)

// What a host calls or makes has an example in which one does. A type counts as shown with
// what it is part of. A method that is there for an exported interface is called through it.
func TestWhatHostsCallHasAnExample(t *testing.T) {
	t.Parallel()
	s := readSurface(t)
	shown, exempt := map[string]bool{}, map[string]bool{}
	for _, p := range s.public {
		s.showExamples(t, p, shown)
	}
	for _, p := range s.public {
		for _, name := range s.called(t, p) {
			if withoutExample[name] != "" {
				exempt[name] = !shown[name]
			} else if !shown[name] {
				t.Errorf("%s: no example has %s", p.ImportPath, name)
			}
		}
	}
	for name := range withoutExample {
		if !exempt[name] {
			t.Errorf("%s has an example, or is not exported any more", name)
		}
	}
}

// surface are the packages that hosts import.
type surface struct {
	importer types.Importer
	files    *gotoken.FileSet
	public   []listedFiles
}

type listedFiles struct {
	ImportPath, Export, Dir string
	GoFiles, XTestGoFiles   []string
}

func readSurface(t *testing.T) surface {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,XTestGoFiles",
		".", "./handler/...", "./ratelimit", "./schema", "./storage/...", "./webhooks").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	s, exports := surface{files: gotoken.NewFileSet()}, map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedFiles
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if (p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/")) && !strings.Contains(p.ImportPath, "/internal/") {
			s.public = append(s.public, p)
		}
	}
	s.importer = importer.ForCompiler(gotoken.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return s
}

func (s surface) parse(t *testing.T, dir string, names []string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(s.files, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// showExamples notes what the examples of a package call, and the types of all that stands
// in them. Helpers beside an example belong to it.
func (s surface) showExamples(t *testing.T, p listedFiles, shown map[string]bool) {
	t.Helper()
	functions := func(prefix string) func(ast.Decl) bool {
		return func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, prefix)
		}
	}
	var files []*ast.File
	for _, file := range s.parse(t, p.Dir, p.XTestGoFiles) {
		if slices.ContainsFunc(file.Decls, functions("Example")) {
			file.Decls = slices.DeleteFunc(file.Decls, functions("Test"))
			files = append(files, file)
		}
	}
	s.show(files, shown)
	if p.ImportPath == module+"/storage" { // the example of a storage from scratch is a program
		sources, err := filepath.Glob("examples/storage/*.go")
		if err != nil || len(sources) == 0 {
			t.Fatalf("examples/storage has %d files, %v", len(sources), err)
		}
		s.show(s.parse(t, "", slices.DeleteFunc(sources, func(path string) bool { return strings.HasSuffix(path, "_test.go") })), shown)
	}
}

func (s surface) show(files []*ast.File, shown map[string]bool) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	// What stands in a file that is not looked at is an error of no interest.
	config := types.Config{Importer: s.importer, Error: func(error) {}}
	_, _ = config.Check("example", s.files, files, &info)
	for _, o := range info.Uses {
		if _, ok := o.(*types.Func); ok {
			shown[nameOf(o)] = true
		}
		showType(shown, o.Type())
	}
	for _, e := range info.Types {
		showType(shown, e.Type)
	}
}

// showType notes a type and its parts.
func showType(shown map[string]bool, of types.Type) {
	switch of := of.(type) {
	case *types.Alias:
		showType(shown, types.Unalias(of))
	case *types.Named:
		if name := nameOf(of.Obj()); name != "" && !shown[name] {
			shown[name] = true
			showType(shown, of.Underlying())
		}
	case *types.Struct:
		for field := range of.Fields() {
			if field.Exported() {
				showType(shown, field.Type())
			}
		}
	case *types.Interface:
		for part := range of.EmbeddedTypes() {
			showType(shown, part)
		}
	case *types.Signature:
		showType(shown, of.Params())
		showType(shown, of.Results())
	case *types.Tuple:
		for v := range of.Variables() {
			showType(shown, v.Type())
		}
	case *types.Map:
		showType(shown, of.Key())
		showType(shown, of.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array or a channel
		showType(shown, of.Elem())
	}
}

// nameOf is the name of an exported function, method or type of the module, without its
// path: "storage.ID.IsZero". An alias has the name of what it stands for. All else is "".
func nameOf(o types.Object) string {
	if o.Pkg() == nil || !o.Exported() || !strings.HasPrefix(o.Pkg().Path(), module) {
		return ""
	}
	name := strings.TrimPrefix(strings.TrimPrefix(o.Pkg().Path(), module), "/") + "." + o.Name()
	switch o := o.(type) {
	case *types.TypeName:
		if named, ok := types.Unalias(o.Type()).(*types.Named); ok && o.IsAlias() {
			return nameOf(named.Obj())
		}
		return name
	case *types.Func:
		receiver := o.Signature().Recv()
		if receiver == nil {
			return name
		}
		of := receiver.Type()
		if p, ok := of.(*types.Pointer); ok {
			of = p.Elem()
		}
		if named, ok := of.(*types.Named); ok && nameOf(named.Obj()) != "" {
			return nameOf(named.Obj()) + "." + o.Name()
		}
	}
	return ""
}

// called are the names of what a package exports for hosts to call or make.
func (s surface) called(t *testing.T, p listedFiles) []string {
	t.Helper()
	first := s.firstSentences(t, p)
	var names []string
	add := func(o types.Object, sentence string) {
		if name := nameOf(o); name != "" && !wiring.MatchString(sentence) {
			names = append(names, name)
		}
	}
	scope := s.imported(t, p).Scope()
	for _, name := range scope.Names() {
		add(scope.Lookup(name), first[name])
		declared, isType := scope.Lookup(name).(*types.TypeName)
		if !isType || wiring.MatchString(first[name]) {
			continue
		}
		of, ok := types.Unalias(declared.Type()).(*types.Named)
		if !ok || types.IsInterface(of) {
			continue
		}
		for method := range of.Methods() {
			if !calledByOthers.MatchString(method.Name()) && !s.ofInterface(t, of, method.Name()) {
				add(method, first[name+"."+method.Name()])
			}
		}
	}
	return names
}

// ofInterface reports whether a method is there for an exported interface.
func (s surface) ofInterface(t *testing.T, of *types.Named, method string) bool {
	t.Helper()
	for _, p := range s.public {
		scope := s.imported(t, p).Scope()
		for _, name := range scope.Names() {
			declared, isType := scope.Lookup(name).(*types.TypeName)
			if !isType || !declared.Exported() {
				continue
			}
			i, ok := declared.Type().Underlying().(*types.Interface)
			if !ok || !types.Implements(types.NewPointer(of), i) {
				continue
			}
			if found, _, _ := types.LookupFieldOrMethod(i, false, nil, method); found != nil {
				return true
			}
		}
	}
	return false
}

func (s surface) imported(t *testing.T, p listedFiles) *types.Package {
	t.Helper()
	found, err := s.importer.Import(p.ImportPath)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// firstSentences are those about the functions, types and methods of a package.
func (s surface) firstSentences(t *testing.T, p listedFiles) map[string]string {
	t.Helper()
	read, err := doc.NewFromFiles(s.files, s.parse(t, p.Dir, p.GoFiles), p.ImportPath)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{}
	note := func(prefix string, functions []*doc.Func) {
		for _, f := range functions {
			first[prefix+f.Name] = read.Synopsis(f.Doc)
		}
	}
	note("", read.Funcs)
	for _, d := range read.Types {
		first[d.Name] = read.Synopsis(d.Doc)
		note("", d.Funcs)
		note(d.Name+".", d.Methods)
	}
	return first
}
