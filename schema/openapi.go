package schema

import (
	"bytes"
	_ "embed"
)

// Version is the version of the API, info.version in the description.
const Version = "2026-08-01"

//go:embed openapi.json
var embedded []byte

// OpenAPI returns the API description as it is embedded: OpenAPI 3.1, its paths below /v1, its only server "/". The
// bytes are the caller's own.
func OpenAPI() []byte {
	return bytes.Clone(embedded)
}
