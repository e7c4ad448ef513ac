package formpage

import (
	"errors"
	"net/http"
	"slices"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func (c *call) servePage() {
	switch {
	case c.h.isCrossOrigin(c.r, false):
		c.rejectCrossOrigin()
	case c.r.Method == http.MethodPost:
		c.handlePost()
	case c.edit != nil:
		c.openEdit()
	case c.Form.Closed:
		c.showClosed()
	default:
		c.showFirstPage()
	}
}

func (c *call) showFirstPage() {
	c.setValues(formdata.Prefill(c.Form.Blocks, c.parseQuery(), c.Words))
	if c.openForRespondent() {
		return
	}
	c.visit = c.newVisit()
	if c.Preview != nil {
		c.recordPostedEvents()
	}
	c.parseAnswers()
	if err := c.computePath(); err != nil {
		c.showFailure(err)
		return
	}
	c.showStep(http.StatusOK, 0, nil)
}

// handlePost handles a submitted page. The response always contains the input, unless the input was stored.
func (c *call) handlePost() {
	h, r := c.h, c.r
	c.identify()
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
		values.Del(input.Other + input.BlockID(name))
		action = input.ActionStay
	}
	if c.savesPartials() && values.Has(input.Link) {
		c.handleLink(action == input.ActionDelete)
		return
	}
	c.loadVisit()
	takenBack := c.loadFiles()
	c.parseAnswers()
	c.parsed.Unmatched = append(c.parsed.Unmatched, c.Files.UnmatchedFiles(c.fileBlock)...)
	if err := c.computePath(); err != nil {
		c.showFailure(err)
		return
	}
	c.recordPostedEvents()
	if c.rejectOtherRespondent() {
		return
	}
	changed := c.changedTextsOnPath()

	switch {
	case c.savesPartials() && action == input.ActionDelete:
		c.deletePartial()
	case !complete:
		c.Notice = c.Words.Get("too_large")
		c.showStep(http.StatusRequestEntityTooLarge, c.At, nil)
	case c.limited: // the files were not stored
		c.showFailure(errLimited, c.rejectedFiles...)
	case len(c.rejectedFiles) > 0:
		status := http.StatusUnprocessableEntity
		if slices.ContainsFunc(c.rejectedFiles, func(v schema.Violation) bool { return v.Code == upload.CodeSize || v.Code == upload.CodeTotal }) {
			status = http.StatusRequestEntityTooLarge
		}
		c.showFirstViolation(status, c.rejectedFiles)
	case len(changed) > 0: // for every action, because another page might not show it
		c.showFirstViolation(http.StatusConflict, changed)
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

func (c *call) useLanguage(tag string) {
	if tag != "" && (c.h.config.Language == nil || c.h.config.Language(c.r, *c.Form) == "") {
		c.Words = c.h.words.ByTag(tag, c.Words)
	}
}

func (c *call) goForward() {
	if c.pageGone {
		c.leaveGonePage()
		return
	}
	on := c.Steps[c.At].Blocks
	// Do not report violations for blocks that appear only because of this page's answers.
	unseen := formstep.UnseenQuestions(on, c.Values[input.Seen])
	isUnseen := func(v schema.Violation) bool {
		b := c.Index.Find(v.Field)
		return unseen[v.Field] || b != nil && slices.ContainsFunc(formstep.QuestionIDs(b.Children), func(id string) bool { return unseen[id] })
	}
	if c.hasNewSearch(on) {
		c.showStep(http.StatusOK, c.At, nil)
		return
	}
	violations := c.stepViolations(on)
	if len(violations) == 0 && (c.At+1 < len(c.Steps) || c.Preview != nil) { // the service checks the last page when it stores the answers
		var err error
		if violations, err = c.hostViolations(on); err != nil {
			c.showFailure(err)
			return
		}
	}
	unsolved, err := c.checkCaptchas(on)
	if err != nil {
		c.showFailure(err)
		return
	}
	if len(unseen) > 0 {
		c.Notice = c.Words.Get("questions_added")
	}
	if violations = slices.DeleteFunc(append(violations, unsolved...), isUnseen); len(violations) > 0 {
		c.showStep(http.StatusUnprocessableEntity, c.At, violations)
		return
	}
	switch last := c.At+1 == len(c.Steps) || c.edit != nil && c.Values.Get(input.Action) == input.ActionSubmit; {
	case len(unseen) > 0:
		c.showStep(http.StatusOK, c.At, nil)
	case formstep.NeedsConfirmation(on, c.Interpretations, c.Values[input.InterpretationShown]):
		c.showStepAgain(http.StatusUnprocessableEntity, "interpreted.check")
	case !last && c.Form.Closed: // fail early, so that the respondent does not fill in the rest in vain
		c.showClosed()
	case !last:
		c.goToStep(c.At + 1)
	case !c.visitValid:
		c.showStepAgain(http.StatusUnprocessableEntity, "review_answers")
	case c.Preview != nil: // previews skip the bot checks
		c.submit()
	case c.edit == nil && c.Values.Get(input.Honeypot) != "":
		c.Values.Del(input.Honeypot)
		c.showStepAgain(http.StatusUnprocessableEntity, "review_answers")
	case c.edit == nil && c.visit.Age(c.now) < c.h.config.MinFillTime:
		c.showStepAgain(http.StatusUnprocessableEntity, "too_fast")
	case len(c.parsed.Unmatched) > 0 && c.Values.Get(input.LostShown) == "":
		c.leaveGonePage()
	case c.edit != nil && c.mergeEdit():
		c.showMergedEdit()
	case c.edit == nil && c.mergeBeforeSubmit():
		c.showStepAgain(http.StatusConflict, "partial.merged")
	default:
		c.submit()
	}
}

// leaveGonePage shows the page that follows a removed page, and lists the answers to the removed page for copying.
func (c *call) leaveGonePage() {
	if c.Lost = c.replaceIDsWithLabels(c.parsed.Unmatched); len(c.Lost) == 0 {
		c.goToStep(c.At)
		return
	}
	c.Values.Set(input.LostShown, "1")
	c.showStepAgain(http.StatusConflict, "questions_removed")
}

func (c *call) submit() {
	err := c.checkAndSubmit()
	violations := c.submitViolations(err)
	answered, isAnswered := errors.AsType[*formsvc.AnsweredError](err)
	switch {
	case err == nil:
		c.showSubmitted()
	case c.edit != nil && errors.Is(err, storage.ErrRevisionMismatch):
		c.retryEdit()
	case c.edit != nil && errors.Is(err, storage.ErrNotFound):
		c.refuseEdit("edit.gone")
	case isAnswered:
		c.showAnswered(answered.SubmittedAt)
	case isClosedError(err):
		c.Form.Closed = true
		c.showClosed()
	case len(violations) == 0:
		c.showFailure(err)
	default:
		status := http.StatusUnprocessableEntity
		if errors.Is(err, formsvc.ErrIdempotencyKeyReused) || errors.Is(err, storage.ErrDuplicate) {
			status = http.StatusConflict
		}
		c.showFirstViolation(status, violations)
	}
}

// tryServeUnavailable responds to a posted page if its form has become a draft or is in the trash. As for a closed
// form, it shows the input for copying. It reports whether it responded. Clients without a valid signature must not
// learn that the form exists. If reading the form failed, the page also has a button that submits the same input again.
func (h *Handler) tryServeUnavailable(w http.ResponseWriter, r *http.Request, publicID string, err error) bool {
	failed := !errors.Is(err, storage.ErrNotFound)
	if failed && h.isCrossOrigin(r, false) {
		return false
	}
	c := h.newCall(w, r, formsvc.PublicForm{Closed: true})
	values, _, err := c.readForm(h.config.MaxBody)
	var v pagestate.Visit
	if err != nil || !h.signer.OpenToken(pagestate.PurposeVisit, values.Get(input.State), &v) {
		return false
	}
	id, _ := storage.ParseID(v.Form) // the ID is signed, so it is valid
	c.setValues(values)
	c.useLanguage(values.Get(input.Language))
	if s, ok := h.forms.Get(id); ok && s.publicID == publicID {
		c.useCachedBlocks(id)
	}
	c.Form.ID = id
	if failed {
		h.logReadError(w, r, err)
		c.Again = values
		c.showForCopying(http.StatusServiceUnavailable, "failure.title", c.Words.Get("not_stored"), c.Files.FileNames(c.rejectedFiles))
		return true
	}
	c.loadFiles()
	c.showClosed()
	return true
}

// useCachedBlocks uses the last published labels, because the current form is not available. Without them, the page shows
// block IDs.
func (c *call) useCachedBlocks(form storage.ID) {
	if s, ok := c.h.forms.Get(form); ok {
		c.Form.Blocks, _ = schema.DecodeBlocks(s.definition.Blocks) // cannot fail, because they were decoded before
		c.Index = formblock.Index{Blocks: c.Form.Blocks}
	}
}

// rejectCrossOrigin shows the input for copying and stores nothing. The post may be legitimate, because all posts look
// cross-origin behind a proxy that changes the Host header. rejectCrossOrigin does not call HostAnswers.
func (c *call) rejectCrossOrigin() {
	c.Form.Closed = true // rejects files
	if values, _, err := c.readForm(c.h.config.MaxBody); err == nil {
		c.Values = values
	}
	c.showForCopying(http.StatusForbidden, "failure.title", c.Words.Get("cross_site.text"), nil)
}
