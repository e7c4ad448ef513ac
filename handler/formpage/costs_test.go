package formpage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// mostAllocated is what one request of a visitor may allocate.
const mostAllocated = 16_000_000

// costs serves forms to visitors that cost as much as they can. It is not for tests that run
// in parallel: what others allocate would count.
type costs struct {
	tb    testing.TB
	svc   *formsvc.Service
	place formsvc.ID
	pages *formpage.Handler
	saves *formpage.Handler // the same, which save half responses
	store *memory.Store
	files *formpage.Dir
	now   time.Time
}

func newCosts(tb testing.TB) *costs {
	tb.Helper()
	c := &costs{tb: tb, store: memory.New(), now: time.Date(2026, 8, 3, 10, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return c.now }
	var err error
	// A form grows to its largest size by several writes; here it takes one.
	if c.svc, err = formsvc.New(formsvc.WithStorage(c.store), formsvc.WithClock(clock), formsvc.WithLimits(formsvc.Limits{Body: 8 << 20})); err != nil {
		tb.Fatal(err)
	}
	workspace := expect.Must(c.svc.CreateWorkspace(tb.Context(), formsvc.UserIDFrom("owner"), "Costs"))
	c.place = workspace.ID
	files := expect.Must(formpage.NewDir(tb.TempDir(), "https://files.example/"))
	c.files = files
	config := formpage.Config{Secret: secret, Files: files, Clock: clock, MinFillTime: -1}
	if c.pages, err = formpage.New(c.svc, config); err != nil {
		tb.Fatal(err)
	}
	config.Partials = formpage.Resume
	if c.saves, err = formpage.New(c.svc, config); err != nil {
		tb.Fatal(err)
	}
	return c
}

func newForm(place formsvc.ID) formsvc.FormCreate {
	return formsvc.FormCreate{Workspace: place, Name: "Costs", Type: "MULTI"}
}

func (c *costs) form(blocks string) formsvc.PublicForm {
	c.tb.Helper()
	wanted := newForm(c.place)
	wanted.Definition.Blocks = json.RawMessage(blocks)
	form, err := c.svc.AsHost().CreateForm(c.tb.Context(), wanted)
	if err == nil {
		form, err = c.svc.AsHost().PublishForm(c.tb.Context(), form.ID)
	}
	expect.NoError(c.tb, err)
	return expect.Must(c.svc.PublicForm(c.tb.Context(), form.PublicID))
}

// stored puts a form into the storage as it is.
func (c *costs) stored(blocks string) formsvc.PublicForm {
	c.tb.Helper()
	form, err := c.svc.AsHost().CreateForm(c.tb.Context(), newForm(c.place))
	if err == nil {
		form, err = c.svc.AsHost().PublishForm(c.tb.Context(), form.ID)
	}
	if err == nil {
		_, err = c.store.UpdateForm(context.Background(), storage.AsHost(), form.ID, storage.FormChange{
			Definition: storage.Definition{Blocks: json.RawMessage(blocks), Format: 1}, At: c.now,
		})
	}
	expect.NoError(c.tb, err)
	return expect.Must(c.svc.PublicForm(c.tb.Context(), form.PublicID))
}

// sink is a response that nobody keeps.
type sink struct {
	header http.Header
	status int
	size   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { s.size += len(p); return len(p), nil }

// sent is a request that can be sent time and again.
type sent struct{ method, path, kind, body string }

func (c *costs) serve(form formsvc.PublicForm, r sent) *sink { return c.serveBy(c.pages, form, r) }

func (c *costs) serveBy(pages http.Handler, form formsvc.PublicForm, r sent) *sink {
	request := httptest.NewRequest(r.method, "/f/"+form.PublicID+r.path, strings.NewReader(r.body))
	request.Header.Set("Content-Type", r.kind)
	w := &sink{header: http.Header{}, status: http.StatusOK}
	pages.ServeHTTP(w, request)
	return w
}

// state is that of a page of a form.
func (c *costs) state(form formsvc.PublicForm) string {
	c.tb.Helper()
	w := httptest.NewRecorder()
	c.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	found := inState.FindStringSubmatch(w.Body.String())
	expect.Require(c.tb, found != nil, "no page: %d", w.Code)
	return found[1]
}

// allocated is how many bytes a call allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// costly are forms that the API takes and whose pages cost most, by type and what there is
// most of.
func costly() map[string]string {
	list := map[string]string{}
	choices := func(n int, label string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"id":"%d","label":"%s"}`, i, label))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	// blocks makes n blocks, in groups where there are more than may be at the top.
	blocks := func(n int, kind, members string) string {
		var all, group []string
		for i := range n {
			group = append(group, fmt.Sprintf(`{"id":"b%d","type":%q,"required":true%s}`, i, kind, members))
			if n <= 500 {
				all, group = append(all, group...), nil
			} else if len(group) == 39 || i == n-1 {
				all = append(all, fmt.Sprintf(`{"id":"g%d","type":"group","children":[%s]}`, i, strings.Join(group, ",")))
				group = nil
			}
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const mark = `'`
	label := strings.Repeat(mark, 5000)
	texts := `,"label":"` + label + `","description":"` + label + `"`
	everything := `,"description":"x","properties":{"placeholderText":"x","image":{"url":"https://a.example/x.png"},"imageAlt":"x","imageWidth":10,"maxChars":9,
		"min":1,"minVal":true,"max":9,"maxVal":true,"dateFormat":"DDMMYYYY","dateSeparator":".","showTimePicker":true,"buttonText":"x","quotationMarks":true,
		"leftLabel":true,"firstLabel":"x","centerLabel":true,"secondLabel":"x","rightLabel":true,"thirdLabel":"x","otherOption":true,"badgeType":"letter","legalText":"x",
		"videoLink":"https://www.youtube.com/watch?v=abc","pdfLink":"https://a.example/x","embedLink":"https://a.example/x","amount":"1","currency":"EUR",
		"multipleFiles":true,"allowedFiles":["image"],"addressOrContact":{"country":{"hide":true},"firstName":{"required":true}}}`
	for _, kind := range kinds() {
		most := map[string]int{schema.TypeNPS: 909, schema.TypeRating: 500, schema.TypeOpinionScale: 99, schema.TypeCountry: 250, schema.TypePhone: 250, schema.TypeYesNo: 1900, schema.TypeLegal: 1900}[kind]
		if most == 0 {
			most = 1940
		}
		members := ""
		switch kind {
		case schema.TypeRating:
			members = `,"properties":{"to":20}`
		case schema.TypeOpinionScale:
			members = `,"properties":{"from":0,"to":100}`
		case schema.TypeDate:
			var days []string
			for i := range 50 {
				days = append(days, fmt.Sprintf(`"2026-%02d-%02dT00:00:00Z"`, 1+i/25, 1+i%25))
			}
			list[kind+", days"] = blocks(200, kind, `,"properties":{"specificDates":[`+strings.Join(days, ",")+`]}`)
		case schema.TypeAddress, schema.TypeContactInfo:
			list[kind+", many countries"] = blocks(125, kind, "")
			most = 250
			members = `,"properties":{"addressOrContact":{"country":{"hide":true}}}`
		}
		list[kind+", many"] = blocks(most, kind, members)
		list[kind+", many with everything"] = blocks(min(most, 1500), kind, everything)
		if slices.Contains([]string{schema.TypeLongText, schema.TypeAddress, schema.TypeRating, schema.TypeStatement, schema.TypeFileUpload, schema.TypeLegal, schema.TypeDate, schema.TypeGroup}, kind) {
			list[kind+", long"] = blocks(min(most, 400), kind, texts+members) // others are drawn as one of these
		}
		switch kind {
		case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice, schema.TypeDropdown:
			list[kind+", options"] = blocks(20, kind, `,"choices":`+choices(500, "x"))
			list[kind+", options with everything"] = blocks(20, kind, `,"choices":`+choices(500, `x","color":"#123456","image":"https://a.example/x.png`)+`,"properties":{"colorOption":true,"badgeType":"letter","showLabels":true,"otherOption":true,"multiSelection":true}`)
			list[kind+", long options"] = blocks(1, kind, `,"choices":`+choices(500, label))
		case schema.TypeRanking:
			list[kind+", places"] = blocks(6, kind, `,"choices":`+choices(40, "x"))
			list[kind+", numbers"] = blocks(20, kind, `,"choices":`+choices(500, "x"))
			list[kind+", long options"] = blocks(1, kind, `,"choices":`+choices(500, label))
		case schema.TypeMatrix:
			for name, side := range map[string]string{"cells": "x", "long cells": label} {
				list[kind+", "+name] = blocks(5, kind, `,"matrix_rows":`+choices(44, side)+`,"matrix_columns":`+choices(45, side))
			}
			list[kind+", several"] = blocks(5, kind, `,"matrix_rows":`+choices(44, "x")+`,"matrix_columns":`+choices(45, "x")+`,"properties":{"multiSelection":true}`)
		}
	}
	return list
}

// kinds are the types of blocks.
func kinds() []string {
	var blocks []struct{ Type string }
	if err := json.Unmarshal([]byte(every), &blocks); err != nil {
		panic(err)
	}
	found := map[string]bool{}
	for _, b := range blocks {
		found[b.Type] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// visits are the requests of a visitor to a form: of a page, filled in with nothing, with
// something wrong everywhere, and by a front end of the host's own.
func (c *costs) visits(form formsvc.PublicForm) map[string]sent {
	state := c.state(form)
	var typed strings.Builder
	wrong := map[string]any{}
	var fill func(blocks []schema.Block)
	fill = func(blocks []schema.Block) {
		for _, b := range blocks {
			fmt.Fprintf(&typed, "&seen=%s&a.%s=%%22x", b.ID, b.ID)
			if b.Type == schema.TypeAddress || b.Type == schema.TypeContactInfo {
				fmt.Fprintf(&typed, "&p.firstName.%s=x", b.ID)
			}
			if len(b.Choices) > 0 {
				fmt.Fprintf(&typed, "&o.%s=x&a.%s=id:1&k.1.%s=1", b.ID, b.ID, b.ID)
			}
			for _, r := range b.MatrixRows {
				fmt.Fprintf(&typed, "&r.%s.%s=id:1", r.ID, b.ID)
			}
			wrong[b.ID] = []int{1}
			fill(b.Children)
		}
	}
	fill(form.Blocks)
	answers, _ := json.Marshal(map[string]any{"state": state, "answers": wrong})
	const urlencoded = "application/x-www-form-urlencoded"
	return map[string]sent{
		"GET":       {method: http.MethodGet},
		"empty":     {http.MethodPost, "", urlencoded, "state=" + state},
		"wrong":     {http.MethodPost, "", urlencoded, "state=" + state + typed.String()},
		"form.json": {method: http.MethodGet, path: "/form.json"},
		"path":      {http.MethodPost, "/path", "application/json", string(answers)},
		"submit":    {http.MethodPost, "/submit", "application/json", string(answers)},
	}
}

// No request of a visitor allocates more than 16 MB, whatever form the API took, and no page
// has more than 4 MiB and what was typed.
func TestWhatAPageCosts(t *testing.T) {
	c := newCosts(t)
	forms := costly()
	if raceDetector || testing.Short() {
		forms = map[string]string{"every": every} // the others take long
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		form := c.form(forms[name])
		visits := c.visits(form)
		c.serve(form, visits["wrong"]) // now the form is decoded and compiled
		for _, kind := range slices.Sorted(maps.Keys(visits)) {
			var w *sink
			bytes := allocated(func() { w = c.serve(form, visits[kind]) })
			if testing.Verbose() {
				t.Logf("%s: %s: %d, %d bytes, %.1f MB", name, kind, w.status, w.size, float64(bytes)/1e6)
			}
			expect.That(t, (bytes <= mostAllocated || raceDetector) && w.size <= 4<<20+2*len(visits[kind].body),
				"%s: %s: status %d, %d bytes sent, %d allocated", name, kind, w.status, w.size, bytes)
		}
		// To save is a walk through the form, and a page that is shown is another one.
		typed := visits["wrong"]
		typed.body += "&go=save"
		var w *sink
		bytes := allocated(func() { w = c.serveBy(c.saves, form, typed) })
		expect.That(t, (bytes <= mostAllocated*3/2 || raceDetector) && w.size <= 4<<20+2*len(typed.body),
			"%s: saving: status %d, %d bytes sent, %d allocated", name, w.status, w.size, bytes)
	}
}

// What the limit of cells counts is what a page draws.
func TestCellsAreTheOptionsThatAreDrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	choices := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":"%d"}`, i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for block, spare := range map[string]int{
		`"type":"matrix","matrix_rows":` + choices(7) + `,"matrix_columns":` + choices(9):                                           0,
		`"type":"matrix","matrix_rows":` + choices(3) + `,"matrix_columns":` + choices(2) + `,"properties":{"multiSelection":true}`: 0,
		`"type":"ranking","choices":` + choices(40):                                                                                 0,
		`"type":"ranking","choices":` + choices(41):                                                                                 41, // inputs
		`"type":"single_choice","choices":` + choices(9):                                                                            0,
		`"type":"multiple_choice","choices":` + choices(9):                                                                          0,
		`"type":"picture_choice","choices":` + choices(9):                                                                           0,
		`"type":"dropdown","choices":` + choices(9):                                                                                 0,
		`"type":"rating"`:                        0,
		`"type":"rating","properties":{"to":20}`: 0,
		`"type":"rating","properties":{"to":21}`: 0,
		`"type":"nps"`:                           0,
		`"type":"opinion_scale"`:                 0,
		`"type":"opinion_scale","properties":{"from":-1,"to":1,"scaleStep":0.1}`: 0,
		`"type":"opinion_scale","properties":{"from":0,"to":20}`:                 0,
		`"type":"opinion_scale","properties":{"from":0,"to":21}`:                 0,
		`"type":"opinion_scale","properties":{"from":5,"to":1}`:                  0,
		`"type":"yes_no"`: 0,
		`"type":"legal"`:  0,
		// A list of countries counts 40, whatever it has.
		`"type":"country"`: -40,
		`"type":"phone"`:   -40,
		`"type":"address"`: -80,
		`"type":"contact_info","properties":{"addressOrContact":{"country":{"hide":true}}}`: -40,
		`"type":"short_text"`: 0,
	} {
		blocks := `[{"id":"b",` + block + `}]`
		page := s.open(s.form("MULTI", blocks, "", ""), "").raw
		drawn := strings.Count(page, `type="radio"`) + strings.Count(page, `type="checkbox"`) + strings.Count(page, "<option") - strings.Count(page, `<option value=""`)
		if spare < 0 {
			drawn, spare = -spare, 0
		}
		takes := func(cells int) bool {
			svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLimits(formsvc.Limits{AllCells: max(1, cells)}))
			expect.NoError(t, err)
			workspace := expect.Must(svc.CreateWorkspace(t.Context(), formsvc.UserIDFrom("owner"), "Cells"))
			wanted := newForm(workspace.ID)
			wanted.Definition.Blocks = json.RawMessage(blocks)
			_, err = svc.AsHost().CreateForm(t.Context(), wanted)
			return err == nil
		}
		if !takes(drawn+spare) || drawn > 1 && takes(drawn-1) {
			t.Errorf("%s: %d options are drawn; with as many cells it is taken: %v, with one less: %v", block, drawn, takes(drawn+spare), takes(drawn-1))
		}
	}
}

// A form that was stored before there was a limit is drawn up to 4 MiB, and says what is missing.
func TestAFormThatIsTooLargeIsDrawnAsFarAsThereIsRoom(t *testing.T) {
	c := newCosts(t)
	lines := make([]string, 500)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"%d","label":"Line %d"}`, i, i)
	}
	list := "[" + strings.Join(lines, ",") + "]"
	grid := `{"id":"%s","type":"matrix","label":"The <grid> %[1]s","matrix_rows":` + list + `,"matrix_columns":` + list + `},`
	form := c.stored(`[{"id":"first","type":"short_text","label":"First"},` + fmt.Sprintf(grid, "a") + fmt.Sprintf(grid, "b") + `{"id":"last","type":"short_text","label":"Last"}]`)
	w := httptest.NewRecorder()
	c.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	body := w.Body.String()
	expect.That(t, len(body) <= 4<<20 && len(body) >= 3<<20 && strings.Contains(body, "First") && !strings.Contains(body, "Last"),
		"%d, %d bytes", w.Code, len(body))
	const note = "Starting with “The &lt;grid&gt; a”, 3 items are missing or cut off."
	expect.That(t, strings.Contains(body, note) && strings.HasSuffix(body, "</body>\n</html>\n"),
		"the page lacks %q, or ends with %q", note, body[len(body)-300:])
}

const boundary = "----WebKitFormBoundaryAbCdEf0123456789"

// megabyte repeats what a function makes until there is 1 MiB of it.
func megabyte(part func(i int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		one := part(i)
		if b.Len()+len(one) > 1<<20-2000 { // with the state
			return b.String()
		}
		b.WriteString(one)
	}
}

// costlyBodies are bodies of a page, of a megabyte, by encoding and by what they have most of.
func costlyBodies(state string) map[string]sent {
	list := map[string]sent{}
	same := func(text string) func(int) string { return func(int) string { return text } }
	long := func(text string) string { return megabyte(same(text)) }

	put := func(name, body string) {
		list["urlencoded, "+name] = sent{http.MethodPost, "", "application/x-www-form-urlencoded", "state=" + state + body}
	}
	put("many names", megabyte(func(i int) string { return fmt.Sprintf("&a.%d=x", i) }))
	put("short names", megabyte(func(i int) string { return fmt.Sprintf("&%x", i) }))
	put("one name often", long("&a.one=id:a"))
	put("one text often", long("&a.short=x"))
	put("a control often", long("&seen=x"))
	put("one long value", "&a.long="+long("x"))
	put("empty names", long("&=x"))
	put("empty pairs", long("&"))
	put("escapes", "&a.long="+long("%22"))
	put("deep", "&a.long="+long("[")+long("]")[:0])
	put("unknown members", megabyte(func(i int) string { return fmt.Sprintf("&unknown%d=x", i) }))
	put("bytes that are not UTF-8", "&a.long="+long("\xffa"))
	for _, mark := range []string{`"`, "<", "'", "\n", "é", "\u2028", "\u202a\u202c"} {
		put("shown back "+mark, "&go=next&a.email=x&a.long="+url.QueryEscape("x")+long(mark))
		put("shown back hidden "+mark, "&go=next&a.email=x&h.ref="+long(mark))
		put("shown back as lost "+mark, "&go=next&a.gone="+long(mark))
	}

	part := func(head, text string) string { return "--" + boundary + "\r\n" + head + "\r\n\r\n" + text + "\r\n" }
	named := func(name, text string) string { return part(`Content-Disposition: form-data; name="`+name+`"`, text) }
	put = func(name, body string) {
		list["multipart, "+name] = sent{http.MethodPost, "", "multipart/form-data; boundary=" + boundary, named("state", state) + body + "--" + boundary + "--\r\n"}
	}
	put("many names", megabyte(func(i int) string { return named(fmt.Sprint("a.", i), "x") }))
	put("one name often", long(named("a.one", "id:a")))
	put("one long value", named("a.long", long("x")))
	put("empty names", long(named("", "x")))
	put("part headers", long(part("X: y\r\nContent-Disposition: form-data; name=a", "")))
	put("one part with many headers", part(megabyte(func(i int) string { return fmt.Sprintf("X-%d: y\r\n", i) })+"X: y", "x"))
	put("one long header", part("X: "+long("y"), "x"))
	put("nameless file", part(`Content-Disposition: form-data; name=""; filename="x"`, long("x")))
	put("file without a file name", part(`Content-Disposition: form-data; name="u.file"`, long("x")))
	put("many nameless files", long(part(`Content-Disposition: form-data; filename="x"`, "")))
	put("deep", named("a.long", long("--")))
	put("unknown members", megabyte(func(i int) string { return named(fmt.Sprint("unknown", i), "x") }))
	for _, mark := range []string{`"`, "<", "é"} {
		put("shown back "+mark, named("go", "next")+named("a.email", "x")+named("a.long", long(mark)))
	}

	for _, path := range []string{"/path", "/submit"} {
		put = func(name, members string) {
			list["JSON"+path+", "+name] = sent{http.MethodPost, path, "application/json", `{"state":"` + state + `",` + members + "}"}
		}
		put("many names", `"answers":{`+strings.TrimSuffix(megabyte(func(i int) string { return fmt.Sprintf(`"%d":1,`, i) }), ",")+"}")
		put("one name often", `"answers":{`+strings.TrimSuffix(long(`"a":1,`), ",")+"}")
		put("many hidden fields", `"hidden":{`+strings.TrimSuffix(megabyte(func(i int) string { return fmt.Sprintf(`"%d":"",`, i) }), ",")+"}")
		put("one long value", `"answers":{"long":"`+long("x")+`"}`)
		put("one long list", `"answers":{"many":[`+strings.TrimSuffix(long("1,"), ",")+`]}`)
		put("empty names", `"answers":{`+strings.TrimSuffix(long(`"":1,`), ",")+"}")
		put("deep", `"answers":{"long":`+long("[")+"}")
		put("unknown members", strings.TrimSuffix(megabyte(func(i int) string { return fmt.Sprintf(`"%d":1,`, i) }), ","))
		put("a second state", `"state":"`+long("x")+`"`)
		put("shown back", `"answers":{"email":"`+long("<")+`"}`)
	}
	for _, path := range []string{"/view", "/start"} {
		list["beacon"+path+", long"] = sent{http.MethodPost, path, "application/x-www-form-urlencoded", "state=" + state + "&x=" + long("x")}
		list["beacon"+path+", parts"] = sent{http.MethodPost, path, "multipart/form-data; boundary=" + boundary, named("state", state) + long(named("x", ""))}
	}
	return list
}

// A body of a megabyte, whatever it is made of, allocates at most 16 MB, of which four times
// its size are kept.
func TestCostlyBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if raceDetector {
		t.Skip("reason: the race detector allocates for itself; make test-all runs this without it")
	}
	c := newCosts(t)
	form := c.form(every)
	bodies := costlyBodies(c.state(form))
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		body := bodies[name]
		c.serve(form, sent{body.method, body.path, body.kind, ""})
		var w *sink
		bytes := allocated(func() { w = c.serve(form, body) })
		var kept any
		request := func() *http.Request {
			r := httptest.NewRequest(body.method, "/f/"+form.PublicID+body.path, strings.NewReader(body.body))
			r.Header.Set("Content-Type", body.kind)
			return r
		}
		held := retained(func() { kept = c.pages.Read(httptest.NewRecorder(), request(), form) })
		runtime.KeepAlive(kept)
		t.Logf("%s: %d, %d kB sent, %d kB allocated, %d kB kept", name, w.status, w.size>>10, bytes>>10, held>>10)
		expect.That(t, bytes <= mostAllocated && held <= 4<<20 && w.status < http.StatusInternalServerError,
			"%s: status %d, %d bytes allocated, %d kept", name, w.status, bytes, held)
	}
}

// retained is how many bytes are held after a call that were not before.
func retained(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what is in a pool outlives one
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// What a body has beside files is bounded as a whole, and JSON is as strict as the API's.
func TestBodiesThatAreRefused(t *testing.T) {
	c := newCosts(t)
	form := c.form(every)
	state := c.state(form)
	for name, want := range map[string]struct {
		status int
		body   string
	}{
		"a second state":      {http.StatusBadRequest, `{"state":"` + state + `","state":"` + state + `"}`},
		"a name twice":        {http.StatusBadRequest, `{"state":"` + state + `","answers":{"short":"x","short":"y"}}`},
		"an unknown member":   {http.StatusUnprocessableEntity, `{"state":"` + state + `","answer":{}}`},
		"many answers":        {http.StatusUnprocessableEntity, `{"state":"` + state + `","answers":{` + manyMembers(2000) + `}}`},
		"a number as state":   {http.StatusBadRequest, `{"state":1}`},
		"a number as text":    {http.StatusBadRequest, `{"state":"` + state + `","hidden":{"ref":1}}`},
		"something after":     {http.StatusBadRequest, `{"state":"` + state + `"} x`},
		"too deep":            {http.StatusBadRequest, `{"state":"` + state + `","answers":{"short":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`},
		"nothing":             {http.StatusBadRequest, ``},
		"null for everything": {http.StatusOK, `{"state":"` + state + `","answers":null,"hidden":null,"utm":null,"took":null,"captcha":null}`},
		"answers":             {http.StatusOK, `{"state":"` + state + `","answers":{"short":"x"},"hidden":{"ref":"x","other":null}}`},
	} {
		if w := c.serve(form, sent{http.MethodPost, "/path", "application/json", want.body}); w.status != want.status {
			t.Errorf("%s: %d, want %d", name, w.status, want.status)
		}
	}
	endless := &endlessBody{head: "--" + boundary + "\r\nContent-Disposition: form-data; name=\"\"; filename=\"x\"\r\n\r\n"}
	headers := &endlessBody{head: "--" + boundary + "\r\n\r\n\r\n", again: true}
	unnamed := &endlessBody{head: "--" + boundary + "\r\nContent-Disposition: form-data; name=\"u.file\"; filename=\"\"\r\n\r\n"}
	large := &endlessBody{head: "--" + boundary + "\r\nContent-Disposition: form-data; name=a\r\nX: " + strings.Repeat("y", 100_000) + "\r\n\r\n\r\n", again: true}
	for name, body := range map[string]*endlessBody{
		"a nameless file": endless, "a file without a file name": unnamed, "parts without names": headers, "large part headers": large,
	} {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, body)
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		w := &sink{header: http.Header{}}
		c.pages.ServeHTTP(w, r)
		expect.That(t, w.status == http.StatusRequestEntityTooLarge && body.read <= 16<<20,
			"%s: status %d after %d bytes", name, w.status, body.read)
	}
}

func manyMembers(n int) string {
	raw, _ := json.Marshal(slices.Collect(func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprint(i)) {
				return
			}
		}
	}))
	return strings.ReplaceAll(strings.Trim(string(raw), "[]"), ",", ":1,") + ":1"
}

// endlessBody begins with a head, and repeats it or has zeros then, up to 200 MB.
type endlessBody struct {
	head  string
	again bool
	read  int
}

func (e *endlessBody) Read(p []byte) (int, error) {
	if e.read > 200<<20 {
		return 0, fmt.Errorf("read %d bytes", e.read)
	}
	for i := range p {
		switch at := e.read + i; {
		case e.again:
			p[i] = e.head[at%len(e.head)]
		case at < len(e.head):
			p[i] = e.head[at]
		default:
			p[i] = 0
		}
	}
	e.read += len(p)
	return len(p), nil
}
