package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
)

// TestMain also is the serving process: the test binary starts itself again.
func TestMain(m *testing.M) {
	guarded := dialguard.Guard(m)
	if c, ok, err := serving(); ok {
		wrap, known := mutants[c.Mutant]
		if !known {
			err = errors.Join(err, errors.New("no mutant "+c.Mutant))
		}
		if err == nil {
			err = serve(c, wrap)
		}
		exit(err)
	}
	goleak.VerifyTestMain(guarded)
}

// logFile is a file for what serving processes log. Its end is shown when the
// test fails.
func logFile(t *testing.T) *os.File {
	t.Helper()
	file := must(os.Create(filepath.Join(t.TempDir(), "log")))
	t.Cleanup(func() {
		file.Close()
		text := readLog(t, file)
		if bytes.Contains(text, []byte("DATA RACE")) || bytes.Contains(text, []byte("panic:")) {
			t.Error("a serving process has a data race or panicked")
		}
		if t.Failed() {
			t.Logf("the end of the log:\n%s", text[max(0, len(text)-3000):])
		}
	})
	return file
}

func readLog(t *testing.T, file *os.File) []byte {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Error(err)
	}
	return text
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
