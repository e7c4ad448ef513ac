package logic

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func matching(pattern string) string { return fmt.Sprintf(`{"match":[{"var":"t"},%q]}`, pattern) }

// unreadable returns "pointer reason" for each part that cannot be compiled.
func unreadable(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var invalid *UnreadableError
	expect.Require(t, errors.As(err, &invalid), "got %v", err)
	var list []string
	for _, part := range invalid.Parts {
		expect.That(t, strings.HasPrefix(part.Rule, "must ") && (part.Operator == "" || part.Reason == "operator"), "%+v", part)
		list = append(list, part.At.Pointer("")+" "+part.Reason)
	}
	return strings.Join(list, ", ")
}

func TestAllUnreadablePartsAreReported(t *testing.T) {
	for rule, want := range map[string]string{
		`{"and":[{"nope":1},{"match":["a","("]},{"match":["a"]},{"or":[{"":[{"nope":2}]}]},{"match":["a","a{1000}"]}]}`: "/and/0 operator, /and/1/match/1 pattern, /and/2 pattern, /and/3/or/0 operator, /and/4/match/1 pattern_size",
		`{"some":[{"nope":1},{"match":[{"var":""},"["]}]}`:                                                              "/some/0 operator, /some/1/match/1 pattern",
		`{"match":[{"nope":1},{"var":"pattern"}]}`:                                                                      "/match/0 operator,  pattern",
		`{"match":["a","` + strings.Repeat("(", 1001) + `"]}`:                                                           "/match/1 pattern",
		`[{"match":["a","\\Qa"]},1]`:                                                                                    "/0/match/1 pattern",
		`{"match":["a","(?:` + strings.Repeat("a", 900) + `){900}"]}`:                                                   "/match/1 pattern_size",
		`{"match":["a","[\\pL\\pM]{1,400}"]}`:                                                                           "",
	} {
		_, err := Compile(parse(t, []byte(rule)))
		expect.Equal(t, unreadable(t, err), want, "%.100s", rule)
	}
}

// A compiler compiles the same pattern once, and stops at a total size whose compilation takes milliseconds.
func TestACompilerLimitsItsPatterns(t *testing.T) {
	var c Compiler
	first := expect.Must(c.Compile(parse(t, []byte(matching(`a{900}`)))))
	for range 10_000 {
		again := expect.Must(c.Compile(parse(t, []byte(matching(`a{900}`)))))
		expect.Require(t, again.root.value.(compiledPattern).Regexp == first.root.value.(compiledPattern).Regexp, "compiled twice") //nolint:forcetypeassert // match
	}
	compiled := 1
	for i := range 1000 {
		_, err := c.Compile(parse(t, []byte(matching(fmt.Sprint(`a{900}b`, i)))))
		if err == nil {
			compiled++
		} else {
			expect.Equal(t, unreadable(t, err), "/match/1 pattern_size", "pattern %d", i)
		}
	}
	expect.That(t, 50 < compiled && compiled < 300, "%d patterns of 900 instructions", compiled)
	_, err := c.Compile(parse(t, []byte(matching(`a`))))
	expect.Equal(t, unreadable(t, err), "/match/1 pattern_size", "a small one after them")
	expect.Nil(t, expect.ErrorOf(c.Compile(parse(t, []byte(matching(`a{900}`))))))

	c = Compiler{}
	for i := range 200 { // Patterns that are too large count too, because finding this out takes time.
		_, err := c.Compile(parse(t, []byte(matching(fmt.Sprintf(`a{%d}b{900}`, 901+i)))))
		expect.Equal(t, unreadable(t, err), "/match/1 pattern_size", "pattern %d", i)
	}
	_, err = c.Compile(parse(t, []byte(matching(`a`))))
	expect.Equal(t, unreadable(t, err), "/match/1 pattern_size", "a small one after large ones")
}

// measure is never below the instructions, and never far above them.
func TestPatternsAreMeasuredBeforeTheyAreExpanded(t *testing.T) {
	for _, pattern := range []string{
		``, `a`, `abc`, `a|b|cd`, `(a)(b)`, `(?i)kelvin`, `\pL+`, `[^a]`, `a{3}`, `a{3,}`, `a{0,5}`, `(?:ab{2}c?){2,7}`, `(?:(?:a|bc){3}d*){4,}`, `^a$\b.`, `x?`, `(?:|a)`, `a{0}`, `(?s).*`,
		strings.Repeat("x*", 400), strings.Repeat("(a)", 300), strings.Repeat("ab|", 300), `\d{500}`,
	} {
		re := expect.Must(syntax.Parse(pattern, syntax.Perl))
		size := new(Compiler).measure(re)
		prog := expect.Must(syntax.Compile(re.Simplify()))
		expect.That(t, size >= len(prog.Inst)-2 && size <= 4*len(prog.Inst), "%.50s: %d for %d instructions", pattern, size, len(prog.Inst))
	}
}

// The budget of a submission's rules is charged before a pattern runs.
func TestMatchStaysWithinTheBudget(t *testing.T) {
	long := map[string]any{"t": strings.Repeat("x", 1<<20)}
	worst := expect.Must(Compile(parse(t, []byte(matching(strings.Repeat("x*", 490)+"y")))))
	budget := NewBudget(100_000)
	expect.That(t, !worst.Holds(long, &budget) && budget.Exceeded(), "%d steps are left", budget.Left())
	cheap := expect.Must(Compile(parse(t, []byte(matching("x+")))))
	budget = NewBudget(100_000)
	expect.That(t, cheap.Holds(long, &budget) && 100_000-budget.Left() == 2+1+4*(1<<20)/perMatchStep, "%d steps are left", budget.Left())
}

func TestTodayNeedsATime(t *testing.T) {
	today := expect.Must(Compile(parse(t, []byte(`{"today":[]}`))))
	budget := NewBudget(100)
	expect.Equal(t, today.Eval(nil, &budget), nil, "without a time")
	budget.Now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	expect.Equal(t, today.Eval(nil, &budget), any("2026-03-01"), "with a time")
	paths, computed := today.ReadPaths()
	expect.That(t, !today.IsConstant() && len(paths) == 0 && !computed, "it reads %v, %v", paths, computed)
	round := expect.Must(Compile(parse(t, []byte(`{"round":1.5}`))))
	expect.That(t, round.IsConstant(), "round is not constant")
}
