package builder_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

// canvases are the pages of a host whose users sign in by a header.
type canvases struct {
	t       *testing.T
	service *formsvc.Service
	pages   http.Handler
	owner   formsvc.Client
	form    formsvc.Form
}

func newCanvases(t *testing.T, options ...formsvc.Option) *canvases {
	t.Helper()
	s := newHost(t, memory.New(), builder.Config{}, options...)
	c := &canvases{t: t, service: s.service, pages: s.owners, owner: s.service.As(formsvc.UserIDFrom("owner"))}
	workspace := must(s.service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("owner"), "Mine"))
	must(s.service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("stranger"), "Theirs"))
	c.form = must(c.owner.CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Pets", Type: "MULTI", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"What is stored"}]`), Theme: json.RawMessage(`{"corners":7}`),
	}}))
	return c
}

// ask sends a request for the canvas of a form.
func (c *canvases) ask(method, user, form, body string, headers ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	r := httptest.NewRequest(method, "/forms/-/canvas/"+form, strings.NewReader(body))
	r.Header.Set("User", user)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.pages.ServeHTTP(w, r)
	return w
}

// Who may not see a form sees no canvas of it, and draws nothing in its name.
func TestTheCanvasIsItsOwners(t *testing.T) {
	c := newCanvases(t)
	id := c.form.ID.String()
	must(c.owner.PublishForm(t.Context(), c.form.ID))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, asked := range []struct {
			user, form string
			status     int
		}{{"owner", id, 200}, {"stranger", id, 404}, {"", id, 401}, {"owner", "000000000000000000000000", 404}, {"owner", "x", 404}, {"owner", "", 404}, {"owner", id + "/x", 404}} {
			w := c.ask(method, asked.user, asked.form, `{"blocks":[{"id":"new","type":"short_text","label":"What is typed"}]}`)
			if w.Code != asked.status {
				t.Errorf("%s of %q by %q: status %d", method, asked.form, asked.user, w.Code)
			}
			if drawn := strings.Contains(w.Body.String(), "What is"); drawn != (asked.status == 200) {
				t.Errorf("%s of %q by %q: %s", method, asked.form, asked.user, w.Body)
			}
		}
	}
	if w := c.ask(http.MethodPost, "owner", id, `{}`, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a foreign page: status %d", w.Code)
	}
	if w := c.ask(http.MethodDelete, "owner", id, ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("DELETE: status %d", w.Code)
	}
	noError(t, c.owner.TrashForm(t.Context(), c.form.ID))
	if w := c.ask(http.MethodGet, "owner", id, ""); w.Code != http.StatusNotFound {
		t.Errorf("in the trash: status %d", w.Code)
	}
}

// The document is of what is edited: the working copy, where there is one.
func TestTheCanvasIsOfTheWorkingCopy(t *testing.T) {
	c := newCanvases(t)
	must(c.owner.PublishForm(t.Context(), c.form.ID))
	must(c.owner.WorkingCopy(c.form.ID).UpdateBlock(t.Context(), "a", json.RawMessage(`{"label":"What is edited"}`)))
	w := c.ask(http.MethodGet, "owner", c.form.ID.String(), "")
	if body := w.Body.String(); !strings.Contains(body, "What is edited") || strings.Contains(body, "What is stored") || !strings.Contains(body, "--radius:7px") {
		t.Errorf("the document is\n%s", body)
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'none'") || !strings.Contains(csp, "frame-ancestors 'self'") {
		t.Errorf("the policy is %s", csp)
	}
}

// What is sent is drawn as far as it can be: of each value that does not fit, the rest.
func TestTheCanvasOfUnsavedParts(t *testing.T) {
	c := newCanvases(t)
	draw := func(body string) (parts formpage.CanvasParts) {
		t.Helper()
		w := c.ask(http.MethodPost, "owner", c.form.ID.String(), body)
		if err := json.Unmarshal(w.Body.Bytes(), &parts); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", body, w.Code, w.Body)
		}
		return parts
	}
	parts := draw(`{"name":"Typed","blocks":[{"id":"a","type":"short_text","label":7,"description":"D","properties":{"maxChars":1.5,"placeholderText":"P"}},{"id":"b","type":"nps","label":"<b>B</b>"},7],
		"settings":{"showTitle":true,"submitLabel":"Off","darkMode":"x"},"theme":{"corners":9,"colors":[]}}`)
	if len(parts.Blocks) != 3 || parts.Blocks[0].ID != "a" || parts.Blocks[1].ID != "b" {
		t.Fatalf("the blocks are %+v", parts.Blocks)
	}
	if html := parts.Blocks[0].HTML + parts.Blocks[1].HTML; !strings.Contains(html, "D</p>") || !strings.Contains(html, "&lt;b&gt;B&lt;/b&gt;") {
		t.Errorf("the blocks are drawn as\n%s", html)
	}
	if !strings.Contains(parts.Around, "Off") || !strings.Contains(parts.Around, ">Typed</h1>") || !strings.Contains(parts.Style, "--radius:9px") {
		t.Errorf("around them is\n%s\n%s", parts.Style, parts.Around)
	}
	var all []map[string]any
	for kind := range schema.Kinds() {
		all = append(all, map[string]any{"id": kind.Type, "type": kind.Type, "properties": map[string]any{}})
	}
	raw, _ := json.Marshal(map[string]any{"blocks": all})
	if parts := draw(string(raw)); len(parts.Blocks) != len(all) || len(all) < 38 {
		t.Errorf("%d of %d blocks", len(parts.Blocks), len(all))
	}
	for _, body := range []string{`{"blocks":"x"}`, `[]`, `7`, `{"blocks":null,"settings":[],"theme":""}`} {
		if parts := draw(body); len(parts.Blocks) != 0 || parts.Around == "" {
			t.Errorf("%s: %+v", body, parts)
		}
	}
}

// The body has the bound of the API's bodies.
func TestTheCanvasTakesNoLargerBodyThanTheAPI(t *testing.T) {
	c := newCanvases(t, formsvc.WithLimits(schema.Limits{Body: 200}))
	for size, status := range map[int]int{200: http.StatusOK, 201: http.StatusRequestEntityTooLarge} {
		body := `{"blocks":[]` + strings.Repeat(" ", size-len(`{"blocks":[]}`)) + `}`
		if w := c.ask(http.MethodPost, "owner", c.form.ID.String(), body); w.Code != status {
			t.Errorf("%d bytes: status %d", size, w.Code)
		}
	}
	c.pages = http.MaxBytesHandler(c.pages, 20) // of the host
	if w := c.ask(http.MethodPost, "owner", c.form.ID.String(), `{"blocks":["more than that"]}`); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("beyond the host's bound: status %d", w.Code)
	}
	if w := c.ask(http.MethodPost, "owner", c.form.ID.String(), `{"blocks":[`); w.Code != http.StatusBadRequest {
		t.Errorf("half of JSON: status %d", w.Code)
	}
}
