// Package schema is what a host sees of the API's data: the API description, the
// typed views of a form's definition, the limits that a host may set, and the error
// that lists what is wrong with a body or a response.
//
// The description ([OpenAPI]) is the one source for the shape of a request. What
// it says is enforced below internal; this package checks nothing by itself.
package schema
