package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// programs are those that hosts install, how each is started here, and what it prints then.
// Those that need a database of their own are asked for nothing but to say so.
var programs = map[string]struct {
	args   []string
	prints string
	fails  bool // it ends with an error, by itself or when it is interrupted
}{
	"examples/quickstart":        {[]string{"-addr", "127.0.0.1:0"}, `Page: (http://\S+)/`, false},
	"examples/mount":             {[]string{"-addr", "127.0.0.1:0"}, `"msg":"serving"`, false},
	"examples/tenants":           {[]string{"-addr", "127.0.0.1:0"}, `curl .*/v1/me`, false},
	"examples/storage":           {[]string{"-addr", "127.0.0.1:0"}, `the API is at`, false},
	"examples/otel":              {[]string{"-addr", "127.0.0.1:0"}, `API: http`, false},
	"examples/contact":           {nil, `http://127\.0\.0\.1:8080/f/contact`, true},
	"examples/auth":              {nil, `auth: -database-url is required`, true},
	"examples/replicas":          {[]string{"-database-url", "postgres://127.0.0.1:1/forms"}, `(?s)replicas: .*127\.0\.0\.1`, true},
	"examples/orm":               {[]string{"-database-url", "postgres://127.0.0.1:1/forms"}, `(?s)orm: .*127\.0\.0\.1`, true},
	"handler/conformance/remote": {nil, `URL`, true},
}

// The commands of release.md tag modules that somebody installs who has an empty folder.
func TestTheReleaseIsInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles every program")
	}
	dir := t.TempDir()
	p := must(release(t.Context(), root, dir))
	made := must(read(t.Context(), filepath.Join(dir, "tree")))
	user := filepath.Join(dir, "user")
	bin := filepath.Join(dir, "bin")
	noError(t, os.Mkdir(user, 0o750))
	settings := append(p.settings(), "GOBIN="+bin, "DATABASE_URL=", "FORMS_KEY=")
	run := func(t *testing.T, at, name string, args ...string) {
		t.Helper()
		if _, err := command(t.Context(), at, settings, name, args...); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range examples(t) {
		if _, ok := programs[folder]; !ok {
			t.Errorf("how %s is started is not known", folder)
		}
	}
	for name, program := range programs {
		run(t, user, "go", "install", module+"/"+name+"@"+made.version)
		t.Run(name, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), filepath.Join(bin, path.Base(name)), program.args...)
			c.Dir, c.Env = user, append(os.Environ(), settings...)
			printed, found := start(t, c, regexp.MustCompile(program.prints))
			if name == "examples/quickstart" && found != nil {
				visit(t, found[1], made.version)
				key := regexp.MustCompile(`Key: (\S+)`).FindStringSubmatch(printed)
				if key == nil {
					t.Fatalf("it prints no key: %s", printed)
				}
				// What remote is, is installed by then or now.
				run(t, user, "go", "install", module+"/handler/conformance/remote@"+made.version)
				run(t, user, filepath.Join(bin, "remote"), "-url", found[1]+"/v1", "-key", key[1], "-only", "description", "-only", "me")
			}
			_ = c.Process.Signal(os.Interrupt)
			if err := c.Wait(); (err != nil) != program.fails {
				t.Errorf("it ends with %v", err)
			}
		})
	}

	t.Run("the README's first program", func(t *testing.T) {
		text := must(os.ReadFile(filepath.Join(dir, "tree", "README.md")))
		found := regexp.MustCompile("(?s)```go\n(package main\n.*?)```.*\n## Once released\n.*\n(go get .*?)```").FindSubmatch(text)
		if found == nil {
			t.Fatal("README.md has no program, and behind it no go get")
		}
		product := filepath.Join(user, "product")
		noError(t, os.Mkdir(product, 0o750))
		run(t, product, "go", "mod", "init", "example.com/product")
		noError(t, os.WriteFile(filepath.Join(product, "main.go"), found[1], 0o600))
		run(t, product, "sh", "-euc", string(found[2]))
		run(t, product, "go", "build", "-mod=readonly", "-o", os.DevNull, ".")
	})

	// A clone without its workspace: each module alone has the sums of all that it needs.
	for _, folder := range made.folders {
		t.Run("alone: "+folder, func(t *testing.T) {
			run(t, filepath.Join(dir, "tree", folder), "go", "list", "-mod=readonly", "-deps", "-test", "./...")
		})
	}
}

// examples are the folders of the examples.
func examples(t *testing.T) (folders []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d examples, %v", len(entries), err)
	}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, "examples/"+e.Name())
		}
	}
	return folders
}

// start starts a program and reads what it prints until that matches.
func start(t *testing.T, c *exec.Cmd, until *regexp.Regexp) (printed string, found []string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = w, w
	noError(t, c.Start())
	_ = w.Close()
	t.Cleanup(func() { _ = r.Close() })
	for lines := bufio.NewScanner(r); lines.Scan(); {
		printed += lines.Text() + "\n"
		if found := until.FindStringSubmatch(printed); found != nil {
			return printed, found
		}
	}
	t.Errorf("it prints %q, want %s", printed, until)
	return printed, nil
}

// visit holds the version in the description of a running service.
func visit(t *testing.T, url, version string) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/openapi.json", nil))
	answer := must(http.DefaultClient.Do(r))
	defer answer.Body.Close()
	var d struct {
		Info struct {
			Release string `json:"x-formsvc-version"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&d); err != nil || d.Info.Release != version {
		t.Errorf("the description is of %q, want %q: %v", d.Info.Release, version, err)
	}
}

// What go.mod says is what the page, the README and the workspace say.
func TestEveryModuleIsInTheWorkspace(t *testing.T) {
	t.Parallel()
	made := must(read(t.Context(), root))
	out := must(command(t.Context(), root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod"))
	var folders []string
	for name := range strings.FieldsSeq(string(out)) {
		folders = append(folders, path.Dir(name))
		text := must(os.ReadFile(filepath.Join(root, name)))
		if regexp.MustCompile(`(?m)^\s*replace\b`).Match(text) {
			t.Errorf("%s replaces a module, so that its programs cannot be installed", name)
		}
	}
	slices.Sort(folders)
	if !slices.Equal(folders, made.folders) {
		t.Errorf("the modules are in %q, go.work has %q", folders, made.folders)
	}
}

// A tree as it is before a release, at a release and after it, with one nested module.
func TestTidy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		noError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		noError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	put("internal/docs/release.md", string(must(os.ReadFile(filepath.Join(root, "internal/docs/release.md")))))
	uses := ""
	for _, module := range []string{"auth", "orm", "otel", "replicas"} {
		uses += "\t./examples/" + module + "\n"
		put("examples/"+module+"/go.mod", "module github.com/formsvc/formsvc/examples/"+module+"\n\ngo 1.26.0\n\nrequire github.com/formsvc/formsvc v0.1.0\n")
		put("examples/"+module+"/main.go", "package main\n\nimport _ \"github.com/formsvc/formsvc\"\n\nfunc main() {}\n")
		put("examples/"+module+"/go.sum", "")
	}
	put("go.mod", "module github.com/formsvc/formsvc\n\ngo 1.26.0\n")
	put("go.sum", "")
	put("formsvc.go", "package formsvc\n")
	put("go.work", "go 1.26.0\n\nuse (\n\t.\n"+uses+")\n\nreplace github.com/formsvc/formsvc v0.1.0 => ./\n")
	put("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n")
	must(command(t.Context(), dir, nil, "git", "init", "-q"))
	sums := func() string { return string(must(os.ReadFile(filepath.Join(dir, "examples/otel/go.sum")))) }
	tidyAll := func() {
		t.Helper()
		noError(t, write(dir, must(tidy(t.Context(), dir))))
		noError(t, check(t.Context(), dir))
	}

	noError(t, check(t.Context(), dir))
	put("go.mod", "module github.com/formsvc/formsvc\n\ngo 1.26.0\n\nrequire golang.org/x/text v0.43.0\n")
	if err := check(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "changes go.mod") {
		t.Errorf("a requirement that nothing needs: %v", err)
	}
	tidyAll()

	// The version rises everywhere, and the sums are those of the tree.
	put("CHANGELOG.md", "# Changelog\n\n## [0.2.0] - 2026-11-26\n")
	tidyAll()
	first := sums()
	if !regexp.MustCompile(`^github.com/formsvc/formsvc v0.2.0 h1:\S+\ngithub.com/formsvc/formsvc v0.2.0/go.mod h1:\S+\n$`).MatchString(first) {
		t.Errorf("go.sum has %q", first)
	}
	work := must(os.ReadFile(filepath.Join(dir, "go.work")))
	if !bytes.Contains(work, []byte("replace github.com/formsvc/formsvc v0.2.0 => ./")) {
		t.Errorf("go.work has %s", work)
	}
	put("examples/otel/main.go", "package main\n\nimport _ \"github.com/formsvc/formsvc\"\n\n// Changed.\nfunc main() {}\n")
	noError(t, check(t.Context(), dir)) // no part of the library
	put("formsvc.go", "package formsvc\n\nconst A = 1\n")
	if err := check(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "examples/otel/go.sum") {
		t.Errorf("a library that is not the summed one: %v", err)
	}

	put("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-26\n")
	tidyAll()
	if after := sums(); after != "" {
		t.Errorf("after the release go.sum has %q", after)
	}
}

func TestSumsStandInTheirPlace(t *testing.T) {
	t.Parallel()
	p := proxy{sums: "github.com/formsvc/formsvc v1 h1:x\n"}
	for before, want := range map[string]string{
		"":                                      p.sums,
		"a.b/c v1 h1:y\n":                       "a.b/c v1 h1:y\n" + p.sums,
		"golang.org/x/text v1 h1:y\n":           p.sums + "golang.org/x/text v1 h1:y\n",
		"a.b/c v1 h1:y\nz.org/x/text v1 h1:z\n": "a.b/c v1 h1:y\n" + p.sums + "z.org/x/text v1 h1:z\n",
	} {
		if got := string(p.addSums([]byte(before))); got != want {
			t.Errorf("%q becomes %q", before, got)
		}
	}
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"tidy", "-x"}, {"proxy"}, {"tidy", "-check", "more"}} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// must returns a value that is there unless the test is broken.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
