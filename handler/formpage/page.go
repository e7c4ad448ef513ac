package formpage

import (
	"errors"
	"net/http"
	"slices"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// page serves the form itself.
func (c *call) page() {
	switch {
	case c.h.foreign(c.r, false):
		c.refuseForeign()
	case c.r.Method == http.MethodPost:
		c.post()
	case c.Form.Closed:
		c.closed()
	default:
		c.open()
	}
}

// open shows the first page.
func (c *call) open() {
	c.visit = visit.New(c.Form.ID.String(), c.now)
	c.bring(read.Prefilled(c.Form.Blocks, c.query(), c.Words))
	if c.Preview != nil {
		c.countSent()
	}
	c.readAnswers()
	if err := c.findPath(); err != nil {
		c.failed(err)
		return
	}
	c.showStep(http.StatusOK, 0, nil)
}

// post takes a page that was sent. Whatever happens, the typed text is shown again or
// stored.
func (c *call) post() {
	h, r := c.h, c.r
	values, complete, err := c.read(h.config.MaxBody)
	if err != nil {
		h.config.Logger.InfoContext(r.Context(), "failed to read form submission", "error", err)
		c.showMessage(http.StatusBadRequest, c.Words.Get("failure.title"), c.Words.Get("unreadable.text"))
		return
	}
	c.bring(values)
	c.goOnIn(values.Get(input.Language))
	action := values.Get(input.Go)
	if name := values.Get(input.Clear); input.IsAnswer(name) {
		values.Del(name)
		values.Del(input.Other + input.Block(name))
		action = input.GoStay
	}
	if c.saves() && values.Has(input.Link) {
		c.byLink(action == input.GoForget)
		return
	}
	c.openVisit()
	takenBack := c.openFiles()
	c.readAnswers()
	c.given.Unmatched = append(c.given.Unmatched, c.Files.Unmatched(c.takesFiles)...)
	if err := c.findPath(); err != nil {
		c.failed(err)
		return
	}
	c.countSent()

	switch {
	case c.saves() && action == input.GoForget:
		c.forget()
	case !complete:
		c.Notice = c.Words.Get("too_large")
		c.showStep(http.StatusRequestEntityTooLarge, c.At, nil)
	case c.limited: // its files were not stored
		c.failed(errLimited, c.refused...)
	case len(c.refused) > 0:
		status := http.StatusUnprocessableEntity
		if slices.ContainsFunc(c.refused, func(v schema.Violation) bool { return v.Code == upload.CodeSize || v.Code == upload.CodeTotal }) {
			status = http.StatusRequestEntityTooLarge
		}
		c.showFirst(status, c.refused)
	case action == input.GoBack:
		c.goTo(max(0, c.At-1))
	case action == input.GoStay || action == input.GoUpload || takenBack && action == "":
		c.showStep(http.StatusOK, c.At, nil)
	case c.saves() && (action == input.GoSave || action == input.GoLater):
		c.saveNow(action == input.GoLater)
	default:
		c.forward()
	}
}

// goOnIn chooses the language of the page that was sent, where the host chooses none.
func (c *call) goOnIn(tag string) {
	if tag != "" && (c.h.config.Language == nil || c.h.config.Language(c.r, *c.Form) == "") {
		c.Words = c.h.words.ByTag(tag, c.Words)
	}
}

// forward goes on to the next page, or submits after the last one.
func (c *call) forward() {
	on := c.Steps[c.At].Blocks
	// The answers of this page may have added blocks to it. The respondent has not seen them yet, so
	// their violations are not reported.
	unseen := walk.Unseen(on, c.Values[input.Seen])
	isUnseen := func(v schema.Violation) bool { return unseen[v.Field] }
	faults := c.stepFaults(on)
	unsolved, err := c.captcha(on)
	if err != nil {
		c.failed(err)
		return
	}
	if len(unseen) > 0 {
		c.Notice = c.Words.Get("more_questions")
	}
	if faults = slices.DeleteFunc(append(faults, unsolved...), isUnseen); len(faults) > 0 {
		c.showStep(http.StatusUnprocessableEntity, c.At, faults)
		return
	}
	switch last := c.At+1 == len(c.Steps); {
	case len(unseen) > 0:
		c.showStep(http.StatusOK, c.At, nil)
	case walk.Asks(on, c.Readings, c.Values[input.Shown]):
		c.again(http.StatusUnprocessableEntity, "read.check")
	case !last && c.Form.Closed: // nobody fills in the rest in vain
		c.closed()
	case !last:
		c.goTo(c.At + 1)
	case !c.known:
		c.again(http.StatusUnprocessableEntity, "send_again")
	case c.Preview != nil: // what holds programs up would only be in the author's way
		c.submit()
	case c.Values.Get(input.Trap) != "":
		c.Values.Del(input.Trap)
		c.again(http.StatusUnprocessableEntity, "send_again")
	case c.visit.Age(c.now) < c.h.config.MinFillTime:
		c.again(http.StatusUnprocessableEntity, "too_fast")
	case len(c.given.Unmatched) > 0 && c.Values.Get(input.Lost) == "":
		c.Lost = c.given.Unmatched
		c.Values.Set(input.Lost, "1")
		c.again(http.StatusConflict, "questions_removed")
	case c.behind():
		c.again(http.StatusConflict, "partial.merged")
	default:
		c.submit()
	}
}

// submit takes the last page.
func (c *call) submit() {
	err := c.send()
	faults := c.faultsOf(err)
	switch {
	case err == nil:
		c.finished()
	case isClosed(err):
		c.Form.Closed = true
		c.closed()
	case len(faults) == 0:
		c.failed(err)
	default:
		status := http.StatusUnprocessableEntity
		if errors.Is(err, formsvc.ErrIdempotencyKeyReused) || errors.Is(err, storage.ErrDuplicate) {
			status = http.StatusConflict
		}
		c.showFirst(status, faults)
	}
}

// gone answers a page that was sent to a form which is a draft or in the trash now. The
// answer shows the typed text, as that of a closed form does. It reports whether it did: the
// page has to be one that was made here for a visit. To everybody else there is no form.
func (h *Handler) gone(w http.ResponseWriter, r *http.Request, publicID string) bool {
	c := h.newCall(w, r, formsvc.PublicForm{Closed: true})
	values, _, err := c.read(h.config.MaxBody)
	var v visit.Visit
	if err != nil || !h.signer.Open(visit.PurposeVisit, values.Get(input.State), &v) {
		return false
	}
	id, _ := storage.ParseID(v.Form) // was signed here
	c.bring(values)
	c.Form.ID = id
	c.goOnIn(values.Get(input.Language))
	// The labels are the ones that respondents saw here last. What the form holds by now is not
	// public; where they are not remembered, blocks have their ids.
	if s, ok := h.sources.Get(id); ok && s.publicID == publicID {
		c.Form.Blocks, _ = schema.DecodeBlocks(s.definition.Blocks) // they were read before
		c.Index = formblock.Index{Blocks: c.Form.Blocks}
	}
	c.openFiles()
	c.closed()
	return true
}

// refuseForeign shows the typed text, to be copied: a proxy that changes the Host header
// makes all pages foreign. Nothing is stored, and the host is asked for no answers.
func (c *call) refuseForeign() {
	c.Form.Closed = true // no file is taken
	if values, _, err := c.read(c.h.config.MaxBody); err == nil {
		c.Values = values
	}
	c.handBack(http.StatusForbidden, "failure.title", c.Words.Get("cross_site.text"), nil)
}
