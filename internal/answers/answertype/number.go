package answertype

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
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

func newNumber(b *schema.Block, _ ServiceConfig) Rule {
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

// newScale is for rating, opinion_scale and nps: the table has what the properties do not say.
func newScale(b *schema.Block, _ ServiceConfig) Rule {
	p := b.Properties
	k, _ := schema.LookupBlockType(b.Type)
	rule := numberRule{least: k.Scale.From, most: k.Scale.To, whole: k.Shape == schema.ShapeInteger}
	if b.Type == schema.TypeRating && p.To != nil && *p.To >= 1 {
		rule.most = math.Floor(*p.To)
	}
	if rule.whole {
		return rule // each number is a step, and only a rating has a property of its own
	}
	rule.step = k.Scale.Step
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

func (t numberRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	number := n
	if n.Kind() == jsontree.String {
		// The same strict grammar: no hexadecimal, no NaN, nothing beyond a float64.
		if inner, err := jsontree.Parse([]byte(textclean.Trim(n.Text())), jsontree.BodyLimits); err == nil {
			defer inner.Release()
			number = inner.Root()
		}
	}
	if number.Kind() != jsontree.Number {
		r.add(n, wrongType("number", "must be a number"))
		return
	}
	value := number.Float()
	literal := canonicalNumber(number.Text(), value)
	if t.whole && (strings.Contains(literal, ".") || value != math.Trunc(value)) {
		r.add(n, wrongType("integer", "must be a whole number"))
		return
	}
	literal = trimUnrepresentable(literal, value)
	if t.isBelow(literal, value) || t.isAbove(literal, value) {
		r.add(n, outOfRange(t.least, t.most))
		return
	}
	if t.step > 0 {
		steps := (value - t.least) / t.step
		on := t.stepAt(math.Round(steps))
		if math.Abs(steps-math.Round(steps)) > stepTolerance*max(1, math.Abs(steps)) || on > t.most {
			r.add(n, notOnStep(t))
			return
		}
		literal = formatFloat(on)
	}
	w.RawString(literal)
}

// isBelow reports whether a number is less than least. A float64 that differs from the
// bound decides; where it equals the bound, the digits decide.
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

func (t numberRule) Sample() string {
	switch {
	case !math.IsInf(t.least, -1) && t.most >= t.least:
		// The middle of a scale, or the least number where there is no upper bound.
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

// trimUnrepresentable returns a canonical literal without the digits of a fraction that a float64
// does not hold. Readers that take numbers as float64 would not see these digits, but
// they would make one number two. Digits of a whole number stay.
func trimUnrepresentable(literal string, num float64) string {
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

func (t numberRule) contradiction() (member string, why Explanation) {
	if t.least <= t.most {
		return "", Explanation{} // least is an answer, or most, or any number
	}
	return "/properties", Explanation{Reason: "bounds", Message: fmt.Sprintf("the minimum, %s, is greater than the maximum, %s", formatGrouped(t.least), formatGrouped(t.most)), Params: map[string]any{"min": t.least, "max": t.most}}
}

func (t numberRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	switch p := b.Properties; b.Type {
	case schema.TypeNumber:
		warnIneffectiveLimits(p, warn)
	case schema.TypeOpinionScale:
		if p.ScaleStep != nil && *p.ScaleStep <= 0 {
			warn("scaleStep", Explanation{Reason: "step", Message: "a step of 0 or less counts as 1"})
		}
	case schema.TypeRating:
		if p.To != nil && *p.To < 1 {
			warn("to", Explanation{Reason: "rating", Message: "a rating with a highest value below 1 uses 5"})
		}
	}
}

// warnIneffectiveLimits is about bounds that do not count because their switch is off, and switches
// without a bound.
func warnIneffectiveLimits(p *schema.Properties, warn func(name string, why Explanation)) {
	if p.Min != nil && !p.MinVal {
		warn("min", Explanation{Reason: "min_off", Message: "min applies only when minVal is true"})
	}
	if p.Max != nil && !p.MaxVal {
		warn("max", Explanation{Reason: "max_off", Message: "max applies only when maxVal is true"})
	}
	if p.MinVal && p.Min == nil {
		warn("minVal", Explanation{Reason: "no_min", Message: "minVal has no effect without min"})
	}
	if p.MaxVal && p.Max == nil {
		warn("maxVal", Explanation{Reason: "no_max", Message: "maxVal has no effect without max"})
	}
}

// decimal is the value of a number literal: sign × digits × 10^exponent. The digits
// neither begin nor end with a zero. Zero has the sign 0 and no digits.
type decimal struct {
	sign     int
	digits   string
	exponent int
}

// parseDecimal reads a JSON number. An exponent that no literal within the bounds of
// package jsontree has is read as 0.
func parseDecimal(literal string) decimal {
	mantissa, power, _ := strings.Cut(strings.ToLower(literal), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil {
		exponent = 0
	}
	d := decimal{sign: 1}
	if strings.HasPrefix(mantissa, "-") {
		d.sign, mantissa = -1, mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	d.exponent = exponent - len(fraction) + len(digits) - len(d.digits)
	return d
}

// String writes equal values as equal texts.
func (d decimal) String() string {
	if d.sign == 0 {
		return "0"
	}
	sign := ""
	if d.sign < 0 {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.Itoa(d.exponent)
}

func numberIdentity(value jsontree.Node) ([]byte, bool) {
	if value.Kind() != jsontree.Number {
		return nil, false
	}
	return append([]byte("n"), parseDecimal(value.Raw()).String()...), true
}

// notOnStep is for a number between two steps of a scale.
func notOnStep(t numberRule) Violation {
	f := outOfRange(t.least, t.most)
	f.Params["step"] = numberParam(t.step)
	values := []string{formatGrouped(t.least)}
	for steps := 1.0; steps <= 2; steps++ {
		if next := t.stepAt(steps); next <= t.most {
			values = append(values, formatGrouped(next))
		}
	}
	f.Message = "must be one of the values on the scale: " + strings.Join(values, ", ")
	if t.stepAt(3) <= t.most {
		f.Message += " and so on"
	}
	return f
}

// outOfRange is for a number. An infinite bound is none.
func outOfRange(least, most float64) Violation {
	f := Violation{Code: schema.CodeOutOfRange, Params: make(map[string]any)}
	if !math.IsInf(least, -1) {
		f.Params["min"] = numberParam(least)
	}
	if !math.IsInf(most, 1) {
		f.Params["max"] = numberParam(most)
	}
	switch {
	case math.IsInf(least, -1):
		f.Message = "must be at most " + formatGrouped(most)
	case math.IsInf(most, 1):
		f.Message = "must be at least " + formatGrouped(least)
	default:
		f.Message = "must be between " + formatGrouped(least) + " and " + formatGrouped(most)
	}
	return f
}
