package builder

import (
	"errors"
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// warningsOf are the warnings of a form's working copy, or of the form without one.
func warningsOf(r *http.Request) (schema.Warnings, error) {
	client, id := clientOf(r), idIn(r, "form")
	found, err := client.WorkingCopy(id).Warnings(r.Context())
	if errors.Is(err, formsvc.ErrUnsupported) {
		found, err = client.Warnings(r.Context(), id)
	}
	return append(schema.Warnings{}, found...), err
}

// warnings answers GET forms/{form}/warnings: {"items": [a schema.Warning …]}, by JSON Pointer into the definition.
func warnings(r *http.Request) (any, error) {
	found, err := warningsOf(r)
	return map[string]schema.Warnings{"items": found}, err
}
