package formpage

import (
	"github.com/formsvc/formsvc/handler/formpage/internal/fault"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
)

// source is what is remembered of a form: its looks, for which a style sheet is parsed, and
// the definition that respondents saw last, see gone. It is compared with the form that the
// service returns, so it is never out of date.
type source struct {
	publicID   string
	definition storage.Definition // shared with the service
	looks      theme.Theme
}

// source returns the source of the form of this call.
func (c *call) source() *source {
	f := &c.form
	s, ok := c.h.sources.Get(f.ID)
	if ok && s.publicID == f.PublicID && cache.Same(&s.definition, &f.Definition) {
		return s
	}
	c.h.warnLacks(c.r.Context(), f)
	s = &source{publicID: f.PublicID, definition: f.Definition, looks: theme.New(&f.Theme, &f.Settings)}
	if f.PublicID != "" && c.preview == nil { // a page without its form says nothing of it, and a preview may be of a draft
		d := &s.definition
		c.h.sources.Put(f.ID, s, cache.SizeOf(d)+len(d.Theme)+len(d.Settings)+len(s.looks.Custom))
	}
	return s
}

// faults words what is wrong with answers.
func (c *call) faults() fault.Writer { return fault.Writer{Words: c.words, Host: &c.h.host} }
