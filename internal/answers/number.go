package answers

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/visible"
	"github.com/formsvc/formsvc/schema"
)

// numberRule checks number, rating, opinion_scale and nps.
type numberRule struct {
	least, most float64
	whole       bool
	step        float64 // distance of two values counted from least; 0: any value
}

// stepTolerance is how far from a step a value may be, in steps: 0.1 and 0.3 have
// no exact float64.
const stepTolerance = 1e-9

func newNumber(b *schema.Block, _ *Source) rule {
	p := b.Properties
	rule := numberRule{least: math.Inf(-1), most: math.Inf(1)}
	if p.MinVal && p.Min != nil {
		rule.least = *p.Min
	}
	if p.MaxVal && p.Max != nil {
		rule.most = *p.Max
	}
	return rule
}

func newRating(b *schema.Block, _ *Source) rule {
	p := b.Properties
	rule := numberRule{least: 1, most: 5, whole: true}
	if p.To != nil && *p.To >= 1 {
		rule.most = math.Floor(*p.To)
	}
	return rule
}

func newScale(b *schema.Block, _ *Source) rule {
	p := b.Properties
	rule := numberRule{least: 1, most: 10, step: 1}
	if p.From != nil {
		rule.least = *p.From
	}
	if p.To != nil {
		rule.most = *p.To
	}
	if p.ScaleStep != nil && *p.ScaleStep > 0 {
		rule.step = *p.ScaleStep
	}
	return rule
}

func (t numberRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	number := n
	if n.Kind() == jsontree.String {
		// The same strict grammar: no hexadecimal, no NaN, nothing beyond a float64.
		inner, err := jsontree.Parse([]byte(visible.Trim(n.Text())), jsontree.BodyBounds)
		if err != nil {
			r.add(n, notNumber())
			return
		}
		defer inner.Release()
		number = inner.Root()
	}
	if number.Kind() != jsontree.Number {
		r.add(n, notNumber())
		return
	}
	value := number.Float()
	literal := canonicalNumber(number.Text(), value)
	if t.whole && (strings.Contains(literal, ".") || value != math.Trunc(value)) {
		r.add(n, wrongType("integer", "must be a whole number"))
		return
	}
	literal = representable(literal, value)
	if t.isBelow(literal, value) || t.isAbove(literal, value) {
		r.add(n, outOfRange(t.least, t.most))
		return
	}
	if t.step > 0 {
		steps := (value - t.least) / t.step
		on := t.stepAt(math.Round(steps))
		if math.Abs(steps-math.Round(steps)) > stepTolerance*max(1, math.Abs(steps)) || on > t.most {
			r.add(n, offStep(t))
			return
		}
		literal = formatFloat(on)
	}
	w.RawString(literal)
}

// isBelow reports whether a number is less than least. A float64 that differs from the
// bound says so; of one that equals it, the digits do.
func (t numberRule) isBelow(literal string, value float64) bool {
	return value < t.least || value == t.least && compareDecimals(literal, formatFloat(t.least)) < 0
}

// isAbove reports whether a number is more than most, as isBelow does.
func (t numberRule) isAbove(literal string, value float64) bool {
	return value > t.most || value == t.most && compareDecimals(literal, formatFloat(t.most)) > 0
}

// stepAt returns the value that is so many steps above least, with no more decimal places
// than least and step have: 3 steps of 0.1 are 0.3, not 0.30000000000000004.
func (t numberRule) stepAt(steps float64) float64 {
	value := t.least + steps*t.step
	places := max(decimalPlaces(t.least), decimalPlaces(t.step))
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', places, 64), 64); err == nil {
		return rounded
	}
	return value
}

// decimalPlaces is the number of digits after the point of a number without exponent.
func decimalPlaces(num float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(num, 'f', -1, 64), ".")
	return len(fraction)
}

func (t numberRule) sample() string {
	switch {
	case !math.IsInf(t.least, -1) && t.most >= t.least:
		// The middle of a scale, the least of what has no end.
		num := t.least
		if t.step > 0 {
			num = t.stepAt(math.Floor((t.most - t.least) / t.step / 2))
		} else if t.whole {
			num = math.Ceil((t.least + t.most) / 2)
		}
		return formatFloat(num)
	case t.most < 42:
		return formatFloat(t.most)
	default:
		return "42"
	}
}

// canonicalNumber writes a number literal in one form: no exponent where the
// number is short without one, no trailing zeros of a fraction, no negative zero.
// A literal without exponent keeps all its digits.
func canonicalNumber(literal string, num float64) string {
	if strings.ContainsAny(literal, "eE") {
		return formatFloat(num)
	}
	if strings.Contains(literal, ".") {
		literal = strings.TrimRight(literal, "0")
		literal = strings.TrimSuffix(literal, ".")
	}
	if literal == "-0" {
		return "0"
	}
	return literal
}

// exactDigits is the number of significant digits with which any two decimals are two
// float64.
const exactDigits = 15

// representable returns a canonical literal without the digits of a fraction that a float64
// does not hold. Readers that take numbers as float64 would not see these digits, but
// they would make one number two. Digits of a whole number stay.
func representable(literal string, num float64) string {
	whole, fraction, hasFraction := strings.Cut(strings.TrimPrefix(literal, "-"), ".")
	switch {
	case !hasFraction || len(strings.TrimLeft(whole+fraction, "0")) <= exactDigits || strings.ContainsAny(literal, "eE"):
		return literal
	case len(whole) <= exactDigits:
		return formatFloat(num)
	}
	literal, _, _ = strings.Cut(literal, ".")
	return literal
}

// compareDecimals compares two number literals by their digits, so that an exponent costs
// nothing.
func compareDecimals(a, b string) int {
	x, y := parseDecimal(a), parseDecimal(b)
	if c := cmp.Compare(x.sign, y.sign); c != 0 {
		return c
	}
	c := cmp.Or(cmp.Compare(x.exponent+len(x.digits), y.exponent+len(y.digits)), strings.Compare(x.digits, y.digits))
	return x.sign * c
}

func formatFloat(num float64) string { return string(jsontree.AppendFloat(nil, num)) }
