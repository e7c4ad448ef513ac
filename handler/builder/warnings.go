package builder

import (
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// readWarnings returns the warnings of a form's working copy, or of the form if it has no working copy.
func readWarnings(r *http.Request) (schema.Warnings, error) {
	client, id := requestClient(r), pathID(r, "form")
	found, err := client.WorkingCopy(id).Warnings(r.Context())
	if errors.Is(err, formsvc.ErrUnsupported) {
		found, err = client.Warnings(r.Context(), id)
	}
	return append(schema.Warnings{}, found...), err
}

// listWarnings returns the warnings, and whether there is a working copy. Paths are either /name or JSON Pointers.
func listWarnings(r *http.Request) (any, error) {
	found, err := readWarnings(r)
	if err != nil {
		return nil, err
	}
	form, copied, err := readFormAndCopy(r.Context(), requestClient(r), pathID(r, "form"))
	unpublished := copied.Revision != form.Revision
	if err == nil && unpublished {
		found = append(found, findOutsideChanges(r, copied)...)
	}
	return struct {
		Items       schema.Warnings `json:"items"`
		Unpublished bool            `json:"unpublished"`
	}{found, unpublished}, err
}

// findOutsideChanges returns warnings if the form's name or settings were changed outside the working copy after it was
// created. Publishing keeps these changes. Errors are ignored, because publishing reports them again.
func findOutsideChanges(r *http.Request, copied formsvc.Form) (list schema.Warnings) {
	client, id := requestClient(r), pathID(r, "form")
	options := formsvc.PublishOptions{IfRevision: copied.Revision, DryRun: true, Resolutions: map[string]formsvc.Side{}}
	merged, err := client.WorkingCopy(id).Publish(r.Context(), options)
	if clash, ok := errors.AsType[*formsvc.ConflictError](err); ok { // the user resolves conflicts when publishing
		for _, c := range clash.Conflicts {
			options.Resolutions[c.Path] = formsvc.CopySide
		}
		merged, err = client.WorkingCopy(id).Publish(r.Context(), options)
	}
	if err != nil || reflect.DeepEqual(copied.FormContent, merged.FormContent) {
		return nil
	}
	c, _ := compareForms(copied.FormContent, merged.FormContent)
	for _, path := range c.Fields {
		if path == "/name" || strings.HasPrefix(path, "/settings/") {
			list = append(list, schema.Warning{Path: path, Code: "CHANGED_OUTSIDE", Message: "The form has a different value here because it was changed elsewhere. Publishing keeps that value."})
		}
	}
	return list
}
