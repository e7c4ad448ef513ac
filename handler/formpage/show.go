package formpage

import (
	"cmp"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/check"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// say answers with the handler's own words, where there is no form.
func (h *Handler) say(w http.ResponseWriter, r *http.Request, inJSON bool, status int, title, text string) {
	c := h.newCall(w, r, formsvc.PublicForm{})
	if !inJSON {
		c.showMessage(status, c.words.Get(title), c.words.Get(text))
		return
	}
	code := map[int]string{http.StatusNotFound: "NOT_FOUND", http.StatusMethodNotAllowed: "METHOD_NOT_ALLOWED", http.StatusForbidden: "FOREIGN_ORIGIN"}[status]
	writeJSON(w, status, jsonError{Code: cmp.Or(code, "UNAVAILABLE"), Message: c.words.Get(title)})
}

// unread answers that there is no form, or that it could not be read.
func (h *Handler) unread(w http.ResponseWriter, r *http.Request, inJSON bool, err error) {
	if errors.Is(err, storage.ErrNotFound) {
		h.say(w, r, inJSON, http.StatusNotFound, "missing.title", "missing.text")
		return
	}
	h.logger.ErrorContext(r.Context(), "a form was not read", "error", err)
	w.Header().Set("Retry-After", "1")
	h.say(w, r, inJSON, http.StatusServiceUnavailable, "broken.title", "broken.text")
}

// answersMethod answers OPTIONS, and a method that is not among methods. It reports whether
// it did.
func answersMethod(w http.ResponseWriter, r *http.Request, methods string) bool {
	switch {
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
	case allows(methods, r.Method):
		return false
	default:
		w.Header().Set("Allow", methods)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	}
	return true
}

func allows(methods, method string) bool {
	return slices.Contains(strings.Split(methods, ", "), method)
}

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

// handBack shows a message, and what was typed and the names of files, to be copied: they are
// nowhere else.
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
