// Package ssrfdiff compares which addresses this library calls public with what
// code.dny.dev/ssrf, an independent implementation, makes of them. It is a module
// of its own so that the library does not depend on that one.
//
//	go test ./...                                          # a million addresses
//	FORMSVC_TEST_ADDRESSES=50000000 go test -timeout 1h ./...
package ssrfdiff
