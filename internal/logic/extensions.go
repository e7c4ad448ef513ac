package logic

import (
	"bytes"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/jsontree"
)

const (
	// maxInstructions limits one pattern.
	maxInstructions = 1000
	// maxPatternsSize limits the instructions and character classes of all patterns of a form to about 10 MB.
	maxPatternsSize = 1 << 18
	// perMatchStep is the product of a pattern's instructions and a text's bytes that takes one step. Each instruction
	// takes 9 to 42 ns per byte in the worst case, so that the patterns of a submission take at most about a second.
	perMatchStep = 256
)

// compiledPattern is a pattern that matches whole texts.
type compiledPattern struct {
	*regexp.Regexp     // nil if the pattern cannot be compiled
	instructions   int // of the pattern alone

	reason, rule string // why it cannot be compiled, as in [Unreadable]
}

// match compiles the operation n, whose second argument must be a literal pattern.
func (c *compilation) match(o node, n jsontree.Node) node {
	p := compiledPattern{reason: "pattern", rule: "must have a text and a literal pattern"}
	at := n
	if len(o.args) == 2 && o.args[1].isLiteral() {
		if source, ok := o.args[1].value.(string); ok {
			at, p = n.First().First().Next(), c.pattern(source)
		}
	}
	if p.Regexp == nil {
		c.unreadable = append(c.unreadable, Unreadable{At: at, Reason: p.reason, Rule: p.rule})
		return node{}
	}
	return node{operate: o.operate, args: o.args[:1], value: p}
}

// These are the results for patterns that cannot be compiled.
var (
	invalidPattern   = compiledPattern{reason: "pattern", rule: "must be a valid RE2 pattern"}
	largePattern     = compiledPattern{reason: "pattern_size", rule: "must compile to at most 1,000 instructions"}
	patternsTooLarge = compiledPattern{reason: "pattern_size", rule: "must be shorter, because the patterns of the form are too large together"}
)

// pattern returns the compiled pattern, which it compiles only once.
func (c *Compiler) pattern(source string) compiledPattern {
	p, known := c.patterns[source]
	if known {
		return p
	}
	if p = patternsTooLarge; c.patternsSize <= maxPatternsSize {
		p = c.compilePattern(source)
	}
	if c.patterns == nil {
		c.patterns = make(map[string]compiledPattern)
	}
	c.patterns[source] = p
	return p
}

func (c *Compiler) compilePattern(source string) compiledPattern {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return invalidPattern
	}
	size := c.measure(re)
	if c.patternsSize += size; size > 4*maxInstructions {
		return largePattern
	} else if c.patternsSize > maxPatternsSize {
		return patternsTooLarge
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return largePattern
	}
	// The group at the start prevents one-pass compilation, which can take much more memory than the instructions.
	whole, err := regexp.Compile(`(\A)(?:` + source + `)\z`)
	if err != nil {
		return invalidPattern // such as \Q without \E
	}
	return compiledPattern{Regexp: whole, instructions: len(prog.Inst)}
}

// measure returns an upper limit for the instructions, because repetitions expand to many. It adds the size of
// character classes to the size of all patterns; repetitions share them.
func (c *Compiler) measure(re *syntax.Regexp) int {
	size := max(1, len(re.Sub))
	switch re.Op {
	case syntax.OpLiteral:
		size = max(1, len(re.Rune))
	case syntax.OpCapture:
		size = 2
	default:
		c.patternsSize += len(re.Rune)
	}
	for _, part := range re.Sub {
		size += c.measure(part)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(1, re.Min, re.Max)
	}
	return size
}

// match reports whether a pattern matches a whole text. The budget is charged before, so that no text exceeds it.
func (e evaluation) match(n *node, data any) any {
	s, isText := e.evalArg(n, 0, data).(string)
	p := n.value.(compiledPattern) //nolint:forcetypeassert // the compiler sets it
	e.Spend(max(1, p.instructions*len(s)/perMatchStep))
	return isText && !e.Exceeded() && p.MatchString(s)
}

// length returns the number of code points or items. Null has none, and other values have no length.
func (e evaluation) length(n *node, data any) any {
	switch v := e.evalArg(n, 0, data).(type) {
	case nil:
		return 0.0
	case string:
		e.spendText(len(v))
		return float64(utf8.RuneCountInString(v))
	case []any:
		return float64(len(v))
	default:
		return nil
	}
}

// maxDecimals is the largest number of decimals that round retains.
const maxDecimals = 10

// round rounds the shortest decimal number of a value, half away from zero. Binary rounding would make 1.005 to 1.00.
func (e evaluation) round(n *node, data any) any {
	f := e.toNumber(e.evalArg(n, 0, data))
	decimals := int(min(max(0, truncateOrZero(e.toNumber(e.evalArg(n, 1, data)))), maxDecimals))
	e.Spend(8)
	digits := strconv.AppendFloat(nil, math.Abs(f), 'f', -1, 64)
	point := bytes.IndexByte(digits, '.')
	if point < 0 || len(digits) <= point+1+decimals {
		return f
	}
	up := digits[point+1+decimals] >= '5'
	digits = digits[:point+1+decimals]
	for i := len(digits) - 1; up && i >= 0; i-- {
		switch digits[i] {
		case '.':
		case '9':
			digits[i] = '0'
		default:
			digits[i]++
			up = false
		}
	}
	if up {
		digits = append([]byte{'1'}, digits...)
	}
	rounded, _ := strconv.ParseFloat(string(digits), 64) // valid
	return math.Copysign(rounded, f) + 0                 // converts negative zero to zero
}

// today returns the day of the evaluation.
func (e evaluation) today(*node, any) any {
	if e.Now.IsZero() {
		return nil
	}
	return e.Now.Format(time.DateOnly)
}

// days returns the number of days from the first date to the second, or null if one is no date.
func (e evaluation) days(n *node, data any) any {
	from, ok := e.day(e.evalArg(n, 0, data))
	to, ok2 := e.day(e.evalArg(n, 1, data))
	if !ok || !ok2 {
		return nil
	}
	return to - from
}

// day returns the number of a date's day. The day of a time is in UTC.
func (e evaluation) day(v any) (float64, bool) {
	const secondsPerDay = 24 * 60 * 60
	e.Spend(8)
	s, _ := v.(string)
	if len(s) > len("2006-01-02T15:04:05.123456789+00:00") {
		return 0, false
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	return math.Floor(float64(t.Unix()) / secondsPerDay), err == nil
}
