package formsvc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The programs in the README compile.
func TestREADMEProgramsCompile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, block := range strings.Split(string(text), "```go\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(code, "package main") {
			continue
		}
		programs++
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		// Built from the module's folder, so that its imports are this module's.
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "program"), file).CombinedOutput()
		if err != nil {
			t.Errorf("go build: %v\n%s", err, out)
		}
		if lines := strings.Count(code, "\n"); lines > 55 {
			t.Errorf("the program has %d lines", lines)
		}
	}
	if programs == 0 {
		t.Fatal("no program found")
	}
}
