// Package servicetest contains the tests of the whole service. Its files of package servicetest create a
// service for a test, with a user, a key, a workspace, forms, webhooks and a clock that the test
// controls. They are test files, so no other package can import them.
//
// Every response that a test gets through Serve, Get or a Bundle is checked against the API description.
package servicetest
