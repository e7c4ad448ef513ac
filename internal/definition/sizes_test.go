package definition

import (
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// Of content that nobody saves only the sizes are checked, and all of them, whatever else is wrong.
func TestCheckSizes(t *testing.T) {
	w := newTestWrites(t)
	long := strings.Repeat("x", 5001)
	wrong := strings.Repeat(`{"id":7,"type":"none","label":[],"choices":{},"properties":{"max":"x","embedLink":"javascript:"}},`, 499)
	for body, faults := range map[string][]string{
		`{"definition":{"blocks":[{"id":"","type":"x","label":7},{"id":"a"},{"id":"a"},7,null],"settings":{"closeAt":"never","redirectUrl":"x"},"theme":[],"hidden_fields":["a","a"]}}`: nil,
		`{}`:                      nil,
		`{"definition":[]}`:       nil,
		`[]`:                      nil,
		`{"name":"` + long + `"}`: {"/name TOO_LONG"},
		`{"definition":{"blocks":[` + strings.Repeat("0,", 500) + `0]}}`:                            {"/definition/blocks TOO_MANY"},
		`{"definition":{"blocks":[` + wrong + `{"id":"l","label":"` + long + `"}]}}`:                {"/definition/blocks/499/label TOO_LONG"},
		`{"definition":{"blocks":[{"id":"l","Label":"x"}]}}`:                                        {"/definition/blocks/0/Label UNKNOWN_FIELD"},
		`{"definition":{"blocks":[{"id":"` + strings.Repeat("x", 201) + `"}]}}`:                     {"/definition/blocks/0/id TOO_LONG"},
		`{"definition":{"settings":{"submitLabel":"` + long + `","closedMessage":"` + long + `"}}}`: {"/definition/settings/closedMessage TOO_LONG", "/definition/settings/submitLabel TOO_LONG"},
		`{"definition":{"theme":{"customCss":"` + strings.Repeat("x", 100_001) + `"}}}`:             {"/definition/theme/customCss TOO_LONG"},
	} {
		wantFaults(t, w.CheckSizes([]byte(body)), faults...)
	}
	for _, body := range []string{`{"definition":{"blocks":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`, `{"a":1,"a":2}`, `{"a":[` + strings.Repeat("0,", 100_000) + `0]}`} {
		err := w.CheckSizes([]byte(body))
		expect.That(t, err != nil && strings.Contains(err.Error(), "malformed"), "%.40s…: %v", body, err)
	}
}
