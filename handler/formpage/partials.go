package formpage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Partials selects whether pages save partial submissions. See [Config.Partials].
type Partials int

const (
	// Resume saves partial submissions so that respondents can continue later.
	Resume Partials = 1 + iota
	// ResumeAndShow also lets the form's users read partial submissions with [formsvc.Client.Partials], even if they
	// are never submitted. The page says so.
	ResumeAndShow
)

func (c *call) savesPartials() bool {
	return c.h.config.Partials != 0 && c.Preview == nil && c.edit == nil
}

func (c *call) saveOffer() *render.SaveOffer {
	half, status, access := c.partial, "partial.auto", "partial.private"
	if half.SharingShown = c.h.config.Partials == ResumeAndShow; half.SharingShown {
		access = "partial.shown"
	}
	if half.Disabled {
		status = "partial.off"
	} else if half.Saved() {
		status = "partial.saved"
	}
	return &render.SaveOffer{
		State: c.h.signer.Sign(pagestate.PurposePartial, half), Auto: !half.Disabled, Saved: half.Saved(), Days: intake.PartialDays, Access: c.ownWord(access),
		Status: cmp.Or(c.saveErrorKey, status), Link: c.resumeLink,
	}
}

// saveAndMerge saves the partial submission of a respondent who has reached a block. If another page has saved in the
// meantime, it merges that page's answers. taken reports whether any were merged. Creating and saving have separate
// budgets, so that respondents can always submit, even if many of them share an address. If a save is rejected, the
// next save includes its input.
func (c *call) saveAndMerge(block string) (taken bool, err error) {
	kind := "save:"
	if !c.partial.Saved() {
		kind = "half:"
	}
	if !c.h.takeLimiterToken(c.r, kind) {
		return false, errLimited
	}
	c.partial.Block = formstep.LaterBlock(c.Form, c.partial.Block, block)
	for range 3 {
		if err = c.saveOrReconcile(); !errors.Is(err, storage.ErrRevisionMismatch) {
			return taken, err
		}
		more, failed := c.mergeSaved()
		if taken = taken || more; failed != nil {
			return taken, failed
		}
	}
	return taken, err
}

func (c *call) saveOrReconcile() error {
	token, dropped, err := c.savePartial(c.visit.Key)
	if errors.Is(err, formsvc.ErrAlreadySubmitted) && !c.partial.Saved() {
		// The respondent went back after submitting, and may want to submit other answers.
		token, dropped, err = c.savePartial(c.visit.Key + " again")
	}
	if errors.Is(err, storage.ErrRevisionMismatch) && c.partial.Token == "" {
		c.partial.Token = token // an earlier page of this visit created it
	}
	if err == nil {
		kept := maps.Clone(c.parsed.Answers)
		maps.DeleteFunc(kept, func(id string, _ json.RawMessage) bool { return slices.Contains(dropped, id) })
		c.partial.Token = token
		c.partial.SetKnown(c.partial.Revision+1, kept)
	}
	return err
}

// savePartial saves the input. It creates at most one partial submission per visit.
func (c *call) savePartial(visitKey string) (token string, dropped []string, err error) {
	return c.h.service.SavePartial(c.r.Context(), formsvc.PartialSubmission{
		FormID: c.Form.ID, Token: c.partial.Token, Respondent: c.respondent, Answers: c.allAnswers(), Hidden: c.parsed.Hidden, Metadata: c.newMetadata(),
		Block: c.partial.Block, Seconds: c.elapsedSeconds(), Revision: c.partial.Revision,
		ShareWithOwner: c.partial.SharingShown && c.h.config.Partials == ResumeAndShow, // the setting may have changed after the page was sent
		Visit:          c.h.signer.Sign(pagestate.PurposePartial, visitKey), CaptchaSolved: c.solvedCaptcha(), LinkIssued: c.linkRequested,
	})
}

// solvedCaptcha reports whether the visit has solved a captcha. It also returns true if the form has captchas but no
// verifier for any of them.
func (c *call) solvedCaptcha() bool {
	shown, lacking := false, false
	for b, hidden := range formblock.Walk(c.Form.Blocks) {
		kind := formblock.Properties(b).CaptchaType
		switch {
		case hidden || b.Type != schema.TypeCaptcha || kind == "" || kind == "none":
		case c.Host.CaptchaWidget(b) == nil:
			lacking = true
		case c.proofs.Solved(b.ID):
			return true
		default:
			shown = true
		}
	}
	return lacking && !shown
}

func (c *call) readPartial() (formsvc.PartialSubmission, error) {
	if c.edit != nil {
		return *c.edit.asPartial(c.respondent), nil
	}
	if c.respondent != "" {
		return c.h.service.RespondentPartial(c.r.Context(), c.Form.ID, c.respondent)
	}
	return c.h.service.ResumePartial(c.r.Context(), c.Form.ID, c.partial.Token)
}

// ownWord returns the key of the variant of a text for a respondent's visit, which needs no link.
func (c *call) ownWord(word string) string {
	if c.visit.Respondent != "" {
		return word + ".own"
	}
	return word
}

// mergeSaved takes over answers that another page saved, except for answers that this page changed. It reports whether
// it took over any. It keeps answers that the other page lacks, because their blocks may be off the path only there. An
// edit loses answers that are no longer stored.
func (c *call) mergeSaved() (taken bool, err error) {
	theirs, err := c.readPartial()
	if err != nil || theirs.Revision == c.partial.Revision {
		return false, err
	}
	values, lost := formdata.FillInputs(c.Form.Blocks, theirs.Answers, c.inputOptions().Comma)
	c.confirmTexts(values, theirs.SavedAt)
	given, _ := formdata.ParseAnswers(c.Form.Blocks, values, c.inputOptions())
	for b := range c.legalBlocks() {
		if c.edit != nil && !c.edit.acceptedText(b) { // the page asks again
			delete(given.Answers, b.ID)
			if _, known := c.partial.Digests[b.ID]; known {
				lost = append(lost, formdata.UnmatchedInput{Block: b.ID})
			}
		}
	}
	stays := func(name string, _ []string) bool {
		id := input.BlockID(name)
		mine := c.parsed.Answers[id]
		return given.Answers[id] == nil && c.edit == nil || strings.HasPrefix(name, input.File) || c.partial.Changed(id, mine) || bytes.Equal(mine, given.Answers[id])
	}
	maps.DeleteFunc(values, stays)
	maps.DeleteFunc(c.Values, func(name string, list []string) bool { return !stays(name, list) })
	maps.Copy(c.Values, values)
	c.partial.Block = formstep.LaterBlock(c.Form, c.partial.Block, theirs.Block)
	c.setKnown(theirs.Revision, given.Answers, lost)
	if taken = len(values) > 0; taken || c.edit != nil {
		c.parseAnswers()
		err = c.computePath()
	}
	return taken, err
}

// saveBeforeStep saves before a step is shown. It reports whether it responded, because saving failed or merged
// answers.
func (c *call) saveBeforeStep(at int) (answered bool) {
	taken, err := c.saveAndMerge(c.Steps[at].ID)
	answered = c.handleSaveError(err)
	if !answered && taken {
		c.showStepAgain(http.StatusConflict, "partial.merged")
	}
	return answered || taken
}

// goToStep shows another step and saves the input, but creates no partial submission without answers or a valid state.
func (c *call) goToStep(at int) {
	save := c.savesPartials() && !c.Form.Closed && !c.partial.Disabled && (c.partial.Saved() || len(c.parsed.Answers) > 0 && c.visitValid)
	if !save || !c.saveBeforeStep(at) {
		c.showStep(http.StatusOK, at, nil)
	}
}

// mergeBeforeSubmit calls mergeSaved. It ignores errors, because Submit reports them. Submitting also completes a
// respondent's partial submission that this page does not know.
func (c *call) mergeBeforeSubmit() bool {
	if !c.partial.Saved() && (c.respondent == "" || !c.savesPartials()) {
		return false
	}
	taken, err := c.mergeSaved()
	return taken && err == nil
}

// handleSave saves and shows the same page, from which the script reads the result. If link is true, the page contains
// the link.
func (c *call) handleSave(link bool) {
	if link && c.partial.Disabled {
		c.partial = pagestate.PartialState{SharingShown: c.partial.SharingShown}
	}
	c.linkRequested = link
	if !c.partial.Disabled && !c.Form.Closed && (c.partial.Token != "" || c.visitValid) {
		// Saving does not require the captcha. The page carries proof that it was solved, because tokens are valid
		// once.
		if _, err := c.checkCaptchas(c.Steps[c.At].Blocks); err != nil && !errors.Is(err, errLimited) {
			c.h.config.Logger.WarnContext(c.r.Context(), "failed to check the captcha of a partial submission", "form", c.Form.ID, "error", err)
		}
	}
	switch {
	case c.Form.Closed:
		c.showClosed()
	case c.partial.Token == "" && !c.visitValid:
		c.showStepAgain(http.StatusUnprocessableEntity, "review_answers")
	case !c.partial.Disabled && c.saveBeforeStep(c.At): // saveBeforeStep has responded
	case link && c.saveErrorKey != "":
		c.showStepAgain(http.StatusUnprocessableEntity, c.saveErrorKey)
	case link && c.respondent != "":
		c.showStepAgain(http.StatusOK, "partial.link.own")
	case link:
		c.resumeLink = c.Up + c.Form.PublicID + "/later?" + url.Values{input.Language: {c.Words.Tag}}.Encode() + "#" + c.partial.Token
		c.showStepAgain(http.StatusOK, "partial.link")
	default:
		c.showStep(http.StatusOK, c.At, nil)
	}
}

func (c *call) deletePartial() {
	var err error
	switch {
	case c.respondent != "":
		err = c.h.service.DeleteRespondentPartial(c.r.Context(), c.Form.ID, c.respondent)
	case c.partial.Token != "":
		err = c.h.service.DeletePartial(c.r.Context(), c.Form.ID, c.partial.Token)
	}
	if err != nil {
		c.showFailure(err)
		return
	}
	c.partial = pagestate.PartialState{Disabled: true}
	c.showStepAgain(http.StatusOK, "partial.deleted")
}

// handleSaveError handles a failed save. It responds if the form was submitted or closed, and reports whether it did.
func (c *call) handleSaveError(err error) bool {
	var refused *schema.Error
	switch {
	case err == nil:
		return false
	case errors.Is(err, formsvc.ErrAlreadySubmitted) && !c.partial.Saved():
		// The respondent went back after submitting. The visit continues as a new submission.
		c.partial.Disabled = true
	case errors.Is(err, formsvc.ErrAlreadySubmitted) && c.hasUnsavedChanges():
		c.showForCopying(http.StatusConflict, "partial.submitted", "", nil)
		return true
	case errors.Is(err, formsvc.ErrAlreadySubmitted):
		c.showOnlyEnding()
		return true
	case errors.Is(err, formsvc.ErrClosed), !c.partial.Saved() && isClosedError(err):
		c.Form.Closed = true
		c.showClosed()
		return true
	case errors.Is(err, storage.ErrNotFound):
		// The partial submission has expired, or the respondent deleted it and does not want it to be created again.
		c.partial, c.saveErrorKey = pagestate.PartialState{Disabled: true}, "partial.expired"
	case errors.As(err, &refused) && slices.ContainsFunc(refused.Violations, func(v schema.Violation) bool { return v.Path == "" && v.Code == schema.CodeTooLong }):
		c.saveErrorKey = "partial.too_long"
	default:
		c.reportFailure("failed to save partial submission", err)
		c.w.Header().Del("Retry-After") // the page itself is complete
		c.saveErrorKey = "partial.failed"
	}
	return false
}

func (c *call) hasUnsavedChanges() bool {
	for id, answer := range c.parsed.Answers {
		if c.partial.Changed(id, answer) {
			return true
		}
	}
	return false
}

// showOnlyEnding shows the form's ending without redirecting, because another page, or even another person, submitted
// the form. If there are several endings, it shows the standard ending.
func (c *call) showOnlyEnding() {
	var ids []string
	for b, hidden := range formblock.Walk(c.Form.Blocks) {
		if b.Type == schema.TypeEnding && !hidden {
			ids = append(ids, b.ID)
		}
	}
	if c.Path.Ending = ""; len(ids) == 1 {
		c.Path.Ending = ids[0]
	}
	c.redirectToDone()
}

// showLinkPage shows the page that a link opens, without the saved data, because messaging programs open links too. The
// token is in the link's fragment, so no server receives or logs it. The page sends its URL as the referrer only to
// this host. With no referrer at all, browsers would send the Origin "null", which is rejected.
func (c *call) showLinkPage(status int, word string) {
	c.Notice = c.Words.Get(word)
	c.w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	c.handleRenderError(c.preparePage().SendResume(c.w, status))
}

func (c *call) handleLink(forget bool) {
	link := c.Values.Get(input.Link)
	token := strings.TrimSpace(link[strings.LastIndexByte(link, '#')+1:])
	var p formsvc.PartialSubmission
	err := errLimited
	switch {
	case c.identityErr != nil:
		err = c.identityErr
	case c.mustSignIn():
		c.showSignIn()
		return
	case !c.h.takeLimiterToken(c.r, "save:"):
	case forget:
		err = c.h.service.DeletePartial(c.r.Context(), c.Form.ID, token)
	default:
		p, err = c.h.service.ResumePartial(c.r.Context(), c.Form.ID, token)
	}
	switch {
	case err == nil && forget:
		c.showMessage(http.StatusOK, c.Words.Get("partial.deleted"), c.Words.Get("partial.none"))
	case err == nil:
		c.resumePartial(&p)
	case errors.Is(err, formsvc.ErrAlreadySubmitted):
		c.showOnlyEnding()
	case errors.Is(err, storage.ErrNotFound):
		c.showLinkPage(http.StatusNotFound, "partial.none")
	default:
		status, _, _ := c.reportFailure("failed to save partial submission", err)
		c.showLinkPage(status, "failure.text")
	}
}

// resumePartial shows a partial submission on the last page that the respondent reached. This starts a new visit, which
// has solved no captcha and is not counted again. If the form is closed, resume shows the input for copying.
func (c *call) resumePartial(p *formsvc.PartialSubmission) {
	values, lost := formdata.FillInputs(c.Form.Blocks, p.Answers, c.inputOptions().Comma)
	c.confirmTexts(values, p.SavedAt)
	for name, text := range p.Hidden {
		values.Set(input.Hidden+name, text)
	}
	for name, text := range p.Metadata.UTM {
		values.Set(input.UTM+name, text)
	}
	values.Set(input.Language, c.Words.Locale.String())
	values.Set(input.Viewed, "1")
	values.Set(input.Started, "1")
	if c.Values.Has(input.Embed) {
		values.Set(input.Embed, "1")
	}
	c.setValues(values)
	if c.Form.Closed {
		c.showClosed()
		return
	}
	c.visit, c.visitValid = c.newVisit(), true
	c.visit.PreviousSeconds = p.Seconds
	c.parseAnswers()
	c.partial = pagestate.PartialState{Block: p.Block}
	if p.Respondent == c.respondent { // otherwise, a respondent has opened a link, and saves separately
		c.partial.Token = p.Token
		c.setKnown(p.Revision, c.parsed.Answers, lost)
	}
	if err := c.computePath(); err != nil {
		c.showFailure(err)
		return
	}
	if c.edit == nil {
		c.Notice = c.Words.Get(c.ownWord("partial.resumed"))
	}
	if c.edit != nil {
		c.noteUnfit(lost)
	} else if len(lost) > 0 {
		c.Notice, c.Lost = c.Words.Get("questions_removed"), c.replaceIDsWithLabels(lost)
	}
	for b, hidden := range formblock.Walk(c.OnPath) {
		if !hidden && c.fileBlock(b.ID) != nil {
			c.Notice += " " + c.Words.Get("partial.files")
			break
		}
	}
	c.showStep(http.StatusOK, formstep.FindStep(c.Form, c.Steps, p.Block), c.changedTextsOnPath())
}
