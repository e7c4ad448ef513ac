package formpage

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/draw"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
)

// showFirst shows the first page with one of the faults, or the one that was sent.
func (c *call) showFirst(status int, faults []schema.Violation) {
	c.showStep(status, walk.FirstWithViolation(c.Steps, faults, c.At), faults)
}

// showFailure shows the page again when the address has sent too much, which may have been files, or
// the service did not answer. Trying again is safe: the idempotency key stays.
func (c *call) showFailure(err error, faults ...schema.Violation) {
	status, _, word := c.reportFailure("failed to process form page", err)
	c.Notice = c.Words.Get(word)
	if len(c.Steps) == 0 { // the rules could not be run: all that can be answered is shown
		var path schema.Path
		for _, b := range c.Form.Blocks {
			if !formblock.Properties(&b).Hide {
				path.Blocks = append(path.Blocks, schema.PathBlock{ID: b.ID, Required: b.Required})
			}
		}
		c.setPath(path)
	}
	if c.visit.Key == "" {
		c.visit = visit.New(c.Form.ID.String(), c.now)
	}
	c.showFirst(status, faults)
}

// showClosed says that a form takes no more responses, in the author's words where there
// are some.
func (c *call) showClosed() {
	text := c.Form.ClosedMessage
	if strings.TrimSpace(text) == "" {
		text = c.Words.Get("closed.text")
	}
	c.showForCopying(http.StatusGone, "closed.title", text, c.Files.Names(c.rejectedFiles))
}

// showForCopying shows a message, the typed text and the names of files, to be copied: they are
// stored nowhere.
func (c *call) showForCopying(status int, title, text string, files []string) {
	p := c.preparePage()
	p.Lost, p.LostFiles = c.typedText(), files
	c.checkRendered(p.SendMessage(c.w, status, c.Words.Get(title), text))
}

// typedText is the text that the page brought, with the labels of its blocks.
func (c *call) typedText() []read.UnmatchedInput {
	var list []read.UnmatchedInput
	for _, u := range read.TypedInput(c.Values) {
		if b := c.Index.Find(u.Block); b != nil {
			if k, _ := schema.LookupBlockType(b.Type); k.Shape == schema.ShapeBoolean || formblock.IsButtonScale(b) || b.Type == schema.TypeCountry {
				continue // was chosen
			}
		}
		list = append(list, u)
	}
	return c.addLabels(list)
}

// addLabels names blocks by their labels, where they have some.
func (c *call) addLabels(list []read.UnmatchedInput) []read.UnmatchedInput {
	for i := range list {
		if b := c.Index.Find(list[i].Block); b != nil {
			list[i].Block = cmp.Or(b.Label, b.ID)
		}
	}
	return list
}

// serveDone shows the ending that a response reached, with a button to where the form redirects. Anyone
// can have the link, so it redirects no one. Without a token of
// a response, or with an old one, it shows the page's own thanks alone.
func (c *call) serveDone() {
	if sent, ok := c.h.signer.OpenVisit(visit.PurposeDone, c.Form.ID.String(), c.r.URL.Query().Get(input.Sent), c.now); ok {
		c.showEnding(c.findEnding(sent.Key), c.redirect(), false)
		return
	}
	c.showEnding(c.findEnding(""), "", false)
}

// findEnding is the ending with an id, or one in the page's words.
func (c *call) findEnding(id string) schema.Block {
	for _, b := range c.Form.Blocks {
		if b.Type == schema.TypeEnding && b.ID == id && !formblock.Properties(&b).Hide {
			return b
		}
	}
	return schema.Block{Type: schema.TypeEnding}
}

// scriptHeader marks a page that the page's script sent: "1", or "framed" if it is in a frame. A frame
// always shows the ending, which reports the redirect to the page around it.
const scriptHeader = "Formpage-Script"

// showSubmitted redirects the browser that submitted the form to where the form says, or to the ending.
// Without the page's script the ending is the response to the POST, which no other browser reads,
// and it leads on immediately.
func (c *call) showSubmitted() {
	switch target := c.redirect(); {
	case target != "" && c.r.Header.Get(scriptHeader) == "1":
		c.leadTo(string(target))
	case target != "" && c.r.Header.Get(scriptHeader) == "":
		c.showEnding(c.findEnding(c.Path.Ending), target, true)
	default:
		c.showDone()
	}
}

// showDone leads to the page of the ending. Going elsewhere after a POST means that a reload sends
// nothing again.
func (c *call) showDone() {
	page, query := c.Form.PublicID, url.Values{input.Language: {c.Words.Tag}}
	if c.Preview != nil {
		page = static.Dir + "/" + previewDir + c.link
		query.Set(input.Ending, c.Path.Ending)
	} else {
		query.Set(input.Sent, c.h.signer.Sign(visit.PurposeDone, visit.Visit{Form: c.Form.ID.String(), Opened: c.now.UnixMilli(), Key: c.Path.Ending}))
	}
	if c.Values.Has(input.Embed) {
		query.Set(input.Embed, "1")
	}
	c.leadTo(c.Up + page + "/done?" + query.Encode())
}

// redirect is where the form leads after it was sent, "" for nowhere: its ending stays. No
// browser follows a redirect to mailto: or tel:, the ending has a link.
//
// A browser that sends the form itself is led on by the ending. It holds all redirects that
// follow a POST to form-action of the page, and where the form's target redirects to is not
// known here.
func (c *call) redirect() template.URL {
	if c.Preview != nil {
		return ""
	}
	return policy.Link(c.Form.Settings.RedirectURL)
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

// preparePage has the data of a page of this call, with its looks.
func (c *call) preparePage() *draw.Page {
	looks := c.cached().theme // fields add rules to a copy
	c.Theme = &looks
	c.Embedded = c.Values.Has(input.Embed) || c.r.URL.RawQuery != "" && c.query().Has(input.Embed)
	c.Framed = c.Embedded || strings.HasSuffix(c.r.Header.Get("Sec-Fetch-Dest"), "frame")
	return &c.Page
}

// showStep shows one page of the form with the typed text and the faults.
func (c *call) showStep(status, at int, faults []schema.Violation) {
	p := c.preparePage()
	p.At, p.Violations, p.Solved, p.Visit, p.State = at, faults, c.proofs.Solved, c.visit.Key, c.visitToken()
	if c.savesPartials() {
		p.SaveOffer = c.saveOffer()
	}
	c.checkRendered(p.SendStep(c.w, status))
}

// showAgain shows the page that was sent with a sentence above it.
func (c *call) showAgain(status int, word string) {
	c.Notice = c.Words.Get(word)
	c.showStep(status, c.At, nil)
}

func (c *call) showMessage(status int, title, text string) {
	c.checkRendered(c.preparePage().SendMessage(c.w, status, title, text))
}

// showEnding shows an ending with a button to a target, "" for none. It leads there by itself if
// redirects is set.
func (c *call) showEnding(ending schema.Block, target template.URL, redirects bool) {
	c.checkRendered(c.preparePage().SendEnding(c.w, &ending, target, redirects))
}

// checkRendered answers for a page that could not be drawn, of which nothing was sent.
func (c *call) checkRendered(err error) {
	if err != nil {
		c.h.config.Logger.ErrorContext(c.r.Context(), "failed to render page", "form", c.Form.ID, "error", err)
		writeInternalError(c.w)
	}
}
