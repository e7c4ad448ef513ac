package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// formPage shows a published form to respondents as plain HTML. It works without
// JavaScript and checks nothing by itself: Submit reports every fault at once.
//
// There is no protection against cross-site request forgery, because respondents
// have no session that could be abused. A host whose respondents are signed in adds
// its own, such as http.CrossOriginProtection.
type formPage struct {
	service *formsvc.Service
	logger  *slog.Logger
}

// Names of the inputs. Block ids are chosen by callers, so answers have a prefix.
const (
	answerPrefix = "a." // + block id
	otherPrefix  = "o." // + block id: the text of "other"
	hiddenPrefix = "h." // + name of the hidden field
	utmPrefix    = "utm_"
	inputKey     = "idempotency_key"
	inputOpened  = "opened"  // when the page was opened, Unix milliseconds
	inputStarted = "started" // the start was counted
)

const maxForm = 1 << 20 // bytes of a posted form

func (p *formPage) show(w http.ResponseWriter, r *http.Request) {
	form, ok := p.find(w, r)
	if !ok {
		return
	}
	if form.Closed {
		p.closed(w, form)
		return
	}
	if r.Method == http.MethodGet { // not HEAD
		if err := p.service.RecordView(r.Context(), form.ID); err != nil {
			p.logger.Warn("a view was not counted", "error", err) // no reason to turn the respondent away
		}
	}
	inputs := url.Values{
		// A second click on the button, or a reload, finds the first result.
		inputKey:    {rand.Text()},
		inputOpened: {strconv.FormatInt(time.Now().UnixMilli(), 10)},
	}
	for name, values := range r.URL.Query() { // ?ref=…&utm_source=…
		inputs[hiddenPrefix+name] = values
		if strings.HasPrefix(name, utmPrefix) { // which may be a hidden field as well
			inputs[name] = values
		}
	}
	p.render(w, form, http.StatusOK, inputs, nil)
}

func (p *formPage) submit(w http.ResponseWriter, r *http.Request) {
	form, ok := p.find(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form could not be read.", http.StatusBadRequest)
		return
	}
	if r.PostForm.Get(inputStarted) == "" && !form.Closed {
		// Who posts has started. A script could count earlier, at the first key.
		if err := p.service.RecordStart(r.Context(), form.ID); err != nil {
			p.logger.Warn("a start was not counted", "error", err)
		}
		r.PostForm.Set(inputStarted, "1")
	}

	// Submit decides whether the form is closed: a response that is sent twice and was
	// the last one that the form takes is still found.
	_, err := p.service.Submit(r.Context(), response(form, r))
	var faults *formsvc.AnswerError
	switch {
	case err == nil && form.Settings.RedirectURL != "":
		http.Redirect(w, r, form.Settings.RedirectURL, http.StatusSeeOther)
	case err == nil:
		// Going elsewhere after a POST: a reload of the ending sends nothing again.
		http.Redirect(w, r, "/f/"+form.PublicID+"/done", http.StatusSeeOther)
	case errors.As(err, &faults):
		p.render(w, form, http.StatusUnprocessableEntity, r.PostForm, messages(faults))
	case errors.Is(err, formsvc.ErrDuplicate):
		p.render(w, form, http.StatusConflict, r.PostForm,
			map[string]string{form.Settings.DuplicateField: "We already have a response with this answer."})
	case errors.Is(err, formsvc.ErrClosed):
		p.closed(w, form)
	default:
		p.logger.Error("a response was not stored", "form", form.ID, "error", err)
		// Everything that was typed comes back, and the same idempotency key: trying
		// again is safe.
		p.render(w, form, http.StatusServiceUnavailable, r.PostForm,
			map[string]string{"": "Your answers could not be stored just now. Please send them again."})
	}
}

func (p *formPage) done(w http.ResponseWriter, r *http.Request) {
	form, ok := p.find(w, r)
	if !ok {
		return
	}
	ending := schema.Block{Label: "Thank you!", Description: "Your answers were received."}
	for _, b := range form.Blocks {
		if b.Type == schema.TypeEnding {
			ending = b
		}
	}
	p.message(w, http.StatusOK, form, ending.Label, ending.Description)
}

// find reads the form of the request. A draft is not found.
func (p *formPage) find(w http.ResponseWriter, r *http.Request) (form formsvc.PublicForm, ok bool) {
	form, err := p.service.PublicForm(r.Context(), r.PathValue("public_id"))
	switch {
	case errors.Is(err, formsvc.ErrNotFound):
		p.message(w, http.StatusNotFound, form, "There is no form here", "Please check the address.")
	case err != nil:
		p.logger.Error("a form was not read", "error", err)
		p.message(w, http.StatusServiceUnavailable, form, "Something went wrong", "Please try again in a moment.")
	default:
		return form, true
	}
	return form, false
}

func (p *formPage) closed(w http.ResponseWriter, form formsvc.PublicForm) {
	text := form.ClosedMessage
	if text == "" {
		text = "This form does not take responses any more."
	}
	p.message(w, http.StatusGone, form, "This form is closed", text)
}

func (p *formPage) message(w http.ResponseWriter, status int, form formsvc.PublicForm, title, text string) {
	render(w, p.logger, status, "message.html", map[string]any{"Form": form, "Title": title, "Text": text})
}

// response collects what was posted. Submit ignores what the form does not declare.
func response(form formsvc.PublicForm, r *http.Request) formsvc.Response {
	posted := r.PostForm
	out := formsvc.Response{
		FormID:         form.ID,
		Answers:        map[string]json.RawMessage{},
		Hidden:         map[string]string{},
		IdempotencyKey: posted.Get(inputKey),
		Metadata:       formsvc.Metadata{UserAgent: r.UserAgent(), Device: "desktop", UTM: map[string]string{}},
	}
	if strings.Contains(r.UserAgent(), "Mobi") {
		out.Metadata.Device = "mobile"
	}
	if opened, err := strconv.ParseInt(posted.Get(inputOpened), 10, 64); err == nil {
		out.CompletionTime = max(0, time.Since(time.UnixMilli(opened)).Round(time.Second/10).Seconds())
	}
	for name := range posted {
		if key, ok := strings.CutPrefix(name, hiddenPrefix); ok {
			out.Hidden[key] = posted.Get(name)
		}
	}
	if utm := form.Settings.UTM; utm != nil { // the form says which ones it records
		for name, wanted := range map[string]bool{
			"campaign": utm.Campaign, "content": utm.Content, "medium": utm.Medium, "source": utm.Source, "term": utm.Term,
		} {
			if wanted {
				out.Metadata.UTM[name] = posted.Get(utmPrefix + name)
			}
		}
	}
	collect(form.Blocks, posted, out.Answers)
	return out
}

func collect(blocks []schema.Block, posted url.Values, answers map[string]json.RawMessage) {
	for _, b := range blocks {
		collect(b.Children, posted, answers)
		if value := answer(b, posted); value != nil {
			answers[b.ID], _ = json.Marshal(value) // strings and maps of them: cannot fail
		}
	}
}

// answer makes the value of one block. Numbers and true or false may stay the
// strings that a browser sends.
func answer(b schema.Block, posted url.Values) any {
	values := posted[answerPrefix+b.ID]
	switch b.Type {
	case schema.TypeSingleChoice, schema.TypeDropdown, schema.TypeMultipleChoice, schema.TypePictureChoice:
		var picks []map[string]string
		for _, v := range values {
			if id, ok := strings.CutPrefix(v, choicePrefix); ok {
				picks = append(picks, map[string]string{"id": id})
			}
		}
		// Without a script nothing selects "other" when its text is typed.
		other := posted.Get(otherPrefix + b.ID)
		if slices.Contains(values, otherValue) || len(picks) == 0 && strings.TrimSpace(other) != "" {
			picks = append(picks, map[string]string{"other": other})
		}
		switch {
		case len(picks) == 0:
			return nil
		case isMultiple(b):
			return picks
		}
		return picks[0]
	}
	switch {
	case len(values) == 0 || values[0] == "":
		return nil
	case b.Type == schema.TypeDate && properties(b).ShowTimePicker:
		return values[0] + ":00Z" // what a browser calls datetime-local has no zone
	}
	return strings.ReplaceAll(values[0], "\r\n", "\n") // line breaks as people count them
}

// messages turns faults into a message for each block.
func messages(faults *formsvc.AnswerError) map[string]string {
	found := map[string]string{}
	for _, v := range faults.Violations {
		text := "Your answer " + v.Message + "."
		if v.Code == schema.CodeRequired {
			text = "Please answer this question."
		}
		if found[v.Field] == "" {
			found[v.Field] = text
		}
	}
	return found
}

// render shows the form with what was typed and, by block id, what is wrong.
func (p *formPage) render(w http.ResponseWriter, form formsvc.PublicForm, status int, inputs url.Values, faults map[string]string) {
	render(w, p.logger, status, "form.html", newFormView(form, inputs, faults))
}
