// Package logic evaluates JsonLogic (jsonlogic.com) with limited cost. It does not depend on forms.
//
// The documentation of package schema lists the operators. It also describes the differences from the JavaScript
// implementation, json-logic-js. testdata/cases.json contains the test cases.
//
// A value is nil, a bool, a float64, a string, a []any or a map[string]any of values, or an [Object].
//
// # Cost
//
// An evaluation takes its steps from a [Budget]. It takes one step for each operation, for each item that it reads or
// copies, and for each 16 bytes of text. Slower work, such as parsing or formatting a number, takes more steps. The
// evaluation ends when the budget is used up. The budget therefore limits its time and memory for any logic.
package logic
