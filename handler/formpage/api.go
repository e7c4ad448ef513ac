package formpage

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// jsonForm is a form for a front end of the host's own. It has no hidden blocks, variables
// and rules: quiz keys and quotas stay here.
type jsonForm struct {
	PublicID      string          `json:"public_id"`
	Name          string          `json:"name"`
	Type          string          `json:"type"`
	Closed        bool            `json:"closed"`
	ClosedMessage string          `json:"closed_message,omitempty"`
	Language      string          `json:"language"`
	State         string          `json:"state"` // to be sent with everything else
	Settings      schema.Settings `json:"settings"`
	Theme         schema.Theme    `json:"theme"`
	// and "blocks": a list of schema.Block
}

// jsonInput is what a front end sends.
type jsonInput struct {
	State   string
	Answers map[string]json.RawMessage // as Service.Submit takes them
	Hidden  map[string]string
	UTM     map[string]string
	Captcha string  // what a refusal returned, and the widget's token
	Took    float64 // seconds since the first input
}

type jsonFault struct {
	Field   string `json:"field"`
	Path    string `json:"path,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"` // in the language of the request
}

type jsonError struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Faults  []jsonFault `json:"faults,omitempty"`
	// Captcha is sent the next time instead of the token, which is used up.
	Captcha string `json:"captcha,omitempty"`
	// State is sent from now on: the one before has stored its response.
	State string `json:"state,omitempty"`
}

type jsonStep struct {
	ID       string `json:"id"`
	Required bool   `json:"required"`
}

type jsonPath struct {
	Blocks []jsonStep  `json:"blocks"`
	Ending string      `json:"ending"`
	Faults []jsonFault `json:"faults"`
}

// jsonDone answers a response that is stored.
type jsonDone struct {
	Ending      string       `json:"ending"` // the id of a block, "": none
	Block       schema.Block `json:"block"`  // the ending, or one in the page's words
	RedirectURL string       `json:"redirect_url"`
}

// shared answers a request of a page of another origin, where the host allows that.
// Credentials are never part of it. It reports whether the request was a question about
// that alone.
func (h *Handler) shared(w http.ResponseWriter, r *http.Request, methods string) (answered bool) {
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(h.config.AllowedOrigins, origin) && !slices.Contains(h.config.AllowedOrigins, "*") {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	w.Header().Set("Access-Control-Allow-Methods", methods)
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type, Accept-Language")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

func beginJSON(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	beginJSON(w, status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // strings, and JSON that was read; the reader may be gone
}

// messageJSON is message for a front end of the host's own.
func (h *Handler) messageJSON(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm, status int, title, _ string) {
	code := map[int]string{http.StatusNotFound: "NOT_FOUND", http.StatusMethodNotAllowed: "METHOD_NOT_ALLOWED", http.StatusForbidden: "FOREIGN_ORIGIN"}[status]
	writeJSON(w, status, jsonError{Code: cmp.Or(code, "UNAVAILABLE"), Message: h.language(r, form).get(title)})
}

// formJSON serves {public id}/form.json.
func (h *Handler) formJSON(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	// The service alone goes by these, and who sends a response is told where it leads.
	form.Settings.ResponseLimit, form.Settings.DuplicateField, form.Settings.RedirectURL = nil, "", ""
	public := jsonForm{
		PublicID: form.PublicID, Name: form.Name, Type: form.Type, Closed: form.Closed, ClosedMessage: form.ClosedMessage,
		Language: h.language(r, form).tag, State: h.signer.sign(purposeVisit, newVisit(form, h.clock())),
		Settings: form.Settings, Theme: form.Theme,
	}
	raw, _ := json.Marshal(public) //nolint:errchkjson // strings, and JSON that was read
	beginJSON(w, http.StatusOK)
	// One block at a time: all at once are megabytes, copied several times.
	_, _ = w.Write(append(raw[:len(raw)-1], `,"blocks":[`...))
	out := json.NewEncoder(w)
	for i, b := range withoutSecrets(form.Blocks) {
		if i > 0 {
			_, _ = w.Write([]byte(","))
		}
		_ = out.Encode(b) //nolint:errchkjson // as above
	}
	_, _ = w.Write([]byte("]}\n")) // the reader may be gone
}

// withoutSecrets returns blocks without hidden ones, without what endings say, and without
// rules.
func withoutSecrets(blocks []schema.Block) []schema.Block {
	shown := []schema.Block{}
	for _, b := range blocks {
		if properties(&b).Hide {
			continue
		}
		if b.Type == schema.TypeEnding { // what it says is for those who reach it
			b = schema.Block{ID: b.ID, Type: b.Type}
		}
		b = withoutRule(b)
		if b.Children != nil {
			b.Children = withoutSecrets(b.Children)
		}
		shown = append(shown, b)
	}
	return shown
}

func withoutRule(b schema.Block) schema.Block {
	if b.Properties != nil {
		p := *b.Properties
		p.Rule = nil
		b.Properties = &p
	}
	return b
}

// readJSON reads what a front end sends, as strictly as the API does, and answers when it
// cannot be taken.
func (c *call) readJSON() (in jsonInput, ok bool) {
	refuse := func(status int, code, word string) (jsonInput, bool) {
		writeJSON(c.w, status, jsonError{Code: code, Message: c.words.get(word)})
		return in, false
	}
	if kind := c.r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		return refuse(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "unreadable.text")
	}
	raw, complete, err := c.readAll(c.h.config.MaxBody)
	if !complete {
		return refuse(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "too_large")
	}
	tree, malformed := jsontree.Parse(raw, jsontree.BodyBounds)
	if err != nil || malformed != nil {
		return refuse(http.StatusBadRequest, "MALFORMED_JSON", "unreadable.text")
	}
	defer tree.Release()
	wrong, right := in.take(tree.Root(), mostInputs(&c.form))
	if !right {
		return refuse(http.StatusBadRequest, "MALFORMED_JSON", "unreadable.text")
	}
	if len(wrong) > 0 {
		c.refuseJSON(wrong)
		return in, false
	}
	var known bool
	if c.visit, known = c.h.signer.openVisit(c.form, in.State, c.now); !known {
		return refuse(http.StatusForbidden, "STATE", "send_again")
	}
	return in, true
}

var inputKinds = map[string]jsontree.Kind{
	"state": jsontree.String, "captcha": jsontree.String, "took": jsontree.Number,
	"answers": jsontree.Object, "hidden": jsontree.Object, "utm": jsontree.Object,
}

// take reads the members of a body, and reports whether they are of the right kinds. null is
// as good as none. What may not be there is wrong: members of other names, and more answers
// or texts than the form has inputs.
func (in *jsonInput) take(body jsontree.Node, most int) (wrong []schema.Violation, right bool) {
	fault := func(n jsontree.Node, code, message string) {
		if len(wrong) < schema.MaxViolations {
			wrong = append(wrong, schema.Violation{Path: n.Pointer(""), Code: code, Message: message})
		}
	}
	in.Answers, in.Hidden, in.UTM = map[string]json.RawMessage{}, map[string]string{}, map[string]string{}
	for _, member := range body.All() {
		name, kind := member.Name(), member.Kind()
		switch wanted, known := inputKinds[name]; {
		case !known:
			fault(member, schema.CodeUnknownField, "is not a known member")
			continue
		case kind == jsontree.Null:
			continue
		case kind != wanted:
			return nil, false
		case member.Len() > most:
			fault(member, schema.CodeTooMany, "must have at most "+strconv.Itoa(most)+" members")
			continue
		}
		switch name {
		case "state":
			in.State = strings.Clone(member.Text())
		case "captcha":
			in.Captcha = strings.Clone(member.Text())
		case "took":
			in.Took = member.Float()
		}
		for _, inner := range member.All() {
			key := strings.Clone(inner.Name())
			switch text := inner.Kind() == jsontree.String || inner.Kind() == jsontree.Null; {
			case name == "answers":
				in.Answers[key] = json.RawMessage(inner.Raw())
			case !text:
				return nil, false
			case name == "hidden":
				in.Hidden[key] = strings.Clone(cleaned(inner.Text()))
			default:
				in.UTM[key] = strings.Clone(inner.Text())
			}
		}
	}
	return wrong, body.Kind() == jsontree.Object
}

// pathJSON serves {public id}/path: which blocks to show for the answers so far.
func (h *Handler) pathJSON(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	c := h.newCall(w, r, form)
	in, ok := c.readJSON()
	if !ok {
		return
	}
	path, err := c.path(Given{Answers: in.Answers, Hidden: in.Hidden})
	if err != nil {
		c.failJSON(err)
		return
	}
	out := jsonPath{Blocks: []jsonStep{}, Ending: path.Ending, Faults: c.jsonFaults(path.Faults)}
	for _, b := range path.Blocks {
		out.Blocks = append(out.Blocks, jsonStep{b.ID, b.Required})
	}
	writeJSON(w, http.StatusOK, out)
}

// submitJSON serves {public id}/submit.
func (h *Handler) submitJSON(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	c := h.newCall(w, r, form)
	in, ok := c.readJSON()
	if !ok {
		return
	}
	if c.now.Sub(time.UnixMilli(c.visit.Opened)) < h.config.MinFillTime {
		writeJSON(w, http.StatusUnprocessableEntity, jsonError{Code: "TOO_FAST", Message: c.words.get("too_fast")})
		return
	}
	given := Given{Answers: in.Answers, Hidden: in.Hidden}
	path, err := c.path(given)
	if err != nil {
		c.failJSON(err)
		return
	}
	proofs := strings.Fields(in.Captcha)
	if n := len(proofs); n > 0 {
		for _, v := range h.config.Verifiers {
			c.values.Set(v.Widget().Input, proofs[n-1])
		}
	}
	// A token is good once: what is wrong without it is said first.
	blocks := onPath(&form, path)
	if len(h.config.Verifiers) > 0 {
		if faults := c.stepFaults(given, path, step{blocks: blocks}); len(faults) > 0 {
			c.refuseJSON(faults)
			return
		}
	}
	c.values[ctrlProof] = proofs
	unsolved, err := c.captcha(blocks)
	switch {
	case err != nil:
		c.failJSON(err)
		return
	case len(unsolved) > 0:
		c.refuseJSON(unsolved)
		return
	}
	if !c.allowed() {
		c.failJSON(errLimited)
		return
	}
	for name, text := range in.UTM {
		c.values.Set(nameUTM+name, text)
	}
	response, err := c.response(given)
	if err != nil {
		c.failJSON(err)
		return
	}
	if in.Took > 0 && in.Took < response.CompletionTime {
		response.CompletionTime = in.Took
	}
	err = c.store(response)
	var faults *schema.Error
	switch {
	case err == nil:
		writeJSON(w, http.StatusCreated, jsonDone{
			Ending: path.Ending, Block: withoutRule(c.ending(path.Ending)), RedirectURL: string(webLink(form.Settings.RedirectURL, "mailto", "tel")),
		})
	case errors.As(err, &faults):
		c.refuseJSON(faults.Violations)
	case errors.Is(err, formsvc.ErrKeyUsed):
		writeJSON(w, http.StatusConflict, jsonError{
			Code: codeSpent, Message: c.words.get("fault." + codeSpent), Faults: c.jsonFaults(c.spent()), State: c.values.Get(ctrlState),
		})
	case errors.Is(err, storage.ErrDuplicate):
		c.refuseJSON([]schema.Violation{{Field: form.Settings.DuplicateField, Code: codeKnown}})
	case errors.Is(err, formsvc.ErrClosed), errors.Is(err, storage.ErrNotFound):
		writeJSON(w, http.StatusGone, jsonError{Code: "CLOSED", Message: cmp.Or(strings.TrimSpace(form.ClosedMessage), c.words.get("closed.text"))})
	default:
		c.failJSON(err)
	}
}

func (c *call) refuseJSON(faults []schema.Violation) {
	writeJSON(c.w, http.StatusUnprocessableEntity, jsonError{
		Code: "VALIDATION_FAILED", Message: c.words.get("problems.title"), Faults: c.jsonFaults(faults), Captcha: c.proof(), State: c.values.Get(ctrlState),
	})
}

// proof says which captchas of this visit are solved, "" when none is.
func (c *call) proof() string { return strings.Join(c.values[ctrlProof], " ") }

func (c *call) failJSON(err error) {
	if errors.Is(err, errLimited) {
		c.w.Header().Set("Retry-After", "60")
		writeJSON(c.w, http.StatusTooManyRequests, jsonError{Code: "RATE_LIMITED", Message: c.words.get("too_many_requests"), Captcha: c.proof(), State: c.values.Get(ctrlState)})
		return
	}
	c.h.logger.ErrorContext(c.r.Context(), "a response was not taken", "form", c.form.ID, "error", err)
	c.w.Header().Set("Retry-After", "1")
	writeJSON(c.w, http.StatusServiceUnavailable, jsonError{Code: "UNAVAILABLE", Message: c.words.get("not_stored"), Captcha: c.proof(), State: c.values.Get(ctrlState)})
}

// jsonFaults words faults in the language of the request, as the page does.
func (c *call) jsonFaults(faults []schema.Violation) []jsonFault {
	list := []jsonFault{}
	for _, v := range faults {
		b := c.block(v.Field)
		part := b != nil && (b.Type == schema.TypeAddress || b.Type == schema.TypeContactInfo) && lastPart(v.Path) != ""
		list = append(list, jsonFault{Field: v.Field, Path: v.Path, Code: v.Code, Message: c.faultText(v, b, part)})
	}
	return list
}
