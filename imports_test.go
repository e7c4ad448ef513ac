package formsvc_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

const module = "github.com/formsvc/formsvc"

// A page is read, walked, checked and drawn: each package in rooms imports only packages before
// it, and handler/formpage imports all of them.
const rooms = "handler/formpage/internal/"

var inOrder = strings.Fields(`input htmlwriter static pagestate formblock words filetype host policy theme
	formdata formstep upload field render`)

// before reports whether a package is one of the rooms before that with a name.
func before(name, path string) bool {
	room, is := strings.CutPrefix(path, rooms)
	at := slices.Index(inOrder, room)
	return is && at >= 0 && (name == "handler/formpage" || at < slices.Index(inOrder, strings.TrimPrefix(name, rooms)))
}

// allowed says who may import whom, the standard library aside. A package that
// is not listed may import nothing but the standard library.
var allowed = map[string][]string{
	"": {
		"handler", "ratelimit", "schema", "storage", "webhooks", "github.com/sethvargo/go-limiter",
		"internal/apidoc", "internal/core", "internal/dispatch", "internal/export", "internal/filter", "internal/hostdata", "internal/httpapi", "internal/intake", "internal/keyring", "internal/objectid", "internal/secrets", "internal/summary", "internal/version",
	},

	// A host's own store looks at these as an example, so they use only what the
	// host can use too, but for the cache.
	"storage":        {},
	"storage/memory": {"storage"},
	"storage/postgres": {
		"storage", "storage/postgres/internal/conn", "storage/postgres/internal/tables", "internal/cache", "internal/timeout",
		"github.com/Masterminds/squirrel", "github.com/jackc/pgx/v5",
	},
	"storage/postgres/internal/conn":   {"storage", "internal/cache", "internal/timeout", "github.com/jackc/pgx/v5"},
	"storage/postgres/internal/tables": {"storage/postgres/internal/conn", "github.com/golang-migrate/migrate/v4", "github.com/jackc/pgx/v5"},
	"storage/storagetest":              {"storage"},

	"schema":    {"internal/jsontree", "internal/formdiff", "internal/weburl", "storage"},
	"ratelimit": {"internal/timeout", "github.com/sethvargo/go-limiter"},
	"webhooks":  {"storage", "internal/cache", "internal/dispatch", "internal/objectid", "internal/publicaddr", "internal/scheduler", "internal/secrets", "internal/textclean", "internal/timeout", "golang.org/x/net/http/httpguts", "golang.org/x/net/idna"},

	"handler": {
		"ratelimit", "schema", "storage", "github.com/go-chi/chi/v5",
		"internal/apidoc", "internal/apierror", "internal/core", "internal/cursor", "internal/download", "internal/export", "internal/filter", "internal/httpapi", "internal/jsontree", "internal/requestid", "internal/timeout",
	},
	"handler/builder":  {"", "handler/formpage", "internal/apidoc", "internal/apierror", "internal/cache", "internal/calendar", "internal/color", "internal/definition", "internal/download", "internal/gzipped", "internal/intake", "internal/jsontree", "internal/layout", "internal/logic", "internal/requestid", "ratelimit", "schema", "golang.org/x/text"},
	"handler/docs":     {},
	"handler/formpage": {"", "internal/cache", "internal/core", "internal/gzipped", "internal/insertion", "internal/intake", "internal/layout", "internal/timeout", "ratelimit", "schema", "storage", "github.com/sethvargo/go-limiter", "golang.org/x/text"},
	// Beside the rooms before them, see rooms.
	rooms + "formblock":                 {"schema"},
	rooms + "words":                     {"internal/answers/answertype", "golang.org/x/text"},
	rooms + "filetype":                  {"internal/answers/answertype", "schema"},
	rooms + "host":                      {"schema"},
	rooms + "policy":                    {"schema", "golang.org/x/net/idna"},
	rooms + "theme":                     {"internal/color", "schema", "github.com/tdewolff/parse/v2"},
	rooms + "pagestate":                 {"schema"},
	rooms + "formstep":                  {"", "schema"},
	rooms + "formdata":                  {"internal/answers/answertype", "internal/calendar", "internal/jsontree", "schema", "golang.org/x/text/unicode/norm"},
	rooms + "static":                    {"internal/gzipped"},
	rooms + "upload":                    {"schema"},
	rooms + "field":                     {"internal/answers/answertype", "schema", "golang.org/x/text"},
	rooms + "render":                    {"", "internal/insertion", "schema"},
	"handler/apicheck":                  {"internal/apispec"},
	"handler/conformance":               {"schema", "internal/apispec"},
	"handler/conformance/servicetarget": {"", "handler/conformance", "storage"},

	// JSON, then schemas, then forms: each knows only the ones before it.
	"internal/jsontree":    {},
	"internal/formdiff":    {"internal/jsontree", "storage"},
	"internal/logic":       {"internal/jsontree"},
	"internal/textclean":   {},
	"internal/weburl":      {"internal/textclean"},
	"internal/publicaddr":  {},
	"internal/servicetest": {}, // tests alone
	"internal/calendar":    {},
	"internal/color":       {},
	"internal/gzipped":     {},
	"internal/layout":      {},
	"internal/requestid":   {},
	"internal/violation":   {"schema"},
	"internal/insertion":   {"schema"},
	"internal/validation":  {"internal/violation", "internal/jsontree", "schema", "github.com/santhosh-tekuri/jsonschema/v5"},
	"internal/apidoc":      {"internal/jsontree", "internal/version", "internal/weburl", "schema"},
	// Checks responses, for the suite and for tests.
	"internal/apispec": {"internal/apidoc", "internal/jsontree", "internal/validation", "schema", "github.com/santhosh-tekuri/jsonschema/v5"},
	"internal/definition": {
		"internal/calendar", "internal/violation", "internal/jsontree", "internal/logic", "internal/secrets", "internal/validation", "internal/textclean",
		"internal/weburl", "schema", "storage",
	},
	// Answers: each package knows only those before it, and the last is what callers use.
	"internal/answers/answertype": {
		"internal/calendar", "internal/violation", "internal/jsontree", "internal/publicaddr", "internal/textclean", "internal/weburl", "schema",
		"github.com/nyaruka/phonenumbers", "golang.org/x/net/idna", "golang.org/x/text/cases", "golang.org/x/text/language", "golang.org/x/text/unicode/norm",
	},
	"internal/answers/compile":  {"internal/answers/answertype", "internal/violation", "internal/jsontree", "internal/logic", "schema", "storage"},
	"internal/answers/identity": {"internal/answers/compile", "internal/answers/answertype", "internal/violation", "internal/jsontree", "schema"},
	"internal/answers/check":    {"internal/answers/compile", "internal/answers/identity", "internal/answers/answertype", "internal/jsontree", "schema"},
	"internal/answers/path": {
		"internal/answers/check", "internal/answers/compile", "internal/answers/answertype", "internal/jsontree", "internal/logic", "schema",
	},
	"internal/answers/warnings": {
		"internal/answers/compile", "internal/answers/answertype", "internal/answers/path", "internal/cache", "internal/insertion", "internal/jsontree", "internal/logic", "internal/textclean", "schema",
	},
	"internal/answers": {
		"internal/answers/answertype", "internal/answers/check", "internal/answers/compile", "internal/answers/identity", "internal/answers/path", "internal/answers/warnings", "schema",
	},

	"internal/hostdata": {"internal/answers", "internal/timeout", "schema", "storage"},

	// The operations, for both doors.
	"internal/core": {"internal/answers", "internal/cache", "internal/calendar", "internal/definition", "internal/filter", "internal/violation", "internal/batching", "internal/jsontree", "internal/objectid", "internal/formdiff", "internal/hostdata", "internal/secrets", "internal/summary", "internal/timeout", "internal/textclean", "schema", "storage"},

	// A response from its arrival to the storage.
	"internal/intake": {"internal/answers", "internal/cache", "internal/core", "internal/hostdata", "internal/violation", "internal/jsontree", "internal/objectid", "internal/timeout", "schema", "storage"},

	"internal/dispatch": {"internal/secrets", "storage"},
	"internal/download": {},
	"internal/apierror": {"internal/jsontree", "schema", "storage"},
	"internal/httpapi":  {"internal/core", "ratelimit", "schema", "storage"},
	"internal/filter":   {"internal/answers/path", "internal/jsontree", "internal/logic", "internal/violation", "schema", "storage", "golang.org/x/text"},
	"internal/export":   {"internal/filter", "internal/jsontree", "schema", "storage"},
	"internal/keyring":  {"internal/cache", "internal/violation", "internal/batching", "internal/objectid", "internal/textclean", "schema", "storage"},
	"internal/summary":  {"internal/export", "internal/filter", "internal/violation", "schema", "storage"},

	"internal/cache":    {},
	"internal/batching": {"storage"},
	"internal/cursor":   {"storage"},
	"internal/objectid": {"storage"},
	"internal/secrets":  {"internal/textclean", "storage", "golang.org/x/text/unicode/norm"},
	"internal/timeout":  {},
	"internal/version":  {},

	// What a dispatcher does next, without a clock or a goroutine of its own.
	"internal/scheduler": {"storage"},
}

type listed struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string
	Module     *struct{ Path, Dir string } // nil in the standard library
}

// list runs go list over the module's packages, without their tests.
func iteratePages(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Name,Imports,Deps,Module"}, args...)...).Output()
	expect.Require(t, err == nil, "go list: %v", err)
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// forbidden returns the imports of a package that its row does not allow.
func forbidden(p listed) []string {
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if p.Name == "main" || strings.HasPrefix(name, "internal/lab/") {
		return nil // a program may import what it likes, and so may the workshop, which only tests use
	}
	var found []string
	for _, path := range p.Imports {
		own := path == module || strings.HasPrefix(path, module+"/")
		short := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		first, _, _ := strings.Cut(path, "/")
		switch {
		case path == "testing" && !slices.Contains([]string{"handler/conformance", "storage/storagetest"}, name):
			found = append(found, path)
		case !own && !strings.Contains(first, "."): // the standard library
		case before(name, short):
		case slices.ContainsFunc(allowed[name], func(row string) bool {
			// A row of another module stands for the packages below it as well.
			return short == row || !own && strings.HasPrefix(short, row+"/")
		}):
		default:
			found = append(found, path)
		}
	}
	return found
}

func TestWhoImportsWhom(t *testing.T) {
	t.Parallel()
	packages := iteratePages(t, "./...")
	expect.Require(t, len(packages) >= len(allowed), "go list found %d packages, the table has %d", len(packages), len(allowed))
	for _, p := range packages {
		for _, path := range forbidden(p) {
			t.Errorf("%s must not import %s", p.ImportPath, path)
		}
	}
}

// What only tests need must not reach a host's binary.
func TestAHostLinksNoTestDependency(t *testing.T) {
	t.Parallel()
	for _, p := range iteratePages(t, "./...") {
		if strings.HasPrefix(p.ImportPath, module+"/internal/lab/") || p.ImportPath == module+"/internal/servicetest" {
			continue
		}
		for _, path := range p.Deps {
			expect.That(t, !strings.HasPrefix(path, module+"/internal/lab/") && path != module+"/internal/servicetest",
				"%s depends on %s, which only tests need", p.ImportPath, path)
		}
	}
	for _, p := range iteratePages(t, ".", "./handler", "./handler/docs", "./handler/formpage", "./storage/memory") {
		for _, path := range p.Deps {
			for _, unwanted := range []string{"testing", "pgregory.net/", "go.uber.org/goleak", "github.com/google/go-cmp", "github.com/jackc/", "github.com/Masterminds/", "github.com/golang-migrate/"} {
				if path == unwanted || strings.HasSuffix(unwanted, "/") && strings.HasPrefix(path, unwanted) || strings.HasPrefix(path, unwanted+"/") {
					t.Errorf("%s depends on %s", p.ImportPath, path)
				}
			}
		}
	}
}

// What README says a host costs grows with a module, which is meant then.
func TestAHostLinksTheModulesThatReadmeCounts(t *testing.T) {
	t.Parallel()
	linked := func(packages ...string) int {
		args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"}, packages...)
		out, err := exec.CommandContext(t.Context(), "go", args...).Output()
		expect.Require(t, err == nil, "go list: %v", err)
		modules := strings.Fields(string(out))
		slices.Sort(modules)
		return len(slices.Compact(modules))
	}
	says := fmt.Sprintf("the code of %d other modules, of %d with form pages, of %d with form pages and PostgreSQL",
		linked(".", "./storage/memory"), linked(".", "./handler/formpage"), linked(".", "./handler/formpage", "./storage/postgres"))
	readme, err := os.ReadFile("README.md")
	expect.That(t, err == nil && strings.Contains(string(readme), says), "README does not say %q, %v", says, err)
}

// The suite is linked into hosts' tests: it brings them nothing but itself and the
// library that checks responses.
func TestTheSuiteLinksNothingElse(t *testing.T) {
	t.Parallel()
	for _, p := range iteratePages(t, "./handler/conformance") {
		for _, path := range p.Deps {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(path, module+"/") || strings.HasPrefix(path, "github.com/santhosh-tekuri/jsonschema/v5") {
				continue
			}
			t.Errorf("the suite depends on %s", path)
		}
	}
}

// licenses are phrases of the texts of licenses.
var licenses = map[string]string{
	"MIT": "Permission is hereby granted, free of charge", "Apache-2.0": "Apache License Version 2.0",
	"BSD-3-Clause": "Redistribution and use in source and binary forms, with or without modification, are permitted",
}

// NOTICE has the modules that hosts link, each with the license that its text is.
func TestNoticeNamesWhatHostsLink(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	notice := expect.Must(os.ReadFile("NOTICE"))
	named := make(map[string]map[string]string) // by package, the license of each module
	pkg := ""
	for line := range strings.Lines(string(notice)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(line, module):
			pkg = strings.TrimSuffix(word, ",")
			named[pkg] = make(map[string]string)
		case strings.HasPrefix(line, "    "):
			named[pkg][word], _, _ = strings.Cut(strings.TrimSpace(rest), ",")
		}
	}
	for _, dir := range public {
		links := path.Join(module, dir)
		found := make(map[string]bool)
		for _, p := range iteratePages(t, "-deps", "./"+dir) {
			if p.Module == nil || p.Module.Path == module || found[p.Module.Path] {
				continue
			}
			found[p.Module.Path] = true
			license := cmp.Or(named[links][p.Module.Path], named[path.Dir(links)][p.Module.Path], named[module][p.Module.Path])
			if license == "" {
				t.Errorf("%s links %s, which NOTICE does not name", links, p.Module.Path)
				continue
			}
			files, _ := filepath.Glob(filepath.Join(p.Module.Dir, "LICENSE*")) // the pattern is a valid one
			text := ""
			for _, file := range files {
				raw := expect.Must(os.ReadFile(file))
				text += strings.Join(strings.Fields(string(raw)), " ")
			}
			phrase := licenses[license]
			expect.That(t, phrase != "" && strings.Contains(text, phrase), "the license of %s is not %s", p.Module.Path, license)
		}
		for name := range named[links] {
			expect.That(t, found[name], "NOTICE says that %s links %s", links, name)
		}
	}
	expect.That(t, len(named) >= 4, "NOTICE has %d packages", len(named))
}
