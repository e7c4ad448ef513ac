package builder

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// readWarnings returns the warnings of a form's working copy, or of the form if it has no working copy.
func readWarnings(r *http.Request) (schema.Warnings, error) {
	client, id := requestClient(r), pathID(r, "form")
	found, err := client.WorkingCopy(id).Warnings(r.Context())
	if errors.Is(err, formsvc.ErrUnsupported) {
		found, err = client.Warnings(r.Context(), id)
	}
	return append(schema.Warnings{}, found...), err
}

// listWarnings returns the warnings, and whether there is a working copy. Paths are either /name or JSON Pointers.
func listWarnings(r *http.Request) (any, error) {
	found, err := readWarnings(r)
	if err != nil {
		return nil, err
	}
	form, copied, err := readFormAndCopy(r.Context(), requestClient(r), pathID(r, "form"))
	unpublished := copied.Revision != form.Revision
	if err == nil && unpublished {
		found = append(found, findOutsideChanges(r, copied)...)
	}
	return struct {
		Items       schema.Warnings `json:"items"`
		Unpublished bool            `json:"unpublished"`
	}{found, unpublished}, err
}

// findOutsideChanges returns warnings if the form's name or settings were changed outside the working copy after it was
// created. Publishing keeps these changes. Errors are ignored, because publishing reports them again.
func findOutsideChanges(r *http.Request, copied formsvc.Form) (list schema.Warnings) {
	client, id := requestClient(r), pathID(r, "form")
	options := formsvc.PublishOptions{IfRevision: copied.Revision, DryRun: true, Resolutions: map[string]formsvc.Side{}}
	merged, err := client.WorkingCopy(id).Publish(r.Context(), options)
	if clash, ok := errors.AsType[*formsvc.ConflictError](err); ok { // the user resolves conflicts when publishing
		for _, c := range clash.Conflicts {
			options.Resolutions[c.Path] = formsvc.CopySide
		}
		merged, err = client.WorkingCopy(id).Publish(r.Context(), options)
	}
	if err != nil || reflect.DeepEqual(copied.FormContent, merged.FormContent) {
		return nil
	}
	c, _ := compareForms(copied.FormContent, merged.FormContent)
	for _, path := range c.Fields {
		if path == "/name" || strings.HasPrefix(path, "/settings/") {
			list = append(list, schema.Warning{Path: path, Code: "CHANGED_OUTSIDE", Message: "The form has a different value here because it was changed elsewhere. Publishing keeps that value."})
		}
	}
	return list
}

const previewChoices = 20

// listChoices returns the first choices of a list, as a respondent who is not signed in sees them.
func (h *Handler) listChoices(r *http.Request) (any, error) {
	form, err := requestClient(r).Form(r.Context(), pathID(r, "form"))
	if err != nil {
		return nil, err
	}
	items, err := h.service.Choices(r.Context(), r.URL.Query().Get("list"), formsvc.ChoiceQuery{Form: form.ID, Workspace: form.WorkspaceID, Limit: previewChoices})
	return struct {
		Items []schema.Choice `json:"items"`
	}{items}, err
}

// maxPatternSteps is more than a pattern needs for an example of 1,000 characters.
const maxPatternSteps = 100_000

type patternRequest struct{ Pattern, Example string }

// tryPattern reports whether a pattern accepts an example. Browsers have another syntax for patterns, and some patterns
// would block them for minutes.
func tryPattern(_ *http.Request, sent patternRequest) (any, error) {
	condition, err := json.Marshal(map[string][]string{"match": {sent.Example, sent.Pattern}})
	result := jsontree.Inspect(condition, jsontree.BodyLimits, func(n jsontree.Node) string {
		budget := logic.NewBudget(maxPatternSteps)
		if l, err := logic.Compile(n); err != nil {
			return "invalid"
		} else if l.Holds(nil, &budget) {
			return "accepted"
		}
		return "refused"
	})
	return map[string]string{"result": result}, err
}

// serveCanvas serves the editor's preview of a form, rendered as a form page. GET returns a page with all blocks of the
// form's working copy or, if there is none, of the form itself. POST renders the blocks in the request body.
func (h *Handler) serveCanvas(w http.ResponseWriter, r *http.Request, user formsvc.ID, client formsvc.Client, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		writeError(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path supports only GET and POST.")
		return
	}
	end, ok := h.acquireSlot(w, r, user, renders)
	if !ok {
		return
	}
	defer end()
	var body bytes.Buffer // needs half as much memory as io.ReadAll
	if r.Method == http.MethodPost {
		limit := h.service.Limits().Body
		_, err := body.ReadFrom(io.LimitReader(r.Body, limit+1))
		switch {
		case int64(body.Len()) > limit, errors.As(err, new(*http.MaxBytesError)): // the host may have set a lower limit
			writeError(w, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "The request body is too large.")
			return
		case err != nil:
			writeError(w, http.StatusBadRequest, "MALFORMED_JSON", "The request body is not valid JSON.")
			return
		}
	}
	if !h.renderSlots.acquire(r) {
		return
	}
	defer h.renderSlots.release()
	var update formsvc.FormUpdate
	if r.Method == http.MethodPost {
		sent := struct {
			Name *string `json:"name"`
			formsvc.Definition
		}{Definition: formsvc.Definition{Blocks: []byte("[]"), Settings: []byte("{}"), Theme: []byte("{}")}}
		if err := json.Unmarshal(body.Bytes(), &sent); errors.As(err, new(*json.SyntaxError)) { // other errors are ignored, because an unsaved value can be invalid
			writeError(w, http.StatusBadRequest, "MALFORMED_JSON", "The request body is not valid JSON.")
			return
		}
		update.Name, update.Definition = sent.Name, sent.Definition
	}
	id, _ := formsvc.ParseID(name) // a malformed ID results in the zero ID, which no form has
	form, err := client.EditorForm(r.Context(), id, update)
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	if r.Method != http.MethodPost {
		h.config.Pages.Canvas(w, r, form, h.config.FrameAncestors...)
		return
	}
	parts, err := h.config.Pages.CanvasParts(r, form)
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, parts)
}
