package builder

import (
	"errors"
	"net/http"

	"github.com/formsvc/formsvc"
)

// warnings answers GET forms/{form}/warnings: {"items":[{"path","message"}]} of the working copy, or of the form
// without one, by JSON Pointer into the definition.
func (h *Handler) warnings(w http.ResponseWriter, r *http.Request) {
	form, _ := formsvc.ParseID(r.PathValue("form")) // the zero id is no form
	client := clientOf(r)
	found, err := client.WorkingCopy(form).Warnings(r.Context())
	if errors.Is(err, formsvc.ErrUnsupported) {
		found, err = client.Warnings(r.Context(), form)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	type warning struct {
		Path    string `json:"path"`
		Message string `json:"message"`
	}
	items := make([]warning, len(found))
	for i, f := range found {
		items[i] = warning{f.Path, f.Message}
	}
	answer(w, http.StatusOK, map[string]any{"items": items})
}
