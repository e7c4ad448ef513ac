package formpage

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// DrawBoth draws the fields of a form by stencils and by html/template.
func (h *Handler) DrawBoth(form PublicForm, values url.Values, faults []schema.Violation) (stencils, template string, err error) {
	c := h.newCall(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/f/x", nil), form)
	c.values = values
	b := c.newBuilder(c.view("form"), Path{}, faults)
	var theirs strings.Builder
	var draw func(blocks []schema.Block)
	draw = func(blocks []schema.Block) {
		for i := range blocks {
			var f field
			b.field(&f, &blocks[i], 2)
			fieldStencil.on(b.pen, reflect.ValueOf(&f).Elem())
			if failed := templates.ExecuteTemplate(&theirs, "field", &f); failed != nil {
				err = failed
			}
			draw(blocks[i].Children)
		}
	}
	draw(form.Blocks)
	var ours strings.Builder
	for _, piece := range b.pen.end() {
		ours.Write(piece.html)
	}
	return ours.String(), theirs.String(), err
}

// Uncached returns a handler that does the same and remembers no form.
func (h *Handler) Uncached() *Handler {
	return &Handler{service: h.service, config: h.config, signer: h.signer, words: h.words, logger: h.logger, clock: h.clock, serviceFile: h.serviceFile}
}

// Read returns what is kept of the body of a request.
func (h *Handler) Read(w http.ResponseWriter, r *http.Request, form PublicForm) any {
	c := h.newCall(w, r, form)
	if r.Header.Get("Content-Type") == "application/json" {
		in, _ := c.readJSON()
		return in
	}
	values, _, _ := c.read(h.config.MaxBody)
	return values
}
