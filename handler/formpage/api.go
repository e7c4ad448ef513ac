package formpage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// jsonForm is a form as sent to the host's own front end. It omits hidden blocks, variables and rules, so that quiz
// answers and quotas stay secret.
type jsonForm struct {
	PublicID      string          `json:"public_id"`
	Name          string          `json:"name"`
	Type          string          `json:"type"`
	Closed        bool            `json:"closed"`
	ClosedMessage string          `json:"closed_message,omitempty"`
	Language      string          `json:"language"`
	Respondent    string          `json:"respondent,omitempty"` // the name
	AnsweredAt    time.Time       `json:"answered_at,omitzero"` // if set, the respondent cannot submit the form again
	State         string          `json:"state"`                // every request must send it back
	Settings      schema.Settings `json:"settings"`
	Theme         schema.Theme    `json:"theme"`
	Blocks        []schema.Block  `json:"blocks"` // must be the last field, see serveFormJSON
}

type jsonViolation struct {
	Field   string `json:"field"`
	Path    string `json:"path,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

type jsonError struct {
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Violations []jsonViolation `json:"faults,omitempty"`
	Captcha    string          `json:"captcha,omitempty"` // If set, send this instead of the token in the next request, because a token is valid only once.
	State      string          `json:"state,omitempty"`   // If set, send this in later requests, because the previous state belongs to the stored submission.
}

type jsonStep struct {
	ID       string `json:"id"`
	Required bool   `json:"required"`
}

type jsonPath struct {
	Blocks     []jsonStep      `json:"blocks"`
	Ending     string          `json:"ending"`
	Violations []jsonViolation `json:"faults"`
}

type jsonSubmitted struct {
	Ending      string       `json:"ending"` // a block ID, or "" if there is none
	Block       schema.Block `json:"block"`  // the ending or, if there is none, the standard ending
	RedirectURL string       `json:"redirect_url"`
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	writeJSONHeader(w, status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // only strings and valid JSON; the client may have disconnected
}

func writeJSONHeader(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}

func (c *call) serveFormJSON() {
	form := c.Form
	c.identify()
	answered, err := c.answeredAt()
	if err != nil {
		c.h.showReadError(c.w, c.r, true, err)
		return
	}
	// Only the service uses these settings. The redirect URL is only for respondents who submit the form.
	form.Settings.ResponseLimit, form.Settings.DuplicateField, form.Settings.RedirectURL = nil, "", ""
	public := jsonForm{
		PublicID: form.PublicID, Name: form.Name, Type: form.Type, Closed: form.Closed, ClosedMessage: form.ClosedMessage,
		Language: c.Words.Tag, State: c.h.signer.Sign(pagestate.PurposeVisit, c.newVisit()), Respondent: c.Respondent, AnsweredAt: answered,
		Settings: form.Settings, Theme: form.Theme, Blocks: []schema.Block{},
	}
	// The blocks can take up 4 MB. Encoding them one at a time avoids a buffer for all of them.
	head, _ := json.Marshal(public) //nolint:errchkjson // only strings and valid JSON
	writeJSONHeader(c.w, http.StatusOK)
	_, _ = c.w.Write(bytes.TrimSuffix(head, []byte("]}")))
	for i, b := range withoutSecrets(form.Blocks) {
		if i > 0 {
			_, _ = io.WriteString(c.w, ",")
		}
		_ = json.NewEncoder(c.w).Encode(b) //nolint:errchkjson // as above; the client may have disconnected
	}
	_, _ = io.WriteString(c.w, "]}\n")
}

func withoutSecrets(blocks []schema.Block) []schema.Block {
	shown := []schema.Block{}
	for _, b := range blocks {
		if formblock.Properties(&b).Hide {
			continue
		}
		if b.Type == schema.TypeEnding { // only respondents who reach the ending may see its text
			b = schema.Block{ID: b.ID, Type: b.Type}
		}
		if b.Children != nil {
			b.Children = withoutSecrets(b.Children)
		}
		shown = append(shown, withoutRule(b))
	}
	return shown
}

func withoutRule(b schema.Block) schema.Block {
	if b.Properties != nil {
		p := *b.Properties
		p.Rule = nil
		if ref := b.ListRef(); ref.List != "" { // its choices are on the path choices
			p.Rule, _ = json.Marshal(map[string]schema.ListRef{"choices": ref}) //nolint:errchkjson // only strings
		}
		b.Properties = &p
	}
	return b
}

// readJSON parses the body as strictly as the API does. If the body is invalid, readJSON writes the error response.
func (c *call) readJSON() (in formdata.FrontEndBody, ok bool) {
	if kind := c.r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		c.writeError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "unreadable.text")
		return in, false
	}
	in, wrong, err := formdata.ParseJSON(c.r.Body, formdata.BodyLimits{Bytes: c.h.config.MaxBody, Inputs: c.maxInputs()})
	switch {
	case errors.Is(err, formdata.ErrTooLarge):
		c.writeError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "too_large")
	case err != nil:
		c.writeError(http.StatusBadRequest, "MALFORMED_JSON", "unreadable.text")
	case len(wrong) > 0:
		c.writeViolations(wrong)
	default:
		c.parsed, c.legalTexts = formdata.ParsedAnswers{Answers: in.Answers, Hidden: in.Hidden}, in.LegalTexts
		c.visit, c.visitValid = c.h.signer.OpenVisit(pagestate.PurposeVisit, c.Form.ID.String(), in.State, c.now)
		c.identify()
		switch {
		case c.identityErr != nil:
			c.writeFailure(c.identityErr)
		case in.State == "":
			writeJSON(c.w, http.StatusForbidden, jsonError{Code: "STATE", Message: "The request has no state. Send the state from form.json back with each request."})
		case !c.visitValid:
			c.writeError(http.StatusForbidden, "STATE", "review_answers")
		case c.mustSignIn():
			c.writeError(http.StatusUnauthorized, "SIGNED_OUT", "sign_in.text")
		case !c.isOwnVisit(&c.visit):
			message := c.otherRespondent()
			writeJSON(c.w, http.StatusConflict, jsonError{Code: "OTHER_RESPONDENT", Message: message, State: c.visitToken()})
		default:
			return in, true
		}
	}
	return in, false
}

func (c *call) servePathJSON() {
	if _, ok := c.readJSON(); !ok {
		return
	}
	if err := c.computePath(); err != nil {
		c.writeFailure(err)
		return
	}
	out := jsonPath{Blocks: []jsonStep{}, Ending: c.Path.Ending, Violations: c.jsonViolations(c.Path.Violations)}
	for _, b := range c.Path.Blocks {
		out.Blocks = append(out.Blocks, jsonStep{b.ID, b.Required})
	}
	writeJSON(c.w, http.StatusOK, out)
}

func (c *call) serveChoicesJSON() {
	in, ok := c.readJSON()
	if !ok {
		return
	}
	if in.Search != "" && !c.h.takeLimiterToken(c.r, "search:") {
		c.writeFailure(errLimited)
		return
	}
	if err := c.computePath(); err != nil {
		c.writeFailure(err)
		return
	}
	offered, selected, err := c.Form.Choices(c.r.Context(), in.Block, c.answering(), trimSearch(in.Search), field.MaxListSelect)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		c.writeError(http.StatusNotFound, "NOT_FOUND", "list.failed")
	case err != nil:
		c.writeFailure(err)
	default:
		writeJSON(c.w, http.StatusOK, map[string][]schema.Choice{"choices": offered, "selected": append([]schema.Choice{}, selected...)})
	}
}

func (c *call) serveSubmitJSON() {
	in, ok := c.readJSON()
	if !ok {
		return
	}
	if c.visit.Age(c.now) < c.h.config.MinFillTime {
		c.writeError(http.StatusUnprocessableEntity, "TOO_FAST", "too_fast")
		return
	}
	if err := c.computePath(); err != nil {
		c.writeFailure(err)
		return
	}
	proofs := strings.Fields(in.Captcha)
	if n := len(proofs); n > 0 {
		for _, v := range c.h.config.Verifiers {
			c.Values.Set(v.Widget().Input, proofs[n-1])
		}
	}
	// A token is valid only once, so report all other violations before using it.
	if len(c.h.config.Verifiers) > 0 {
		if violations := c.stepViolations(c.OnPath); len(violations) > 0 {
			c.writeViolations(violations)
			return
		}
	}
	c.Values[input.Proof] = proofs
	for name, text := range in.UTM {
		c.Values.Set(input.UTM+name, text)
	}
	c.Values.Set(input.Seconds, strconv.FormatFloat(in.Took, 'g', -1, 64))
	err := c.checkAndSubmit()
	violations := c.submitViolations(err)
	answered, isAnswered := errors.AsType[*formsvc.AnsweredError](err)
	switch {
	case isAnswered:
		writeJSON(c.w, http.StatusConflict, jsonError{Code: "ALREADY_ANSWERED", Message: c.answeredText(answered.SubmittedAt)})
	case err == nil:
		writeJSON(c.w, http.StatusCreated, jsonSubmitted{
			Ending: c.Path.Ending, Block: withoutRule(c.visibleEnding(c.Path.Ending)), RedirectURL: string(policy.SafeLink(c.Form.Settings.RedirectURL, "mailto", "tel")),
		})
	case isClosedError(err) && !c.Form.OpensAt.IsZero():
		writeJSON(c.w, http.StatusForbidden, jsonError{Code: "NOT_OPEN", Message: c.openingText("opens.text")})
	case isClosedError(err):
		writeJSON(c.w, http.StatusGone, jsonError{Code: "CLOSED", Message: cmp.Or(strings.TrimSpace(c.Plain(c.Form.ClosedMessage, schema.Formatting|schema.Insertions)), c.Words.Get("closed.text"))})
	case errors.Is(err, formsvc.ErrIdempotencyKeyReused):
		c.writeError(http.StatusConflict, pagestate.CodeUsed, "error."+pagestate.CodeUsed, violations...)
	case len(violations) > 0:
		c.writeViolations(violations)
	default:
		c.writeFailure(err)
	}
}

func (c *call) writeFailure(err error) {
	c.writeError(c.reportFailure("failed to store response", err))
}

// reportFailure returns the status, code and text key for an error. It logs every error except errLimited.
func (c *call) reportFailure(what string, err error) (status int, code, word string) {
	if errors.Is(err, errLimited) {
		c.w.Header().Set("Retry-After", "60")
		return http.StatusTooManyRequests, "RATE_LIMITED", "too_many_requests"
	}
	c.h.config.Logger.ErrorContext(c.r.Context(), what, "form", c.Form.ID, "error", err)
	c.w.Header().Set("Retry-After", "1")
	return http.StatusServiceUnavailable, "UNAVAILABLE", "not_stored"
}

func (c *call) writeError(status int, code, word string, violations ...schema.Violation) {
	writeJSON(c.w, status, jsonError{
		Code: code, Message: c.Words.Get(word), Violations: c.jsonViolations(violations), Captcha: strings.Join(c.Values[input.Proof], " "), State: c.Values.Get(input.State),
	})
}

func (c *call) writeViolations(violations []schema.Violation) {
	c.writeError(http.StatusUnprocessableEntity, "VALIDATION_FAILED", "problems.title", violations...)
}

func (c *call) jsonViolations(violations []schema.Violation) []jsonViolation {
	list := []jsonViolation{}
	for _, v := range violations {
		b := c.Index.Find(v.Field)
		part := b != nil && (b.Type == schema.TypeAddress || b.Type == schema.TypeContactInfo) && field.ViolationPart(v.Path) != ""
		list = append(list, jsonViolation{Field: v.Field, Path: v.Path, Code: v.Code, Message: c.ViolationText(v, b, part)})
	}
	return list
}

func (h *Handler) showError(w http.ResponseWriter, r *http.Request, inJSON bool, status int, title, text string) {
	c := h.newCall(w, r, formsvc.PublicForm{})
	if !inJSON {
		c.showMessage(status, c.Words.Get(title), c.Words.Get(text))
		return
	}
	code := map[int]string{http.StatusNotFound: "NOT_FOUND", http.StatusMethodNotAllowed: "METHOD_NOT_ALLOWED", http.StatusForbidden: "FOREIGN_ORIGIN"}[status]
	writeJSON(w, status, jsonError{Code: cmp.Or(code, "UNAVAILABLE"), Message: c.Words.Get(title)})
}

func (h *Handler) showReadError(w http.ResponseWriter, r *http.Request, inJSON bool, err error) {
	if errors.Is(err, storage.ErrNotFound) {
		if errors.Is(err, intake.ErrDraft) {
			h.config.Logger.InfoContext(r.Context(), "form is not shown", "path", r.URL.Path, "error", err)
		}
		h.showError(w, r, inJSON, http.StatusNotFound, "not_found.title", "not_found.text")
		return
	}
	h.logReadError(w, r, err)
	h.showError(w, r, inJSON, http.StatusServiceUnavailable, "failure.title", "failure.text")
}

func (h *Handler) logReadError(w http.ResponseWriter, r *http.Request, err error) {
	h.config.Logger.ErrorContext(r.Context(), "failed to read form", "error", err)
	w.Header().Set("Retry-After", "1")
}
