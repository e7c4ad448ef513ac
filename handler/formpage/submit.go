package formpage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// call is one request about one form.
type call struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	form  PublicForm
	words *words
	now   time.Time

	preview *preview // nil: the real page

	visit  visit
	values url.Values // the inputs of the page that was sent, or of the first one
	notice string     // a sentence above the form
	lost   []Unplaced // shown above the form, to be copied

	refused []schema.Violation // files that were not taken
}

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request, form PublicForm) *call {
	return &call{h: h, w: w, r: r, form: form, words: h.language(r, form), now: h.clock(), values: url.Values{}}
}

// given are the answers of the page as the service takes them.
func (c *call) given() Given {
	r := answerReader{values: c.values, language: c.values.Get(ctrlLanguage), used: map[string]bool{}, zone: c.h.config.Location}
	return r.read(c.form)
}

// path asks the service which blocks are to be shown. Without an answer of the service
// there is no page: the caller shows that it is out of order.
func (c *call) path(given Given) (Path, error) {
	answers := maps.Clone(given.Answers)
	c.fileAnswers(c.form.Blocks, answers)
	return c.h.path(c.r.Context(), c.form, answers, given.Hidden)
}

// path asks the service without the answers to hidden blocks, which it would take for the
// host's: a respondent may not give them.
func (h *Handler) path(ctx context.Context, form PublicForm, answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	answers = maps.Clone(answers)
	dropHidden(form.Blocks, answers, false)
	return h.service.Path(ctx, form.ID, answers, hidden)
}

func dropHidden(blocks []schema.Block, answers map[string]json.RawMessage, hide bool) {
	for i := range blocks {
		b := &blocks[i]
		hidden := hide || properties(b).Hide
		if hidden {
			delete(answers, b.ID)
		}
		dropHidden(b.Children, answers, hidden)
	}
}

// post takes a page that was sent. Whatever happens, what was typed is shown again or
// stored.
func (c *call) post() {
	h, w, r, form := c.h, c.w, c.r, c.form
	values, complete, err := c.read()
	if err != nil {
		h.logger.InfoContext(r.Context(), "a page was not read", "error", err)
		c.showMessage(http.StatusBadRequest, c.words.get("broken.title"), c.words.get("unreadable.text"))
		return
	}
	c.values = values
	if lang := values.Get(ctrlLanguage); lang != "" {
		c.words = h.words.byTag(lang, c.words)
	}
	removed := c.dropRemoved()
	given := c.given()
	path, err := c.path(given)
	if err != nil {
		c.failed(err, Path{}, 0)
		return
	}
	steps := stepsOf(&c.form, path)
	at := stepAt(&c.form, steps, values.Get(ctrlAt))

	var known bool
	if c.visit, known = h.signer.openVisit(form, values.Get(ctrlState), c.now); !known {
		// The page was made by another process, or long ago. A new page is as good.
		c.visit = newVisit(form, c.now)
		h.warnSecret()
	}
	if !form.Closed {
		c.count()
	}

	switch action := values.Get(ctrlGo); {
	case !complete:
		c.notice = c.words.get("too_large")
		c.showPath(http.StatusRequestEntityTooLarge, path, at, nil)
	case !h.allowed(r):
		c.notice = c.words.get("too_many_requests")
		w.Header().Set("Retry-After", "60")
		c.showPath(http.StatusTooManyRequests, path, at, nil)
	case action == goBack:
		c.showPath(http.StatusOK, path, max(0, at-1), nil)
	case len(c.refused) > 0:
		c.showPath(http.StatusUnprocessableEntity, path, at, c.refused)
	case action == goStay || action == goUpload || removed && action == "":
		c.showPath(http.StatusOK, path, at, nil)
	default:
		c.forward(given, path, steps, at, known)
	}
}

// forward goes on to the next page, or submits after the last one.
func (c *call) forward(given Given, path Path, steps []step, at int, known bool) {
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
	if at+1 < len(steps) {
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
	default:
		c.submit(given, path, at)
		return
	}
	c.showPath(http.StatusUnprocessableEntity, path, at, nil)
}

// submit stores the response.
func (c *call) submit(given Given, path Path, at int) {
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
	if err != nil {
		c.failed(err, path, at)
		return
	}
	_, err = c.h.service.Submit(c.r.Context(), response)
	var faults *schema.Error
	switch {
	case err == nil:
		c.finished(path)
	case errors.As(err, &faults):
		c.showPath(http.StatusUnprocessableEntity, path, firstStep(steps, faults.Violations, at), faults.Violations)
	case errors.Is(err, storage.ErrDuplicate):
		field := c.form.Settings.DuplicateField
		fault := schema.Violation{Field: field, Code: codeKnown}
		c.showPath(http.StatusConflict, path, firstStep(steps, []schema.Violation{fault}, at), []schema.Violation{fault})
	case errors.Is(err, core.ErrClosed), errors.Is(err, storage.ErrNotFound):
		c.form.Closed = true
		c.h.closed(c.w, c.r, c.form)
	default:
		c.failed(err, path, at)
	}
}

// scriptHeader marks a page that the page's script sent.
const scriptHeader = "Formpage-Script"

// finished leads to the ending, or where the form says. Going elsewhere after a POST
// means that a reload sends nothing again.
func (c *call) finished(path Path) {
	target := c.form.Settings.RedirectURL
	if u, err := url.Parse(target); target == "" || err != nil || u.Scheme != "http" && u.Scheme != "https" {
		// No browser follows a redirect to mailto: or tel:, the ending has a link.
		query := url.Values{}
		if path.Ending != "" {
			query.Set("ending", path.Ending)
		}
		if c.values.Has(ctrlEmbed) {
			query.Set(ctrlEmbed, "1")
		}
		query.Set(ctrlLanguage, c.words.tag)
		target = c.up() + c.form.PublicID + "/done?" + query.Encode()
	}
	c.leadTo(target)
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
func (c *call) failed(err error, path Path, at int) {
	c.h.logger.ErrorContext(c.r.Context(), "a page was not taken", "form", c.form.ID, "error", err)
	c.notice = c.words.get("not_stored")
	c.w.Header().Set("Retry-After", "1")
	if len(path.Blocks) == 0 { // the rules could not be run: all that can be answered is shown
		for _, b := range c.form.Blocks {
			if !properties(&b).Hide {
				path.Blocks = append(path.Blocks, PathBlock{ID: b.ID, Required: b.Required})
			}
		}
		at = stepAt(&c.form, stepsOf(&c.form, path), c.values.Get(ctrlAt))
	}
	if c.visit.Key == "" {
		c.visit = newVisit(c.form, c.now)
	}
	c.showPath(http.StatusServiceUnavailable, path, at, nil)
}

// stepFaults are what is wrong with the answers of one page.
func (c *call) stepFaults(given Given, path Path, s step) []schema.Violation {
	var faults []schema.Violation
	on := ids(s.blocks)
	for _, v := range path.Faults {
		if slices.Contains(on, v.Field) {
			faults = append(faults, v)
		}
	}
	answers := maps.Clone(given.Answers)
	c.fileAnswers(s.blocks, answers)
	return append(faults, missing(s.blocks, answers)...)
}

// missing are the required blocks without an answer. The host's are its own affair.
func missing(blocks []schema.Block, answers map[string]json.RawMessage) []schema.Violation {
	var faults []schema.Violation
	for i := range blocks {
		b := &blocks[i]
		if properties(b).Hide {
			continue
		}
		faults = append(faults, missing(b.Children, answers)...)
		if !b.Required || !takesAnswer(b.Type) || b.Type == schema.TypePayment {
			continue
		}
		var text string
		raw, there := answers[b.ID]
		blank := !there || json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) == ""
		refused := b.Type == schema.TypeLegal && text == "false"
		if blank || refused {
			faults = append(faults, schema.Violation{Field: b.ID, Code: schema.CodeRequired})
		}
	}
	return faults
}

// firstStep is the first page with one of the faults, or the one that was sent.
func firstStep(steps []step, faults []schema.Violation, at int) int {
	first := -1
	for _, v := range faults {
		if s := stepOf(steps, v.Field); s >= 0 && (first < 0 || s < first) {
			first = s
		}
	}
	if first < 0 {
		return at
	}
	return first
}

// unseen reports whether a page has blocks to answer that the page that was sent had
// not. A page that was not made here says nothing of what it showed.
func (c *call) unseen(s step) bool {
	seen, ok := c.values[ctrlSeen]
	if !ok {
		return false
	}
	for _, id := range ids(s.blocks) {
		if !slices.Contains(seen, id) {
			return true
		}
	}
	return false
}

// count records the view and the start of a page that a browser without JavaScript
// sent: who posts has seen and started. A preview is never counted: its pages say that
// they were, so that the script sends nothing either.
func (c *call) count() {
	if c.preview != nil {
		c.values.Set(ctrlViewed, "1")
		c.values.Set(ctrlStarted, "1")
		return
	}
	for name, record := range map[string]func() error{
		ctrlViewed:  func() error { return c.h.service.RecordView(c.r.Context(), c.form.ID) },
		ctrlStarted: func() error { return c.h.service.RecordStart(c.r.Context(), c.form.ID) },
	} {
		if c.values.Get(name) != "" {
			continue
		}
		if err := record(); err != nil {
			c.h.logger.WarnContext(c.r.Context(), "a visit was not counted", "form", c.form.ID, "error", err)
		}
		c.values.Set(name, "1")
	}
}

// response is what is submitted.
func (c *call) response(given Given) (Response, error) {
	r := Response{
		FormID: c.form.ID, Answers: given.Answers, Hidden: given.Hidden, IdempotencyKey: c.visit.Key,
		Metadata: Metadata{UserAgent: c.r.UserAgent(), Device: "desktop", UTM: map[string]string{}},
	}
	if strings.Contains(c.r.UserAgent(), "Mobi") {
		r.Metadata.Device = "mobile"
	}
	if c.h.config.Country != nil {
		r.Metadata.Country = c.h.config.Country(c.r)
	}
	r.CompletionTime = max(0, c.now.Sub(time.UnixMilli(c.visit.Opened)).Round(time.Second/10).Seconds())
	if took, err := strconv.ParseFloat(c.values.Get(ctrlTook), 64); err == nil && took > 0 && took < r.CompletionTime {
		r.CompletionTime = took
	}
	if utm := c.form.Settings.UTM; utm != nil { // the form says which ones it records
		for name, wanted := range map[string]bool{
			"campaign": utm.Campaign, "content": utm.Content, "medium": utm.Medium, "source": utm.Source, "term": utm.Term,
		} {
			if text := c.values.Get(nameUTM + name); wanted && text != "" {
				r.Metadata.UTM[name] = text
			}
		}
	}
	r.HostAnswers = map[string]json.RawMessage{}
	c.fileAnswers(c.form.Blocks, r.HostAnswers)
	if c.h.config.HostAnswers != nil {
		answers, err := c.h.config.HostAnswers(c.r, c.form)
		if err != nil {
			return r, err
		}
		maps.Copy(r.HostAnswers, answers)
	}
	return r, nil
}

// read reads the inputs that were posted. A body that is too large is read as far as is
// allowed: complete is false then.
func (c *call) read() (values url.Values, complete bool, err error) {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return nil, false, err
	}
	if kind == "multipart/form-data" && c.files() != nil {
		return c.readParts()
	}
	if kind != "application/x-www-form-urlencoded" {
		return nil, false, errors.New("unexpected content type " + kind)
	}
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, c.h.config.MaxBody+1))
	if err != nil {
		return nil, false, err
	}
	complete = int64(len(raw)) <= c.h.config.MaxBody
	if !complete {
		raw = raw[:c.h.config.MaxBody]
		if i := bytes.LastIndexByte(raw, '%'); i > len(raw)-3 {
			raw = raw[:i] // an escape that was cut
		}
		drain(c.r.Body)
	}
	values, err = url.ParseQuery(string(raw))
	if err != nil && len(values) == 0 {
		return nil, false, err
	}
	for name, list := range values {
		for i := range list {
			list[i] = strings.ToValidUTF8(list[i], "\ufffd")
		}
		values[name] = list
	}
	return values, complete, nil
}

// drain reads what is left of a body within bounds, so that a client that writes
// everything before it reads sees the answer and not a reset.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 8<<20) }
