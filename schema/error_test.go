package schema

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestLimitsWithDefaultsFillsOnlyZeroFields(t *testing.T) {
	want := Limits{Body: 1 << 20, Workspaces: 100, Webhooks: 20, Blocks: 7, AllBlocks: 2000, Nesting: 8, Cells: 2000, AllCells: 10_000, Choices: 500, CustomCSS: 100_000, Text: 9, Rule: 16_000, Definition: 4 << 20, Submission: 1 << 20, Partial: 64_000, FileSize: 10 << 20}
	expect.Equal(t, (Limits{Blocks: 7, Text: 9}).WithDefaults(), want, "with defaults")
}

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{
		"schema: not valid":                    &Error{},
		"schema: body: is required (REQUIRED)": &Error{Violations: []Violation{{Code: CodeRequired, Message: "is required"}}},
		"schema: /a: w (W); /b: w (W)":         &Error{Violations: []Violation{{Path: "/a", Code: "W", Message: "w"}, {Path: "/b", Code: "W", Message: "w"}}},
		"schema: body: w (W)" + strings.Repeat("; body: w (W)", 4) + " and 2 more": &Error{Violations: slices.Repeat([]Violation{{Code: "W", Message: "w"}}, 7)},
	} {
		expect.That(t, err.Error() == want, "got %q, want %q", err, want)
	}
}

// The page of a code lists its parameters: what it says of them is in one place.
func TestCodeParams(t *testing.T) {
	source, err := os.ReadFile("error.go")
	expect.NoError(t, err)
	_, words, _ := strings.Cut(string(source), "// CodeParams returns")
	words, _, _ = strings.Cut(words, "func CodeParams")
	codes := regexp.MustCompile(`(?m)^\tCode\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	expect.Require(t, len(codes) != 0, "error.go has no codes")
	for _, found := range codes {
		code := found[1]
		always, optional := CodeParams(code)
		for _, name := range slices.Concat(always, optional) {
			expect.That(t, regexp.MustCompile(`(?m)^//   - ([a-z]+, )?`+name+`[:,]`).MatchString(words),
				"%s: the parameter %s is not described", code, name)
		}
		if always != nil {
			always[0] = "changed"
			again, _ := CodeParams(code)
			expect.That(t, again[0] != "changed", "%s: the parameters are not the caller's own", code)
		}
	}
	always, optional := CodeParams("NOT_A_CODE")
	expect.That(t, always == nil && optional == nil, "an unknown code has parameters")
}
