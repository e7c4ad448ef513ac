package formpage

import (
	"bytes"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// The templates take most of the time of a page. A page on which nothing is filled in and
// nothing is wrong is the same for everybody but for a nonce and the hidden inputs, so it
// is drawn once. It is kept by everything that it is drawn from: see blankKey.

// source is a form as its pages are drawn from it, and what follows from that alone. Two
// sources of one form that are not the same pointer belong to different definitions.
type source struct {
	name, kind, publicID string
	definition           storage.Definition

	css     string // what is written of the theme's customCss
	uniform bool   // blocks look the same in every visit
	shown   bool   // to respondents: a preview may have another definition
}

// source returns the source of the form of this call, and compares it with the form: it is
// never out of date.
func (c *call) source() *source {
	f := &c.form
	if s, ok := c.h.sources.get(f.ID); ok && s.is(f) && (s.shown || c.preview != nil) {
		return s
	}
	d := &f.Definition
	s := &source{
		// Copies: the caller's may be cut from something larger.
		name: strings.Clone(f.Name), kind: strings.Clone(f.Type), publicID: strings.Clone(f.PublicID),
		definition: storage.Definition{
			Blocks: bytes.Clone(d.Blocks), Settings: bytes.Clone(d.Settings), Theme: bytes.Clone(d.Theme),
			Variables: bytes.Clone(d.Variables), HiddenFields: bytes.Clone(d.HiddenFields),
		},
		css: customCSS(f.Theme.CustomCSS), uniform: c.h.uniform(f.Blocks), shown: c.preview == nil,
	}
	if f.PublicID != "" { // a page without its form says nothing of it
		c.h.sources.put(f.ID, s, s.size())
	}
	c.h.warnLacks(c.r.Context(), f)
	return s
}

func (s *source) is(f *PublicForm) bool {
	a, b := &s.definition, &f.Definition
	return s.name == f.Name && s.kind == f.Type && s.publicID == f.PublicID &&
		bytes.Equal(a.Blocks, b.Blocks) && bytes.Equal(a.Settings, b.Settings) && bytes.Equal(a.Theme, b.Theme) &&
		bytes.Equal(a.Variables, b.Variables) && bytes.Equal(a.HiddenFields, b.HiddenFields)
}

func (s *source) size() int {
	d := &s.definition
	return len(d.Blocks) + len(d.Settings) + len(d.Theme) + len(d.Variables) + len(d.HiddenFields) + len(s.css)
}

// uniform reports whether blocks look the same in every visit: choices are not mixed, and
// no captcha's widget is among them, which is asked for at each page.
func (h *Handler) uniform(blocks []schema.Block) bool {
	return !slices.ContainsFunc(blocks, func(b schema.Block) bool {
		return properties(&b).Randomize || h.verifier(&b) != nil || !h.uniform(b.Children)
	})
}

// blankKey is what a blank page depends on beside the path of the form.
type blankKey struct {
	source   *source
	words    *words
	at       int    // which page on the path
	up       string // see call.up
	embedded bool
}

// blankPage is a page of a form on which nothing is filled in.
type blankPage struct {
	pathPage

	path []PathBlock
}

// blank returns a page that was drawn before, if this call shows the same.
func (c *call) blank(key blankKey, path Path) (pathPage, bool) {
	page, ok := c.h.blanks.get(key)
	if !ok || !slices.Equal(page.path, path.Blocks) || !c.fillsInNone(page.pathPage) {
		return pathPage{}, false
	}
	return page.pathPage, true
}

// keepBlank keeps a page that was drawn, if nothing is filled in.
func (c *call) keepBlank(key blankKey, path Path, page pathPage) {
	if !c.fillsInNone(page) {
		return
	}
	// The source is counted with each page: it may have left its own cache.
	size := page.size() + key.source.size()
	for name := range page.shows {
		size += len(name) + 64
	}
	for _, b := range path.Blocks {
		size += len(b.ID) + 32
	}
	c.h.blanks.put(key, blankPage{page, slices.Clone(path.Blocks)}, size)
}

// fillsInNone reports whether none of the inputs of a page has a value.
func (c *call) fillsInNone(page pathPage) bool {
	for name := range c.values {
		if page.shows[name] {
			return false
		}
	}
	return true
}
