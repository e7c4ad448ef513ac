package schema

import (
	"fmt"
	"math"
	"strings"
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

func newNumberRule(p *Properties) numberRule {
	rule := numberRule{least: math.Inf(-1), most: math.Inf(1)}
	if p.MinVal && p.Min != nil {
		rule.least = *p.Min
	}
	if p.MaxVal && p.Max != nil {
		rule.most = *p.Max
	}
	return rule
}

func newRatingRule(p *Properties) numberRule {
	rule := numberRule{least: 1, most: 5, whole: true}
	if p.To != nil && *p.To >= 1 {
		rule.most = math.Floor(*p.To)
	}
	return rule
}

func newScaleRule(p *Properties) numberRule {
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

func (t numberRule) check(dst []byte, n *node, r *report) []byte {
	if n.kind == kindString {
		// The same strict grammar: no hexadecimal, no NaN, nothing beyond a float64.
		inner, err := parse([]byte(strings.TrimSpace(n.text)))
		if err != nil {
			r.add(CodeWrongType, "must be a number")
			return dst
		}
		n = inner
	}
	if n.kind != kindNumber {
		r.add(CodeWrongType, "must be a number")
		return dst
	}
	literal := canonicalNumber(n.text, n.num)
	if t.whole && (strings.Contains(literal, ".") || n.num != math.Trunc(n.num)) {
		r.add(CodeWrongType, "must be a whole number")
		return dst
	}
	if n.num < t.least || n.num > t.most {
		r.add(CodeOutOfRange, t.bounds())
		return dst
	}
	if t.step > 0 {
		steps := (n.num - t.least) / t.step
		if math.Abs(steps-math.Round(steps)) > stepTolerance*max(1, math.Abs(steps)) {
			r.add(CodeOutOfRange, fmt.Sprintf("must be on a step of the scale: %v, %v and so on", t.least, t.least+t.step))
			return dst
		}
	}
	return append(dst, literal...)
}

func (t numberRule) bounds() string {
	switch {
	case math.IsInf(t.least, -1):
		return fmt.Sprintf("must be at most %v", t.most)
	case math.IsInf(t.most, 1):
		return fmt.Sprintf("must be at least %v", t.least)
	default:
		return fmt.Sprintf("must be between %v and %v", t.least, t.most)
	}
}
