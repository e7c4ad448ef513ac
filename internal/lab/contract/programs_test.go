package contract

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// description is the document as it is in the tree.
const description = "../../../schema/openapi.json"

// node returns the path of one of the programs of package.json. Without them the
// test is skipped, or fails where FORMSVC_TEST_REQUIRE_NODE says that they must be
// there.
func node(t *testing.T, name string) string {
	t.Helper()
	path := must(filepath.Abs(filepath.Join("node_modules", ".bin", name)))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if os.Getenv("FORMSVC_TEST_REQUIRE_NODE") == "1" {
			t.Fatalf("%s is not installed: run npm ci", name)
		}
		t.Skipf("%s is not installed: run npm ci", name)
	}
	return path
}

// unlessShort skips what only make contract runs.
func unlessShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make contract runs it")
	}
}

// run runs a program to its end and fails the test with its output when it fails.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", filepath.Base(name), args, err, &out)
	}
	return out.String()
}

func TestRedocly(t *testing.T) {
	t.Parallel()
	t.Log(run(t, []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, node(t, "redocly"), "lint", "--config", "lint.redocly.yaml", description))
}

func TestSpectral(t *testing.T) {
	t.Parallel()
	t.Log(run(t, nil, node(t, "spectral"), "lint", "--ruleset", ".spectral.yaml", "--fail-severity", "warn", description))
}
