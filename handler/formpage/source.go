package formpage

import (
	"bytes"
	"encoding/json"
	"strings"
)

// source is what is remembered of a form: what its pages write of its theme's style sheet,
// which is parsed for that, and the blocks that respondents saw last, see gone. It is
// compared with the form that the service returns, so it is never out of date.
type source struct {
	publicID       string
	customCSS, css string
	blocks         json.RawMessage
}

// source returns the source of the form of this call.
func (c *call) source() *source {
	f := &c.form
	s, ok := c.h.sources.get(f.ID)
	if ok && s.publicID == f.PublicID && s.customCSS == f.Theme.CustomCSS && bytes.Equal(s.blocks, f.Definition.Blocks) {
		return s
	}
	c.h.warnLacks(c.r.Context(), f)
	// Copies: the caller's may be cut from something larger.
	s = &source{
		publicID: strings.Clone(f.PublicID), customCSS: strings.Clone(f.Theme.CustomCSS), css: customCSS(f.Theme.CustomCSS),
		blocks: bytes.Clone(f.Definition.Blocks),
	}
	if f.PublicID != "" && c.preview == nil { // a page without its form says nothing of it, and a preview may be of a draft
		c.h.sources.put(f.ID, s, len(s.customCSS)+len(s.css)+len(s.blocks))
	}
	return s
}
