package builder_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

// canvases is a host with a form of the owner.
type canvases struct {
	*doorHost
	form formsvc.Form
}

func newCanvases(t *testing.T, options ...formsvc.Option) *canvases {
	t.Helper()
	c := &canvases{doorHost: newDoorHost(t, memory.New(), builder.Config{}, options...)}
	c.form = expect.Must(c.owner().CreateForm(t.Context(), formsvc.FormCreate{Workspace: c.place, Name: "Pets", Type: "MULTI", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"What is stored"}]`), Theme: json.RawMessage(`{"corners":7}`),
	}}))
	return c
}

// ask sends a request for the canvas of a form.
func (c *canvases) ask(method, user, form, body string, headers ...string) *httptest.ResponseRecorder {
	c.Helper()
	return c.serve(user, method, "/forms/-/canvas/"+form, body, headers...)
}

// Who may not see a form sees no canvas of it, and draws nothing in its name.
func TestTheCanvasIsItsOwners(t *testing.T) {
	c := newCanvases(t)
	id := c.form.ID.String()
	expect.Must(c.owner().PublishForm(t.Context(), c.form.ID))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, asked := range []struct {
			user, form string
			status     int
		}{{"owner", id, 200}, {"stranger", id, 404}, {"", id, 401}, {"owner", "000000000000000000000000", 404}, {"owner", "x", 404}, {"owner", "", 404}, {"owner", id + "/x", 404}} {
			w := c.ask(method, asked.user, asked.form, `{"blocks":[{"id":"new","type":"short_text","label":"What is typed"}]}`)
			expect.That(t, w.Code == asked.status, "%s of %q by %q: status %d", method, asked.form, asked.user, w.Code)
			drawn := strings.Contains(w.Body.String(), "What is")
			expect.That(t, drawn == (asked.status == 200), "%s of %q by %q: %s", method, asked.form, asked.user, w.Body)
		}
	}
	if w := c.ask(http.MethodPost, "owner", id, `{}`, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a foreign page: status %d", w.Code)
	}
	if w := c.ask(http.MethodDelete, "owner", id, ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("DELETE: status %d", w.Code)
	}
	expect.NoError(t, c.owner().TrashForm(t.Context(), c.form.ID))
	if w := c.ask(http.MethodGet, "owner", id, ""); w.Code != http.StatusNotFound {
		t.Errorf("in the trash: status %d", w.Code)
	}
}

// The document is of what is edited: the working copy, where there is one.
func TestTheCanvasIsOfTheWorkingCopy(t *testing.T) {
	c := newCanvases(t)
	expect.Must(c.owner().PublishForm(t.Context(), c.form.ID))
	expect.Must(c.owner().WorkingCopy(c.form.ID).UpdateBlock(t.Context(), "a", json.RawMessage(`{"label":"What is edited"}`)))
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
		err := json.Unmarshal(w.Body.Bytes(), &parts)
		expect.Require(t, err == nil && w.Code == http.StatusOK, "%s: status %d: %s", body, w.Code, w.Body)
		return parts
	}
	parts := draw(`{"name":"Typed","blocks":[{"id":"a","type":"short_text","label":7,"description":"D","properties":{"maxChars":1.5,"placeholderText":"P"}},{"id":"b","type":"nps","label":"<b>B</b>"},7],
		"settings":{"showTitle":true,"submitLabel":"Off","darkMode":"x"},"theme":{"corners":9,"colors":[]}}`)
	expect.Require(t, len(parts.Blocks) == 3 && parts.Blocks[0].ID == "a" && parts.Blocks[1].ID == "b",
		"the blocks are %+v", parts.Blocks)
	if html := parts.Blocks[0].HTML + parts.Blocks[1].HTML; !strings.Contains(html, "D</p>") || !strings.Contains(html, "&lt;b&gt;B&lt;/b&gt;") {
		t.Errorf("the blocks are drawn as\n%s", html)
	}
	if !strings.Contains(parts.Frame, "Off") || !strings.Contains(parts.Frame, ">Typed</h1>") || !strings.Contains(parts.Style, "--radius:9px") {
		t.Errorf("around them is\n%s\n%s", parts.Style, parts.Frame)
	}
	var all []map[string]any
	for kind := range schema.BlockTypes() {
		all = append(all, map[string]any{"id": kind.Type, "type": kind.Type, "properties": map[string]any{}})
	}
	raw, _ := json.Marshal(map[string]any{"blocks": all})
	if parts := draw(string(raw)); len(parts.Blocks) != len(all) || len(all) < 38 {
		t.Errorf("%d of %d blocks", len(parts.Blocks), len(all))
	}
	for _, body := range []string{`{"blocks":"x"}`, `[]`, `7`, `{"blocks":null,"settings":[],"theme":""}`} {
		if parts := draw(body); len(parts.Blocks) != 0 || parts.Frame == "" {
			t.Errorf("%s: %+v", body, parts)
		}
	}
}

// The body has the bound of the API's bodies.
func TestTheCanvasTakesNoLargerBodyThanTheAPI(t *testing.T) {
	c := newCanvases(t, formsvc.WithLimits(schema.Limits{Body: 200}))
	for size, status := range map[int]int{200: http.StatusOK, 201: http.StatusRequestEntityTooLarge} {
		body := `{"blocks":[]` + strings.Repeat(" ", size-len(`{"blocks":[]}`)) + `}`
		w := c.ask(http.MethodPost, "owner", c.form.ID.String(), body)
		expect.That(t, w.Code == status, "%d bytes: status %d", size, w.Code)
	}
	r := httptest.NewRequest(http.MethodPost, "/forms/-/canvas/"+c.form.ID.String(), strings.NewReader(`{"blocks":["more than that"]}`))
	r.Header.Set("User", "owner")
	w := httptest.NewRecorder()
	http.MaxBytesHandler(c.owners, 20).ServeHTTP(w, r) // of the host
	expect.That(t, w.Code == http.StatusRequestEntityTooLarge, "beyond the host's bound: status %d", w.Code)
	w = c.ask(http.MethodPost, "owner", c.form.ID.String(), `{"blocks":[`)
	expect.That(t, w.Code == http.StatusBadRequest, "half of JSON: status %d", w.Code)
}

// sink is a response that counts its bytes.
type sink struct {
	header http.Header
	status int
	size   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { s.size += len(p); return len(p), nil }

// resident returns the resident memory of this process in bytes, now and at its peak since the last call.
func resident(t *testing.T) (now, peak int) {
	t.Helper()
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own")
	}
	if testing.Short() {
		t.Skip("reason: other tests at the same time take memory, too; make test-all runs it alone")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Skip("the system does not report the memory of a process")
	}
	read := func(name string) int {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		n := expect.Must(strconv.Atoi(string(found[1])))
		return n << 10
	}
	return read("VmRSS"), read("VmHWM")
}

// hostileCanvases are bodies of a megabyte that cost as much as possible.
func hostileCanvases() map[string]string {
	const size = 1 << 20
	fill := func(before, each, after string) string {
		return before + strings.Repeat(each+",", (size-len(before)-len(after)-len(each))/(len(each)+1)) + each + after
	}
	counted := func(before, each, after string, n int) string {
		var b strings.Builder
		for i := 0; i < n && b.Len() < size-2*len(each)-len(before); i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, each, i)
		}
		return before + b.String() + after
	}
	choices := counted("[", `{"id":"%d","label":"x"}`, "]", 500)
	label := strings.Repeat("'", 5000)
	return map[string]string{
		"numbers":          fill(`{"blocks":[`, "0", "]}"),
		"objects":          fill(`{"blocks":[`, "{}", "]}"),
		"nulls":            fill(`{"blocks":[`, "null", "]}"),
		"lists":            fill(`{"blocks":[`, "[]", "]}"),
		"numbers in limit": `{"blocks":[` + strings.Repeat("0,", 499) + `0]}`,
		"deep arrays":      `{"blocks":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2-20) + "}",
		"deep blocks":      `{"blocks":` + strings.Repeat(`[{"id":"x","children":`, 40000) + "[]" + strings.Repeat("}]", 40000) + "}",
		"children":         fill(`{"blocks":[{"id":"g","type":"group","children":[`, "{}", "]}]}"),
		"phones":           counted(`{"blocks":[`, `{"id":"%d","type":"phone"}`, "]}", 1<<20),
		"dates":            counted(`{"blocks":[`, `{"id":"%d","type":"date"}`, "]}", 500),
		"matrix":           `{"blocks":[{"id":"m","type":"matrix","matrix_rows":` + choices + `,"matrix_columns":` + choices + `}]}`,
		"matrices":         counted(`{"blocks":[`, `{"id":"%d","type":"matrix","matrix_rows":`+choices+`,"matrix_columns":`+choices+`}`, "]}", 500),
		"folded matrix":    `{"blocks":[{"id":"m","Type":"matrix","MATRIX_ROWS":` + choices + `,"Matrix_Columns":` + choices + `}]}`,
		"rankings":         counted(`{"blocks":[`, `{"id":"%d","type":"ranking","choices":`+choices+`}`, "]}", 500),
		"choices":          `{"blocks":[{"id":"c","type":"single_choice","choices":` + counted("[", `{"id":"%d"}`, "]", 1<<20) + `}]}`,
		"folded choices":   `{"blocks":[{"id":"c","type":"single_choice","Choices":` + counted("[", `{"id":"%d"}`, "]", 60000) + `}]}`,
		"long labels":      counted(`{"blocks":[`, `{"id":"%d","type":"statement","label":"`+label+`","description":"`+label+`"}`, "]}", 500),
		"one label":        `{"blocks":[{"id":"c","type":"short_text","label":"` + strings.Repeat("'", size-100) + `"}]}`,
		"a long id":        `{"blocks":[{"id":"` + strings.Repeat("'", size-100) + `","type":"rating"}]}`,
		"long ids":         counted(`{"blocks":[`, `{"id":"%d`+strings.Repeat("'", 190)+`","type":"opinion_scale","properties":{"from":0,"to":100}}`, "]}", 500),
		"a long type":      `{"blocks":[{"id":"a","type":"` + strings.Repeat("'", size-100) + `"}]}`,
		"a long name":      `{"name":"` + strings.Repeat("'", size-100) + `"}`,
		"settings":         `{"settings":{"submitLabel":"` + strings.Repeat("'", size-100) + `"}}`,
		"css":              `{"theme":{"customCss":"` + strings.Repeat("a{color:red}", size/13) + `"}}`,
		"phones in limit":  counted(`{"blocks":[`, `{"id":"%d","type":"phone","label":"x"}`, "]}", 250),
		"matrices in limit": counted(`{"blocks":[`, `{"id":"%[1]d","type":"matrix","matrix_rows":`+counted("[", `{"id":"%d","label":"'''"}`, "]", 44)+`,"matrix_columns":`+
			counted("[", `{"id":"%d","label":"'''"}`, "]", 45)+`}`, "]}", 5),
		"colors in limit": counted(`{"blocks":[`, `{"id":"%d","type":"multiple_choice","choices":`+
			strings.ReplaceAll(choices, `"x"`, `"x","color":"#123456","image":"https://a.example/x.png"`)+`,"properties":{"colorOption":true,"badgeType":"letter"}}`, "]}", 20),
		"ids in limit": counted(`{"blocks":[{"id":"g","type":"group","children":[`, `{"id":"`+strings.Repeat("'", 190)+`%d","type":"rating"}`, "]}]}", 900),
		"images":       `{"blocks":[` + strings.Repeat(`{"type":"image","properties":{"image":"https://a.example/`+strings.Repeat("'", 8000)+`"}},`, 120) + `{}]}`,
		"a long link":  `{"blocks":[{"id":"l","type":"welcome","properties":{"buttonLink":"mailto:` + strings.Repeat("'", size-100) + `","buttonText":"x"}}]}`,
		"a long logo":  `{"theme":{"logo":{"url":"https://a.example/` + strings.Repeat("'", size-100) + `"}}}`,
		"members":      `{"blocks":[{"id":"p","properties":{` + counted("", `"%d":0`, "", 80000) + `}}]}`,
	}
}

// mostGrown is how many megabytes the process may grow by.
const mostGrown = 100

// eight sends a request of a user eight times concurrently, and reports how much the process grew, in megabytes,
// the largest response and the statuses. How much garbage is there at the peak depends on when the collector ran:
// what grew too much is measured again, and the least of three counts.
func (s *site) eight(t *testing.T, request func(i int) *http.Request) (grew, largest int, statuses map[int]int) {
	t.Helper()
	grew, largest, statuses = s.eightOnce(t, request)
	for range 2 {
		if grew > mostGrown {
			again, _, _ := s.eightOnce(t, request)
			grew = min(grew, again)
		}
	}
	return grew, largest, statuses
}

func (s *site) eightOnce(t *testing.T, request func(i int) *http.Request) (grew, largest int, statuses map[int]int) {
	t.Helper()
	debug.FreeOSMemory()
	before, _ := resident(t)
	var all sync.WaitGroup
	answers := make([]sink, 8)
	for i := range answers {
		all.Go(func() {
			answers[i] = sink{header: http.Header{}, status: http.StatusOK}
			s.owners.ServeHTTP(&answers[i], request(i))
		})
	}
	all.Wait()
	_, peak := resident(t)
	statuses = map[int]int{}
	for _, answer := range answers {
		largest = max(largest, answer.size)
		statuses[answer.status]++
	}
	return (peak - before) >> 20, largest, statuses
}

// Eight canvases of unsaved content that are rendered concurrently, of one user or of eight, make the process grow
// by at most 100 MB, and no answer has more than a page of a form.
func TestCanvasesAreBounded(t *testing.T) {
	s := newSite(t)
	forms := map[string]formsvc.Form{}
	for i := range 8 {
		name := "user" + strconv.Itoa(i)
		forms[name] = s.form(name, oneQuestion)
	}
	bodies := hostileCanvases()
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		for _, users := range []int{8, 1} {
			if users == 1 && name != "numbers" && name != "long labels" {
				continue // two of one user take no more than two of others
			}
			grew, largest, statuses := s.eight(t, func(i int) *http.Request {
				user := "user" + strconv.Itoa(i%users)
				r := httptest.NewRequest(http.MethodPost, "/forms/-/canvas/"+forms[user].ID.String(), strings.NewReader(bodies[name]))
				r.Header.Set("User", user)
				return r
			})
			if testing.Verbose() {
				t.Logf("%s, %d users: %d bytes, grew by %d MB, at most %d bytes sent, %v", name, users, len(bodies[name]), grew, largest, statuses)
			}
			expect.That(t, grew <= mostGrown && largest <= 4<<20,
				"%s, %d users: grew by %d MB, at most %d bytes sent, %v", name, users, grew, largest, statuses)
		}
	}
}

// What is stored is bounded too: the canvas of the largest form, what publishing it would change, a version.
func TestStoredContentIsBounded(t *testing.T) {
	s := newHost(t, memory.New(), builder.Config{}, formsvc.WithLimits(formsvc.Limits{Body: 8 << 20}))
	blocks := make([]string, 400)
	for i := range blocks {
		blocks[i] = fmt.Sprintf(`{"id":"%d","type":"statement","label":"%s","description":"%[2]s"}`, i, strings.Repeat("'", 5000))
	}
	form := s.form("user0", "["+strings.Join(blocks, ",")+"]")
	for i := 1; i < 8; i++ {
		expect.NoError(t, s.service.AddMember(t.Context(), form.WorkspaceID, formsvc.UserIDFrom("user"+strconv.Itoa(i))))
	}
	client := s.service.As(formsvc.UserIDFrom("user0"))
	expect.Must(client.PublishForm(t.Context(), form.ID))
	expect.Must(client.WorkingCopy(form.ID).UpdateBlock(t.Context(), "0", json.RawMessage(`{"label":"x"}`)))
	shown := formsvc.Definition{Settings: json.RawMessage(`{"showTitle":true}`)}
	expect.Must(client.UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: shown}))
	of := "/forms/-/builder/forms/" + form.ID.String()
	for _, path := range []string{"/forms/-/canvas/" + form.ID.String(), of + "/changes", of + "/versions/2", of + "/warnings"} {
		grew, largest, statuses := s.eight(t, func(i int) *http.Request {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("User", "user"+strconv.Itoa(i))
			return r
		})
		if testing.Verbose() {
			t.Logf("%s: grew by %d MB, at most %d bytes sent, %v", path, grew, largest, statuses)
		}
		expect.That(t, grew <= mostGrown && statuses[http.StatusOK] == 8,
			"%s: grew by %d MB, at most %d bytes sent, %v", path, grew, largest, statuses)
	}
}
