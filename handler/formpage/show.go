package formpage

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// showFirstViolation shows the first page with a violation, or the submitted page if there is none.
func (c *call) showFirstViolation(status int, violations []schema.Violation) {
	c.showStep(status, formstep.FirstStepWithViolation(c.Steps, violations, c.At), violations)
}

// showFailure shows the page again after an error. The respondent can submit it again safely, because its idempotency
// key stays the same.
func (c *call) showFailure(err error, violations ...schema.Violation) {
	status, _, word := c.reportFailure("failed to process form page", err)
	c.Notice = c.Words.Get(word)
	if len(c.Steps) == 0 { // the rules could not be evaluated, so show all visible blocks
		var path schema.Path
		for _, b := range c.Form.Blocks {
			if !formblock.Properties(&b).Hide {
				path.Blocks = append(path.Blocks, schema.PathBlock{ID: b.ID, Required: b.Required})
			}
		}
		c.setPath(path)
	}
	if c.visit.Key == "" {
		c.visit = c.newVisit()
	}
	c.showFirstViolation(status, violations)
}

func (c *call) showClosed() {
	if !c.Form.OpensAt.IsZero() {
		c.showForCopying(http.StatusForbidden, "opens.title", c.openingText("opens.text"), c.Files.FileNames(c.rejectedFiles))
		return
	}
	var text any = c.Words.Get("closed.text")
	if message := c.Form.ClosedMessage; strings.TrimSpace(message) != "" {
		text = template.HTML(schema.ParseText(message, schema.Formatting|schema.Insertions).HTML(c.Value)) //nolint:gosec // only the elements of texts
	}
	c.showForCopying(http.StatusGone, "closed.title", text, c.Files.FileNames(c.rejectedFiles))
}

// openingText returns a text with the form's opening time in the time zone of the page.
func (c *call) openingText(key string) string {
	at := c.Form.OpensAt.In(c.h.config.Location)
	zone := at.Location().String()
	if zone == "Local" {
		zone = at.Format("MST")
	}
	return c.Words.Get(key, "date", c.Words.FormatDate(at.Format(time.DateOnly)), "time", at.Format("15:04"), "zone", zone)
}

// showForCopying shows a message, the input and the file names, so that the respondent can copy them.
func (c *call) showForCopying(status int, title string, text any, files []string) {
	p := c.preparePage()
	p.Lost, p.LostFiles = c.typedText(), files
	c.handleRenderError(p.SendMessage(c.w, status, c.Words.Get(title), text))
}

func (c *call) typedText() []formdata.UnmatchedInput {
	var list []formdata.UnmatchedInput
	for _, u := range formdata.CollectInputs(c.Values) {
		if b := c.Index.Find(u.Block); b != nil {
			if k, _ := schema.LookupBlockType(b.Type); k.Shape == schema.ShapeBoolean || formblock.IsButtonScale(b) || b.Type == schema.TypeCountry {
				continue // selected, not typed
			}
		}
		list = append(list, u)
	}
	return c.replaceIDsWithLabels(list)
}

// replaceIDsWithLabels also finds the labels of blocks that the form's last change removed, because the builder's block
// IDs say nothing to respondents. Long labels are cut off, because a block can have several inputs.
func (c *call) replaceIDsWithLabels(list []formdata.UnmatchedInput) []formdata.UnmatchedInput {
	if len(list) == 0 {
		return nil
	}
	former, _ := schema.DecodeBlocks(c.loadCachedForm().former) // cannot fail, because they were decoded before
	removed := formblock.Index{Blocks: former}
	for i := range list {
		if b := cmp.Or(c.Index.Find(list[i].Block), removed.Find(list[i].Block)); b != nil {
			label := cmp.Or(c.Label(b), b.ID)
			if list[i].Block = fmt.Sprintf("%.100s", label); list[i].Block != label { // precision counts characters
				list[i].Block += "…"
			}
		}
	}
	return list
}

// serveDone shows the ending after a submission, with a button that leads to the form's redirect URL. It does not
// redirect automatically, because anyone may have the link. Without a valid token, it shows the standard ending.
func (c *call) serveDone() {
	if sent, ok := c.h.signer.OpenVisit(pagestate.PurposeDone, c.Form.ID.String(), c.r.URL.Query().Get(input.Sent), c.now); ok {
		c.shown, _ = storage.ParseID(sent.Submission) // zero if the token is from an older process
		if c.Form.Settings.Editable && !c.shown.IsZero() {
			c.identify()
			s, err := c.h.service.AsHost().Submission(c.r.Context(), c.Form.ID, c.shown)
			c.offerEdit(&s, err)
		}
		c.showEnding(c.visibleEnding(sent.Key), c.redirectURL(), false)
		return
	}
	c.showEnding(c.visibleEnding(""), "", false)
}

func (c *call) visibleEnding(id string) schema.Block {
	for _, b := range c.Form.Blocks {
		if b.Type == schema.TypeEnding && b.ID == id && !formblock.Properties(&b).Hide {
			return b
		}
	}
	return schema.Block{Type: schema.TypeEnding}
}

// scriptHeader identifies posts from the page's script. Its value is "1", or "framed" in a frame. In a frame, the
// ending is always shown, because it reports the redirect to the page around the frame.
const scriptHeader = "Formpage-Script"

// showSubmitted redirects after a submission, or shows the ending. Without the page's script, it responds to the POST
// with the ending, which then redirects.
func (c *call) showSubmitted() {
	ending := c.visibleEnding(c.Path.Ending)
	switch target := c.redirectURL(); {
	case c.edit != nil:
		c.redirectToDone()
	case c.Preview != nil && insertsValues(&ending): // no submission is stored that a redirect could show
		c.Preview.Text = "preview.sent"
		c.showEnding(ending, "", false)
	case target != "" && c.r.Header.Get(scriptHeader) == "1":
		c.redirectTo(string(target))
	case target != "" && c.r.Header.Get(scriptHeader) == "":
		c.showEnding(ending, target, true)
	default:
		c.redirectToDone()
	}
}

func insertsValues(ending *schema.Block) bool {
	texts := ending.Label + ending.Description + formblock.Properties(ending).ButtonText
	return len(schema.ParseText(texts, schema.Insertions).InsertionNames()) > 0
}

// redirectToDone redirects to the ending, so that reloading does not post again.
func (c *call) redirectToDone() {
	page, query := c.Form.PublicID, url.Values{input.Language: {c.Words.Tag}}
	if c.link != "" {
		page = static.Dir + "/" + c.link
		query.Set(input.Ending, c.Path.Ending)
	} else {
		query.Set(input.Sent, c.h.signer.Sign(pagestate.PurposeDone, pagestate.Visit{Form: c.Form.ID.String(), Opened: c.now.UnixMilli(), Key: c.Path.Ending, Submission: c.stored.String()}))
	}
	if c.Values.Has(input.Embed) {
		query.Set(input.Embed, "1")
	}
	c.redirectTo(c.Up + page + "/done?" + query.Encode())
}

// redirectURL returns the form's redirect URL, or "" to stay on the ending. mailto: and tel: URLs are only links on the
// ending, because browsers do not follow redirects to them. Without the script, the response to the POST is the ending,
// which then redirects. Browsers would apply the page's form-action policy to every redirect after a POST, and the
// target may redirect again.
func (c *call) redirectURL() template.URL {
	if c.Preview != nil {
		return ""
	}
	return policy.SafeLink(c.Form.Settings.RedirectURL)
}

func (c *call) redirectTo(target string) {
	// Set a relative Location. http.Redirect would make it absolute and omit a prefix that StripPrefix removed.
	c.w.Header().Set("Cache-Control", "no-store")
	if c.r.Header.Get(scriptHeader) != "" {
		// fetch cannot follow a redirect to another origin, so the page's script opens the target.
		c.w.Header().Set("Formpage-Location", target)
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	c.w.Header().Set("Location", target)
	c.w.WriteHeader(http.StatusSeeOther)
}

func (c *call) preparePage() *render.Page {
	looks := c.loadCachedForm().theme // a copy, because fields add rules
	c.Theme = &looks
	c.Embedded = c.Values.Has(input.Embed) || c.r.URL.RawQuery != "" && c.parseQuery().Has(input.Embed)
	c.Framed = c.Embedded || strings.HasSuffix(c.r.Header.Get("Sec-Fetch-Dest"), "frame")
	return &c.Page
}

func (c *call) showStep(status, at int, violations []schema.Violation) {
	p := c.preparePage()
	c.loadLists(c.Steps[at].Blocks)
	p.At, p.Violations, p.Solved, p.Visit, p.State = at, violations, c.proofs.Solved, c.visit.Key, c.visitToken()
	if c.savesPartials() {
		p.SaveOffer = c.saveOffer()
	} else if c.edit != nil {
		p.Edit.State = c.h.signer.Sign(pagestate.PurposeEdited, c.partial)
	}
	c.handleRenderError(p.SendStep(c.w, status))
}

func (c *call) showStepAgain(status int, word string) {
	c.Notice = c.Words.Get(word)
	c.showStep(status, c.At, nil)
}

func (c *call) showMessage(status int, title, text string) {
	c.handleRenderError(c.preparePage().SendMessage(c.w, status, title, text))
}

// showEnding shows an ending with a button that leads to target. If redirects is true, the page also opens target.
func (c *call) showEnding(ending schema.Block, target template.URL, redirects bool) {
	c.handleRenderError(c.preparePage().SendEnding(c.w, &ending, target, redirects))
}

func (c *call) handleRenderError(err error) {
	if err != nil {
		c.h.config.Logger.ErrorContext(c.r.Context(), "failed to render page", "form", c.Form.ID, "error", err)
		writeInternalError(c.w)
	}
}
