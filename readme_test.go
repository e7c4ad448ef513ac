package formsvc_test

import (
	"errors"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documentedProgram finds whole programs: in the README between fences, in doc.go as a block with a
// tab in front of each line.
var documentedProgram = regexp.MustCompile("(?s)```go\n(package main\n.*?)```|\n(\tpackage main\n(?:\n|\t[^\n]*\n)*)")

// The programs in the README and in the package's documentation compile.
func TestDocumentedProgramsCompile(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(gotoken.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"README.md": string(readme), "doc.go": file.Doc.Text()} {
		programs := documentedProgram.FindAllStringSubmatch(text, -1)
		if len(programs) == 0 {
			t.Errorf("%s has no program", name)
		}
		for _, found := range programs {
			code := found[1] + found[2]
			dir := t.TempDir()
			source := filepath.Join(dir, "main.go")
			if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			// Built from the module's folder, so that its imports are this module's.
			out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "program"), source).CombinedOutput()
			if err != nil {
				t.Errorf("%s: go build: %v\n%s", name, err, out)
			}
			if lines := strings.Count(code, "\n"); lines > 55 {
				t.Errorf("the program in %s has %d lines", name, lines)
			}
		}
	}
}

// The README gets the release that the modules beside the library require.
func TestTheReadmeGetsTheRelease(t *testing.T) {
	t.Parallel()
	readme, readmeErr := os.ReadFile("README.md")
	work, workErr := os.ReadFile("go.work")
	if err := errors.Join(readmeErr, workErr); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile("\ngo get "+module+"@(\\S+)\n").FindAllStringSubmatch(string(readme), -1)
	want := regexp.MustCompile("\nreplace " + module + " (\\S+) =>").FindStringSubmatch(string(work))
	if len(got) != 1 || want == nil || got[0][1] != want[1] {
		t.Errorf("the README has %q, go.work %q", got, want)
	}
}

// A test that the guide names is there.
func TestTheGuideNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(".github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	err = fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		tests.Write(code)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(string(guide), -1)
	if len(named) < 20 {
		t.Errorf("the guide names %d tests", len(named))
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("the guide names %s, which does not exist", name[1])
		}
	}
}
