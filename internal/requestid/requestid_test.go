package requestid

import (
	"net/http"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, values := range [][]string{nil, {""}, {"a b"}, {"a\n"}, {"é"}, {string(make([]byte, 101))}, {"a", "b"}} {
		id := FromRequestOrNew(&http.Request{Header: http.Header{"X-Request-Id": values}})
		expect.That(t, isValidID(id) && !made[id], "%q gives %q", values, id)
		made[id] = true
	}
	const given = "A.b_c-9"
	got := FromRequestOrNew(&http.Request{Header: http.Header{"X-Request-Id": {given}}})
	expect.That(t, got == given, "%q became %q", given, got)
}
