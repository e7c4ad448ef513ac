package builder

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/formsvc/formsvc"
)

// serveCanvas serves the editor's preview of a form, rendered as a form page. GET returns a page with all blocks of the
// form's working copy or, if there is none, of the form itself. POST renders the blocks in the request body.
func (h *Handler) serveCanvas(w http.ResponseWriter, r *http.Request, user formsvc.ID, client formsvc.Client, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		writeError(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path supports only GET and POST.")
		return
	}
	end, ok := h.acquireSlot(w, r, user, renders)
	if !ok {
		return
	}
	defer end()
	var body bytes.Buffer // needs half as much memory as io.ReadAll
	if r.Method == http.MethodPost {
		limit := h.service.Limits().Body
		_, err := body.ReadFrom(io.LimitReader(r.Body, limit+1))
		switch {
		case int64(body.Len()) > limit, errors.As(err, new(*http.MaxBytesError)): // the host may have set a lower limit
			writeError(w, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "The request body is too large.")
			return
		case err != nil:
			writeError(w, http.StatusBadRequest, "MALFORMED_JSON", "The request body is not valid JSON.")
			return
		}
	}
	if !h.renderSlots.acquire(r) {
		return
	}
	defer h.renderSlots.release()
	var update formsvc.FormUpdate
	if r.Method == http.MethodPost {
		sent := struct {
			Name *string `json:"name"`
			formsvc.Definition
		}{Definition: formsvc.Definition{Blocks: []byte("[]"), Settings: []byte("{}"), Theme: []byte("{}")}}
		if err := json.Unmarshal(body.Bytes(), &sent); errors.As(err, new(*json.SyntaxError)) { // other errors are ignored, because an unsaved value can be invalid
			writeError(w, http.StatusBadRequest, "MALFORMED_JSON", "The request body is not valid JSON.")
			return
		}
		update.Name, update.Definition = sent.Name, sent.Definition
	}
	id, _ := formsvc.ParseID(name) // a malformed ID results in the zero ID, which no form has
	form, err := client.EditorForm(r.Context(), id, update)
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	if r.Method != http.MethodPost {
		h.config.Pages.Canvas(w, r, form, h.config.FrameAncestors...)
		return
	}
	parts, err := h.config.Pages.CanvasParts(r, form)
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, parts)
}
