package formpage

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/fault"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// call is one request about one form.
type call struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	form  formsvc.PublicForm
	words *words.Words
	now   time.Time

	preview *preview // nil: the real page

	visit  visit.Visit
	values url.Values // the inputs of the page that was sent, or of the first one
	notice string     // a sentence above the form
	lost   []Unplaced // shown above the form, to be copied

	readings map[string]reading // how what was typed is read, by input

	known bool        // the page was made here, for this visit
	given Given       // the answers of the page as the service takes them
	path  schema.Path // the blocks that are shown with them
	steps []step      // the pages that these make
	at    int         // which one was sent

	stored  map[string][]shownFile // the files that the page carries, by block
	refused []schema.Violation     // files that were not taken
	uploads int                    // files that came with the request
	brought map[string]bool        // the blocks that they are for
	spared  int64                  // bytes of refused files that may still be read over

	charged, limited bool // see allowed

	proofs map[string]bool          // the captchas that are solved, and whether by this request
	proven map[string]bool          // see solved
	byID   map[string]*schema.Block // see block

	hosts map[string]json.RawMessage // what Config.HostAnswers returned, see path
}

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	return &call{h: h, w: w, r: r, form: form, words: h.language(r, form), now: h.clock(), values: url.Values{}, brought: map[string]bool{}, proofs: map[string]bool{}, spared: maxSpared}
}

// readAnswers reads the inputs of the page.
func (c *call) readAnswers() {
	typed := c.h.words.ByTag(c.values.Get(input.Language), c.words)
	r := answerReader{values: c.values, comma: typed.Comma, used: map[string]bool{}, zone: c.h.config.Location, words: typed}
	c.given = r.read(c.form)
	c.readings = r.readings
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
	c.path, c.steps = path, stepsOf(&c.form, path)
	c.at = stepAt(&c.form, c.steps, c.values.Get(input.At))
}

// hostAnswers are the files of the page, and what the host answered.
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

// post takes a page that was sent. Whatever happens, what was typed is shown again or
// stored.
func (c *call) post() {
	h, r, form := c.h, c.r, c.form
	values, complete, err := c.read(h.config.MaxBody)
	if err != nil {
		h.logger.InfoContext(r.Context(), "a page was not read", "error", err)
		c.showMessage(http.StatusBadRequest, c.words.Get("broken.title"), c.words.Get("unreadable.text"))
		return
	}
	c.values = values
	c.goOnIn(values.Get(input.Language))
	if c.visit, c.known = h.signer.OpenVisit(visit.PurposeVisit, form.ID.String(), values.Get(input.State), c.now); !c.known {
		// The page was made by another process, or long ago. A new page is as good.
		c.visit = visit.New(form.ID.String(), c.now)
		h.warnSecret()
	}
	removed := c.openFiles()
	c.readAnswers()
	c.given.Unplaced = append(c.given.Unplaced, c.unplacedFiles()...)
	if err := c.findPath(); err != nil {
		c.failed(err)
		return
	}
	c.countSent()

	switch action := values.Get(input.Go); {
	case !complete:
		c.notice = c.words.Get("too_large")
		c.showStep(http.StatusRequestEntityTooLarge, c.at, nil)
	case c.limited: // its files were not stored
		c.tooMany(c.refused)
	case len(c.refused) > 0:
		status := http.StatusUnprocessableEntity
		if slices.ContainsFunc(c.refused, func(v schema.Violation) bool { return v.Code == fault.FileSize || v.Code == fault.FileTotal }) {
			status = http.StatusRequestEntityTooLarge
		}
		c.showFirst(status, c.refused)
	case action == input.GoBack:
		c.showStep(http.StatusOK, max(0, c.at-1), nil)
	case action == input.GoStay || action == input.GoUpload || removed && action == "":
		c.showStep(http.StatusOK, c.at, nil)
	default:
		c.forward()
	}
}

// goOnIn chooses the language of the page that was sent, where the host chooses none.
func (c *call) goOnIn(tag string) {
	if tag != "" && (c.h.config.Language == nil || c.h.config.Language(c.r, c.form) == "") {
		c.words = c.h.words.ByTag(tag, c.words)
	}
}

// forward goes on to the next page, or submits after the last one.
func (c *call) forward() {
	on := c.steps[c.at].blocks
	faults := c.stepFaults(on)
	unsolved, err := c.captcha(on)
	if err != nil {
		c.failed(err)
		return
	}
	if faults = append(faults, unsolved...); len(faults) > 0 {
		c.showStep(http.StatusUnprocessableEntity, c.at, faults)
		return
	}
	// again shows the page with a sentence above it.
	again := func(status int, word string) {
		c.notice = c.words.Get(word)
		c.showStep(status, c.at, nil)
	}
	switch last := c.at+1 == len(c.steps); {
	case c.unseen(on): // the answers of this page called for blocks that were not on it
		again(http.StatusOK, "more_questions")
	case c.asks(on):
		again(http.StatusUnprocessableEntity, "read.check")
	case !last && c.form.Closed: // nobody fills in the rest in vain
		c.closed()
	case !last:
		c.showStep(http.StatusOK, c.at+1, nil)
	case !c.known:
		again(http.StatusUnprocessableEntity, "send_again")
	case c.preview != nil: // what holds programs up would only be in the author's way
		c.submit()
	case c.values.Get(input.Trap) != "":
		c.values.Del(input.Trap)
		again(http.StatusUnprocessableEntity, "send_again")
	case c.visit.Age(c.now) < c.h.config.MinFillTime:
		again(http.StatusUnprocessableEntity, "too_fast")
	case len(c.given.Unplaced) > 0 && c.values.Get(input.Lost) == "":
		c.lost = c.given.Unplaced
		c.values.Set(input.Lost, "1")
		again(http.StatusConflict, "lost")
	default:
		c.submit()
	}
}

// tooMany shows the page again when the address has sent too much.
func (c *call) tooMany(faults []schema.Violation) {
	c.notice = c.words.Get("too_many_requests")
	c.w.Header().Set("Retry-After", "60")
	c.showFirst(http.StatusTooManyRequests, faults)
}

// submit takes the last page.
func (c *call) submit() {
	err := c.send()
	faults := c.faultsOf(err)
	switch {
	case err == nil:
		c.finished()
	case isClosed(err):
		c.form.Closed = true
		c.closed()
	case len(faults) == 0:
		c.failed(err)
	default:
		status := http.StatusUnprocessableEntity
		if errors.Is(err, formsvc.ErrKeyUsed) || errors.Is(err, storage.ErrDuplicate) {
			status = http.StatusConflict
		}
		c.showFirst(status, faults)
	}
}

// send stores the response, once all captchas on the path are solved: who posts the last
// page alone has not solved those before it. A preview checks all answers and stores nothing.
func (c *call) send() error {
	blocks := onPath(&c.form, c.path)
	faults, err := c.captcha(blocks)
	if c.preview != nil {
		faults = append(c.stepFaults(blocks), faults...)
	}
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		return &schema.Error{Violations: faults}
	case c.preview != nil:
		return nil
	case !c.allowed():
		return errLimited
	}
	attempt, kept := rand.Text(), []string(nil)
	for _, id := range ids(blocks) {
		for _, file := range c.filesOf(id) {
			kept = append(kept, file.ID)
		}
	}
	if err := c.keepFiles(attempt, kept); err != nil {
		return err
	}
	visit := c.visit.Key // that of the files, though store goes on in another one
	err = c.store(c.response())
	switch {
	case isClosed(err) || len(c.faultsOf(err)) > 0: // after any other error it may be stored
		c.releaseFiles(attempt, kept)
	case err == nil && len(kept) > 0: // the response has them
		c.h.filesSent(visit)
	}
	return err
}

// faultsOf are what send refuses in a response.
func (c *call) faultsOf(err error) []schema.Violation {
	var refused *schema.Error
	switch {
	case errors.As(err, &refused):
		return refused.Violations
	case errors.Is(err, formsvc.ErrKeyUsed):
		return c.spent()
	case errors.Is(err, storage.ErrDuplicate):
		return []schema.Violation{{Field: c.form.Settings.DuplicateField, Code: fault.Known}}
	}
	return nil
}

// isClosed reports whether the form takes no response any more.
func isClosed(err error) bool {
	return errors.Is(err, formsvc.ErrClosed) || errors.Is(err, storage.ErrNotFound)
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

// response is what is submitted.
func (c *call) response() formsvc.Response {
	r := formsvc.Response{
		FormID: c.form.ID, Answers: c.given.Answers, HostAnswers: c.hostAnswers(), Hidden: c.given.Hidden,
		IdempotencyKey: c.idempotencyKey(), OneContent: len(c.proofs) > 0,
		Metadata: formsvc.Metadata{UserAgent: cleaned(c.r.UserAgent()), Device: "desktop", UTM: map[string]string{}},
	}
	if strings.Contains(c.r.UserAgent(), "Mobi") {
		r.Metadata.Device = "mobile"
	}
	if c.h.config.Country != nil {
		r.Metadata.Country = cleaned(c.h.config.Country(c.r))
	}
	r.CompletionTime = max(0, c.visit.Age(c.now).Round(time.Second/10).Seconds())
	if took, err := strconv.ParseFloat(c.values.Get(input.Took), 64); err == nil && took > 0 && took < r.CompletionTime {
		r.CompletionTime = took
	}
	if utm := c.form.Settings.UTM; utm != nil { // the form says which ones it records
		for name, wanted := range map[string]bool{
			"campaign": utm.Campaign, "content": utm.Content, "medium": utm.Medium, "source": utm.Source, "term": utm.Term,
		} {
			if text := cleaned(c.values.Get(input.UTM + name)); wanted && text != "" {
				r.Metadata.UTM[name] = text
			}
		}
	}
	return r
}

// idempotencyKey is the same for the same answers of one visit. A second click finds the
// first response; who goes back and sends something else is not told that it is stored
// while the first one is. With a captcha the visit is good for one response, see store.
func (c *call) idempotencyKey() string {
	if len(c.proofs) > 0 {
		return c.visit.Key
	}
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{c.given.Answers, c.fileAnswers(), c.given.Hidden}); err != nil {
		return c.visit.Key // the answers are JSON that was written or read here
	}
	return c.visit.Key + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
