package formpage_test

import (
	"net/http"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// Values that this package or a link's program wrote are read as such, whatever the
// language: the buttons of a scale send theirs with a point.
func TestNumbersThatProgramsWrote(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Words: map[string]map[string]string{"sv": {"submit": "Skicka"}}})
	form := s.form("MULTI", `[{"id":"n","type":"number"},{"id":"s","type":"opinion_scale","properties":{"from":1,"to":2,"scaleStep":0.125}}]`, "", "")
	for _, c := range []struct{ query, typed, scale, n, s string }{
		{"lang=de", "", "1.125", "", "1.125"},
		{"lang=en", "", "1.125", "", "1.125"},
		{"lang=de&n=1.234", "", "", "1.234", ""},
		{"lang=de&n=-1.234&s=1.375", "", "", "-1.234", "1.375"},
		{"lang=en&n=1.234", "", "", "1.234", ""},
		{"lang=sv", "1,2345", "", "1.2345", ""},
	} {
		p := s.open(form, c.query)
		if c.typed != "" {
			p.fill("a.n", c.typed)
		}
		if c.scale != "" {
			p.fill("a.s", c.scale)
		}
		before := len(s.answers(form))
		if p = p.press("next"); p.status != http.StatusOK || len(s.answers(form)) != before+1 {
			t.Errorf("%+v: %d %s", c, p.status, p.text("summary"))
			continue
		}
		if got := s.answers(form)[0]; got["n"] != c.n || got["s"] != c.s {
			t.Errorf("%+v: stored is %v", c, got)
		}
	}
}
