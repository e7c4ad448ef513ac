package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Rule returns a rule for [Properties].Rule of a top-level block. The first GoTo or Otherwise whose condition is true
// determines the next block. Only the last Show and the last Require apply. Clauses that change the same variable apply
// in order, each to the result of the previous clause. However, the conditions of these clauses read the variable's
// value from before the rule. In a block inside a group, only Refuse, CheckWith and
// ChoicesFrom have an effect.
//
// The builder shows rules as sentences. Users can edit a rule if its condition groups are nested at most three levels
// deep, and if its clauses for each variable are either all Add or all Set.
func Rule(clauses ...Clause) json.RawMessage {
	r := rule{Set: map[string]any{}}
	r.applyClauses(clauses...)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(r) //nolint:errchkjson // it contains only texts, finite numbers, booleans and null
	return bytes.TrimSpace(b.Bytes())
}

// Clause is one action of a rule. The zero value does nothing.
type Clause struct{ apply func(*rule) }

type rule struct {
	Show    any            `json:"show,omitempty"`
	Require any            `json:"require,omitempty"`
	Set     map[string]any `json:"set,omitempty"`
	Next    []jump         `json:"next,omitempty"`
	Check   []check        `json:"check,omitempty"`
	Choices *ListRef       `json:"choices,omitempty"`
}

type check struct {
	If   any    `json:"if,omitempty"`
	Say  string `json:"say,omitempty"`
	Host string `json:"host,omitempty"`
}

type jump struct {
	If any    `json:"if,omitempty"`
	To string `json:"to"`
}

func (r *rule) applyClauses(clauses ...Clause) {
	for _, c := range clauses {
		if c.apply != nil {
			c.apply(r)
		}
	}
}

// Subject is the value that a condition tests: an answer, a part of an answer, a hidden field, a variable or the
// ending.
type Subject struct{ path string }

// When starts a condition on the answer to a block. block is the block's ID.
func When(block string) Subject { return Subject{"answers." + block} }

// WhenHidden starts a condition on a hidden field.
func WhenHidden(name string) Subject { return Subject{"hidden." + name} }

// WhenVariable starts a condition on a variable of the definition.
func WhenVariable(name string) Subject { return Subject{"variables." + name} }

// WhenEnding starts a condition on the ID of the ending that a respondent reached. Only filters of submissions can read
// it, because rules run before the ending.
func WhenEnding() Subject { return Subject{"submission.ending"} }

// Part selects a part of an answer: "country" for an address, the ID of a matrix row, "other" for the text of an
// “Other” answer, or "length" for the number of selected choices.
func (s Subject) Part(name string) Subject { return Subject{s.path + "." + name} }

func (s Subject) variableRef() any { return map[string]any{"var": s.path} }

func (s Subject) compare(operator string, value any) Condition {
	return Condition{map[string]any{operator: []any{s.variableRef(), value}}}
}

// Answered tests whether there is an answer. It is always true for a variable.
func (s Subject) Answered() Condition { return s.compare("!=", nil) }

// NotAnswered tests whether an answer is missing, for example because the question was not reached.
func (s Subject) NotAnswered() Condition { return s.compare("==", nil) }

// Is tests whether the answer equals a text, choice ID, country code, date ("2026-11-20") or time.
func (s Subject) Is(value string) Condition { return s.compare("==", value) }

// IsNot is the opposite of Is. It is also true if there is no answer.
func (s Subject) IsNot(value string) Condition { return s.compare("!=", value) }

// IsYes tests whether the answer to a yes_no or legal block is yes.
func (s Subject) IsYes() Condition { return s.compare("==", true) }

// IsNo tests whether the answer to a yes_no or legal block is no. It is false if there is no answer.
func (s Subject) IsNo() Condition { return s.compare("==", false) }

// Equals tests whether the answer is the number n.
func (s Subject) Equals(n float64) Condition { return s.compare("==", jsonNumber(n)) }

// IsExactly tests whether the selected choices are exactly the given choices. List them in the order of the definition,
// or for a ranking in the ranked order.
func (s Subject) IsExactly(choices ...string) Condition {
	return s.compare("==", append([]string{}, choices...))
}

// OneOf tests whether [Subject.Is] is true for at least one value.
func (s Subject) OneOf(values ...string) Condition {
	return s.compare("in", append([]string{}, values...))
}

// Includes tests whether a choice is selected.
func (s Subject) Includes(choice string) Condition {
	return Condition{map[string]any{"in": []any{choice, s.variableRef()}}}
}

// Contains tests whether a text contains the given substring. It is case-sensitive.
func (s Subject) Contains(substring string) Condition { return s.Includes(substring) }

// Below tests whether a number is below n. Like all ordered comparisons, it is false if there is no answer or n is not
// finite.
func (s Subject) Below(n float64) Condition { return s.compare("<", jsonNumber(n)) }

// AtMost tests whether a number is at most n.
func (s Subject) AtMost(n float64) Condition { return s.compare("<=", jsonNumber(n)) }

// Above tests whether a number is above n.
func (s Subject) Above(n float64) Condition { return s.compare(">", jsonNumber(n)) }

// AtLeast tests whether a number is at least n.
func (s Subject) AtLeast(n float64) Condition { return s.compare(">=", jsonNumber(n)) }

// Between tests whether a number is between least and most, inclusive.
func (s Subject) Between(least, most float64) Condition {
	return Condition{map[string]any{"<=": []any{jsonNumber(least), s.variableRef(), jsonNumber(most)}}}
}

// Before tests whether an answer is before date, which is a date ("2026-11-20") or a time ("09:30"). If the answer is a
// date with a time, it is compared in UTC, as "2026-11-20T08:00:00Z".
func (s Subject) Before(date string) Condition { return s.compare("<", date) }

// After tests whether an answer is after date, which has the format described at [Subject.Before].
func (s Subject) After(date string) Condition { return s.compare(">", date) }

// Matches tests whether a pattern such as "[0-9]{5}" matches the whole text. The pattern has the syntax of package
// regexp and can compile to at most 1,000 instructions. It does not match a missing answer.
func (s Subject) Matches(pattern string) Condition { return s.compare("match", pattern) }

// IsWhole tests whether a number is whole. It is false if the answer is missing.
func (s Subject) IsWhole() Condition {
	return compareValues("==", operate("round", s.variableRef()), s.variableRef())
}

// ShorterThan tests whether a text has fewer than n characters, or a list fewer than n items. A missing answer has none.
func (s Subject) ShorterThan(n int) Condition {
	return compareValues("<", operate("length", s.variableRef()), n)
}

// LongerThan tests whether a text has more than n characters, or a list more than n items.
func (s Subject) LongerThan(n int) Condition {
	return compareValues(">", operate("length", s.variableRef()), n)
}

// BeforeToday tests whether a date is before the day of the submission in the service's time zone. The day of a date
// with a time is in UTC. BeforeToday is false if the answer is missing.
func (s Subject) BeforeToday() Condition { return compareValues("<", s.daysFromToday(), 0) }

// AfterToday tests whether a date is after the day of the submission, with the days of [Subject.BeforeToday].
func (s Subject) AfterToday() Condition { return compareValues(">", s.daysFromToday(), 0) }

func (s Subject) daysFromToday() any { return operate("days", operate("today"), s.variableRef()) }

// BelowAnswer tests whether a number is below the answer to another block. Like the other comparisons with an answer,
// except EqualsAnswer, it is false if one of the answers is missing.
func (s Subject) BelowAnswer(block string) Condition {
	return s.compare("<", When(block).variableRef())
}

// AboveAnswer tests whether a number is above the answer to another block.
func (s Subject) AboveAnswer(block string) Condition {
	return s.compare(">", When(block).variableRef())
}

// BeforeAnswer tests whether a date or time is before the answer to another block of the same type.
func (s Subject) BeforeAnswer(block string) Condition { return s.BelowAnswer(block) }

// AfterAnswer tests whether a date or time is after the answer to another block of the same type.
func (s Subject) AfterAnswer(block string) Condition { return s.AboveAnswer(block) }

// EqualsAnswer tests whether the answer equals the answer to another block. It is true if both are missing.
func (s Subject) EqualsAnswer(block string) Condition {
	return s.compare("==", When(block).variableRef())
}

func operate(operator string, operands ...any) any {
	return map[string]any{operator: append([]any{}, operands...)}
}

func compareValues(operator string, a, b any) Condition { return Condition{operate(operator, a, b)} }

// Condition determines whether a clause applies. The zero value is always true.
type Condition struct{ logic any }

// Always returns a condition that is always true.
func Always() Condition { return Condition{} }

// And returns a condition that is true if c and all others are true.
func (c Condition) And(others ...Condition) Condition { return joinConditions("and", c, others) }

// Or returns a condition that is true if c or any of the others is true.
func (c Condition) Or(others ...Condition) Condition { return joinConditions("or", c, others) }

// Not returns a condition that is true if c is false, even if c is false because an answer is missing.
func (c Condition) Not() Condition {
	if c.logic == nil {
		return Condition{false}
	}
	logic, ok := c.logic.(map[string]any)
	if !ok { // false, the only constant
		return Always()
	}
	if inner, ok := logic["!"].(map[string]any); ok {
		return Condition{inner}
	}
	for operator, opposite := range map[string]string{"and": "or", "or": "and"} {
		list, _ := logic[operator].([]any)
		if len(list) == 0 || slices.ContainsFunc(list, func(item any) bool { _, ok := item.(map[string]any); return !ok }) {
			continue // from UnmarshalJSON; the methods above create only objects
		}
		all := make([]Condition, len(list))
		for i := range list {
			all[i] = Condition{list[i]}.Not()
		}
		return joinConditions(opposite, all[0], all[1:])
	}
	return Condition{map[string]any{"!": logic}}
}

// joinConditions combines conditions with the operator "and" or "or". It flattens nested groups with the same operator.
func joinConditions(operator string, first Condition, others []Condition) Condition {
	var list []any
	for _, c := range append([]Condition{first}, others...) {
		inner, isLogic := c.logic.(map[string]any)
		switch same, nested := inner[operator].([]any); {
		case nested && len(same) > 0:
			list = append(list, same...)
		case isLogic:
			list = append(list, c.logic)
		case (c.logic == nil) == (operator == "or"): // c alone determines the result; in the opposite case, c has no effect
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

// GoTo jumps to a later top-level block, or to the first ending if block is "end".
func (c Condition) GoTo(block string) Clause {
	return Clause{func(r *rule) { r.Next = append(r.Next, jump{c.logic, block}) }}
}

// Otherwise jumps to a block if no previous clause jumps.
func (c Clause) Otherwise(block string) Clause {
	return Clause{func(r *rule) { r.applyClauses(c, Always().GoTo(block)) }}
}

// Show removes the block from the path unless the condition is true.
func (c Condition) Show() Clause { return Clause{func(r *rule) { r.Show = c.logicOrTrue() }} }

// Require requires an answer if the condition is true. It overrides [Block].Required.
func (c Condition) Require() Clause { return Clause{func(r *rule) { r.Require = c.logicOrTrue() }} }

// Refuse rejects the answer to the block if c is true, and shows the message to the respondent. The condition can read
// this answer and earlier answers. It is evaluated only if the block has a valid answer, and for a group only if all its
// answers are valid. Only the first condition of a block that is true applies. The message can have the marks of a
// [Text] and at most 1,000 characters.
func (c Condition) Refuse(message string) Clause {
	return Clause{func(r *rule) { r.Check = append(r.Check, check{If: c.logicOrTrue(), Say: message}) }}
}

// CheckWith checks the answer with the host's check of that name (formsvc.WithCheck).
func CheckWith(name string) Clause {
	return Clause{func(r *rule) { r.Check = append(r.Check, check{Host: name}) }}
}

// ChoicesFrom takes the block's choices from the host's list of that name (formsvc.WithChoices). The list receives the
// value of by, such as When("building"). With the zero Subject, it receives no value.
func ChoicesFrom(list string, by Subject) Clause {
	return Clause{func(r *rule) { r.Choices = &ListRef{list, by.path} }}
}

// Add adds n, which can be negative, to a variable.
func (c Condition) Add(variable string, n float64) Clause {
	return c.newAddClause(variable, jsonNumber(n))
}

// AddAnswer adds a block's numeric answer to a variable. An unanswered block counts as 0.
func (c Condition) AddAnswer(variable, block string) Clause {
	return c.newAddClause(variable, When(block).variableRef())
}

// Set sets a variable to a text of at most 10,000 characters.
func (c Condition) Set(variable, text string) Clause { return c.newSetClause(variable, text) }

// SetNumber sets a variable to a number.
func (c Condition) SetNumber(variable string, n float64) Clause {
	return c.newSetClause(variable, jsonNumber(n))
}

func (c Condition) newAddClause(variable string, by any) Clause {
	return Clause{func(r *rule) {
		term := by
		if c.logic != nil {
			term = map[string]any{"if": []any{c.logic, by, 0}}
		}
		r.Set[variable] = map[string]any{"+": append(r.operands(variable, "+"), term)}
	}}
}

func (c Condition) newSetClause(variable string, value any) Clause {
	return Clause{func(r *rule) {
		if c.logic == nil {
			r.Set[variable] = value
			return
		}
		r.Set[variable] = map[string]any{"if": append([]any{c.logic, value}, r.operands(variable, "if")...)}
	}}
}

// variableLogic returns the logic for a variable's value after the previous clauses.
func (r *rule) variableLogic(variable string) any {
	if logic, ok := r.Set[variable]; ok {
		return logic
	}
	return WhenVariable(variable).variableRef()
}

// operands returns the operands of a variable's logic if that logic uses the given operator, and otherwise the logic
// itself.
func (r *rule) operands(variable, operator string) []any {
	logic, _ := r.variableLogic(variable).(map[string]any)
	if operands, ok := logic[operator].([]any); ok {
		return operands
	}
	return []any{r.variableLogic(variable)}
}

// IsZero reports whether the condition is the zero value, which is always true.
func (c Condition) IsZero() bool { return c.logic == nil }

// MarshalJSON returns the condition as JsonLogic.
func (c Condition) MarshalJSON() ([]byte, error) { return json.Marshal(c.logicOrTrue()) }

// UnmarshalJSON reads JsonLogic. It does not check the operators.
func (c *Condition) UnmarshalJSON(b []byte) error {
	var logic any
	if err := json.Unmarshal(b, &logic); err != nil {
		return fmt.Errorf("schema: decode condition: %w", err)
	}
	switch logic.(type) {
	case nil, bool, map[string]any:
	default:
		return errors.New("schema: decode condition: must be an object, true or false")
	}
	if logic == true {
		logic = nil
	}
	c.logic = logic
	return nil
}

func (c Condition) logicOrTrue() any {
	if c.logic == nil {
		return true
	}
	return c.logic
}

// jsonNumber returns n for use in JSON. If n is not finite, it returns an empty object, which does not equal any
// answer.
func jsonNumber(n float64) any {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return struct{}{}
	}
	return n
}
