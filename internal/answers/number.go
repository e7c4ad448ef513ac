package answers

import (
	"math"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
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

func newNumberRule(p *schema.Properties) numberRule {
	rule := numberRule{least: math.Inf(-1), most: math.Inf(1)}
	if p.MinVal && p.Min != nil {
		rule.least = *p.Min
	}
	if p.MaxVal && p.Max != nil {
		rule.most = *p.Max
	}
	return rule
}

func newRatingRule(p *schema.Properties) numberRule {
	rule := numberRule{least: 1, most: 5, whole: true}
	if p.To != nil && *p.To >= 1 {
		rule.most = math.Floor(*p.To)
	}
	return rule
}

func newScaleRule(p *schema.Properties) numberRule {
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
		inner, err := jsontree.Parse([]byte(strings.TrimSpace(n.Text())), jsontree.BodyBounds)
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
	if value < t.least || value > t.most {
		r.add(n, outOfRange(t.least, t.most))
		return
	}
	if t.step > 0 {
		steps := (value - t.least) / t.step
		if math.Abs(steps-math.Round(steps)) > stepTolerance*max(1, math.Abs(steps)) {
			r.add(n, offStep(t.least, t.most, t.step))
			return
		}
	}
	w.RawString(literal)
}

func (t numberRule) sample() string {
	switch {
	case !math.IsInf(t.least, -1) && t.most >= t.least:
		// The middle of a scale, the least of what has no end.
		num := t.least
		if t.step > 0 {
			num += math.Floor((t.most-t.least)/t.step/2) * t.step
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

func formatFloat(num float64) string { return string(jsontree.AppendFloat(nil, num)) }
