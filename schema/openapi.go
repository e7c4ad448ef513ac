package schema

import (
	"bytes"
	_ "embed"
)

// Version is the version of the API. It is the value of info.version in the API description.
const Version = "2026-08-01"

//go:embed openapi.json
var embedded []byte

// OpenAPI returns a copy of the API description, in OpenAPI 3.1. Its paths start with /v1, and its only server is "/".
func OpenAPI() []byte {
	return bytes.Clone(embedded)
}
