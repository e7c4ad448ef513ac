package formsvc_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	gotoken "go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
)

var update = flag.Bool("update", false, "write internal/docs/surface.txt anew")

// public are the packages that hosts import.
var public = []string{
	".", "handler", "handler/builder", "handler/conformance", "handler/conformance/servicetarget", "handler/docs", "handler/export", "handler/formpage",
	"ratelimit", "schema", "storage", "storage/memory", "storage/postgres", "storage/storagetest", "webhooks",
}

// Hosts compile against what is exported. The text has all of it, without comments: a
// change of it is a change of internal/docs/surface.txt, made by
//
//	go test -run TestSurface . -update
func TestSurface(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, dir := range public {
		fmt.Fprintf(&text, "# %s\n\n", path.Join(module, dir))
		for _, decl := range exported(t, dir) {
			fmt.Fprintln(&text, decl)
		}
		fmt.Fprintln(&text)
	}
	const golden = "internal/docs/surface.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("what is exported differs from %s; if that is meant, write it with -update (-file +code):\n%s", golden, diff)
	}
}

// What New returns and what it takes is in the packages that are listed.
func TestSurfaceListsEveryPublicPackage(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "" {
			name = "."
		}
		hidden := strings.Contains("/"+name, "/internal/") || strings.HasPrefix(name, "examples/") || p.Name == "main"
		if !hidden && !slices.Contains(public, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// parsed returns the files of a package without its tests.
func parsed(t *testing.T, dir string) (*gotoken.FileSet, []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := gotoken.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return fset, files
}

// exported prints the exported declarations of a package, one by one and in order.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	fset, files := parsed(t, dir)
	var decls []string
	show := func(node any) {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, node); err != nil {
			t.Fatal(err)
		}
		decls = append(decls, b.String())
	}
	for _, file := range files {
		if !ast.FileExports(file) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				n.Doc, n.Comment = nil, nil
			case *ast.TypeSpec:
				n.Doc, n.Comment = nil, nil
			case *ast.ValueSpec:
				n.Doc, n.Comment = nil, nil
			}
			return true
		})
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil && !gotoken.IsExported(strings.TrimPrefix(expr(decl.Recv.List[0].Type), "*")) {
					continue
				}
				decl.Doc, decl.Body = nil, nil
				show(decl)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if decl.Tok != gotoken.IMPORT {
						show(&ast.GenDecl{Tok: decl.Tok, Specs: []ast.Spec{spec}})
					}
				}
			}
		}
	}
	slices.Sort(decls)
	return decls
}

// sources are the packages whose structs the root has under names of its own.
var sources = map[string]string{"storage": "storage", "schema": "schema", "handler": "handler", "core": "internal/core"}

// An alias of a struct says in its comment which fields it has: on the page of the root's
// documentation nothing else does.
func TestAliasesShowTheirFields(t *testing.T) {
	t.Parallel()
	_, root := parsed(t, ".")
	structs := map[string]*ast.StructType{}
	aliases := map[string]string{} // by what they stand for
	for name, dir := range sources {
		_, files := parsed(t, dir)
		eachType(files, func(spec *ast.TypeSpec, _ string) {
			if s, ok := spec.Type.(*ast.StructType); ok {
				structs[name+"."+spec.Name.Name] = s
			}
		})
	}
	eachType(root, func(spec *ast.TypeSpec, _ string) {
		if spec.Assign.IsValid() {
			aliases[expr(spec.Type)] = spec.Name.Name
		}
	})
	shown := 0
	eachType(root, func(spec *ast.TypeSpec, doc string) {
		of := expr(spec.Type)
		s := structs[of]
		if !spec.Assign.IsValid() || s == nil {
			return
		}
		shown++
		from, _, _ := strings.Cut(of, ".")
		if want := fields(s, from, aliases); !strings.Contains(doc, want) {
			t.Errorf("the comment of %s lacks its fields:\n%s", spec.Name.Name, want)
		}
	})
	if shown < 15 {
		t.Errorf("%d aliases of structs were found", shown)
	}
}

// The text is taken from the source; this holds the way it is read to the type itself.
func TestFieldsOfAnAliasAreThoseOfTheType(t *testing.T) {
	t.Parallel()
	_, files := parsed(t, "storage")
	eachType(files, func(spec *ast.TypeSpec, _ string) {
		if spec.Name.Name != "Workspace" {
			return
		}
		text := fields(spec.Type.(*ast.StructType), "storage", nil)
		of := reflect.TypeFor[formsvc.Workspace]()
		if lines := strings.Count(text, "\n"); lines != of.NumField() {
			t.Errorf("%d lines, %d fields", lines, of.NumField())
		}
		for i := range of.NumField() {
			if !strings.Contains(text, "\t"+of.Field(i).Name+" ") {
				t.Errorf("%s is missing in\n%s", of.Field(i).Name, text)
			}
		}
	})
}

// eachType calls f for every type that files declare, with its comment.
func eachType(files []*ast.File, f func(spec *ast.TypeSpec, doc string)) {
	for _, file := range files {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != gotoken.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.TypeSpec)
				doc := spec.Doc.Text()
				if doc == "" {
					doc = group.Doc.Text()
				}
				f(spec, doc)
			}
		}
	}
}

// fields lists the fields of a struct of package from, one a line, as a comment has
// them. Types have the names that aliases gives them, else those of their package.
func fields(s *ast.StructType, from string, aliases map[string]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 1, ' ', 0)
	for _, field := range s.Fields.List {
		var names []string
		for _, name := range field.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
		if names != nil {
			fmt.Fprintf(w, "%s\t%s\n", strings.Join(names, ", "), named(expr(field.Type), from, aliases))
		}
	}
	w.Flush()
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n\t") + "\n"
}

// named returns the text of a type as the root writes it.
func named(text, from string, aliases map[string]string) string {
	at := strings.LastIndexAny(text, "]*") + 1
	prefix, name := text[:at], text[at:]
	if gotoken.IsExported(name) {
		name = from + "." + name
	}
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	return prefix + name
}

func expr(e ast.Expr) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, gotoken.NewFileSet(), e)
	return b.String()
}
