package formpage

import (
	"cmp"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/check"
	"github.com/formsvc/formsvc/handler/formpage/internal/draw"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
)

// showFirst shows the first page with one of the faults, or the one that was sent.
func (c *call) showFirst(status int, faults []schema.Violation) {
	c.showStep(status, check.First(c.steps, faults, c.at), faults)
}

// tooMany shows the page again when the address has sent too much.
func (c *call) tooMany(faults []schema.Violation) {
	c.notice = c.words.Get("too_many_requests")
	c.w.Header().Set("Retry-After", "60")
	c.showFirst(http.StatusTooManyRequests, faults)
}

// failed shows the page again when the service did not answer. Trying again is safe: the
// idempotency key stays.
func (c *call) failed(err error) {
	if errors.Is(err, errLimited) {
		c.tooMany(nil)
		return
	}
	c.h.logger.ErrorContext(c.r.Context(), "a page was not taken", "form", c.form.ID, "error", err)
	c.notice = c.words.Get("not_stored")
	c.w.Header().Set("Retry-After", "1")
	if len(c.steps) == 0 { // the rules could not be run: all that can be answered is shown
		var path schema.Path
		for _, b := range c.form.Blocks {
			if !formblock.Properties(&b).Hide {
				path.Blocks = append(path.Blocks, schema.PathBlock{ID: b.ID, Required: b.Required})
			}
		}
		c.follow(path)
	}
	if c.visit.Key == "" {
		c.visit = visit.New(c.form.ID.String(), c.now)
	}
	c.showStep(http.StatusServiceUnavailable, c.at, nil)
}

// closed says that a form takes no more responses, in the author's words where there
// are some.
func (c *call) closed() {
	text := c.form.ClosedMessage
	if strings.TrimSpace(text) == "" {
		text = c.words.Get("closed.text")
	}
	c.handBack(http.StatusGone, "closed.title", text, c.stored.Names(c.refused))
}

// handBack shows a message, the typed text and the names of files, to be copied: they are
// stored nowhere.
func (c *call) handBack(status int, title, text string, files []string) {
	p := c.drawing()
	p.Lost, p.LostFiles = c.typed(), files
	c.sent(p.Message(c.w, status, c.words.Get(title), text))
}

// typed is the text that the page brought, with the labels of its blocks.
func (c *call) typed() []read.Unplaced {
	var list []read.Unplaced
	for _, u := range read.Typed(c.values) {
		if b := c.block(u.Block); b != nil {
			if k, _ := schema.KindOf(b.Type); k.Shape == schema.ShapeBoolean || k.Scale.Step > 0 || b.Type == schema.TypeCountry {
				continue // was chosen
			}
			u.Block = cmp.Or(b.Label, u.Block)
		}
		list = append(list, u)
	}
	return list
}

// done shows the ending that a response reached, and leads on from it. Without a token of
// a response, or with an old one, it shows the page's own thanks alone.
func (c *call) done() {
	if sent, ok := c.h.signer.OpenVisit(visit.PurposeDone, c.form.ID.String(), c.r.URL.Query().Get(input.Sent), c.now); ok {
		c.showEnding(c.ending(sent.Key), c.redirect())
		return
	}
	c.showEnding(c.ending(""), "")
}

// ending is the ending with an id, or one in the page's words.
func (c *call) ending(id string) schema.Block {
	ending := schema.Block{Type: schema.TypeEnding}
	for _, b := range c.form.Blocks {
		if b.Type == schema.TypeEnding && b.ID == id && !formblock.Properties(&b).Hide {
			ending = b
		}
	}
	if ending.Label == "" {
		ending.Label = c.words.Get("done.title")
		if ending.Description == "" {
			ending.Description = c.words.Get("done.text")
		}
	}
	return ending
}

// scriptHeader marks a page that the page's script sent.
const scriptHeader = "Formpage-Script"

// finished leads to the ending, or where the form says. Going elsewhere after a POST
// means that a reload sends nothing again.
func (c *call) finished() {
	if target := c.redirect(); target != "" && c.r.Header.Get(scriptHeader) != "" {
		c.leadTo(string(target))
		return
	}
	page, query := c.form.PublicID, url.Values{input.Language: {c.words.Tag}}
	if c.preview != nil {
		page = static.Dir + "/" + previewDir + c.preview.token
		query.Set(input.Ending, c.path.Ending)
	} else {
		query.Set(input.Sent, c.h.signer.Sign(visit.PurposeDone, visit.Visit{Form: c.form.ID.String(), Opened: c.now.UnixMilli(), Key: c.path.Ending}))
	}
	if c.values.Has(input.Embed) {
		query.Set(input.Embed, "1")
	}
	c.leadTo(c.up() + page + "/done?" + query.Encode())
}

// redirect is where the form leads after it was sent, "" for nowhere: its ending stays. No
// browser follows a redirect to mailto: or tel:, the ending has a link.
//
// A browser that sends the form itself is led on by the ending. It holds all redirects that
// follow a POST to form-action of the page, and where the form's target redirects to is not
// known here.
func (c *call) redirect() template.URL {
	if c.preview != nil {
		return ""
	}
	return policy.Link(c.form.Settings.RedirectURL)
}

// leadTo sends the visitor on to another page.
func (c *call) leadTo(target string) {
	// Relative to the page, wherever it is mounted: http.Redirect would make it absolute
	// from a path that a StripPrefix may have cut.
	c.w.Header().Set("Cache-Control", "no-store")
	if c.r.Header.Get(scriptHeader) != "" {
		// A script cannot follow a redirect to another origin, it goes there itself.
		c.w.Header().Set("Formpage-Location", target)
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	c.w.Header().Set("Location", target)
	c.w.WriteHeader(http.StatusSeeOther)
}

// drawing has the data of a page of this call.
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

// showStep shows one page of the form with the typed text and the faults.
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
