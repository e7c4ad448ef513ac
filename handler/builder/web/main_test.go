package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestTheOutputIsWhatTheSourcesMake(t *testing.T) {
	if err := bundle(true); err != nil {
		t.Error(err)
	}
}

func TestScripts(t *testing.T) {
	need(t, "node")
	if err := runTests(nil); err != nil {
		t.Error(err)
	}
}

func TestTypes(t *testing.T) {
	need(t, "npx")
	if _, err := os.Stat("node_modules/typescript"); err != nil {
		absent(t, "npm ci has not run in handler/builder/web")
	}
	for _, project := range []string{"tsconfig.json", "tsconfig.test.json"} {
		if out, err := exec.CommandContext(t.Context(), "npx", "tsc", "--noEmit", "--project", project).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", project, err, out)
		}
	}
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		absent(t, "there is no "+program)
	}
}

// absent skips a test, unless FORMSVC_TEST_REQUIRE_NODE says that Node must be there.
func absent(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("FORMSVC_TEST_REQUIRE_NODE") != "" {
		t.Fatal(reason)
	}
	t.Skip("reason: " + reason)
}
