package formpage_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// Every country that a page offers is one that the service takes.
func TestCountriesAreThoseOfTheService(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"c","type":"country","label":"Country"}]`, "", "")
	codes := regexp.MustCompile(`<option value="([A-Z]+)">`).FindAllStringSubmatch(s.open(form, "").raw, -1)
	if len(codes) != 250 {
		t.Errorf("%d countries, want the 249 of ISO and Kosovo", len(codes))
	}
	for _, code := range codes {
		path, err := s.service.Path(t.Context(), form.ID, map[string]json.RawMessage{"c": json.RawMessage(`"` + code[1] + `"`)}, nil)
		if err != nil || len(path.Faults) > 0 {
			t.Errorf("%s: %v %v", code[1], path.Faults, err)
		}
	}
}
