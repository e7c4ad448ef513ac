package formpage

import (
	"cmp"
	"crypto/rand"
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// identify asks the host who is answering, or sets identityErr. Previews, anonymous forms and the host's links have no
// respondent.
func (c *call) identify() {
	if c.h.config.Respondent == nil || c.Preview != nil || c.Form.Settings.Anonymous || c.edit != nil && !c.edit.Respondent {
		return
	}
	id, name, err := c.h.config.Respondent(c.r, *c.Form)
	if err = cmp.Or(err, core.CheckRespondent(id)); err != nil {
		c.identityErr = errors.New("Config.Respondent: " + err.Error()) // hides the error's type, because it could look like an error from Submit
		return
	}
	c.respondent, c.Respondent = id, cmp.Or(name, id)
	c.Reflected = c.Reflected || id != "" && c.r.URL.RawQuery != ""
}

// newVisit returns a visit that only this respondent can submit.
func (c *call) newVisit() pagestate.Visit {
	v := pagestate.NewVisit(c.Form.ID.String(), c.now)
	v.Respondent = pagestate.DigestRespondent(c.respondent)
	return v
}

func (c *call) isOwnVisit(v *pagestate.Visit) bool {
	return c.identityErr == nil && v.Respondent == pagestate.DigestRespondent(c.respondent)
}

func (c *call) mustSignIn() bool {
	s := &c.Form.Settings
	required := s.OnePerRespondent && c.Preview == nil
	if c.edit != nil {
		required = c.edit.Respondent
	}
	return required && !s.Anonymous && c.respondent == ""
}

// answeredAt returns when the respondent submitted the form, if it accepts one submission per respondent. Otherwise, it
// returns the zero time.
func (c *call) answeredAt() (time.Time, error) {
	if c.respondent == "" || !c.Form.Settings.OnePerRespondent {
		return time.Time{}, c.identityErr
	}
	s, err := c.h.service.RespondentSubmission(c.r.Context(), c.Form.ID, c.respondent)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return s.SubmittedAt, err
}

// openForRespondent responds instead of the first page if the respondent must sign in, has already submitted the form,
// or can continue a partial submission. It reports whether it responded.
func (c *call) openForRespondent() (responded bool) {
	c.identify()
	at, err := c.answeredAt()
	switch {
	case err != nil:
		c.showUnavailable(err)
	case c.mustSignIn():
		c.showSignIn()
	case !at.IsZero():
		c.showAnswered(at)
	default:
		return c.respondent != "" && c.savesPartials() && c.resumeOwnPartial()
	}
	return true
}

// resumeOwnPartial shows the respondent's open partial submission, if there is one. It reports whether it responded.
func (c *call) resumeOwnPartial() (responded bool) {
	p, err := c.h.service.RespondentPartial(c.r.Context(), c.Form.ID, c.respondent)
	switch {
	case err == nil:
		c.resumePartial(&p)
	case !errors.Is(err, storage.ErrNotFound):
		c.showUnavailable(err)
	default:
		return false
	}
	return true
}

// rejectOtherRespondent shows a posted page again if this respondent did not open it. Pages of other sites cannot post
// as the respondent, because they cannot read the state of the respondent's page. After the session has changed, no one
// submits as another person unknowingly. It reports whether it responded.
func (c *call) rejectOtherRespondent() (responded bool) {
	switch {
	case c.identityErr != nil:
		c.showFailure(c.identityErr)
	case c.mustSignIn():
		c.SignInURL, c.Notice = c.signInURL(), c.Words.Get("sign_in.again")
		c.showStep(http.StatusUnauthorized, c.At, nil)
	case c.edit != nil && !c.mayEdit():
		c.refuseEdit("edit.gone")
	case c.visitValid && c.isOwnVisit(&c.visit), !c.visitValid && c.respondent == "":
		return false
	default:
		c.Notice = c.otherRespondent()
		c.showFirstViolation(http.StatusConflict, c.rejectedFiles)
	}
	return true
}

// otherRespondent continues the visit with the respondent, and returns a text that asks for confirmation. The
// idempotency key changes, because it could belong to a submission of the other respondent.
func (c *call) otherRespondent() string {
	word := "respondent.changed"
	switch {
	case !c.visitValid:
		word = "review_answers"
	case c.respondent == "":
		word = "respondent.signed_out"
	}
	c.visit.Key, c.visit.Respondent = rand.Text(), pagestate.DigestRespondent(c.respondent)
	c.partial = pagestate.PartialState{}
	return c.Words.Get(word, "name", words.Isolate(c.Respondent))
}

func (c *call) signInURL() template.URL {
	if c.h.config.SignIn == nil {
		return ""
	}
	query := c.parseQuery()
	query.Set(input.SignIn, "1")
	return template.URL("?" + query.Encode()) //nolint:gosec // encoded
}

// showSignIn says that the form requires signing in. Its button leads to the same URL with a parameter, so that the
// host's handler receives the URL of the form page.
func (c *call) showSignIn() {
	if c.h.config.SignIn != nil && c.parseQuery().Has(input.SignIn) {
		c.w.Header().Set("Cache-Control", "no-store")
		c.h.config.SignIn.ServeHTTP(c.w, c.r)
		return
	}
	c.SignInURL = c.signInURL()
	c.showMessage(http.StatusUnauthorized, c.Words.Get("sign_in.title"), c.Words.Get("sign_in.text"))
}

func (c *call) answeredText(at time.Time) string {
	return c.Words.Get("respondent.answered", "date", c.Words.FormatDate(at.In(c.h.config.Location).Format(time.DateOnly)))
}

// showAnswered says that the respondent has already submitted the form, and shows the input for copying.
func (c *call) showAnswered(at time.Time) {
	if c.Form.Settings.Editable {
		s, err := c.h.service.RespondentSubmission(c.r.Context(), c.Form.ID, c.respondent)
		c.offerEdit(&s, err)
	}
	c.showForCopying(http.StatusConflict, "respondent.answered_title", c.answeredText(at), c.Files.FileNames(c.rejectedFiles))
}

func (c *call) showUnavailable(err error) {
	status, _, _ := c.reportFailure("failed to open form page", err)
	c.showMessage(status, c.Words.Get("failure.title"), c.Words.Get("failure.text"))
}
