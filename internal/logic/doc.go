// Package logic evaluates JsonLogic (jsonlogic.com) at a limited cost. It does not depend on forms. Package schema
// documents the operators and the differences from json-logic-js. testdata/cases.json contains test cases.
//
// A value is nil, a bool, a float64, a string, a []any or a map[string]any of values, or an [Object].
//
// An evaluation takes its steps from a [Budget]: one step for each operation, one for each item that it reads or
// copies, and one for each 16 bytes of text. Slower work, such as parsing or formatting numbers, takes more steps. The
// evaluation stops when the budget is exceeded, so the budget limits its time and memory.
package logic
