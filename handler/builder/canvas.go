package builder

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// unsaved is what a canvas is drawn of: a form, or parts of one that the page has not saved yet.
type unsaved struct {
	Name     string            `json:"name"`
	Blocks   []json.RawMessage `json:"blocks"`
	Settings json.RawMessage   `json:"settings"`
	Theme    json.RawMessage   `json:"theme"`
}

// canvas serves the form in the editor, as the pages draw it: a document with all blocks of the working
// copy, else of the form, and parts of it that are drawn from what a POST brings.
func (h *Handler) canvas(w http.ResponseWriter, r *http.Request, client formsvc.Client, name string) {
	id, _ := formsvc.ParseID(name) // the zero id is no form
	form, err := client.WorkingCopy(id).Form(r.Context())
	if errors.Is(err, formsvc.ErrUnsupported) {
		form, err = client.Form(r.Context(), id)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		stored := unsaved{Name: form.Name, Settings: form.Definition.Settings, Theme: form.Definition.Theme}
		lenient(form.Definition.Blocks, &stored.Blocks)
		h.config.Pages.Canvas(w, r, stored.of(&form))
	case http.MethodPost:
		limit := h.service.Limits().Body
		body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
		sent := unsaved{Name: form.Name}
		switch {
		case int64(len(body)) > limit, errors.As(err, new(*http.MaxBytesError)): // the host's own bound may be tighter
			refuse(w, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "The request body is too large.")
			return
		case err != nil || !json.Valid(body):
			refuse(w, http.StatusBadRequest, "MALFORMED_JSON", "The request body is not valid JSON.")
			return
		}
		lenient(body, &sent)
		parts, err := h.config.Pages.CanvasParts(r, sent.of(&form))
		if err != nil {
			h.fail(w, r, err)
			return
		}
		answer(w, http.StatusOK, parts)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path has GET and POST alone.")
	}
}

// of is the form with the content of u.
func (u *unsaved) of(form *formsvc.Form) formsvc.PublicForm {
	p := formsvc.PublicForm{ID: form.ID, PublicID: form.PublicID, Name: u.Name, Type: form.Type, Blocks: make([]schema.Block, len(u.Blocks))}
	for i, block := range u.Blocks {
		lenient(block, &p.Blocks[i])
	}
	lenient(u.Settings, &p.Settings)
	lenient(u.Theme, &p.Theme)
	return p
}

// lenient reads of a JSON value what fits: what somebody types may not be right yet.
func lenient(raw json.RawMessage, into any) { _ = json.Unmarshal(raw, into) }
