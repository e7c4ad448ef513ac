package builder

import (
	"errors"
	"net/http"
	"reflect"
	"strings"

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

// warnings answers GET forms/{form}/warnings: {"items": [a schema.Warning …], "unpublished": is there a working copy?}.
// Warnings are by JSON Pointer into the definition, or /name. What the form itself has in another way than the working
// copy is among them.
func warnings(r *http.Request) (any, error) {
	found, err := warningsOf(r)
	if err != nil {
		return nil, err
	}
	form, copied, err := formAndCopy(r.Context(), clientOf(r), idIn(r, "form"))
	unpublished := copied.Revision != form.Revision
	if err == nil && unpublished {
		found = append(found, changedOutside(r, copied)...)
	}
	return struct {
		Items       schema.Warnings `json:"items"`
		Unpublished bool            `json:"unpublished"`
	}{found, unpublished}, err
}

// changedOutside tells of the name and the settings that were changed in a form since its working copy
// was made, as when it was closed. The copy does not show them, and publishing keeps them. What cannot be told now
// is left out: publishing tells it.
func changedOutside(r *http.Request, copied formsvc.Form) (list schema.Warnings) {
	client, id := clientOf(r), idIn(r, "form")
	options := formsvc.PublishOptions{IfRevision: copied.Revision, DryRun: true, Resolutions: map[string]formsvc.Side{}}
	merged, err := client.WorkingCopy(id).Publish(r.Context(), options)
	if clash, ok := errors.AsType[*formsvc.ConflictError](err); ok { // about other parts, or about these: then publishing asks
		for _, c := range clash.Conflicts {
			options.Resolutions[c.Path] = formsvc.CopySide
		}
		merged, err = client.WorkingCopy(id).Publish(r.Context(), options)
	}
	if err != nil || reflect.DeepEqual(copied.FormContent, merged.FormContent) {
		return nil
	}
	c, _ := compare(copied.FormContent, merged.FormContent)
	for _, path := range c.Members {
		if path == "/name" || strings.HasPrefix(path, "/settings/") {
			list = append(list, schema.Warning{Path: path, Code: "CHANGED_OUTSIDE", Message: "The form has a different value here because it was changed elsewhere. Publishing keeps that value."})
		}
	}
	return list
}
