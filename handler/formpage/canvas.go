package formpage

import (
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
)

// Canvas sends the form page for an editor. It shows all blocks one below another, including endings, page breaks and
// hidden blocks. Each block is an element whose data-block attribute contains the block's ID. The form can be unsaved
// and invalid: Canvas uses its Blocks, Settings and Theme, and renders as much as it can.
//
// Nothing on the page runs or can be submitted, and opening it is not counted. Only pages on its own origin can show it
// in a frame and change it there, see [Handler.CanvasParts]. If pages on other origins show the editor itself in a
// frame, pass those origins as ancestors, which are added to the frame-ancestors policy. The caller must check that its
// user may see the form.
func (h *Handler) Canvas(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm, ancestors ...string) {
	if h.rejectFraming(w, r) {
		return
	}
	c := h.newCanvas(w, r, form)
	c.handleRenderError(c.SendCanvas(w, ancestors))
}

// CanvasParts holds newly rendered parts of a page sent by [Handler.Canvas]. They replace the page's existing parts.
type CanvasParts struct {
	// Style is the theme's style sheet. It belongs in the element with the data-theme attribute in the page's head. A
	// block's own rules are in its HTML, in an element's data-style attribute.
	Style string `json:"style"`
	// Frame is the page's body without blocks. Blocks belong in its element fs-fields, and endings in fs-ends.
	Frame  string        `json:"around"`
	Blocks []CanvasBlock `json:"blocks"` // in form order
}

// CanvasBlock is one of the form's top-level blocks.
type CanvasBlock struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// CanvasParts renders parts of a page sent by [Handler.Canvas] again: the page without blocks, and the blocks in form,
// which can be just some of the page's blocks. Question numbers start at 1 in each call.
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
	parts.Captcha = func(string) *host.Widget { return nil } // a CAPTCHA would run a script
	c.Value = nil                                            // insertions keep their braces
	c.Host, c.Theme, c.Site = &parts, &looks, &render.Site{Brand: h.site.Brand}
	return c
}
