package servicetest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// logKeys are all keys that log lines have, so that one thing has one name in all
// packages and a host can search for it.
var logKeys = map[string]string{
	"error": "what failed", "origin": "of a page that sends a form", "host": "that it was sent to", "panic": "the value of a panic", "stack": "where it was",
	"request_id": "of the API, as the caller sees it", "method": "", "operation": "the API's operationId",
	"form": "an id", "lacks": "what the form's page has no part for", "webhook": "an id", "event": "an id", "delivery": "an id",
	"attempt": "its number", "class": "of a failed attempt", "duration": "", "retry_in": "",
	"reason": "why a webhook is paused", "failures": "", "since": "", "until": "",
	"path": "of a request", "base_path": "of the service",
	"deliveries": "how many", "results": "how many", "values": "how many",
}

var loggingCall = regexp.MustCompile(`^(Debug|Info|Warn|Error|Log)(Context)?$`)

// keysOf returns the keys of the log lines in a file: strings that are arguments of a
// logging call, or of slog's attributes, or of append beside them, and those in a
// function called logged.
func keysOf(t *testing.T, path string, source any) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), path, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	literal := func(e ast.Expr) (string, bool) {
		l, ok := e.(*ast.BasicLit)
		if !ok || l.Kind != gotoken.STRING {
			return "", false
		}
		text, err := strconv.Unquote(l.Value)
		return text, err == nil
	}
	pairs := func(args []ast.Expr) {
		for i := 0; i < len(args); i++ {
			key, ok := literal(args[i])
			if !ok {
				continue // an attribute, which has its own call, or a list that is spread
			}
			keys[key] = true
			i++
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			selector, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			on := fmt.Sprint(selector.X)
			if identifier, ok := selector.X.(*ast.Ident); ok {
				on = identifier.Name
			} else if field, ok := selector.X.(*ast.SelectorExpr); ok {
				on = field.Sel.Name
			}
			switch {
			case on == "slog" && len(n.Args) == 2: // slog.String and its like
				pairs(n.Args)
			case !loggingCall.MatchString(selector.Sel.Name) || on == "http" || on == "t":
			case on == "log" || strings.EqualFold(on, "logger") || on == "h":
				for i, a := range n.Args {
					_, isText := literal(a)
					if _, joined := a.(*ast.BinaryExpr); isText || joined { // the message
						rest := n.Args[i+1:]
						for _, r := range rest {
							if added, ok := r.(*ast.CallExpr); ok && fmt.Sprint(added.Fun) == "append" {
								pairs(added.Args[1:])
							}
						}
						pairs(rest)
						break
					}
				}
			}
		case *ast.FuncDecl: // of the list that is spread
			if n.Name.Name == "logged" {
				ast.Inspect(n, func(n ast.Node) bool {
					if list, ok := n.(*ast.CompositeLit); ok {
						pairs(list.Elts)
					}
					return true
				})
			}
		}
		return true
	})
	return keys
}

func TestLogLinesHaveOneSetOfKeys(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(logKeys)
	for _, dir := range []string{".", "handler", "handler/formpage", "ratelimit", "schema", "storage", "storage/memory", "storage/postgres", "webhooks", "internal/core", "internal/export", "internal/gather", "internal/intake", "internal/keyring"} {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for key := range keysOf(t, path, nil) {
				if _, known := logKeys[key]; !known {
					t.Errorf("%s logs the key %q", path, key)
				}
				delete(unused, key)
			}
		}
	}
	for key := range unused {
		t.Errorf("no log line has the key %q", key)
	}
	_, said, found := strings.Cut(packageDoc(t, "."), "# Log lines\n")
	if !found {
		t.Fatal("the documentation has no section about log lines")
	}
	words := strings.FieldsFunc(said, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
	for _, key := range slices.Sorted(maps.Keys(logKeys)) {
		if !slices.Contains(words, key) {
			t.Errorf("the documentation does not name the key %q", key)
		}
	}

	// The test above is only worth what keysOf sees.
	seen := keysOf(t, "example.go", `package p
		func f() {
			d.log.Error("message", "a", err)
			s.logger.LogAttrs(ctx, slog.LevelWarn, "message", slog.Any("b", err))
			h.logger.WarnContext(ctx, "message", "c", err, "d", 1)
			d.log.Info("message", append(logged(a), "e", 1)...)
		}
		func logged() []any { return []any{"f", id} }`)
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("keysOf sees %q", got)
	}
}
