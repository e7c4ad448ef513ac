package schema

import (
	"bytes"
	"encoding/json"
	"math"
)

// Rule returns a rule for [Properties].Rule of a top-level block. The first clause that jumps and whose condition holds
// leads on. Of Show and of Require the last clause counts. Clauses that change one variable work in their order, each
// on what those before it made of the value; their conditions read the variable as it was before the rule.
//
// Owners see such a rule in sentences and can change it there, as long as its groups of conditions are nested at most
// three deep and a variable is only added to or only set.
func Rule(clauses ...Clause) json.RawMessage {
	r := rule{Set: map[string]any{}}
	r.do(clauses...)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(r) //nolint:errchkjson // of texts, finite numbers, booleans and null
	return bytes.TrimSpace(b.Bytes())
}

// Clause is one thing that a rule does. The zero value does nothing.
type Clause struct{ apply func(*rule) }

type rule struct {
	Show    any            `json:"show,omitempty"`
	Require any            `json:"require,omitempty"`
	Set     map[string]any `json:"set,omitempty"`
	Next    []jump         `json:"next,omitempty"`
}

type jump struct {
	If any    `json:"if,omitempty"`
	To string `json:"to"`
}

func (r *rule) do(clauses ...Clause) {
	for _, c := range clauses {
		if c.apply != nil {
			c.apply(r)
		}
	}
}

// Subject is what a condition reads: an answer, a part of it, a hidden field or a variable.
type Subject struct{ path string }

// When begins a condition on the answer to a block, by its id.
func When(block string) Subject { return Subject{"answers." + block} }

// WhenHidden begins a condition on a hidden field.
func WhenHidden(name string) Subject { return Subject{"hidden." + name} }

// WhenVariable begins a condition on a variable of the definition.
func WhenVariable(name string) Subject { return Subject{"variables." + name} }

// Part returns a part of the subject: "country" of an address, a row of a matrix by its id, "other" of a choice, the
// respondent's own text, "length" of several choices, their number.
func (s Subject) Part(name string) Subject { return Subject{s.path + "." + name} }

func (s Subject) read() any { return map[string]any{"var": s.path} }

func (s Subject) compare(operator string, value any) Condition {
	return Condition{map[string]any{operator: []any{s.read(), value}}}
}

// Answered holds when there is an answer. A variable always has a value.
func (s Subject) Answered() Condition { return s.compare("!=", nil) }

// NotAnswered holds when there is no answer, as of a question that was not reached.
func (s Subject) NotAnswered() Condition { return s.compare("==", nil) }

// Is holds for one text, choice by its id, country by its code, date ("2026-11-20") or time.
func (s Subject) Is(value string) Condition { return s.compare("==", value) }

// IsNot is the opposite of Is: it holds without an answer too.
func (s Subject) IsNot(value string) Condition { return s.compare("!=", value) }

// IsYes holds for a yes_no or legal block that is answered by yes.
func (s Subject) IsYes() Condition { return s.compare("==", true) }

// IsNo holds for a yes_no or legal block that is answered by no, not without an answer.
func (s Subject) IsNo() Condition { return s.compare("==", false) }

// Equals holds for one number.
func (s Subject) Equals(n float64) Condition { return s.compare("==", number(n)) }

// IsExactly holds when these choices are chosen and no other, in the order of the definition, or ranked in this order.
func (s Subject) IsExactly(choices ...string) Condition {
	return s.compare("==", append([]string{}, choices...))
}

// OneOf holds for each of the values that Is takes.
func (s Subject) OneOf(values ...string) Condition {
	return s.compare("in", append([]string{}, values...))
}

// Includes holds when a choice is among those chosen.
func (s Subject) Includes(choice string) Condition {
	return Condition{map[string]any{"in": []any{choice, s.read()}}}
}

// Contains holds when a piece is found in a text, in the same case.
func (s Subject) Contains(piece string) Condition { return s.Includes(piece) }

// Below holds for numbers below n. This and the other comparisons of order do not hold without an answer. No answer is
// below, above or equal to an n that is not finite.
func (s Subject) Below(n float64) Condition { return s.compare("<", number(n)) }

// AtMost holds for n and numbers below it.
func (s Subject) AtMost(n float64) Condition { return s.compare("<=", number(n)) }

// Above holds for numbers above n.
func (s Subject) Above(n float64) Condition { return s.compare(">", number(n)) }

// AtLeast holds for n and numbers above it.
func (s Subject) AtLeast(n float64) Condition { return s.compare(">=", number(n)) }

// Between holds for numbers from least to most, both included.
func (s Subject) Between(least, most float64) Condition {
	return Condition{map[string]any{"<=": []any{number(least), s.read(), number(most)}}}
}

// Before holds for dates ("2026-11-20") or times ("09:30") before one. A date with a time is compared in UTC, as
// "2026-11-20T08:00:00Z".
func (s Subject) Before(date string) Condition { return s.compare("<", date) }

// After holds for dates or times after one, written as for Before.
func (s Subject) After(date string) Condition { return s.compare(">", date) }

// Condition says when a clause takes effect. The zero value always holds.
type Condition struct{ logic any }

// Always returns the condition that always holds, for actions that do not depend on answers.
func Always() Condition { return Condition{} }

// And holds when the condition and all others do.
func (c Condition) And(others ...Condition) Condition { return group("and", c, others) }

// Or holds when the condition or one of the others does.
func (c Condition) Or(others ...Condition) Condition { return group("or", c, others) }

// Not holds when the condition does not: also without an answer, where that does not hold.
func (c Condition) Not() Condition {
	if c.logic == nil {
		return Condition{false}
	}
	logic, ok := c.logic.(map[string]any)
	if !ok { // false, the only constant
		return Always()
	}
	if inner, ok := logic["!"]; ok {
		return Condition{inner}
	}
	for operator, opposite := range map[string]string{"and": "or", "or": "and"} {
		if list, ok := logic[operator].([]any); ok {
			all := make([]Condition, len(list))
			for i := range list {
				all[i] = Condition{list[i]}.Not()
			}
			return group(opposite, all[0], all[1:])
		}
	}
	return Condition{map[string]any{"!": logic}}
}

// group joins conditions, those of groups of the same kind one by one.
func group(operator string, first Condition, others []Condition) Condition {
	var list []any
	for _, c := range append([]Condition{first}, others...) {
		inner, isLogic := c.logic.(map[string]any)
		switch same, nested := inner[operator].([]any); {
		case nested:
			list = append(list, same...)
		case isLogic:
			list = append(list, c.logic)
		case (c.logic == nil) == (operator == "or"): // it decides alone; else it changes nothing
			return c
		}
	}
	switch len(list) {
	case 0:
		return first
	case 1:
		return Condition{list[0]}
	}
	return Condition{map[string]any{operator: list}}
}

// GoTo leads to a later top-level block, or to the first ending with "end".
func (c Condition) GoTo(block string) Clause {
	return Clause{func(r *rule) { r.Next = append(r.Next, jump{c.logic, block}) }}
}

// Otherwise leads to a block when the clauses up to this one have led nowhere.
func (c Clause) Otherwise(block string) Clause {
	return Clause{func(r *rule) { r.do(c, Always().GoTo(block)) }}
}

// Show takes the block off the path unless the condition holds.
func (c Condition) Show() Clause { return Clause{func(r *rule) { r.Show = c.value() }} }

// Require says when an answer is required, in place of [Block].Required.
func (c Condition) Require() Clause { return Clause{func(r *rule) { r.Require = c.value() }} }

// Add adds a number, which may be below 0, to a variable.
func (c Condition) Add(variable string, n float64) Clause { return c.add(variable, number(n)) }

// AddAnswer adds the answer to a block that takes a number. Without an answer the variable stays as it was before the
// rule, whatever else is added.
func (c Condition) AddAnswer(variable, block string) Clause {
	return c.add(variable, When(block).read())
}

// Set gives a variable a text, of at most 10,000 characters.
func (c Condition) Set(variable, text string) Clause { return c.set(variable, text) }

// SetNumber gives a variable a number.
func (c Condition) SetNumber(variable string, n float64) Clause { return c.set(variable, number(n)) }

func (c Condition) add(variable string, by any) Clause {
	return Clause{func(r *rule) {
		term := by
		if c.logic != nil {
			term = map[string]any{"if": []any{c.logic, by, 0}}
		}
		r.Set[variable] = map[string]any{"+": append(r.operands(variable, "+"), term)}
	}}
}

func (c Condition) set(variable string, value any) Clause {
	return Clause{func(r *rule) {
		if c.logic == nil {
			r.Set[variable] = value
			return
		}
		r.Set[variable] = map[string]any{"if": append([]any{c.logic, value}, r.operands(variable, "if")...)}
	}}
}

// value is what a variable has after the clauses so far.
func (r *rule) value(variable string) any {
	if now, ok := r.Set[variable]; ok {
		return now
	}
	return WhenVariable(variable).read()
}

// operands are those of the operator that gives a variable its value, or else the value alone.
func (r *rule) operands(variable, operator string) []any {
	now, _ := r.value(variable).(map[string]any)
	if operands, ok := now[operator].([]any); ok {
		return operands
	}
	return []any{r.value(variable)}
}

func (c Condition) value() any {
	if c.logic == nil {
		return true
	}
	return c.logic
}

// number is n in JSON. A value without a number is an empty object, which equals no answer.
func number(n float64) any {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return struct{}{}
	}
	return n
}
