package requestid

import (
	"net/http"
	"testing"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, values := range [][]string{nil, {""}, {"a b"}, {"a\n"}, {"é"}, {string(make([]byte, 101))}, {"a", "b"}} {
		id := Of(&http.Request{Header: http.Header{"X-Request-Id": values}})
		if !valid(id) || made[id] {
			t.Errorf("%q gives %q", values, id)
		}
		made[id] = true
	}
	const given = "A.b_c-9"
	if got := Of(&http.Request{Header: http.Header{"X-Request-Id": {given}}}); got != given {
		t.Errorf("%q became %q", given, got)
	}
}
