package formpage

import (
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/draw"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
)

// Canvas sends the page of a form to those who edit it: all of its blocks below each other, as
// respondents see them. Also those are on it that rules or properties.hide hide, endings and page
// breaks. Each block is an element with the attribute data-block, its id. The form may be one that
// nobody has saved or checked, of which Blocks, Settings and Theme are read: whatever they hold is
// drawn as far as there is something to draw.
//
// Nothing on the page runs or can be sent, and opening it counts nowhere. Pages of its own origin
// alone may show it in a frame, and reach into it from there: see [Handler.CanvasParts]. The ancestors are
// sources of a Content-Security-Policy for pages that may show the editor's page in a frame. The
// caller has asked whether its user may see the form.
func (h *Handler) Canvas(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm, ancestors ...string) {
	if h.rejectFraming(w, r) {
		return
	}
	c := h.newCanvas(w, r, form)
	c.checkRendered(c.SendCanvas(w, ancestors))
}

// CanvasParts contains parts of a [Handler.Canvas] that replace the existing parts of the page.
type CanvasParts struct {
	// Style is the style sheet of the theme, for the element with data-theme in the page's head. The
	// rules of a block are the value of data-style on an element within it.
	Style string `json:"style"`
	// Frame is the page without blocks, for the content of its body. Blocks stand in its element
	// fs-fields, endings in fs-ends.
	Frame  string        `json:"around"`
	Blocks []CanvasBlock `json:"blocks"` // those of the form, in its order
}

// CanvasBlock is a top-level block of the form.
type CanvasBlock struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// CanvasParts draws parts of the page of [Handler.Canvas] anew: what stands around the blocks, and the
// blocks of form, which may be a few of those that are on the page. Numbers of questions begin
// with 1 in each call.
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

// newCanvas is a call that draws a form which nobody may have saved: nothing of it is remembered.
func (h *Handler) newCanvas(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	c := h.newCall(w, r, form)
	parts, looks := h.host, theme.New(&form.Theme, &form.Settings)
	parts.Captcha = func(string) *host.Widget { return nil } // it would run a script
	c.Host, c.Theme, c.Site = &parts, &looks, &draw.Site{Brand: h.site.Brand}
	return c
}
