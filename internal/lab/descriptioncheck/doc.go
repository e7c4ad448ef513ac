// Package descriptioncheck holds the API description of the module around it
// (schema/openapi.json) against two validators for OpenAPI 3.1 that have nothing
// to do with it or with each other. Command compat beside it compares the description and
// the exported Go with those of the last release. It is a module of its own, so that their
// dependencies are nobody's but theirs:
//
//	cd internal/lab/descriptioncheck && go test ./...
package descriptioncheck
