package formpage

import (
	"html/template"
	"io"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/draw"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// Document is what [Config.Layout] is executed with.
type Document struct {
	Language  string // a language tag, for the attribute lang
	Direction string // "ltr" or "rtl", for the attribute dir
	Title     string
	// Head belongs into the head, Body into the body, once each.
	Head, Body template.HTML
	// Nonce is the one that the Content-Security-Policy of the response allows for
	// elements style and script. A layout's own files from the page's origin need none.
	Nonce string
	Form  formsvc.PublicForm // zero when there is no form at the address
}

// site is what the Config says of all pages.
func (config *Config) site() draw.Site {
	s := draw.Site{Brand: config.Brand, FrameAncestors: config.FrameAncestors}
	if config.Layout != nil {
		s.Layout = func(out io.Writer, d draw.Document) error { return config.Layout.Execute(out, Document(d)) }
	}
	return s
}

// drawing is what a page of this call is drawn of.
func (c *call) drawing() *draw.Page {
	looks := c.source().looks // fields add rules to a copy
	p := &draw.Page{
		Source: field.Source{Words: c.words, Host: &c.h.host, Theme: &looks},
		Form:   &c.form, Site: &c.h.site,
		Up: c.up(), Posted: c.r.Method == http.MethodPost, Embedded: c.embedded(),
	}
	if c.preview != nil {
		p.Preview = &c.preview.Preview
	}
	return p
}

// showStep shows one page of the form with what was typed and what is wrong.
func (c *call) showStep(status, at int, faults []schema.Violation) {
	p := c.drawing()
	p.Notice, p.Lost = c.notice, c.lost
	p.Steps, p.At, p.Path, p.Index = c.steps, at, c.path, &c.blocks
	p.Values, p.Readings, p.Files, p.Faults = c.values, c.readings, c.stored, faults
	p.Solved, p.Visit, p.State = c.proofs.Solved, c.visit.Key, c.token()
	c.sent(p.Step(c.w, status))
}

func (c *call) showMessage(status int, title, text string) {
	c.sent(c.drawing().Message(c.w, status, title, text))
}

// showEnding shows an ending, which leads on to a target, "" for nowhere.
func (c *call) showEnding(ending schema.Block, target template.URL) {
	c.sent(c.drawing().Ending(c.w, &ending, target))
}

// sent answers for a page that could not be drawn, of which nothing was sent.
func (c *call) sent(err error) {
	if err != nil {
		c.h.logger.ErrorContext(c.r.Context(), "a page was not rendered", "form", c.form.ID, "error", err)
		http500(c.w)
	}
}

func http500(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// up leads from the page's address to the directory of the handler: nowhere from
// {base}/{id}, one up from {base}/{id}/done.
func (c *call) up() string {
	path := c.h.below(c.r.URL.Path)
	return strings.Repeat("../", strings.Count(path, "/"))
}

// embedded reports whether the page is shown in a frame.
func (c *call) embedded() bool {
	return c.values.Has(input.Embed) || c.r.URL.RawQuery != "" && c.query().Has(input.Embed)
}
