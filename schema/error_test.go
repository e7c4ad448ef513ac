package schema

import "testing"

func TestLimitsWithDefaultsFillsOnlyZeroFields(t *testing.T) {
	t.Parallel()
	want := Limits{Body: 1 << 20, Workspaces: 100, Webhooks: 20, Blocks: 7, AllBlocks: 2000, Nesting: 8, Choices: 500, CustomCSS: 100_000, Text: 9, Rule: 16_000, Definition: 4 << 20, Response: 1 << 20, FileSize: 10 << 20}
	if got := (Limits{Blocks: 7, Text: 9}).WithDefaults(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"schema: not valid":                                    &Error{},
		"schema: body: is required (REQUIRED)":                 &Error{Violations: []Violation{{Code: CodeRequired, Message: "is required"}}},
		"schema: /a: must be a string (WRONG_TYPE) and 1 more": &Error{Violations: []Violation{{Path: "/a", Code: CodeWrongType, Message: "must be a string"}, {}}},
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
