package formpage

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// call is a request for a form, with its input and the page that it responds with.
type call struct {
	h    *Handler
	w    http.ResponseWriter
	r    *http.Request
	now  time.Time
	link string // the path of a signed link below the handler's own directory
	edit *edit  // the submission that the page changes, or nil

	limitChecked, limited bool // set by takeTokenOnce

	visit          pagestate.Visit
	visitValid     bool     // whether the page has a valid state
	uploadedBlocks []string // the block of each file
	rejectedFiles  []schema.Violation
	discardedBytes int64                      // bytes of rejected files
	parsed         formdata.ParsedAnswers     // the answers as the service expects them
	respondent     string                     // the host's ID of who is answering; empty if unknown
	identityErr    error                      // the error from Config.Respondent
	fromHost       map[string]json.RawMessage // the result of Config.HostAnswers
	legalTexts     map[string]string          // the texts of legal blocks that the respondent has seen
	pageGone       bool                       // whether the form no longer has the page
	changedTexts   []schema.Violation         // the legal blocks whose text has changed since
	proofs         pagestate.Proofs           // the captchas that were solved
	partial        pagestate.PartialState     // the page's partial submission
	saveErrorKey   string                     // text key if saving failed
	resumeLink     string                     // set if the page must contain the link

	insertions insertions
	shown      storage.ID // the submission that an ending shows; zero means the answers of the path

	linkRequested bool
	submitted     bool  // the service has stored the submission
	nextErr       error // the last error from Submit, which the host can hide
	stored        storage.ID

	render.Page
}

const previewDir = "preview/"

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	c := &call{h: h, w: w, r: r, now: h.config.Clock(), Page: render.Page{
		Source: field.Source{Words: h.chooseWords(r, form), Host: &h.host, Own: policy.OwnHosts(r, h.config.AllowedOrigins)}, Form: &form, Site: &h.site, Index: formblock.Index{Blocks: form.Blocks},
		// For {base}/{id}, the path is "". For {base}/{id}/done, it is "../".
		Up: strings.Repeat("../", strings.Count(h.pathBelowBase(r.URL.Path), "/")), Posted: r.Method == http.MethodPost,
	}}
	if h.config.LayoutData != nil {
		c.Data = func() any { return h.config.LayoutData(r) }
		c.Reflected = r.URL.RawQuery != "" // the data can contain a CSRF token
	}
	c.Value = c.insertedValue
	c.setValues(url.Values{})
	return c
}

func (c *call) setValues(values url.Values) {
	c.Values = values
	c.proofs = pagestate.Proofs{Signer: c.h.signer, Visit: &c.visit, Values: values}
}

func (c *call) parseQuery() url.Values {
	values, _ := formdata.ParseQuery(c.r.URL.RawQuery, c.maxInputs())
	return values
}

func (c *call) maxInputs() int {
	return formdata.MaxInputs(c.Form.Blocks, c.Form.Definition.HiddenFields)
}

func (c *call) visitToken() string { return c.h.signer.Sign(pagestate.PurposeVisit, c.visit) }

// takeTokenOnce reports whether the address is within its limit. It takes at most one token per request.
func (c *call) takeTokenOnce() bool {
	if !c.limitChecked {
		c.limitChecked, c.limited = true, !c.h.takeLimiterToken(c.r, "")
	}
	return !c.limited
}

func (c *call) loadVisit() {
	id := c.Form.ID.String()
	if c.visit, c.visitValid = c.h.signer.OpenVisit(pagestate.PurposeVisit, id, c.Values.Get(input.State), c.now); !c.visitValid {
		// The page comes from another process or is too old, so start a new visit.
		c.visit = c.newVisit()
		c.h.warnIfNoSecret()
	}
	purpose := pagestate.PurposePartial
	if c.edit != nil {
		purpose = pagestate.PurposeEdited
	}
	if (c.savesPartials() || c.edit != nil) && !c.h.signer.OpenToken(purpose, c.Values.Get(input.Partial), &c.partial) {
		c.partial = pagestate.PartialState{}
	}
}

func (c *call) inputOptions() formdata.Options {
	typed := c.h.words.ByTag(c.Values.Get(input.Language), c.Words)
	return formdata.Options{Comma: typed.Comma, Zone: c.h.config.Location, Words: typed}
}

func (c *call) parseAnswers() {
	c.parsed, c.Interpretations = formdata.ParseAnswers(c.Form.Blocks, c.Values, c.inputOptions())
	c.legalTexts, c.changedTexts = map[string]string{}, nil
	for b := range c.legalBlocks() {
		posted, text := c.Values.Get(input.Answer+b.ID), formblock.Properties(b).LegalText
		answer, _ := input.CutConsent(posted)
		if posted == input.Consent(answer, text) || answer != "true" && answer != "false" {
			c.legalTexts[b.ID] = text
			continue
		}
		delete(c.parsed.Answers, b.ID)
		c.changedTexts = append(c.changedTexts, schema.Violation{Field: b.ID, Code: schema.CodeNotAllowed, Params: map[string]any{"reason": "text_changed"}})
	}
	if c.edit != nil {
		c.adjustAnswers()
	}
}

func (c *call) legalBlocks() iter.Seq[*schema.Block] {
	return func(yield func(*schema.Block) bool) {
		for b, hidden := range formblock.Walk(c.Form.Blocks) {
			if b.Type == schema.TypeLegal && !hidden && !yield(b) {
				return
			}
		}
	}
}

// changedTextsOnPath returns the changed texts that the respondent must read.
func (c *call) changedTextsOnPath() []schema.Violation {
	return slices.DeleteFunc(slices.Clone(c.changedTexts), func(v schema.Violation) bool { return !formstep.ContainsBlock(c.OnPath, v.Field) })
}

// confirmTexts marks saved answers to legal blocks as answers to the current texts, unless the form has changed since.
// An answer without the mark must be given again. The time is compared with a margin, because a text can change
// between the first and the last step of a request.
//
// For an edit, an answer stays if its stored text is the current text.
func (c *call) confirmTexts(values url.Values, saved time.Time) {
	unchanged := !saved.Before(c.Form.UpdatedAt.Add(time.Minute))
	for b := range c.legalBlocks() {
		if answer := values.Get(input.Answer + b.ID); answer != "" && (unchanged || c.edit != nil && c.edit.acceptedText(b)) {
			values.Set(input.Answer+b.ID, input.Consent(answer, formblock.Properties(b).LegalText))
		}
	}
}

// computePath evaluates the rules as Submit does. For a preview, it does not request the host's answers, because an
// author is not a respondent. For an edit, it uses the stored answers. If it returns an error, it sets no path.
func (c *call) computePath() error {
	switch {
	case c.edit != nil:
		c.fromHost = c.edit.input.HostAnswers
	case c.h.config.HostAnswers != nil && c.Preview == nil:
		answers, err := c.h.config.HostAnswers(c.r, *c.Form)
		if err != nil {
			return fmt.Errorf("HostAnswers: %w", err)
		}
		c.fromHost = answers
	}
	path, err := c.Form.Path(c.allAnswers(), c.parsed.Hidden)
	if err == nil {
		c.setPath(path)
	}
	return err
}

// allAnswers returns the page's and the host's answers. It removes the respondent's answers to blocks that only the
// host can answer, because the service would treat them as the host's answers.
func (c *call) allAnswers() map[string]json.RawMessage {
	all := maps.Clone(c.parsed.Answers)
	removeHostAnswers(c.Form.Blocks, all)
	maps.Copy(all, c.hostAnswers())
	return all
}

func (c *call) setPath(path schema.Path) {
	c.Path, c.OnPath = path, formstep.BlocksOnPath(c.Form, path)
	c.insertions = insertions{}
	c.Steps = formstep.SplitIntoSteps(c.Form, c.OnPath)
	c.At, c.pageGone = formstep.FindSubmitted(c.Form, c.Steps, c.Values.Get(input.At), c.Values[input.Seen], c.Values.Get(input.Previous))
}

func (c *call) hostAnswers() map[string]json.RawMessage {
	all := c.fileAnswers()
	maps.Copy(all, c.fromHost)
	return all
}

func removeHostAnswers(blocks []schema.Block, answers map[string]json.RawMessage) {
	for b, hidden := range formblock.Walk(blocks) {
		if hidden || formblock.TakesFile(b) || b.Type == schema.TypePayment {
			delete(answers, b.ID)
		}
	}
}

func (c *call) fileStore() FileStore {
	switch {
	case c.edit != nil:
		return nil
	case c.Preview != nil && c.h.config.Files != nil:
		return discardStore{}
	}
	return c.h.config.Files
}

func (c *call) fileAnswers() map[string]json.RawMessage {
	if c.fileStore() == nil {
		return map[string]json.RawMessage{}
	}
	return c.Files.Answers(&c.Index)
}
