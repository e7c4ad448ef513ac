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

// servePage serves the form itself.
func (c *call) servePage() {
	switch {
	case c.h.isCrossOrigin(c.r, false):
		c.rejectCrossOrigin()
	case c.r.Method == http.MethodPost:
		c.handlePost()
	case c.Form.Closed:
		c.showClosed()
	default:
		c.showFirstPage()
	}
}

// showFirstPage shows the first page.
func (c *call) showFirstPage() {
	c.visit = visit.New(c.Form.ID.String(), c.now)
	c.setValues(read.Prefill(c.Form.Blocks, c.query(), c.Words))
	if c.Preview != nil {
		c.recordPosted()
	}
	c.readAnswers()
	if err := c.findPath(); err != nil {
		c.showFailure(err)
		return
	}
	c.showStep(http.StatusOK, 0, nil)
}

// handlePost takes a page that was sent. Whatever happens, the typed text is shown again or
// stored.
func (c *call) handlePost() {
	h, r := c.h, c.r
	values, complete, err := c.readForm(h.config.MaxBody)
	if err != nil {
		h.config.Logger.InfoContext(r.Context(), "failed to read form submission", "error", err)
		c.showMessage(http.StatusBadRequest, c.Words.Get("failure.title"), c.Words.Get("unreadable.text"))
		return
	}
	c.setValues(values)
	c.useLanguage(values.Get(input.Language))
	action := values.Get(input.Action)
	if name := values.Get(input.Clear); input.IsAnswer(name) {
		values.Del(name)
		values.Del(input.Other + input.Block(name))
		action = input.ActionStay
	}
	if c.savesPartials() && values.Has(input.Link) {
		c.handleLink(action == input.ActionDelete)
		return
	}
	c.openVisit()
	takenBack := c.loadFiles()
	c.readAnswers()
	c.parsed.Unmatched = append(c.parsed.Unmatched, c.Files.Unmatched(c.fileBlock)...)
	if err := c.findPath(); err != nil {
		c.showFailure(err)
		return
	}
	c.recordPosted()

	switch {
	case c.savesPartials() && action == input.ActionDelete:
		c.deletePartial()
	case !complete:
		c.Notice = c.Words.Get("too_large")
		c.showStep(http.StatusRequestEntityTooLarge, c.At, nil)
	case c.limited: // its files were not stored
		c.showFailure(errLimited, c.rejectedFiles...)
	case len(c.rejectedFiles) > 0:
		status := http.StatusUnprocessableEntity
		if slices.ContainsFunc(c.rejectedFiles, func(v schema.Violation) bool { return v.Code == upload.CodeSize || v.Code == upload.CodeTotal }) {
			status = http.StatusRequestEntityTooLarge
		}
		c.showFirst(status, c.rejectedFiles)
	case action == input.ActionBack:
		c.goToStep(max(0, c.At-1))
	case action == input.ActionStay || action == input.ActionUpload || takenBack && action == "":
		c.showStep(http.StatusOK, c.At, nil)
	case c.savesPartials() && (action == input.ActionSave || action == input.ActionShowLink):
		c.handleSave(action == input.ActionShowLink)
	default:
		c.goForward()
	}
}

// useLanguage chooses the language of the page that was sent, where the host chooses none.
func (c *call) useLanguage(tag string) {
	if tag != "" && (c.h.config.Language == nil || c.h.config.Language(c.r, *c.Form) == "") {
		c.Words = c.h.words.ByTag(tag, c.Words)
	}
}

// goForward goes on to the next page, or submits after the last one.
func (c *call) goForward() {
	on := c.Steps[c.At].Blocks
	// The answers of this page may have added blocks to it. The respondent has not seen them yet, so
	// their violations are not reported.
	unseen := walk.Unseen(on, c.Values[input.Seen])
	isUnseen := func(v schema.Violation) bool { return unseen[v.Field] }
	faults := c.stepViolations(on)
	unsolved, err := c.checkCaptchas(on)
	if err != nil {
		c.showFailure(err)
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
	case walk.NeedsConfirmation(on, c.Readings, c.Values[input.ReadingShown]):
		c.showAgain(http.StatusUnprocessableEntity, "read.check")
	case !last && c.Form.Closed: // nobody fills in the rest in vain
		c.showClosed()
	case !last:
		c.goToStep(c.At + 1)
	case !c.visitValid:
		c.showAgain(http.StatusUnprocessableEntity, "send_again")
	case c.Preview != nil: // what holds programs up would only be in the author's way
		c.submit()
	case c.Values.Get(input.Honeypot) != "":
		c.Values.Del(input.Honeypot)
		c.showAgain(http.StatusUnprocessableEntity, "send_again")
	case c.visit.Age(c.now) < c.h.config.MinFillTime:
		c.showAgain(http.StatusUnprocessableEntity, "too_fast")
	case len(c.parsed.Unmatched) > 0 && c.Values.Get(input.LostShown) == "":
		c.Lost = c.parsed.Unmatched
		c.Values.Set(input.LostShown, "1")
		c.showAgain(http.StatusConflict, "questions_removed")
	case c.mergeBeforeSubmit():
		c.showAgain(http.StatusConflict, "partial.merged")
	default:
		c.submit()
	}
}

// submit takes the last page.
func (c *call) submit() {
	err := c.checkAndSubmit()
	faults := c.submitViolations(err)
	switch {
	case err == nil:
		c.showSubmitted()
	case isClosed(err):
		c.Form.Closed = true
		c.showClosed()
	case len(faults) == 0:
		c.showFailure(err)
	default:
		status := http.StatusUnprocessableEntity
		if errors.Is(err, formsvc.ErrIdempotencyKeyReused) || errors.Is(err, storage.ErrDuplicate) {
			status = http.StatusConflict
		}
		c.showFirst(status, faults)
	}
}

// serveUnavailable answers a page that was sent to a form which is a draft or in the trash now. The
// answer shows the typed text, as that of a closed form does. It reports whether it did: the
// page has to be one that was made here for a visit. To everybody else there is no form.
func (h *Handler) serveUnavailable(w http.ResponseWriter, r *http.Request, publicID string) bool {
	c := h.newCall(w, r, formsvc.PublicForm{Closed: true})
	values, _, err := c.readForm(h.config.MaxBody)
	var v visit.Visit
	if err != nil || !h.signer.Open(visit.PurposeVisit, values.Get(input.State), &v) {
		return false
	}
	id, _ := storage.ParseID(v.Form) // was signed here
	c.setValues(values)
	c.Form.ID = id
	c.useLanguage(values.Get(input.Language))
	// The labels are the ones that respondents saw here last. What the form holds by now is not
	// public; where they are not remembered, blocks have their ids.
	if s, ok := h.forms.Get(id); ok && s.publicID == publicID {
		c.Form.Blocks, _ = schema.DecodeBlocks(s.definition.Blocks) // they were read before
		c.Index = formblock.Index{Blocks: c.Form.Blocks}
	}
	c.loadFiles()
	c.showClosed()
	return true
}

// rejectCrossOrigin shows the typed text, to be copied: a proxy that changes the Host header
// makes all pages foreign. Nothing is stored, and the host is asked for no answers.
func (c *call) rejectCrossOrigin() {
	c.Form.Closed = true // no file is taken
	if values, _, err := c.readForm(c.h.config.MaxBody); err == nil {
		c.Values = values
	}
	c.showForCopying(http.StatusForbidden, "failure.title", c.Words.Get("cross_site.text"), nil)
}
