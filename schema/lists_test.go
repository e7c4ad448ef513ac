package schema_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// listed are the functions and variables that name three block types or more, and may. All
// others ask the table of kinds, so that a new type is not forgotten there.
var listed = map[string]string{
	"handler/builder/charts.go chart":                   "what is drawn besides, of a shape that other types have too",
	"handler/builder/charts.go choices":                 "what is called besides, of a shape that other types have too",
	"handler/formpage/internal/field/canvas.go canvas":  "what stands beside a block of each for its editor",
	"handler/formpage/internal/field/kinds.go draw":     "how a block of each type is drawn",
	"handler/formpage/internal/field/field.go fields":   "blocks that are no fields of a page",
	"handler/formpage/internal/walk/walk.go startsStep": "content that has a page of its own",
	"internal/answers/kinds/kinds.go rules":             "the rule for answers of each type: functions cannot stand in schema",
	"internal/answers/kinds/number.go idle":             "what has no effect in the properties of each",
	"internal/definition/blocks.go inferType":           "the types of blocks that do not say theirs",
	"internal/definition/cells.go cells":                "what is drawn besides, of a shape that other types have too",
	"internal/summary/tally.go count":                   "what is counted besides, of a shape that other types have too",
}

// tools are what hosts do not link, or where the types are only material.
var tools = []string{"internal/lab/", "examples/", "handler/conformance/", "storage/storagetest/", "schema/kinds.go", "handler/builder/web/"}

// TestTypesAreListedInOneTable finds lists of types that are written by hand.
func TestTypesAreListedInOneTable(t *testing.T) {
	t.Parallel()
	root := os.DirFS("..")
	unused := maps.Clone(listed)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "node_modules" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"),
			slices.ContainsFunc(tools, func(folder string) bool { return strings.HasPrefix(path, folder) }):
			return nil
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for place, types := range typeLists(t, path, source) {
			if listed[place] == "" {
				t.Errorf("%s lists the types %v: derive them from schema.KindOf, or say in listed why it must", place, types)
			}
			delete(unused, place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range unused {
		t.Errorf("%s lists no types any more", place)
	}
}

// TestThePlantedListIsFound shows that typeLists finds each way to write a list.
func TestThePlantedListIsFound(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"a switch":            `func f(typ string) bool { switch typ { case schema.TypeDate, schema.TypeTime: return true; case schema.TypeNPS: return false }; return true }`,
		"a switch of words":   `func f(typ string) bool { switch typ { case "short_text", "long_text", "nps": return true }; return false }`,
		"a map":               `var m = map[string]int{schema.TypeDate: 1, schema.TypeTime: 2, "nps": 3}`,
		"values of a map":     `var m = map[int]string{1: schema.TypeDate, 2: schema.TypeTime, 3: schema.TypeNPS}`,
		"a slice":             `var s = []string{schema.TypeDate, schema.TypeTime, schema.TypeNPS}`,
		"comparisons":         `func f(typ string) bool { return typ == schema.TypeDate || typ == schema.TypeTime || schema.TypeNPS == typ }`,
		"comparisons with !=": `func f(typ string) bool { return typ != schema.TypeDate && typ != "legal" && typ != schema.TypeNPS }`,
		"arguments":           `func f(typ string) bool { return is(typ, schema.TypeDate, schema.TypeTime, schema.TypeNPS) }`,
		"one after the other": `func f(b *Block) { if b.Type == schema.TypeDate { g() }; if b.Type == schema.TypeTime { g() }; if b.Type == schema.TypeNPS { g() } }`,
	} {
		if found := typeLists(t, "planted.go", []byte("package p\n"+code)); len(found) != 1 {
			t.Errorf("%s: %v", name, found)
		}
	}
	for name, code := range map[string]string{
		"two types":           `func f(typ string) bool { return typ == schema.TypeDate || typ == schema.TypeTime || typ == schema.TypeDate }`,
		"parts of an address": `var parts = []string{"firstName", "email", "phone", "country", "address", "text", "date"}`,
		"other words":         `var s = []string{"draft", "published", "text"}`,
		"two functions":       `func f() bool { return a == schema.TypeDate || a == schema.TypeTime }; func g() bool { return a == schema.TypeNPS }`,
		"shapes":              `func f(s schema.AnswerShape) bool { switch s { case schema.ShapeDate, schema.ShapeTime, schema.ShapeText: return true }; return false }`,
	} {
		if found := typeLists(t, "planted.go", []byte("package p\n"+code)); len(found) != 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// typeLists returns the functions and variables of a file that name three types of blocks or
// more, by the file and their names. Parts of an address and inputs of HTML are called as types
// are, so that their words do not count.
func typeLists(t *testing.T, path string, source []byte) map[string][]string {
	t.Helper()
	constants, words := map[string]string{}, map[string]bool{}
	for k := range schema.Kinds() {
		constants["Type"+strings.ReplaceAll(strings.ToLower(k.Type), "_", "")] = k.Type
		words[k.Type] = true
	}
	for _, part := range (schema.Contact{}).Parts() {
		delete(words, part.Name)
	}
	for _, input := range []string{"date", "image", "number", "text", "time"} {
		delete(words, input)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	for _, declared := range file.Decls {
		var name string
		switch d := declared.(type) {
		case *ast.FuncDecl:
			name = d.Name.Name
		case *ast.GenDecl:
			if d.Tok != token.VAR && d.Tok != token.CONST {
				continue
			}
			name = d.Specs[0].(*ast.ValueSpec).Names[0].Name
		}
		found := map[string]bool{}
		ast.Inspect(declared, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if typ := constants["Type"+strings.ToLower(strings.TrimPrefix(n.Name, "Type"))]; typ != "" && strings.HasPrefix(n.Name, "Type") {
					found[typ] = true
				}
			case *ast.BasicLit:
				if word, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && words[word] {
					found[word] = true
				}
			}
			return true
		})
		if len(found) >= 3 {
			lists[path+" "+name] = slices.Sorted(maps.Keys(found))
		}
	}
	return lists
}
