package formpage

import (
	"context"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/internal/cache"
)

// source returns the source of the form of this call.
func (c *call) source() *source {
	f := c.Form
	s, ok := c.h.sources.Get(f.ID)
	if ok && s.publicID == f.PublicID && cache.Same(&s.definition, &f.Definition) {
		return s
	}
	c.h.warnLacks(c.r.Context(), f)
	s = &source{publicID: f.PublicID, definition: f.Definition, looks: theme.New(&f.Theme, &f.Settings)}
	if f.PublicID != "" && c.Preview == nil { // a page without its form says nothing of it, and a preview may be of a draft
		d := &s.definition
		c.h.sources.Put(f.ID, s, cache.SizeOf(d)+len(d.Theme)+len(d.Settings)+len(s.looks.Custom))
	}
	return s
}

// warnLacks logs the parts that a form lacks, each part once as long as it is
// remembered.
func (h *Handler) warnLacks(ctx context.Context, form *formsvc.PublicForm) {
	for _, l := range h.host.Lacks(form.Blocks) {
		key := form.ID.String() + l.Text
		if _, logged := h.warned.Put(key, struct{}{}, len(key)); !logged {
			h.config.Logger.WarnContext(ctx, "a form asks for what formpage.Config does not give", "form", form.ID, "lacks", l.Text)
		}
	}
}
