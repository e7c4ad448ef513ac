package postgres

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateTexts = flag.Bool("update", false, "write testdata/submit.txt anew")

// The file has every statement that stores submissions as the server gets it, for readers of the
// server's log and of pg_stat_statements.
func TestTextsOfSubmitting(t *testing.T) {
	t.Parallel()
	const file = "testdata/submit.txt"
	var all strings.Builder
	add := func(title, text string) { fmt.Fprintf(&all, "-- %s\n%s;\n\n", title, strings.TrimSpace(text)) }
	add("lock of a form, if no one holds it or waits for it", tryForm)
	add("locks of several forms, likewise", tryForms)
	add("lock of a form, which waits", lockForSubmit)
	add("locks of an idempotency key and a unique answer, which wait", lockValuesOfResponse)
	add("lock of a partial submission, which waits", lockPartial)
	add("one submission, or the reason why it is refused", submit)
	add("the same with a partial submission", submitWithPartial)
	inOrder := func(a, b storing) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	for _, how := range slices.SortedFunc(maps.Keys(storingTexts), inOrder) {
		add("submissions without a conflict: "+strings.Trim(fmt.Sprintf("%+v", how), "{}"), storingTexts[how])
	}
	if *updateTexts {
		must(t, os.WriteFile(file, []byte(all.String()), 0o600))
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != all.String() {
		t.Errorf("%s is out of date (%v): run go test -run TestTextsOfSubmitting . -update", file, err)
	}
}
