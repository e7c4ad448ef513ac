package formpage

import (
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
)

// Canvas sends the form page for an editor. It shows all blocks below each other, including endings, page breaks, and
// hidden blocks. Each block is an element with its ID in the attribute data-block. The form can be unsaved and invalid:
// Canvas uses its Blocks, Settings and Theme, and renders as much as it can.
//
// Nothing on the page runs or can be submitted, and opening it is not counted. Only pages of its own origin can show it
// in a frame and change it there, see [Handler.CanvasParts]. ancestors are the additional sources of the
// frame-ancestors policy, for pages that show the editor itself in a frame. The caller must check that its user can see
// the form.
func (h *Handler) Canvas(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm, ancestors ...string) {
	if h.rejectFraming(w, r) {
		return
	}
	c := h.newCanvas(w, r, form)
	c.checkRendered(c.SendCanvas(w, ancestors))
}

// CanvasParts contains parts of a [Handler.Canvas], which replace the existing parts of the page.
type CanvasParts struct {
	// Style is the style sheet of the theme, for the element with data-theme in the page's head. The rules of a block
	// are in the attribute data-style of an element in its HTML.
	Style string `json:"style"`
	// Frame is the body of the page without blocks. Blocks belong in its element fs-fields, endings in fs-ends.
	Frame  string        `json:"around"`
	Blocks []CanvasBlock `json:"blocks"` // in the order of the form
}

// CanvasBlock is a top-level block of the form.
type CanvasBlock struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// CanvasParts renders parts of the page of [Handler.Canvas] again: the page without blocks, and the blocks of form,
// which can be some of the page's blocks. Question numbers start at 1 in each call.
func (h *Handler) CanvasParts(r *http.Request, form formsvc.PublicForm) (CanvasParts, error) {
	style, around, parts, err := h.newCanvas(nil, r, form).CanvasParts()
	if err != nil {
		return CanvasParts{}, err
	}
	blocks := make([]CanvasBlock, len(parts))
	for i, part := range parts {
		blocks[i] = CanvasBlock(part)
	}
	return CanvasParts{style, around, blocks}, nil
}

func (h *Handler) newCanvas(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	c := h.newCall(w, r, form)
	parts, looks := h.host, theme.New(&form.Theme, &form.Settings)
	parts.Captcha = func(string) *host.Widget { return nil } // a captcha would run a script
	c.Host, c.Theme, c.Site = &parts, &looks, &render.Site{Brand: h.site.Brand}
	return c
}
