package formsvc_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	gotoken "go/token"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// documentedProgram finds a whole program: in the README between fences, in doc.go as a block with a
// tab in front of each line.
var documentedProgram = regexp.MustCompile("(?s)```go\n(package main\n.*?)```|\n(\tpackage main\n(?:\n|\t[^\n]*\n)*)")

// The README and the package's documentation have the same first program, which compiles. The program in
// examples/README.md is examples/contact, whose own test runs it.
func TestDocumentedProgramsCompile(t *testing.T) {
	t.Parallel()
	file := expect.Must(parser.ParseFile(gotoken.NewFileSet(), "doc.go", nil, parser.ParseComments))
	readme := documentedProgram.FindAllStringSubmatch(readFile(t, "README.md"), -1)
	docs := documentedProgram.FindAllStringSubmatch(file.Doc.Text(), -1)
	tasks := documentedProgram.FindAllStringSubmatch(readFile(t, "examples/README.md"), -1)
	expect.Require(t, len(readme) == 1 && len(docs) == 1 && len(tasks) == 1, "the README has %d programs, doc.go %d, examples/README.md %d", len(readme), len(docs), len(tasks))
	code := readme[0][1]
	want := strings.TrimSpace(strings.ReplaceAll("\n"+docs[0][2], "\n\t", "\n"))
	expect.That(t, strings.TrimSpace(code) == want, "the README has\n%s\nand doc.go\n%s", code, want)
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	expect.NoError(t, os.WriteFile(source, []byte(code), 0o600))
	// Built from the module's folder, so that its imports are this module's.
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "program"), source).CombinedOutput()
	expect.That(t, err == nil, "go build: %v\n%s", err, out)
	lines := strings.Count(code, "\n")
	expect.That(t, lines <= 55, "the program has %d lines", lines)

	contact := readFile(t, "examples/contact/main.go")
	expect.That(t, tasks[0][1] == contact, "examples/README.md has\n%s\nand examples/contact\n%s", tasks[0][1], contact)
	lines = len(regexp.MustCompile(`(?m)^.*\S`).FindAllString(contact, -1))
	expect.That(t, lines <= 40, "examples/contact has %d lines that are not empty", lines)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text := expect.Must(os.ReadFile(name))
	return string(text)
}

// testsOfTasks tests what the files of examples/README.md do, from their package.
const testsOfTasks = `package product

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/formsvc/formsvc/storage/memory"
)

func TestUses(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	if _, err := mount(mux); err != nil {
		t.Fatal(err)
	}
	api, err := newAPI(memory.New(), sessions{"a cookie": "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to           http.Handler
		path, cookie string
		want         int
	}{
		{mux, "/healthz", "", 418}, {mux, "/v1/openapi.json", "", 200}, {mux, "/v1/me", "", 401},
		{api, "/v1/me", "session=a cookie", 200}, {api, "/v1/me", "session=another", 401}, {api, "/v1/me", "", 401},
	} {
		r, w := httptest.NewRequestWithContext(t.Context(), "GET", c.path, nil), httptest.NewRecorder()
		r.Header.Set("Cookie", c.cookie)
		if c.to.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%s with %q: %d %s, want %d", c.path, c.cookie, w.Code, w.Body, c.want)
		}
	}
}
`

// The files of the tasks in examples/README.md, in an empty folder, are a package whose tests pass: the API in a mux, a
// product's sessions, a decorator of a storage, and the conformance suite.
func TestTheTasksOfTheExamples(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reason: it runs both suites")
	}
	sections := regexp.MustCompile("(?s)\n### ([^\n]+)\n.*?```go\n(package product\n.*?)```").FindAllStringSubmatch(readFile(t, "examples/README.md"), -1)
	expect.Require(t, len(sections) == 6, "examples/README.md has %d tasks, want 6", len(sections))
	tree := expect.Must(filepath.Abs("."))
	dir := t.TempDir()
	files := map[string]string{
		"uses_test.go": testsOfTasks, "go.sum": readFile(t, "go.sum"),
	}
	for i, section := range sections {
		code := section[2]
		name := fmt.Sprintf("use%d.go", i)
		if strings.Contains(code, "*testing.T") {
			name = fmt.Sprintf("use%d_test.go", i)
		}
		files[name] = code
		_, program, _ := strings.Cut(code, "\n)\n") // behind the imports
		if lines := len(regexp.MustCompile(`(?m)^.*\S`).FindAllString(program, -1)); lines == 0 || lines > 15 {
			t.Errorf("%s: %d lines of program, want at most 15", section[1], lines)
		}
		if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
			t.Errorf("%s: gofmt has %v\n%s", section[1], err, formatted)
		}
	}
	for name, text := range files {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	setUp := regexp.MustCompile("(?s)```sh\n(go mod init .*?)go mod tidy").FindStringSubmatch(readFile(t, "examples/README.md"))
	expect.Require(t, setUp != nil, "examples/README.md does not say how a module begins")
	// Tidy would download what the tests of other modules need: the tree's go.sum has the rest.
	commands := strings.ReplaceAll(setUp[1], "=/path/to/the/clone", "='"+tree+"'") + "go test -v ."
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	expect.Require(t, err == nil, "%v\n%s", err, out)
	for _, name := range []string{"Uses", "Storage", "Forms"} {
		expect.That(t, strings.Contains(string(out), "\n--- PASS: Test"+name+" "), "Test%s did not run", name)
	}
}

// The links of both READMEs lead to files of the tree and to sections of them, or nowhere outside before a release.
func TestTheReadmesLinksLeadToFiles(t *testing.T) {
	t.Parallel()
	count := 0
	for _, name := range []string{"README.md", "examples/README.md"} {
		text := readFile(t, name)
		expect.That(t, !strings.Contains(text, "https://"), "%s has an address outside", name)
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)|(?:src|href)="([^"]+)"`).FindAllStringSubmatch(withoutCode(text), -1) {
			file, section, _ := strings.Cut(link[1]+link[2], "#")
			file = filepath.Join(filepath.Dir(name), file)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s: %v", name, link[0], err)
			} else if section != "" && !slices.Contains(sections(readFile(t, file)), section) {
				t.Errorf("%s: %s: %s has no such section", name, link[0], file)
			}
			count++
		}
	}
	expect.That(t, count >= 40, "the READMEs have %d links", count)
	readme := readFile(t, "README.md")
	before, after, found := strings.Cut(readme, "\n## Once released\n")
	if !found || strings.Contains(before, "@v") || strings.Contains(after, "\n## ") && strings.Index(after, "@v") > strings.Index(after, "\n## ") {
		t.Error("a line that needs a release is not in the section Once released")
	}
	if first := strings.SplitN(readme, "```", 3)[1]; !strings.HasPrefix(first, "sh\ngo run ./examples/quickstart") || !strings.Contains(first, "\nmake test") {
		t.Errorf("the first block is %q", first)
	}
}

func withoutCode(markdown string) string {
	return regexp.MustCompile("(?s)```.*?```").ReplaceAllString(markdown, "")
}

// sections returns the anchors of the headings of a Markdown text.
func sections(markdown string) []string {
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(markdown), -1) {
		words := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(words, " ", "-"))
	}
	return anchors
}

// The examples print the port that they got.
func TestTheExamplesPrintTheirPort(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reason: it links six programs")
	}
	prints := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	for _, name := range []string{"auth", "mount", "otel", "quickstart", "storage", "tenants"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var args []string
			if name == "auth" {
				args = []string{"-database-url", newDatabase(t)}
			}
			dir := t.TempDir()
			program := filepath.Join(dir, name)
			build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./examples/"+name)
			build.Env = append(os.Environ(), "GOWORK=") // some examples are modules of the workspace
			out, err := build.CombinedOutput()
			expect.Require(t, err == nil, "%v\n%s", err, out)
			cmd := exec.CommandContext(t.Context(), program, append(args, "-addr", "127.0.0.1:0")...)
			cmd.Dir = dir
			r, w := io.Pipe()
			cmd.Stdout, cmd.Stderr = w, w
			expect.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait(); _ = w.Close() }()
			address := ""
			for lines := bufio.NewScanner(r); address == "" && lines.Scan(); {
				address = prints.FindString(lines.Text())
			}
			go func() { _, _ = io.Copy(io.Discard, r) }()
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
			response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
			if err != nil {
				t.Errorf("it printed %q: %v", address, err)
			} else {
				_ = response.Body.Close()
			}
			_ = cmd.Process.Signal(os.Interrupt)
			expect.Nil(t, <-ended)
		})
	}
}

// newDatabase makes a database for a program and returns its address.
func newDatabase(t *testing.T) string {
	t.Helper()
	admin, name := pgtest.Pool(t), strings.ReplaceAll(pgtest.Schema(t), "formsvc", "program")
	expect.Must(admin.Exec(t.Context(), "CREATE DATABASE "+name))
	t.Cleanup(func() {
		expect.Nil(t, expect.ErrorOf(admin.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)")))
	})
	at := admin.Config().ConnConfig
	return fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s", at.Host, at.Port, at.User, at.Password, name)
}

// The product of an afternoon does what it is there for, and stops in order.
func TestTheAfternoonRuns(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"DATABASE_URL": newDatabase(t),
		"SEAL_KEY":     "0123456789abcdef0123456789abcdef", "PAGE_SECRET": "a secret of all processes", "DEVELOPMENT": "1",
	}
	delivered := make(chan error, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		select {
		case delivered <- errors.Join(err, webhooks.Verify("a secret of the receiver", body, r.Header.Get("Service-Signature"))):
		default: // it may come twice
		}
	}))
	defer receiver.Close()
	listener := expect.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- serve(ctx, listener, func(name string) string { return env[name] }) }()

	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	send := func(method, path, body string, want int, header ...string) string {
		t.Helper()
		r := expect.Must(http.NewRequestWithContext(t.Context(), method, "http://"+listener.Addr().String()+path, strings.NewReader(body)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", "session=cookie of ann")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response := expect.Must(client.Do(r))
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		expect.Require(t, err == nil && response.StatusCode == want,
			"%s %s: %d %s, %v; want %d", method, path, response.StatusCode, text, err, want)
		return string(text)
	}
	send("GET", "/health", "", 200) // answered when the tables are there
	pool := pgtest.PoolAt(t, env["DATABASE_URL"])
	expect.Must(pool.Exec(t.Context(), `INSERT INTO sessions VALUES (encode(sha256('cookie of ann'), 'hex'), 'ann', now() + interval '1 hour')`))
	workspace := regexp.MustCompile(`"id":"(\w+)"`).FindStringSubmatch(send("POST", "/v1/workspaces", `{"name":"Ann's"}`, 201, "Content-Type", "application/json"))[1]
	body := url.Values{"name": {"Feedback"}, "workspace": {workspace}, "webhook": {receiver.URL}, "secret": {"a secret of the receiver"}}
	send("POST", "/forms", body.Encode(), 401, "Cookie", "session=another")
	send("POST", "/forms", body.Encode(), 403, "Sec-Fetch-Site", "cross-site")
	text := send("POST", "/forms", "workspace="+workspace, 422)
	expect.That(t, strings.HasPrefix(text, "name "), "without a name: %s", text)
	paths := strings.Fields(send("POST", "/forms", body.Encode(), 200))
	page := send("GET", paths[0], "", 200)
	expect.That(t, strings.Contains(page, "Your e-mail"), "the page: %s", page)

	// Another process takes a response.
	other := expect.Must(formsvc.New(formsvc.WithStorage(postgres.New(pool))))
	id := strings.TrimSuffix(path.Base(paths[1]), ".csv")
	form := expect.Must(formsvc.ParseID(id))
	expect.Must(other.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"email": []byte(`"carl@example.com"`), "score": []byte(`9`)}}))
	expect.Nil(t, <-delivered)
	file := send("GET", paths[1], "", 200)
	expect.That(t, strings.Contains(file, "carl@example.com"), "the export: %s", file)
	send("POST", "/forms/1/erase", "email=carl@example.com", 404)
	text = send("POST", "/forms/"+id+"/erase", "email=CARL@example.com", 200)
	expect.That(t, strings.HasPrefix(text, "1 "), "erased: %s", text)
	stop()
	expect.Nil(t, <-stopped)
}

// The README names the release that the modules beside the library require.
func TestTheReadmeGetsTheRelease(t *testing.T) {
	t.Parallel()
	readme, readmeErr := os.ReadFile("README.md")
	work, workErr := os.ReadFile("go.work")
	expect.NoError(t, errors.Join(readmeErr, workErr))
	got := regexp.MustCompile("\ngo (get|run) "+module+"\\S*@(\\S+)").FindAllStringSubmatch(string(readme), -1)
	want := regexp.MustCompile("\nreplace " + module + " (\\S+) =>").FindStringSubmatch(string(work))
	expect.That(t, len(got) == 2 && want != nil && got[0][2] == want[1] && got[1][2] == want[1], "the README has %q, go.work %q", got, want)
}

// ownLink is a link to the documentation of a package here, to an example or a section of it, or
// to what it declares.
var ownLink = regexp.MustCompile(`https://pkg\.go\.dev/` + module + `(/[\w/]+)?(?:#(example-package-|example-|hdr-)?([\w.]+))?`)

// Links to the documentation lead to what is there.
func TestLinksToTheDocumentationLeadSomewhere(t *testing.T) {
	t.Parallel()
	files := []string{"storage/postgres/operations.md"}
	sources := map[string]string{} // by package
	for _, dir := range public {
		names := expect.Must(filepath.Glob(dir + "/*.go"))
		files = append(files, names...)
		for _, name := range names {
			text := expect.Must(os.ReadFile(name))
			sources[dir] += string(text)
		}
	}
	links := 0
	for _, file := range files {
		text := expect.Must(os.ReadFile(file))
		for _, link := range ownLink.FindAllStringSubmatch(string(text), -1) {
			links++
			source := sources[cmp.Or(strings.TrimPrefix(link[1], "/"), ".")]
			name := regexp.QuoteMeta(link[3])
			want := map[string]string{
				"":                 `(?m)^(type|func|\t?) ?` + name + `\b`,
				"hdr-":             `(?m)^// # ` + strings.ReplaceAll(name, "_", " ") + `$`,
				"example-":         `func Example` + strings.ReplaceAll(name, `\.`, "_") + `\(`,
				"example-package-": `func Example_` + strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):] + `\(`,
			}[link[2]]
			if source == "" || !regexp.MustCompile(want).MatchString(source) {
				t.Errorf("%s: %s leads nowhere", file, link[0])
			}
		}
	}
	expect.That(t, links >= 8, "%d links were found", links)
}

// allTests returns the code of all tests.
func allTests(t *testing.T) string {
	t.Helper()
	var tests strings.Builder
	expect.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		tests.Write(code)
		return err
	}))
	return tests.String()
}

// A test that the guide names is there.
func TestTheGuideNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	guide := expect.Must(os.ReadFile(".github/CONTRIBUTING.md"))
	tests := allTests(t)
	named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(string(guide), -1)
	expect.That(t, len(named) >= 20, "the guide names %d tests", len(named))
	for _, name := range named {
		if !strings.Contains(tests, "func "+name[1]+"(") {
			t.Errorf("the guide names %s, which does not exist", name[1])
		}
	}
}

// Each report from the field has a row with a project, a number, a situation and tests that exist.
func TestTheFieldNamesTests(t *testing.T) {
	t.Parallel()
	field := expect.Must(os.ReadFile("internal/docs/field.md"))
	tests, rows, reports := allTests(t), 0, map[string]bool{}
	row := regexp.MustCompile(`^\| ([\w.-]+/[\w.-]+#\d+) \| \S.* \| (Test\w+\S*(?:, Test\w+\S*)*) \|$`)
	for line := range strings.Lines(string(field)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| project") || strings.HasPrefix(line, "|--") {
			continue
		}
		rows++
		found := row.FindStringSubmatch(line)
		if found == nil || reports[found[1]] {
			t.Errorf("%s: not a row, or there twice", line)
			continue
		}
		reports[found[1]] = true
		for name := range strings.SplitSeq(found[2], ", ") {
			if name, _, _ := strings.Cut(name, "/"); !strings.Contains(tests, "func "+name+"(") {
				t.Errorf("%s names %s, which does not exist", found[1], name)
			}
		}
	}
	expect.That(t, rows >= 40, "%d reports", rows)
}

// withoutExample are exported functions and methods that need no example, and why.
var withoutExample = map[string]string{
	"AsLocal":       "package formsvc calls it",
	"CheckLocalURL": "package formsvc calls it",
	"NewDispatcher": "package formsvc calls it",
	"PreviewForm":   "the previews of handler/formpage call it",
	"Release":       "the pages call it, as a method of formpage.FileRetainer",
	"Retain":        "the pages call it, as a method of formpage.FileRetainer",
}

// calledByOthers are methods that a host does not call itself: package fmt, package errors,
// encoding/json, database/sql and the like do.
var calledByOthers = regexp.MustCompile(`^(String|Format|LogValue|Error|Is|Unwrap|MarshalJSON|UnmarshalJSON|MarshalText|UnmarshalText|Scan|Value|BytesValue|ServeHTTP)$`)

// An example shows what a host calls: an Example function, or a program below examples. For those
// who write a storage, storage/memory is one to read.
func TestWhatHostsCallHasAnExample(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	expect.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		if text := readFile(t, name); strings.HasPrefix(name, "examples/") || path.Dir(name) == "storage/memory" || strings.Contains(text, "\nfunc Example") {
			shown.WriteString(text)
		}
		return nil
	}))
	function := regexp.MustCompile(`^func (?:\((?:\w+ )?\*?\w+\) )?(\w+)[\[(]`)
	pkg, exempt := "", map[string]bool{}
	for line := range strings.Lines(readFile(t, "internal/docs/surface.txt")) {
		if of, ok := strings.CutPrefix(line, "# "); ok {
			pkg = strings.TrimSpace(of)
		}
		// The methods of a storage are called by the service.
		found := function.FindStringSubmatch(line)
		if found == nil || strings.HasPrefix(pkg, module+"/storage") && strings.HasPrefix(line, "func (") || calledByOthers.MatchString(found[1]) {
			continue
		}
		switch has := strings.Contains(shown.String(), "."+found[1]+"("); {
		case withoutExample[found[1]] != "":
			exempt[found[1]] = !has
		case !has:
			t.Errorf("%s: no example has %s", pkg, strings.TrimSpace(line))
		}
	}
	for name := range withoutExample {
		expect.That(t, exempt[name], "%s has an example, or is not exported any more", name)
	}
}
