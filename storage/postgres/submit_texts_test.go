package postgres

import (
	"flag"
	"fmt"
	"os"
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
	add("locks of forms, if no one holds them or waits for them", tryLockForms)
	add("lock of a form, which waits", lockForSubmit)
	add("locks of an idempotency key and a unique answer, which wait", lockSubmissionValues)
	add("lock of a partial submission, which waits", lockPartial)
	add("one submission, or the reason why it is refused", submit)
	add("submissions without a conflict, to any forms", insertForForms)
	add("the same with leased deliveries", insertForFormsLeased)
	add("submissions without a conflict, to one form with its limits", insertForForm)
	add("the same with leased deliveries", insertForFormLeased)
	if *updateTexts {
		must(t, os.WriteFile(file, []byte(all.String()), 0o600))
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != all.String() {
		t.Errorf("%s is out of date (%v): run go test -run TestTextsOfSubmitting . -update", file, err)
	}
}
