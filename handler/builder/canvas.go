package builder

import (
	"net/http"

	"github.com/formsvc/formsvc"
)

// canvas serves the form in the editor, as the pages draw it.
func (h *Handler) canvas(w http.ResponseWriter, _ *http.Request, _ formsvc.Client, _ string) {
	refuse(w, http.StatusNotFound, "NOT_FOUND", "There is no such path.")
}
