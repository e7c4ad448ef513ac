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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

var update = flag.Bool("update", false, "write internal/docs/surface.txt anew")

// public are the packages that hosts import.
var public = []string{
	".", "handler", "handler/apicheck", "handler/builder", "handler/conformance", "handler/conformance/servicetarget", "handler/docs", "handler/formpage",
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
		expect.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want := expect.Must(os.ReadFile(golden))
	diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n"))
	expect.That(t, diff == "", "what is exported differs from %s; if that is meant, write it with -update (-file +code):\n%s", golden, diff)
}

// What New returns and what it takes is in the packages that are listed.
func TestSurfaceListsEveryPublicPackage(t *testing.T) {
	t.Parallel()
	for _, p := range iteratePages(t, "./...") {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "" {
			name = "."
		}
		hidden := strings.Contains("/"+name, "/internal/") || strings.HasPrefix(name, "examples/") || p.Name == "main"
		expect.That(t, hidden || slices.Contains(public, name), "%s is missing", name)
	}
}

// parsed returns the files of a package without its tests.
func parsed(t *testing.T, dir string) (*gotoken.FileSet, []*ast.File) {
	t.Helper()
	names := expect.Must(filepath.Glob(filepath.Join(dir, "*.go")))
	fset := gotoken.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := expect.Must(parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution))
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
		expect.NoError(t, printer.Fprint(&b, fset, node))
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

// isInternal reports whether an expression names something of a package below internal.
func isInternal(file *ast.File, value ast.Node) bool {
	of, ok := value.(*ast.SelectorExpr)
	return ok && slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.Contains(i.Path.Value, "/internal/") && strings.HasSuffix(i.Path.Value, "/"+expr(of.X)+`"`)
	})
}

// Two functions take types of packages below internal, because package formsvc calls them. Nothing
// else that hosts see has such a type.
func TestOnlyTwoFunctionsAreWiring(t *testing.T) {
	t.Parallel()
	var found []string
	for _, dir := range public {
		_, files := parsed(t, dir)
		for _, file := range files {
			ast.FileExports(file)
			note := func(name string, in ast.Node) {
				ast.Inspect(in, func(n ast.Node) bool {
					if at := dir + "." + name; isInternal(file, n) && !slices.Contains(found, at) {
						found = append(found, at)
					}
					return true
				})
			}
			eachType([]*ast.File{file}, func(spec *ast.TypeSpec, _ string) { note(spec.Name.Name, spec.Type) })
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && (f.Recv == nil || gotoken.IsExported(strings.TrimPrefix(expr(f.Recv.List[0].Type), "*"))) {
					note(f.Name.Name, f.Type)
				}
			}
		}
	}
	expect.Same(t, []string{"handler.New", "webhooks.NewDispatcher"}, found, "with types of packages below internal")
}

// What hosts see is defined in a package that they can read: no name of a public package stands for
// one below internal. The comment of an alias leads to the type and does not list its fields.
func TestAliasesLeadToPublicPackages(t *testing.T) {
	t.Parallel()
	aliases := 0
	for _, dir := range public {
		_, files := parsed(t, dir)
		for _, file := range files {
			eachType([]*ast.File{file}, func(spec *ast.TypeSpec, doc string) {
				if !spec.Assign.IsValid() || !spec.Name.IsExported() {
					return
				}
				aliases++
				expect.That(t, !isInternal(file, spec.Type), "%s of %s is a type of an internal package", spec.Name.Name, dir)
				expect.That(t, !strings.Contains(doc, "\t"), "the comment of %s in %s lists what it stands for", spec.Name.Name, dir)
			})
			for _, decl := range file.Decls {
				group, ok := decl.(*ast.GenDecl)
				if !ok || group.Tok != gotoken.VAR && group.Tok != gotoken.CONST {
					continue
				}
				for _, spec := range group.Specs {
					values := spec.(*ast.ValueSpec)
					for i, value := range values.Values {
						if values.Names[i].IsExported() && isInternal(file, value) {
							t.Errorf("%s of %s is a value of an internal package", values.Names[i].Name, dir)
						}
					}
				}
			}
		}
	}
	expect.That(t, aliases >= 20, "%d aliases were found", aliases)
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

func expr(e ast.Expr) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, gotoken.NewFileSet(), e)
	return b.String()
}
