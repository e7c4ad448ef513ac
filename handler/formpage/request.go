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
	"github.com/formsvc/formsvc/handler/formpage/internal/check"
	"github.com/formsvc/formsvc/handler/formpage/internal/draw"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// call is one request about one form.
type call struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	form    formsvc.PublicForm
	blocks  formblock.Index // of the form
	words   *words.Words
	now     time.Time
	preview *preview // nil: the real page

	charged, limited bool // see allowed

	sheet
}

// preview is the bar of a page that is one.
type preview struct {
	token string
	draw.Preview
}

// previewDir is where previews are, below static.Dir.
const previewDir = "preview/"

// sheet is the content of a page that was sent, or of the first page: as it was read,
// and with the results of its checks.
type sheet struct {
	visit  visit.Visit
	known  bool       // the page was made here, for this visit
	values url.Values // its inputs

	stored  upload.Files       // the files that the page carries
	refused []schema.Violation // files that were not taken

	given    read.Given                 // the answers of the page as the service takes them
	hosts    map[string]json.RawMessage // what Config.HostAnswers returned
	readings map[string]read.Reading    // how the typed text is read, by input

	path  schema.Path // the blocks that are shown with them
	steps []walk.Step // the pages that these make
	at    int         // which one was sent

	proofs check.Proofs // the captchas that are solved

	notice string          // a sentence above the form
	lost   []read.Unplaced // shown above the form, to be copied
}

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	c := &call{h: h, w: w, r: r, form: form, words: h.language(r, form), now: h.clock(), blocks: formblock.Index{Blocks: form.Blocks}}
	c.bring(url.Values{})
	return c
}

// bring sets the inputs that a page brought.
func (c *call) bring(values url.Values) {
	c.values = values
	c.proofs = check.Proofs{Signer: c.h.signer, Visit: &c.visit, Values: values}
}

// query has the values of the page's address.
func (c *call) query() url.Values {
	values, _ := read.Pairs(c.r.URL.RawQuery, c.mostInputs())
	return values
}

// mostInputs is how many values a page of the form, or a link to it, can bring.
func (c *call) mostInputs() int {
	return read.MostInputs(c.form.Blocks, c.form.Definition.HiddenFields)
}

// block returns a block of the form at any level, nil when there is none.
func (c *call) block(id string) *schema.Block { return c.blocks.Find(id) }

// token is the visit, signed.
func (c *call) token() string { return c.h.signer.Sign(visit.PurposeVisit, c.visit) }

// allowed reports whether the visitor's address may do one more thing of a kind. A request
// is charged once for all that it stores.
func (c *call) allowed() bool {
	if !c.charged {
		c.charged, c.limited = true, !c.h.allowed(c.r, chargeStored)
	}
	return !c.limited
}

// readAnswers reads the inputs of the page.
func (c *call) readAnswers() {
	typed := c.h.words.ByTag(c.values.Get(input.Language), c.words)
	c.given, c.readings = read.Answers(c.form.Blocks, c.values, read.Manner{Comma: typed.Comma, Zone: c.h.config.Location, Words: typed})
}

// findPath asks the service which blocks are to be shown: the walk is the one that Submit
// makes. Without an answer of the service there is no page: the caller shows that it is out
// of order. The host is asked for its answers first, but not for a preview: an author is not
// a respondent.
//
// The service takes every answer that only the host can give for the host's, so such
// answers of a respondent are left out.
func (c *call) findPath() error {
	if c.h.config.HostAnswers != nil && c.preview == nil {
		answers, err := c.h.config.HostAnswers(c.r, c.form)
		if err != nil {
			return fmt.Errorf("HostAnswers: %w", err)
		}
		c.hosts = answers
	}
	all := maps.Clone(c.given.Answers)
	dropHosts(c.form.Blocks, all)
	maps.Copy(all, c.hostAnswers())
	path, err := c.h.service.Path(c.r.Context(), c.form.ID, all, c.given.Hidden)
	if err == nil {
		c.follow(path)
	}
	return err
}

// follow divides a path into pages.
func (c *call) follow(path schema.Path) {
	c.path, c.steps = path, walk.Steps(&c.form, path)
	c.at = walk.StepAt(&c.form, c.steps, c.values.Get(input.At))
}

// hostAnswers are the files of the page, and the answers of the host.
func (c *call) hostAnswers() map[string]json.RawMessage {
	all := c.fileAnswers()
	maps.Copy(all, c.hosts)
	return all
}

// dropHosts removes the answers that only the host can give.
func dropHosts(blocks []schema.Block, answers map[string]json.RawMessage) {
	for b, hidden := range formblock.Walk(blocks) {
		if hidden || formblock.TakesFile(b) || b.Type == schema.TypePayment {
			delete(answers, b.ID)
		}
	}
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

// files is the place for files, nil when there is none. A preview keeps none.
func (c *call) files() FileStore {
	if c.preview != nil && c.h.config.Files != nil {
		return noFiles{}
	}
	return c.h.config.Files
}

// filePurpose keeps the record of a file that a preview took apart from a stored one: the
// form itself must not take it for a file.
func (c *call) filePurpose() string {
	if c.preview != nil {
		return visit.PurposePreviewFile
	}
	return visit.PurposeFile
}

// fileAnswers are the answers of the form's blocks for files.
func (c *call) fileAnswers() map[string]json.RawMessage {
	if c.files() == nil {
		return map[string]json.RawMessage{}
	}
	return c.stored.Answers(&c.blocks)
}
