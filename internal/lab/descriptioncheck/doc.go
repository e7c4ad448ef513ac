// Package descriptioncheck holds the API description of the module around it
// (schema/openapi.json) against two validators for OpenAPI 3.1 that have nothing
// to do with it or with each other. It is a module of its own, so that only it needs their
// dependencies:
//
//	cd internal/lab/descriptioncheck && go test ./...
package descriptioncheck
