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
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// call is one request about one form.
type call struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	form  formsvc.PublicForm
	words *words
	now   time.Time

	preview *preview // nil: the real page

	visit  visit
	values url.Values // the inputs of the page that was sent, or of the first one
	notice string     // a sentence above the form
	lost   []Unplaced // shown above the form, to be copied

	readings map[string]reading // how what was typed is read, by input

	refused []schema.Violation // files that were not taken
	uploads int                // files that came with the request
	brought map[string]bool    // the blocks that they are for
	spared  int64              // bytes of refused files that may still be read over

	charged, limited bool // see allowed

	proofs map[string]bool          // the captchas that are solved, and whether by this request
	proven map[string]bool          // see solved
	byID   map[string]*schema.Block // see block

	hosts      map[string]json.RawMessage // what Config.HostAnswers returned
	askedHosts bool
}

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) *call {
	return &call{h: h, w: w, r: r, form: form, words: h.language(r, form), now: h.clock(), values: url.Values{}, brought: map[string]bool{}, proofs: map[string]bool{}, spared: maxSpared}
}

// given are the answers of the page as the service takes them.
func (c *call) given() Given {
	typed := c.h.words.byTag(c.values.Get(ctrlLanguage), c.words)
	r := answerReader{values: c.values, comma: typed.comma, used: map[string]bool{}, zone: c.h.config.Location, words: typed}
	given := r.read(c.form)
	c.readings = r.readings
	return given
}

// path asks the service which blocks are to be shown: the walk is the one that Submit
// makes. Without an answer of the service there is no page: the caller shows that it is out
// of order.
//
// The service takes every answer that only the host can give for the host's, so such
// answers of a respondent are left out.
func (c *call) path(given Given) (schema.Path, error) {
	host, err := c.hostAnswers()
	if err != nil {
		return schema.Path{}, err
	}
	all := maps.Clone(given.Answers)
	dropHosts(c.form.Blocks, all, false)
	maps.Copy(all, host)
	return c.h.service.Path(c.r.Context(), c.form.ID, all, given.Hidden)
}

// hostAnswers are the files of the page, and what the host answers. The host is asked once
// in a request, and not for a preview: an author is not a respondent.
func (c *call) hostAnswers() (map[string]json.RawMessage, error) {
	if !c.askedHosts && c.h.config.HostAnswers != nil && c.preview == nil {
		answers, err := c.h.config.HostAnswers(c.r, c.form)
		if err != nil {
			return nil, fmt.Errorf("HostAnswers: %w", err)
		}
		c.hosts = answers
	}
	c.askedHosts = true
	all := map[string]json.RawMessage{}
	c.fileAnswers(c.form.Blocks, all)
	maps.Copy(all, c.hosts)
	return all, nil
}

// dropHosts removes the answers that only the host can give.
func dropHosts(blocks []schema.Block, answers map[string]json.RawMessage, hide bool) {
	for i := range blocks {
		b := &blocks[i]
		hidden := hide || properties(b).Hide
		if hidden || b.Type == schema.TypePayment || b.Type == schema.TypeFileUpload || b.Type == schema.TypeSignature {
			delete(answers, b.ID)
		}
		dropHosts(b.Children, answers, hidden)
	}
}

// post takes a page that was sent. Whatever happens, what was typed is shown again or
// stored.
func (c *call) post() {
	h, r, form := c.h, c.r, c.form
	values, complete, err := c.read(h.config.MaxBody)
	if err != nil {
		h.logger.InfoContext(r.Context(), "a page was not read", "error", err)
		c.showMessage(http.StatusBadRequest, c.words.get("broken.title"), c.words.get("unreadable.text"))
		return
	}
	c.values = values
	if lang := values.Get(ctrlLanguage); lang != "" && (h.config.Language == nil || h.config.Language(r, form) == "") {
		c.words = h.words.byTag(lang, c.words)
	}
	var known bool
	if c.visit, known = h.signer.openVisit(form, values.Get(ctrlState), c.now); !known {
		// The page was made by another process, or long ago. A new page is as good.
		c.visit = newVisit(form, c.now)
		h.warnSecret()
	}
	removed := c.dropRemoved()
	given := c.given()
	given.Unplaced = append(given.Unplaced, c.unplacedFiles()...)
	path, err := c.path(given)
	if err != nil {
		c.failed(err, schema.Path{}, 0)
		return
	}
	steps := stepsOf(&c.form, path)
	at := stepAt(&c.form, steps, values.Get(ctrlAt))

	c.countSent(known)

	switch action := values.Get(ctrlGo); {
	case !complete:
		c.notice = c.words.get("too_large")
		c.showPath(http.StatusRequestEntityTooLarge, path, at, nil)
	case c.limited: // its files were not stored
		c.tooMany(path, firstStep(steps, c.refused, at), c.refused)
	case len(c.refused) > 0:
		status := http.StatusUnprocessableEntity
		if slices.ContainsFunc(c.refused, func(v schema.Violation) bool { return v.Code == codeFileSize || v.Code == codeFileTotal }) {
			status = http.StatusRequestEntityTooLarge
		}
		c.showPath(status, path, firstStep(steps, c.refused, at), c.refused)
	case action == goBack:
		c.showPath(http.StatusOK, path, max(0, at-1), nil)
	case action == goStay || action == goUpload || removed && action == "":
		c.showPath(http.StatusOK, path, at, nil)
	default:
		c.forward(given, path, steps, at, known)
	}
}

// forward goes on to the next page, or submits after the last one.
func (c *call) forward(given Given, path schema.Path, steps []step, at int, known bool) {
	faults := c.stepFaults(given, path, steps[at])
	unsolved, err := c.captcha(steps[at].blocks)
	if err != nil {
		c.failed(err, path, at)
		return
	}
	if faults = append(faults, unsolved...); len(faults) > 0 {
		c.showPath(http.StatusUnprocessableEntity, path, at, faults)
		return
	}
	// The answers of this page called for blocks that were not on it.
	if missing := c.unseen(steps[at]); missing {
		c.notice = c.words.get("more_questions")
		c.showPath(http.StatusOK, path, at, nil)
		return
	}
	if c.asks(steps[at]) {
		c.notice = c.words.get("read.check")
		c.showPath(http.StatusUnprocessableEntity, path, at, nil)
		return
	}
	if at+1 < len(steps) {
		if c.form.Closed && c.preview == nil { // nobody fills in the rest in vain
			c.closed()
			return
		}
		c.showPath(http.StatusOK, path, at+1, nil)
		return
	}
	switch {
	case !known:
		c.notice = c.words.get("send_again")
	case c.preview != nil: // what holds programs up would only be in the author's way
		c.tryOut(given, path, at)
		return
	case c.values.Get(ctrlTrap) != "":
		c.values.Del(ctrlTrap)
		c.notice = c.words.get("send_again")
	case c.now.Sub(time.UnixMilli(c.visit.Opened)) < c.h.config.MinFillTime:
		c.notice = c.words.get("too_fast")
	case len(given.Unplaced) > 0 && c.values.Get(ctrlLost) == "":
		c.notice, c.lost = c.words.get("lost"), given.Unplaced
		c.values.Set(ctrlLost, "1")
		c.showPath(http.StatusConflict, path, at, nil)
		return
	case !c.allowed():
		c.tooMany(path, at, nil)
		return
	default:
		c.submit(given, path, at)
		return
	}
	c.showPath(http.StatusUnprocessableEntity, path, at, nil)
}

// tooMany shows the page again when the address has sent too much.
func (c *call) tooMany(path schema.Path, at int, faults []schema.Violation) {
	c.notice = c.words.get("too_many_requests")
	c.w.Header().Set("Retry-After", "60")
	c.showPath(http.StatusTooManyRequests, path, at, faults)
}

// submit stores the response.
func (c *call) submit(given Given, path schema.Path, at int) {
	// Who posts the last page alone has not solved those before it.
	steps := stepsOf(&c.form, path)
	unsolved, err := c.captcha(onPath(&c.form, path))
	if err != nil {
		c.failed(err, path, at)
		return
	}
	if len(unsolved) > 0 {
		c.showPath(http.StatusUnprocessableEntity, path, firstStep(steps, unsolved, at), unsolved)
		return
	}
	response, err := c.response(given)
	attempt, kept := rand.Text(), c.filesOf(onPath(&c.form, path))
	if err == nil {
		err = c.keepFiles(attempt, kept)
	}
	if err != nil {
		c.failed(err, path, at)
		return
	}
	visit := c.visit.Key // that of the files, though store goes on in another one
	err = c.store(response)
	switch {
	case isRefused(err):
		c.releaseFiles(attempt, kept)
	case err == nil && len(kept) > 0: // the response has them
		c.h.filesSent(visit)
	}
	var faults *schema.Error
	switch {
	case err == nil:
		c.finished(path)
	case errors.Is(err, formsvc.ErrKeyUsed):
		spent := c.spent()
		c.showPath(http.StatusConflict, path, firstStep(steps, spent, at), spent)
	case errors.As(err, &faults):
		c.showPath(http.StatusUnprocessableEntity, path, firstStep(steps, faults.Violations, at), faults.Violations)
	case errors.Is(err, storage.ErrDuplicate):
		field := c.form.Settings.DuplicateField
		fault := schema.Violation{Field: field, Code: codeKnown}
		c.showPath(http.StatusConflict, path, firstStep(steps, []schema.Violation{fault}, at), []schema.Violation{fault})
	case errors.Is(err, formsvc.ErrClosed), errors.Is(err, storage.ErrNotFound):
		c.form.Closed = true
		c.closed()
	default:
		c.failed(err, path, at)
	}
}

// scriptHeader marks a page that the page's script sent.
const scriptHeader = "Formpage-Script"

// finished leads to the ending, or where the form says. Going elsewhere after a POST
// means that a reload sends nothing again.
func (c *call) finished(path schema.Path) {
	if target := c.redirect(); target != "" && c.r.Header.Get(scriptHeader) != "" {
		c.leadTo(string(target))
		return
	}
	query := url.Values{ctrlSent: {c.h.signer.sign(purposeDone, visit{c.form.ID.String(), c.now.UnixMilli(), path.Ending})}}
	if c.values.Has(ctrlEmbed) {
		query.Set(ctrlEmbed, "1")
	}
	query.Set(ctrlLanguage, c.words.tag)
	c.leadTo(c.up() + c.form.PublicID + "/done?" + query.Encode())
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
	return webLink(c.form.Settings.RedirectURL)
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
func (c *call) failed(err error, path schema.Path, at int) {
	if errors.Is(err, errLimited) {
		c.tooMany(path, at, nil)
		return
	}
	c.h.logger.ErrorContext(c.r.Context(), "a page was not taken", "form", c.form.ID, "error", err)
	c.notice = c.words.get("not_stored")
	c.w.Header().Set("Retry-After", "1")
	if len(path.Blocks) == 0 { // the rules could not be run: all that can be answered is shown
		for _, b := range c.form.Blocks {
			if !properties(&b).Hide {
				path.Blocks = append(path.Blocks, schema.PathBlock{ID: b.ID, Required: b.Required})
			}
		}
		at = stepAt(&c.form, stepsOf(&c.form, path), c.values.Get(ctrlAt))
	}
	if c.visit.Key == "" {
		c.visit = newVisit(c.form, c.now)
	}
	c.showPath(http.StatusServiceUnavailable, path, at, nil)
}

// response is what is submitted.
func (c *call) response(given Given) (formsvc.Response, error) {
	r := formsvc.Response{
		FormID: c.form.ID, Answers: given.Answers, Hidden: given.Hidden,
		Metadata: formsvc.Metadata{UserAgent: cleaned(c.r.UserAgent()), Device: "desktop", UTM: map[string]string{}},
	}
	if strings.Contains(c.r.UserAgent(), "Mobi") {
		r.Metadata.Device = "mobile"
	}
	if c.h.config.Country != nil {
		r.Metadata.Country = cleaned(c.h.config.Country(c.r))
	}
	r.CompletionTime = max(0, c.now.Sub(time.UnixMilli(c.visit.Opened)).Round(time.Second/10).Seconds())
	if took, err := strconv.ParseFloat(c.values.Get(ctrlTook), 64); err == nil && took > 0 && took < r.CompletionTime {
		r.CompletionTime = took
	}
	if utm := c.form.Settings.UTM; utm != nil { // the form says which ones it records
		for name, wanted := range map[string]bool{
			"campaign": utm.Campaign, "content": utm.Content, "medium": utm.Medium, "source": utm.Source, "term": utm.Term,
		} {
			if text := cleaned(c.values.Get(nameUTM + name)); wanted && text != "" {
				r.Metadata.UTM[name] = text
			}
		}
	}
	r.IdempotencyKey = c.idempotencyKey(given)
	r.OneContent = len(c.proofs) > 0
	var err error
	r.HostAnswers, err = c.hostAnswers()
	return r, err
}

// idempotencyKey is the same for the same answers of one visit. A second click finds the
// first response; who goes back and sends something else is not told that it is stored
// while the first one is. With a captcha the visit is good for one response, see store.
func (c *call) idempotencyKey(given Given) string {
	if len(c.proofs) > 0 {
		return c.visit.Key
	}
	files := map[string]json.RawMessage{}
	c.fileAnswers(c.form.Blocks, files)
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{given.Answers, files, given.Hidden}); err != nil {
		return c.visit.Key // the answers are JSON that was written or read here
	}
	return c.visit.Key + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
