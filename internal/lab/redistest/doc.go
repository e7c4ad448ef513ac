// Package redistest runs the service with a real Redis as the store of its rate
// limiter. It is a module of its own, so that what only it needs stays out of go.mod.
package redistest
