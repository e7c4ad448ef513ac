// Package servicetest has the tests of the whole service. Its files of package servicetest make such
// a service for a test: with a user, a key, a workspace, forms, webhooks and a clock that the test
// moves. They are test files themselves, so that nothing else can import them.
//
// Every answer that a test gets through Serve, Get or a Bundle is held against the description.
package servicetest
