// Package docs_test checks the documents of this directory against the code.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var guards = []string{"Entry point", "Size", "Cost", "Limiter", "Captcha", "Framing", "Origin"}

// tests are the names of all tests of the tree.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range all(t, path, `(?m)^func (Test\w+)\(`) {
			found[m] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// all returns what a pattern finds in a file: its first group.
func all(t *testing.T, path, pattern string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	return found
}

// waysIn are the ways in that the source has: the builder's paths and endpoints, the routes of a form page, and
// what is a handler.
func waysIn(t *testing.T) (found []string) {
	t.Helper()
	add := func(least int, names []string) {
		t.Helper()
		if len(names) < least {
			t.Fatalf("only %q was found, of at least %d", names, least)
		}
		found = append(found, names...)
	}
	sources, err := filepath.Glob(root + "/handler/builder/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var endpoints []string
	for _, path := range sources {
		endpoints = append(endpoints, all(t, path, `(?m)^\t\t\{"([A-Z]+ /[^"]+)", \w+, `)...)
	}
	add(20, endpoints)
	paths := slices.DeleteFunc(all(t, root+"/handler/builder/builder.go", `(?m)^\t\w+Path += "([^"]+)"`), func(path string) bool { return path == "/-/builder" })
	add(4, paths)
	routes := all(t, root+"/handler/formpage/serve.go", `(?m)^\t"([\w.]*)":\s+\{`)
	for i, route := range routes {
		routes[i] = strings.TrimSuffix("{form}/"+route, "/")
	}
	add(8, routes)
	surface, err := os.ReadFile("surface.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"": "", "handler/builder": "Builder.", "handler/formpage": "Formpage.", "handler/docs": "Docs."}
	for _, section := range strings.Split("\n"+string(surface), "\n# ")[1:] {
		path, rest, _ := strings.Cut(section, "\n")
		name, public := names[strings.Trim(strings.TrimPrefix(path, "github.com/formsvc/formsvc"), "/")]
		if !public {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^func (?:\(\w+ \*?(\w+)\) )?(\w+)\(.*(?:ResponseWriter.*|\) http\.Handler)$`).FindAllStringSubmatch(rest, -1) {
			of := m[1] + "."
			switch {
			case m[1] == "Handler":
				of = name
			case m[1] == "" && name == "Formpage.":
				of = "" // FileHandler
			case m[1] == "":
				of = name
			}
			found = append(found, of+m[2])
		}
	}
	return found
}

// Each way in has a row, and each guard of it a test or a reason.
func TestEveryWayInHasItsGuards(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("guards.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := tests(t)
	code := regexp.MustCompile("`([^`]+)`")
	rows := map[string]int{}
	for n, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != len(guards) {
			t.Errorf("line %d has %d cells", n+1, len(cells))
			continue
		}
		if cells[0] == guards[0] {
			if !slices.Equal(cells, guards) {
				t.Errorf("the guards are %q", cells)
			}
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[0], -1) {
			rows[m[1]]++
		}
		for i, cell := range cells[1:] {
			named := code.FindAllStringSubmatch(cell, -1)
			reason, applies := strings.CutPrefix(cell, "does not apply: ")
			if len(named) == 0 && (!applies || reason == "") {
				t.Errorf("%s: %s has no test and no reason", cells[0], guards[i+1])
			}
			for _, m := range named {
				if !exists[m[1]] {
					t.Errorf("%s: %s names %s, which is no test", cells[0], guards[i+1], m[1])
				}
			}
		}
	}
	ways := waysIn(t)
	for _, way := range ways {
		if rows[way] != 1 {
			t.Errorf("the way in %q has %d rows", way, rows[way])
		}
	}
	// Those that no pattern finds: pages below "/", previews, edits and static files of a form page, calls in Go.
	goCall := regexp.MustCompile(`^(Client|Service|Formpage)\.\w+$`)
	surface, err := os.ReadFile("surface.txt")
	if err != nil {
		t.Fatal(err)
	}
	for row, n := range rows {
		_, call, _ := strings.Cut(row, ".")
		called := goCall.MatchString(row) && strings.Contains(string(surface), ") "+call+"(")
		if n != 1 || !slices.Contains(ways, row) && !slices.Contains([]string{"/", "-/", "-/preview/", "-/edit/"}, row) && !called {
			t.Errorf("the row %q is of no way in, or there twice", row)
		}
	}
}
