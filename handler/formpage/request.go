package formpage

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/draw"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
)

// call is one request about one form, and the page that answers it: the inputs that a page
// brought, and what became of them.
type call struct {
	h    *Handler
	w    http.ResponseWriter
	r    *http.Request
	now  time.Time
	link string // the token of a preview, see Page.Preview

	limitChecked, limited bool // see allowed

	visit          visit.Visit
	visitValid     bool                       // the page was made here, for this visit
	uploadedBlocks []string                   // the blocks that files came for, one for each file
	rejectedFiles  []schema.Violation         // files that were not taken
	discardedBytes int64                      // bytes of those that were read over
	parsed         read.ParsedAnswers         // the answers of the page as the service takes them
	fromHost       map[string]json.RawMessage // what Config.HostAnswers returned
	proofs         visit.Proofs               // the captchas that are solved
	partial        visit.PartialState         // what the page saves half-way
	saveErrorKey   string                     // why that was not done, a key of the catalogue
	resumeLink     string                     // the link to it, where it is asked for

	linkRequested bool // the request asks for that link
	submitted     bool // the service has stored the response

	draw.Page
}

// previewDir is the path of previews below static.Dir.
const previewDir = "preview/"

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	c := &call{h: h, w: w, r: r, now: h.config.Clock(), Page: draw.Page{
		Source: field.Source{Words: h.chooseWords(r, form), Host: &h.host, Own: policy.OwnHosts(r, h.config.AllowedOrigins)}, Form: &form, Site: &h.site, Index: formblock.Index{Blocks: form.Blocks},
		// Up leads nowhere from {base}/{id}, one up from {base}/{id}/done.
		Up: strings.Repeat("../", strings.Count(h.pathBelowBase(r.URL.Path), "/")), Posted: r.Method == http.MethodPost,
	}}
	c.setValues(url.Values{})
	return c
}

// setValues sets the inputs that a page brought.
func (c *call) setValues(values url.Values) {
	c.Values = values
	c.proofs = visit.Proofs{Signer: c.h.signer, Visit: &c.visit, Values: values}
}

// query returns the query parameters of the request.
func (c *call) query() url.Values {
	values, _ := read.ParseQuery(c.r.URL.RawQuery, c.maxInputs())
	return values
}

// maxInputs is how many values a page of the form, or a link to it, can bring.
func (c *call) maxInputs() int {
	return read.MaxInputs(c.Form.Blocks, c.Form.Definition.HiddenFields)
}

// visitToken is the visit, signed.
func (c *call) visitToken() string { return c.h.signer.Sign(visit.PurposeVisit, c.visit) }

// withinLimit reports whether the visitor's address may do one more thing of a kind. A request
// is charged once for all that it stores.
func (c *call) withinLimit() bool {
	if !c.limitChecked {
		c.limitChecked, c.limited = true, !c.h.takeToken(c.r, "")
	}
	return !c.limited
}

// openVisit reads the visit that the page carries, and what it saves half-way.
func (c *call) openVisit() {
	id := c.Form.ID.String()
	if c.visit, c.visitValid = c.h.signer.OpenVisit(visit.PurposeVisit, id, c.Values.Get(input.State), c.now); !c.visitValid {
		// The page was made by another process, or long ago. A new page is as good.
		c.visit = visit.New(id, c.now)
		c.h.warnSecret()
	}
	if c.savesPartials() && !c.h.signer.Open(visit.PurposePartial, c.Values.Get(input.Partial), &c.partial) {
		c.partial = visit.PartialState{}
	}
}

// readOptions is how the inputs of the page are read.
func (c *call) readOptions() read.Options {
	typed := c.h.words.ByTag(c.Values.Get(input.Language), c.Words)
	return read.Options{Comma: typed.Comma, Zone: c.h.config.Location, Words: typed}
}

// readAnswers reads the inputs of the page.
func (c *call) readAnswers() {
	c.parsed, c.Readings = read.ParseAnswers(c.Form.Blocks, c.Values, c.readOptions())
}

// findPath finds out which blocks are to be shown: the walk is the one that Submit makes.
// Without a path there is no page: the caller shows that it is out of order. The host is asked for
// its answers first, but not for a preview: an author is not a respondent.
func (c *call) findPath() error {
	if c.h.config.HostAnswers != nil && c.Preview == nil {
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

// allAnswers are those of the page and those of the host. The service takes every answer that only
// the host can give for the host's, so such answers of a respondent are left out.
func (c *call) allAnswers() map[string]json.RawMessage {
	all := maps.Clone(c.parsed.Answers)
	removeHostAnswers(c.Form.Blocks, all)
	maps.Copy(all, c.hostAnswers())
	return all
}

// setPath divides a path into pages.
func (c *call) setPath(path schema.Path) {
	c.Path, c.OnPath = path, walk.OnPath(c.Form, path)
	c.Steps = walk.Split(c.Form, c.OnPath)
	c.At = walk.Find(c.Form, c.Steps, c.Values.Get(input.At))
}

// hostAnswers are the files of the page, and the answers of the host.
func (c *call) hostAnswers() map[string]json.RawMessage {
	all := c.fileAnswers()
	maps.Copy(all, c.fromHost)
	return all
}

// removeHostAnswers removes the answers that only the host can give.
func removeHostAnswers(blocks []schema.Block, answers map[string]json.RawMessage) {
	for b, hidden := range formblock.Walk(blocks) {
		if hidden || formblock.TakesFile(b) || b.Type == schema.TypePayment {
			delete(answers, b.ID)
		}
	}
}

// fileStore is the place for files, nil when there is none. A preview keeps none.
func (c *call) fileStore() FileStore {
	if c.Preview != nil && c.h.config.Files != nil {
		return discardStore{}
	}
	return c.h.config.Files
}

// fileAnswers are the answers of the form's blocks for files.
func (c *call) fileAnswers() map[string]json.RawMessage {
	if c.fileStore() == nil {
		return map[string]json.RawMessage{}
	}
	return c.Files.Answers(&c.Index)
}
