// Package logic runs JsonLogic (jsonlogic.com) within bounds. It knows no forms.
//
// The documentation of package schema has the operators, and says where results differ from
// those of the JavaScript implementation, json-logic-js. testdata/cases.json has the cases.
//
// A value is nil, a bool, a float64, a string, a []any or a map[string]any of values,
// or an [Object].
//
// # Cost
//
// An evaluation takes its steps from a [Budget]: one for each operation, for each item
// that is looked at or copied, and for each 16 bytes of text; more where work takes
// longer, as to read or write a number. When the budget is used up, the evaluation ends.
// Neither its time nor its memory can grow beyond the budget, whatever the logic.
package logic
