package builder_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage/memory"
)

// An example of a pattern is accepted as the service accepts answers: as a whole text, in RE2's syntax, and quickly.
func TestExamplesOfPatterns(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	for _, c := range []struct{ pattern, example, want string }{
		{"[0-9]{5}", "12345", "accepted"},
		{"[0-9]{5}", "x12345", "refused"},
		{"[0-9]{5}", "", "refused"},
		{"a|b", "ab", "refused"},
		{`(?i)\pL+`, "Éa", "accepted"},
		{`[<&"\\]+`, `<&"\`, "accepted"},
		{"(a+)+b", strings.Repeat("a", 1000), "refused"},
		{"(?=a)a", "a", "invalid"},
		{"[", "a", "invalid"},
		{strings.Repeat("a", 1001), "a", "invalid"},
	} {
		var got struct{ Result string }
		body := expect.Must(json.Marshal(map[string]string{"pattern": c.pattern, "example": c.example}))
		h.ok(http.MethodPost, "/pattern", string(body), &got)
		expect.Equal(t, got.Result, c.want, "%.20q with %.20q", c.pattern, c.example)
	}
	expect.Equal(t, h.as("owner", http.MethodPost, "/pattern", `{"pattern":5}`), http.StatusUnprocessableEntity, "a body of another shape")
	expect.Equal(t, h.as("", http.MethodPost, "/pattern", `{}`), http.StatusUnauthorized, "a stranger")
}
