package dialguard_test

import (
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// dialers are the places of the library and of its test helpers that connect to others by
// themselves, or make something that does. What is not here goes through
// http.DefaultTransport.
var dialers = map[string]string{
	"webhooks/client.go":                   "http.Transport net.Dialer", // asks publicaddr.BeforeDial
	"internal/lab/dialguard/dialguard.go":  "net.Dialer net.Resolver",
	"internal/lab/pgtest/pgrun/bouncer.go": "net.Dialer",                // a unix socket
	"internal/lab/pgtest/wire.go":          "net.Dialer",                // the tests' PostgreSQL
	"examples/quickstart/pool.go":          "net.Dialer",                // the database that -database-url names
	"internal/lab/cluster/driver.go":       "http.Transport net.Dialer", // into its own network namespaces, as the next two
	"internal/lab/cluster/nodes.go":        "http.Transport",
	"internal/lab/cluster/pool.go":         "net.Dialer",
	"internal/lab/bench/hotpaths/load.go":  "net.Dialer", // the rest are programs, and dial their own processes
	"internal/lab/bench/river/main.go":     "http.Transport",
	"internal/lab/soak/load.go":            "http.Transport",
}

var dialing = regexp.MustCompile(`^(net\.(Dial|DialTimeout|DialTCP|DialUDP|DialIP|Dialer|Resolver|Lookup.*|ResolveIPAddr|ResolveTCPAddr|ResolveUDPAddr|ListenUDP|ListenPacket)|http\.Transport|tls\.(Dial|DialWithDialer|Dialer))$`)

// dialsOf returns what a file makes or calls that dials by itself.
func dialsOf(t *testing.T, path string, source any) string {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), path, source, 0)
	expect.NoError(t, err)
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, ok := n.(*ast.TypeAssertExpr); ok { // http.DefaultTransport.(*http.Transport)
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && dialing.MatchString(of.Name+"."+s.Sel.Name) {
				found[of.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// testDials is text of a test that connects to something.
var testDials = regexp.MustCompile(`httptest\.New(TLS|Unstarted)?Server|net\.Dial|net\.Listen|pgtest\.(Pool|URL)\(|http\.DefaultClient|http\.Client\{`)

// What the library dials with is guarded in its tests (package dialguard), and so is each
// package whose tests dial.
func TestWhoDials(t *testing.T) {
	t.Parallel()
	seen, tests, guarded := map[string]string{}, map[string]bool{}, map[string]bool{}
	root := os.DirFS("../../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != ".": // other tests and programs make files for a moment
			return nil
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		case !strings.HasSuffix(path, "_test.go"):
			if found := dialsOf(t, filepath.Join("../../..", path), nil); found != "" {
				seen[path] = found
			}
			return nil
		}
		text, err := fs.ReadFile(root, path)
		dir := filepath.ToSlash(filepath.Dir(path))
		tests[dir] = tests[dir] || testDials.Match(text)
		guarded[dir] = guarded[dir] || strings.Contains(string(text), "dialguard.Guard(m)")
		return err
	})
	expect.NoError(t, err)
	expect.That(t, maps.Equal(seen, dialers), "these dial: %v\nwant %v", seen, dialers)
	for dir, dial := range tests {
		expect.That(t, !dial || guarded[dir], "the tests of %s dial, and nothing guards them: see package dialguard", dir)
	}
	expect.That(t, guarded["internal/servicetest"] && guarded["webhooks"] && guarded["storage/postgres"], "guarded is %v", guarded)

	// The test is only worth what dialsOf sees.
	const source = `package x
		func a() { _, _ = net.Dial("", ""); _ = &http.Transport{}; var d net.Dialer; _, _ = net.LookupHost(""); _ = http.DefaultTransport.(*http.Transport).Clone() }`
	expect.Equal(t, dialsOf(t, "x.go", source), "http.Transport net.Dial net.Dialer net.LookupHost", "seen")
}
