// Package answers checks responses against a compiled form and normalises them.
//
// [Compile] makes a [Form] of a stored definition; [Form.Check] holds a response
// against it. What is checked, what a sample looks like and what makes two answers
// the same stand together, in one file for each kind of answer.
package answers
