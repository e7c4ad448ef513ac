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

// numberRule checks number, rating, opinion_scale and nps blocks. Steps are counted from the minimum. A zero step
// allows any value.
type numberRule struct {
	minimum, maximum float64
	whole            bool
	step             float64
}

// stepTolerance is the maximum distance from a step, as a fraction of a step. Without it, steps of 0.1 would fail,
// because a float64 cannot represent 0.1 exactly.
const stepTolerance = 1e-9

func newNumber(b *schema.Block, _ ServiceConfig) Rule {
	p := b.Properties
	rule := numberRule{minimum: math.Inf(-1), maximum: math.Inf(1)}
	if p.MinVal && p.Min != nil {
		rule.minimum = *p.Min
	}
	if p.MaxVal && p.Max != nil {
		rule.maximum = *p.Max
	}
	return rule
}

// newScale uses the block type's limits unless the properties set other limits.
func newScale(b *schema.Block, _ ServiceConfig) Rule {
	p := b.Properties
	k, _ := schema.LookupBlockType(b.Type)
	rule := numberRule{minimum: k.Scale.From, maximum: k.Scale.To, whole: k.Shape == schema.ShapeInteger}
	if b.Type == schema.TypeRating && p.To != nil && *p.To >= 1 {
		rule.maximum = math.Floor(*p.To)
	}
	if rule.whole {
		return rule // integers need no step, and only rating has a property for its maximum
	}
	rule.step = k.Scale.Step
	if p.From != nil {
		rule.minimum = *p.From
	}
	if p.To != nil {
		rule.maximum = *p.To
	}
	if p.ScaleStep != nil && *p.ScaleStep > 0 {
		rule.step = *p.ScaleStep
	}
	return rule
}

func (t numberRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	number := n
	if n.Kind() == jsontree.String {
		// Parsing as JSON excludes hexadecimal numbers, NaN and numbers beyond float64.
		if inner, err := jsontree.Parse([]byte(textclean.Trim(n.Text())), jsontree.BodyLimits); err == nil {
			defer inner.Release()
			number = inner.Root()
		}
	}
	if number.Kind() != jsontree.Number {
		r.add(n, violationWrongType("number", "must be a number"))
		return
	}
	value := number.Float()
	literal := canonicalNumber(number.Text(), value)
	if t.whole && (strings.Contains(literal, ".") || value != math.Trunc(value)) {
		r.add(n, violationWrongType("integer", "must be a whole number"))
		return
	}
	literal = trimUnrepresentable(literal, value)
	if t.isBelow(literal, value) || t.isAbove(literal, value) {
		r.add(n, violationOutOfRange(t.minimum, t.maximum))
		return
	}
	if t.step > 0 {
		steps := (value - t.minimum) / t.step
		on := t.valueAtStep(math.Round(steps))
		if math.Abs(steps-math.Round(steps)) > stepTolerance*max(1, math.Abs(steps)) || on > t.maximum {
			r.add(n, violationNotOnStep(t))
			return
		}
		literal = formatFloat(on)
	}
	w.RawString(literal)
}

// isBelow reports whether a number is less than the minimum. Equal float64 values are compared by their digits.
func (t numberRule) isBelow(literal string, value float64) bool {
	return value < t.minimum || value == t.minimum && compareDecimals(literal, formatFloat(t.minimum)) < 0
}

// isAbove reports whether a number is greater than the maximum. Equal float64 values are compared by their digits.
func (t numberRule) isAbove(literal string, value float64) bool {
	return value > t.maximum || value == t.maximum && compareDecimals(literal, formatFloat(t.maximum)) > 0
}

// valueAtStep returns the value at a number of steps above the minimum, rounded to the decimal places of the minimum
// and the step. For example, 3 steps of 0.1 give 0.3, not 0.30000000000000004.
func (t numberRule) valueAtStep(steps float64) float64 {
	value := t.minimum + steps*t.step
	places := max(decimalPlaces(t.minimum), decimalPlaces(t.step))
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', places, 64), 64); err == nil {
		return rounded
	}
	return value
}

func decimalPlaces(num float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(num, 'f', -1, 64), ".")
	return len(fraction)
}

func (t numberRule) Sample() string {
	switch {
	case !math.IsInf(t.minimum, -1) && t.maximum >= t.minimum:
		// Use the middle of a scale, or the minimum if the maximum is unlimited.
		num := t.minimum
		if t.step > 0 {
			num = t.valueAtStep(math.Floor((t.maximum - t.minimum) / t.step / 2))
		} else if t.whole {
			num = math.Ceil((t.minimum + t.maximum) / 2)
		}
		return formatFloat(num)
	case t.maximum < 42:
		return formatFloat(t.maximum)
	default:
		return "42"
	}
}

// canonicalNumber formats a number without trailing zeros or a negative zero, and without an exponent if the result is
// short. A number without an exponent keeps all other digits.
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

// exactDigits is the maximum number of significant digits for which different decimals always map to different float64
// values.
const exactDigits = 15

// trimUnrepresentable removes fraction digits that a float64 cannot represent. Otherwise two numbers could differ
// although programs that use float64 see the same value. Integers keep all digits.
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

// compareDecimals compares two numbers by their digits, so that large exponents use no memory.
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
	if t.minimum <= t.maximum {
		return "", Explanation{} // the minimum or maximum is a valid answer
	}
	return "/properties", Explanation{Reason: "bounds", Message: fmt.Sprintf("the minimum, %s, is greater than the maximum, %s", formatGrouped(t.minimum), formatGrouped(t.maximum)), Params: map[string]any{"min": t.minimum, "max": t.maximum}}
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
			warn("to", Explanation{Reason: "rating", Message: "the number of icons is below 1, so 5 icons are shown"})
		}
	}
}

// warnIneffectiveLimits warns about limits that are not enabled (minVal, maxVal), and about enabled limits without a
// value.
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

// decimal is the number sign × digits × 10^exponent. digits neither begins nor ends with a zero. For zero, sign is 0
// and digits is empty.
type decimal struct {
	sign     int
	digits   string
	exponent int
}

// parseDecimal parses a JSON number. It replaces an exponent that does not fit in an int with 0.
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

// String returns a canonical form, so equal values have equal strings.
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

func violationNotOnStep(t numberRule) Violation {
	f := violationOutOfRange(t.minimum, t.maximum)
	f.Params["step"] = numberParam(t.step)
	values := []string{formatGrouped(t.minimum)}
	for steps := 1.0; steps <= 2; steps++ {
		if next := t.valueAtStep(steps); next <= t.maximum {
			values = append(values, formatGrouped(next))
		}
	}
	f.Message = "must be one of the values on the scale: " + strings.Join(values, ", ")
	if t.valueAtStep(3) <= t.maximum {
		f.Message += " and so on"
	}
	return f
}

// violationOutOfRange treats an infinite limit as the absence of a limit.
func violationOutOfRange(minimum, maximum float64) Violation {
	f := Violation{Code: schema.CodeOutOfRange, Params: make(map[string]any)}
	if !math.IsInf(minimum, -1) {
		f.Params["min"] = numberParam(minimum)
	}
	if !math.IsInf(maximum, 1) {
		f.Params["max"] = numberParam(maximum)
	}
	switch {
	case math.IsInf(minimum, -1):
		f.Message = "must be at most " + formatGrouped(maximum)
	case math.IsInf(maximum, 1):
		f.Message = "must be at least " + formatGrouped(minimum)
	default:
		f.Message = "must be between " + formatGrouped(minimum) + " and " + formatGrouped(maximum)
	}
	return f
}
