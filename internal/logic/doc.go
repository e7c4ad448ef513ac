// Package logic runs JsonLogic (jsonlogic.com) within bounds. It knows no forms.
//
// Operators: if, ?:, and, or, !, !!, ==, ===, !=, !==, <, <=, >, >=, min, max, +, -, *,
// /, %, cat, substr, in, merge, var, missing, missing_some, some, all, none. Logic with
// any other operator is unreadable. As in JsonLogic, an object with exactly one member
// is an operation, any other object is a value of its own, and the items of an array
// are evaluated.
//
// Results are those of the JavaScript implementation, json-logic-js, but where its ways
// would surprise. testdata/cases.json has the cases, and says which of them differ:
//
//   - var sees own members only. It tries the whole path as the name of a member before
//     it splits the path at its dots, and so on for what is left, because the ids of
//     blocks may contain dots.
//   - Texts are compared, cut and counted by code points.
//   - <, <=, > and >= are false when an operand is null, which is what an unanswered
//     question is. Nor is null the text "null" for in and substr.
//   - Arrays and objects are equal when what they contain is.
//   - What throws an error in JavaScript is null.
//   - Unknown operators are found when logic is compiled, not when it comes to them.
//
// A value is nil, a bool, a float64, a string, a []any or a map[string]any of values,
// or an [Object].
//
// # Cost
//
// An evaluation takes its steps from a [Budget]: one for each operation, for each item
// that is looked at or copied, and for each 16 bytes of text; more where work takes
// longer, as to read or write a number. When the budget is used
// up, it ends. Neither its time nor its memory can grow beyond that, whatever the logic.
package logic
