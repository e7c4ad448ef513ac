package formpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const editDir = "edit/"

// EditPath returns the path of a page that lets the respondent change a stored submission until the given time. The
// path starts with Config.BasePath, as that of [Handler.PreviewPath] does. The page accepts only the query parameters
// lang and embed.
//
// Anyone who has the link can see and change the answers until then, whatever the form's settings say: also if the form
// is closed, unpublished, or without settings.editable. The submission's history says that the respondent made the
// change. A link ends early if the submission is deleted, the form is moved to the trash or the Secret changes. The
// caller must check who receives the link. For signed-in respondents, use settings.editable: only the respondent of the
// submission can use the links that it offers. Because the path contains the token, it also appears in the logs of
// servers and proxies.
//
// EditPath returns [ErrNoSecret] if Config.Secret is nil, and another error if until is not in the future.
func (h *Handler) EditPath(form, id storage.ID, until time.Time) (string, error) {
	return h.editPath(editLink{Form: form.String(), Submission: id.String()}, until)
}

// EditPathFor is like [Handler.EditPath], but for one of the host's users, whom the submission's history then names.
// Each request has the permissions that the user has at that moment. Only this user should receive the link.
func (h *Handler) EditPathFor(user, form, id storage.ID, until time.Time) (string, error) {
	return h.editPath(editLink{Form: form.String(), Submission: id.String(), User: user.String()}, until)
}

func (h *Handler) editPath(link editLink, until time.Time) (string, error) {
	var err error
	if link.Until, err = h.linkEnd(until); err != nil {
		return "", err
	}
	return h.base + "/" + static.Dir + "/" + h.editToken(link), nil
}

func (h *Handler) editToken(link editLink) string {
	return editDir + h.signer.Sign(pagestate.PurposeEdit, link)
}

type editLink struct {
	Form       string `json:"f"`
	Submission string `json:"s"`
	Until      int64  `json:"u"`           // when the link expires, in Unix milliseconds
	User       string `json:"b,omitempty"` // the user who makes the change; if empty, the respondent does
	Respondent bool   `json:"w,omitempty"` // whether only the signed-in respondent of the submission may use it
}

// edit is the stored submission that a page changes.
type edit struct {
	editLink
	client  formsvc.Client
	stored  formsvc.Submission
	answers []schema.Answer          // all stored answers
	input   formsvc.SubmissionChange // the answers to blocks that the form still has
}

// load reads the submission and its form. It returns ErrNotFound if the link must not change it.
func (e *edit) load(ctx context.Context, svc *formsvc.Service) (form formsvc.PublicForm, err error) {
	e.client = svc.AsHost()
	if e.User != "" {
		user, _ := storage.ParseID(e.User) // all IDs are signed, so they are valid
		e.client = svc.As(user)
	}
	formID, _ := storage.ParseID(e.Form)
	id, _ := storage.ParseID(e.Submission)
	if form, e.stored, err = e.client.SubmissionForm(ctx, formID, id); err != nil {
		return form, err
	}
	if e.Respondent { // only published forms have a page for respondents
		if _, err := svc.PublicForm(ctx, form.PublicID); err != nil {
			return form, err
		}
	}
	if e.answers, err = formsvc.DecodeAnswers(e.stored); err == nil {
		e.input, err = form.StoredAnswers(e.stored)
	}
	return form, err
}

func (h *Handler) serveEdit(w http.ResponseWriter, r *http.Request, rest string) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	token, rest, _ := strings.Cut(rest, "/")
	methods := map[string]string{"": pageMethods, "done": readMethods}[rest]
	e := &edit{}
	switch {
	case methods == "" || !h.hasSecret() || !h.signer.OpenToken(pagestate.PurposeEdit, token, &e.editLink):
		h.showReadError(w, r, false, storage.ErrNotFound)
		return
	case h.handleMethod(w, r, methods, false):
		return
	}
	r = r.WithContext(timeout.WithBudget(r.Context()))
	form, err := e.load(r.Context(), h.service)
	c := h.newCall(w, r, form)
	c.edit, c.link, c.Edit = e, editDir+token, &render.Edit{}
	until := time.UnixMilli(e.Until)
	if rest == "done" {
		until = until.Add(time.Hour) // a change was stored just before the end
	}
	switch {
	case !c.now.Before(until):
		c.refuseEdit("edit.expired")
		return
	case errors.Is(err, storage.ErrNotFound):
		c.refuseEdit("edit.gone")
		return
	case err != nil && (r.Method != http.MethodPost || !h.tryServeUnavailable(w, r, "", err)):
		h.showReadError(w, r, false, err)
		return
	case err != nil:
		return
	}
	parts := h.host // respondents change neither files nor payments, and need not prove that they are human
	parts.Files, parts.Payments, parts.Captcha = false, false, func(string) *host.Widget { return nil }
	c.Host, c.Form.Closed = &parts, false
	c.describeEdit()
	if rest == "done" {
		c.showSavedEdit()
		return
	}
	c.servePage()
}

// describeEdit sets what the page says about the stored submission.
func (c *call) describeEdit() {
	at := c.edit.stored.SubmittedAt.In(c.h.config.Location)
	c.Edit.Text = c.Words.Get("edit.since", "date", c.Words.FormatDate(at.Format(time.DateOnly)))
	c.Fixed = map[string]string{}
	for _, a := range c.edit.answers {
		_, theirs := c.edit.input.Answers[a.ID]
		_, hosts := c.edit.input.HostAnswers[a.ID]
		switch {
		case hosts:
			c.Fixed[a.ID] = c.answerText(a)
		case !theirs && a.Type != schema.TypeHidden && a.Type != schema.TypeVariable:
			c.Edit.Kept = append(c.Edit.Kept, formdata.UnmatchedInput{Block: cmp.Or(a.Label, a.ID), Text: c.answerText(a)})
		}
	}
}

// respondentMayEdit reports whether the signed-in respondent may change a submission. The response limit does not
// matter.
func (c *call) respondentMayEdit(s *formsvc.Submission) bool {
	on := &c.Form.Settings
	open := !on.Closed && (on.OpenAt == nil || !c.now.Before(*on.OpenAt)) && (on.CloseAt == nil || c.now.Before(*on.CloseAt))
	return on.Editable && open && c.respondent != "" && c.respondent == s.Respondent
}

func (c *call) mayEdit() bool { return !c.edit.Respondent || c.respondentMayEdit(&c.edit.stored) }

// rejectEditor responds to a request whose respondent must sign in or may not change the submission.
func (c *call) rejectEditor() (responded bool) {
	c.identify()
	switch {
	case c.identityErr != nil:
		c.showUnavailable(c.identityErr)
	case c.mustSignIn():
		c.showSignIn()
	case !c.mayEdit():
		c.refuseEdit("edit.gone")
	default:
		return false
	}
	return true
}

// openEdit shows the form with the stored answers.
func (c *call) openEdit() {
	if !c.rejectEditor() {
		if c.parseQuery().Has(input.Embed) {
			c.Values.Set(input.Embed, "1")
		}
		c.resumePartial(c.edit.asPartial(c.respondent))
	}
}

// setKnown records the stored answers and their revision. Answers that do not fit the inputs always count as changed.
func (c *call) setKnown(revision int64, answers map[string]json.RawMessage, lost []formdata.UnmatchedInput) {
	c.partial.SetKnown(revision, answers)
	for _, u := range lost {
		if c.edit != nil {
			c.partial.Digests[u.Block] = "unfit"
		}
	}
}

// asPartial returns the stored answers as a partial submission.
func (e *edit) asPartial(respondent string) *formsvc.PartialSubmission {
	return &formsvc.PartialSubmission{Answers: e.input.Answers, Revision: e.stored.Revision, Respondent: respondent}
}

// noteUnfit lists the stored answers that do not fit the form. Saving replaces them by the page's answers.
func (c *call) noteUnfit(lost []formdata.UnmatchedInput) {
	for _, u := range lost {
		c.Notice = c.Words.Get("edit.unfit")
		c.addStored(u.Block)
	}
}

// addStored lists the stored answer to a block above the form.
func (c *call) addStored(block string) {
	text := "–"
	if at := slices.IndexFunc(c.edit.answers, func(a schema.Answer) bool { return a.ID == block }); at >= 0 {
		text = c.answerText(c.edit.answers[at])
	}
	c.Lost = append(c.Lost, c.replaceIDsWithLabels([]formdata.UnmatchedInput{{Block: block, Text: text}})...)
}

// answerText returns a stored answer as text for the respondent.
func (c *call) answerText(a schema.Answer) string {
	return cmp.Or(c.formatAnswer(a, -1), a.String())
}

// acceptedText reports whether the stored answer to a legal block is to its current text.
func (e *edit) acceptedText(b *schema.Block) bool {
	text := schema.ParseText(formblock.Properties(b).LegalText, schema.Formatting).PlainWithLinks()
	return slices.ContainsFunc(e.answers, func(a schema.Answer) bool { return a.ID == b.ID && a.LegalText == text })
}

// adjustAnswers replaces what a page cannot change: the hidden fields, and the UTC offset of a time, which the browser
// sets to its own. It also marks the answers to legal texts that have changed.
func (c *call) adjustAnswers() {
	c.parsed.Hidden = c.edit.input.Hidden
	const clock = len(`"2006-01-02T15:04:05`)
	for id, stored := range c.edit.input.Answers {
		mine, b := c.parsed.Answers[id], c.Index.Find(id)
		if b != nil && b.Type == schema.TypeDate && len(mine) > clock && len(stored) > clock && bytes.Equal(mine[:clock], stored[:clock]) {
			c.parsed.Answers[id] = stored
		}
	}
	for b := range c.legalBlocks() { // the same answer to another text is a change
		if _, known := c.partial.Digests[b.ID]; known && !c.edit.acceptedText(b) {
			c.partial.Digests[b.ID] = "unfit"
		}
	}
}

// changedAnswers returns the answers that differ from the stored answers that the page knows. A removed answer is null.
func (c *call) changedAnswers() map[string]json.RawMessage {
	changed := maps.Clone(c.parsed.Answers)
	for id := range c.partial.Digests {
		if _, there := changed[id]; !there && c.Index.Find(id) != nil {
			changed[id] = nil
		}
	}
	removeHostAnswers(c.Form.Blocks, changed)
	maps.DeleteFunc(changed, func(id string, answer json.RawMessage) bool { return !c.partial.Changed(id, answer) })
	for id, answer := range changed {
		if answer == nil {
			changed[id] = json.RawMessage("null")
		}
	}
	return changed
}

// mergeEdit takes over changes that others have stored since the page was opened. It reports whether the respondent
// must check the result, because the page has changes too. If both changed an answer, the page lists the stored answer.
func (c *call) mergeEdit() bool {
	known := c.partial
	if _, err := c.mergeSaved(); err != nil || c.partial.Revision == known.Revision {
		return false
	}
	changed := c.changedAnswers()
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if known.Digests[id] != c.partial.Digests[id] {
			c.addStored(id)
		}
	}
	return len(changed) > 0
}

func (c *call) showMergedEdit() {
	c.Edit.Reload = c.ownURL(c.link)
	c.Notice = c.Words.Get("edit.merged")
	c.showStep(http.StatusConflict, c.At, nil)
}

// saveEdit stores the changes, if there are any.
func (c *call) saveEdit() error {
	change := formsvc.SubmissionChange{Answers: c.changedAnswers(), LegalTexts: map[string]string{}, ByRespondent: c.edit.User == ""}
	if len(change.Answers) == 0 {
		return nil
	}
	for id := range change.Answers {
		if text, ok := c.legalTexts[id]; ok {
			change.LegalTexts[id] = text
		}
	}
	_, err := c.edit.client.UpdateSubmission(c.r.Context(), c.Form.ID, c.edit.stored.ID, change, formsvc.IfRevision(c.partial.Revision))
	return err
}

// retryEdit responds if another change was stored at the same time.
func (c *call) retryEdit() {
	_, err := c.edit.load(c.r.Context(), c.h.service)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		c.refuseEdit("edit.gone")
	case err != nil:
		c.showFailure(err)
	case c.mergeEdit():
		c.showMergedEdit()
	default: // the other request has stored the same changes
		c.showSubmitted()
	}
}

// showSavedEdit shows the form's ending after a change.
func (c *call) showSavedEdit() {
	if c.rejectEditor() {
		return
	}
	c.shown, c.EditURL = c.edit.stored.ID, c.ownURL(c.link)
	ending := c.visibleEnding(c.edit.stored.Ending)
	if saved := c.Words.Get("edit.saved"); strings.TrimSpace(ending.Label+ending.Description) == "" {
		ending.Label = saved
	} else {
		c.Notice = saved
	}
	c.showEnding(ending, c.redirectURL(), false)
}

// refuseEdit says that the submission can no longer be changed, and shows the input for copying.
func (c *call) refuseEdit(word string) {
	if c.r.Method == http.MethodPost && len(c.Values) == 0 {
		if values, _, err := c.readForm(c.h.config.MaxBody); err == nil {
			c.setValues(values)
			c.useLanguage(values.Get(input.Language))
		}
	}
	if c.Form.PublicID == "" {
		id, _ := storage.ParseID(c.edit.Form)
		c.useCachedBlocks(id)
	}
	c.showForCopying(http.StatusGone, word+"_title", c.Words.Get(word), nil)
}

// ownEditURL returns the URL of a page that lets the signed-in respondent change a submission, or "" if they may not.
func (c *call) ownEditURL(s *formsvc.Submission) template.URL {
	if !c.respondentMayEdit(s) || !c.h.hasSecret() {
		return ""
	}
	until := c.now.Add(pagestate.MaxAge).UnixMilli()
	return c.ownURL(c.h.editToken(editLink{Form: c.Form.ID.String(), Submission: s.ID.String(), Until: until, Respondent: true}))
}

// offerEdit shows a link to change a submission that was read, if the respondent may change it.
func (c *call) offerEdit(s *formsvc.Submission, err error) {
	if err == nil {
		c.EditURL = c.ownEditURL(s)
	}
}

// ownURL returns the URL of a page below the handler's own directory, in the language of this page.
func (c *call) ownURL(page string) template.URL {
	query := url.Values{input.Language: {c.Words.Tag}}
	if c.preparePage().Embedded {
		query.Set(input.Embed, "1")
	}
	return template.URL(c.Up + static.Dir + "/" + page + "?" + query.Encode()) //nolint:gosec // encoded
}
