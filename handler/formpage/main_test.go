package formpage_test

import (
	"os"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
)

func TestMain(m *testing.M) { os.Exit(dialguard.Guard(m).Run()) }

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
