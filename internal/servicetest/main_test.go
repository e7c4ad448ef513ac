package servicetest_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dialguard.Guard(m)) }

// check reports an error and lets the test continue.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// status reports a response that has not the wanted status.
func status(t testing.TB, w *httptest.ResponseRecorder, want int, what string, args ...any) {
	t.Helper()
	if w.Code != want {
		t.Errorf(what+": %d %s, want %d", append(args, w.Code, w.Body, want)...)
	}
}

// violations lists the violations of an error with their codes. Of another error it returns the text.
func violations(err error) string {
	faults, ok := errors.AsType[*schema.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	var list []string
	for _, v := range faults.Violations {
		list = append(list, v.Path+" "+v.Code)
	}
	return strings.Join(list, ", ")
}

// refused reports an error that has no violations.
func refused(t testing.TB, err error, what string, args ...any) {
	t.Helper()
	expect.That(t, errors.As(err, new(*schema.Error)), what+": %v, want an *Error", append(args, err)...)
}
