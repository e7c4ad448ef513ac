// Package servicetest contains the tests of the whole service. The test files create a service with a user, a key, a
// workspace, forms, webhooks and a controllable clock. Every response that a test receives through Serve, Get or a
// Bundle is checked against the API description.
package servicetest
