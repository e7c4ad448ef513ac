// Package handler is the HTTP API of formsvc.
//
// Hosts use it through package [github.com/formsvc/formsvc], which wires it up; [New], [Config]
// and [Handler] are the wiring and carry no promise before v1. Hosts see [KeyResolver] and
// [Principal], which the root re-exports.
//
// One request goes through [Handler.ServeHTTP] from top to bottom: request id,
// route, key, rate limit, scope, and then the function of the operation, which
// checks the body and the parameters before it touches the storage. Functions of
// operations return an error instead of writing one, so there is one place that
// writes errors.
package handler
