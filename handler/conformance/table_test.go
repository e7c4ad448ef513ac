package conformance_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/broken.md anew")

// The table of broken services names the case that notices each. That it does is tested with each mutant.
func TestTableOfBrokenServices(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("# Broken services and the case that finds each\n\nWritten by `go test -run TestTableOfBrokenServices ./handler/conformance -update`; the tests with the word Notice in their names prove every row.\n\n| Broken service | Case |\n|---|---|\n")
	for _, list := range [][]mutant{mutants(), broken()} {
		for _, m := range list {
			fmt.Fprintf(&b, "| %s | `%s` |\n", m.name, m.notice)
		}
	}
	for _, m := range deliveryMutants() {
		fmt.Fprintf(&b, "| %s | `%s` |\n", m.name, m.notice)
	}
	const file = "testdata/broken.md"
	if *update {
		noError(t, os.MkdirAll("testdata", 0o755))
		noError(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is out of date (%v); run with -update", file, err)
	}
}
