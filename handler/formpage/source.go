package formpage

import (
	"bytes"
	"encoding/json"
	"strings"
)

// source is what is remembered of a form: its looks, for which a style sheet is parsed, and
// the blocks that respondents saw last, see gone. It is compared with the form that the
// service returns, so it is never out of date.
type source struct {
	publicID                string
	blocks, theme, settings json.RawMessage

	looks themeView
}

// source returns the source of the form of this call.
func (c *call) source() *source {
	f := &c.form
	s, ok := c.h.sources.get(f.ID)
	d := &f.Definition
	if ok && s.publicID == f.PublicID && bytes.Equal(s.blocks, d.Blocks) && bytes.Equal(s.theme, d.Theme) && bytes.Equal(s.settings, d.Settings) {
		return s
	}
	c.h.warnLacks(c.r.Context(), f)
	// Copies: the caller's may be cut from something larger.
	s = &source{
		publicID: strings.Clone(f.PublicID), blocks: bytes.Clone(d.Blocks), theme: bytes.Clone(d.Theme), settings: bytes.Clone(d.Settings),
		looks: newThemeView(&f.Theme, &f.Settings),
	}
	if f.PublicID != "" && c.preview == nil { // a page without its form says nothing of it, and a preview may be of a draft
		c.h.sources.put(f.ID, s, len(s.blocks)+2*len(s.theme)+2*len(s.settings)+len(s.looks.custom))
	}
	return s
}
