package formpage_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
)

// Nobody is asked for a postal code or a state that addresses of the country do not have.
func TestPartsThatACountryDoesNotHave(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	for _, c := range []struct {
		preset  string
		fill    []string
		demands []string // shown as required on the first page
		missing string
	}{
		{"", []string{"p.city.q", "Hong Kong", "p.country.q", "HK"}, []string{"zip", "state"}, ""},
		{"HK", []string{"p.city.q", "Hong Kong", "p.country.q", "HK"}, nil, ""},
		{"", []string{"p.city.q", "Nassau", "p.country.q", "BS"}, []string{"zip", "state"}, "State or region"},
		{"SG", []string{"p.city.q", "Singapore", "p.country.q", "SG"}, []string{"zip"}, "Postal code"},
		{"US", []string{"p.city.q", "Kingstown", "p.zip.q", "VC0100", "p.country.q", "VC"}, []string{"zip", "state"}, ""},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			for _, typ := range []string{"address", "contact_info"} {
				form := s.form(kind, `[{"id":"q","type":"`+typ+`","label":"Q","properties":{"defaultCountry":"`+c.preset+`","addressOrContact":{"zip":{"required":true},"state":{"required":true}}}}]`, "", "")
				p := s.open(form, "")
				for _, part := range []string{"zip", "state"} {
					field := p.find(func(n *html.Node) bool { return attr(n, "name") == "p."+part+".q" })
					if want := strings.Contains(strings.Join(c.demands, " "), part); hasAttr(field, "required") != want {
						t.Errorf("%+v %s: %s is shown as required: %v", c, typ, part, !want)
					}
				}
				end := p.fill(c.fill...).press("next")
				stored := len(s.answers(form))
				if c.missing == "" && stored != 1 || c.missing != "" && (end.status != http.StatusUnprocessableEntity || stored != 0 || !strings.Contains(end.text("summary"), c.missing)) {
					t.Errorf("%+v %s %s: %d %s", c, kind, typ, end.status, end.text("summary"))
				}
			}
		}
	}
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}
