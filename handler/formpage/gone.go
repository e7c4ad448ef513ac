package formpage

import (
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// gone answers a page that was sent to a form that is not public any more, a draft or in the
// trash, with what was typed, as a closed form does. It reports whether it did: the page has
// to be one that was made here for a visit. To everybody else there is no form.
func (h *Handler) gone(w http.ResponseWriter, r *http.Request, publicID string) bool {
	c := h.newCall(w, r, formsvc.PublicForm{Closed: true})
	values, _, err := c.read(h.config.MaxBody)
	var v visit.Visit
	if err != nil || !h.signer.Open(visit.PurposeVisit, values.Get(input.State), &v) {
		return false
	}
	id, _ := storage.ParseID(v.Form) // was signed here
	c.bring(values)
	c.form.ID = id
	c.goOnIn(values.Get(input.Language))
	// The labels are the ones that respondents saw here last. What the form holds by now is not
	// public; where they are not remembered, blocks have their ids.
	if s, ok := h.sources.Get(id); ok && s.publicID == publicID {
		c.form.Blocks, _ = schema.DecodeBlocks(s.definition.Blocks) // they were read before
		c.blocks = formblock.Index{Blocks: c.form.Blocks}
	}
	c.openFiles()
	c.closed()
	return true
}
