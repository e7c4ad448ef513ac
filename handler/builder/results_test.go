package builder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// owners is a host with the pages; a request has its user's name in a header.
type owners struct {
	*site
	client formsvc.Client // of ada
	place  formsvc.ID     // the workspace of ada; bob has another one
	server *httptest.Server
}

func newOwners(t testing.TB, store storage.Storage, options ...formsvc.Option) *owners {
	t.Helper()
	o := &owners{site: newHost(t, store, builder.Config{}, options...)}
	o.server = httptest.NewServer(o.owners)
	t.Cleanup(o.server.Close)
	for _, name := range []string{"bob", "ada"} {
		place := expect.Must(o.service.CreateWorkspace(t.Context(), formsvc.UserIDFrom(name), name))
		o.place = place.ID
	}
	o.client = o.service.As(formsvc.UserIDFrom("ada"))
	return o
}

func (o *owners) publish(name string, blocks any) formsvc.Form {
	o.t.Helper()
	raw := expect.Must(json.Marshal(blocks))
	form := expect.Must(o.client.CreateForm(o.t.Context(), formsvc.FormCreate{Workspace: o.place, Name: name, Type: "MULTI", Definition: formsvc.Definition{
		Blocks: raw, HiddenFields: json.RawMessage(`["source"]`), Variables: json.RawMessage(`{"score":0}`),
	}}))
	form = expect.Must(o.client.PublishForm(o.t.Context(), form.ID))
	return form
}

// submit sends a response that came in at a time; answers are JSON by block id.
func (o *owners) submit(form formsvc.Form, at time.Time, answers, host map[string]any) formsvc.Submission {
	o.t.Helper()
	encode := func(values map[string]any) map[string]json.RawMessage {
		raws := map[string]json.RawMessage{}
		for id, value := range values {
			raw := expect.Must(json.Marshal(value))
			raws[id] = raw
		}
		return raws
	}
	s := expect.Must(o.service.Submit(o.t.Context(), formsvc.SubmitParams{
		FormID: form.ID, Answers: encode(answers), HostAnswers: encode(host), Hidden: map[string]string{"source": "mail"}, CompletionTime: 60, SubmittedAt: at,
	}))
	return s
}

// ask sends a request to the door and returns status, headers and body.
func (o *owners) ask(user, method, path, body string) (int, http.Header, []byte) {
	o.t.Helper()
	r := expect.Must(http.NewRequestWithContext(o.t.Context(), method, o.server.URL+"/forms/-/builder"+path, strings.NewReader(body)))
	r.Header.Set("User", user)
	response := expect.Must(http.DefaultClient.Do(r))
	defer response.Body.Close()
	content := expect.Must(io.ReadAll(response.Body))
	return response.StatusCode, response.Header, content
}

type givenText struct {
	Submission, Text string
	Count            int64
}

type summary struct {
	Responses  int64
	Unfinished bool
	Seconds    float64
	Blocks     []struct {
		ID, Label, Type, SVG string
		Answered, Skipped    int64
		Figures              []struct {
			Name  string
			Value float64
		}
		Tables []struct {
			Label string
			Rows  []struct {
				Label        string
				Count        int64
				Share, Place float64
			}
			More int
		}
		OtherTypes []struct {
			Type  string
			Count int64
		} `json:"other_types"`
		Texts     []givenText
		MoreTexts bool `json:"more_texts"`
	}
}

func (o *owners) summary(form formsvc.Form, query string) (found summary) {
	o.t.Helper()
	status, _, body := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/summary"+query, "")
	expect.Require(o.t, status == http.StatusOK, "%d: %s", status, body)
	expect.NoError(o.t, json.Unmarshal(body, &found))
	var charts struct {
		Blocks []struct{ Tables []struct{ SVG string } }
	}
	expect.NoError(o.t, json.Unmarshal(body, &charts))
	for i, b := range charts.Blocks {
		for _, table := range b.Tables {
			found.Blocks[i].SVG += table.SVG
		}
	}
	return found
}

// well reads a chart as XML, and returns its title and what it has beside the shapes of charts.
func well(t *testing.T, svg string) (titles []string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader("<all>" + svg + "</all>"))
	for in := ""; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return titles
		}
		expect.Require(t, err == nil, "%v in %s", err, svg)
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local
			expect.That(t, slices.Contains([]string{"all", "svg", "title", "rect", "text"}, in), "an element %s in %s", in, svg)
			for _, a := range token.Attr {
				if name := a.Name.Local; name == "style" || strings.HasPrefix(name, "on") || strings.Contains(name, "href") {
					t.Errorf("an attribute %s in %s", name, svg)
				}
			}
		case xml.CharData:
			if in == "title" {
				titles = append(titles, string(token))
			}
		case xml.EndElement:
			in = ""
		}
	}
}

// Every type of blocks that is answered has a chart with a text, and the numbers beside, with
// answers and without.
func TestEveryTypeHasAChart(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	choices := []map[string]any{{"id": "a", "label": "Ape"}, {"id": "b", "label": "Bear"}}
	file := map[string]any{"id": "f", "name": "cv.pdf", "url": "https://files.example/cv", "mime_type": "application/pdf", "size": 9}
	values := map[string]any{
		"short_text": "words", "long_text": "more words", "email": "a@example.com", "phone": "+31201234567", "website": "https://a.example/", "number": 7.5,
		"rating": 4, "opinion_scale": 3, "nps": 9, "yes_no": true, "legal": true, "single_choice": "a", "multiple_choice": []string{"a", "b"}, "picture_choice": "b",
		"dropdown": "b", "ranking": []string{"b", "a"}, "matrix": map[string]any{"a": "b"}, "date": "2026-11-20", "time": "10:30", "country": "NL",
		"address": map[string]any{"address": "Main 1", "city": "Delft", "zip": "1", "country": "NL"}, "contact_info": map[string]any{"firstName": "Ann", "lastName": "B", "email": "a@example.com"},
	}
	picture := map[string]any{"id": "p", "name": "me.png", "url": "https://files.example/me", "mime_type": "image/png", "size": 9}
	hosts := map[string]any{"file_upload": []any{file}, "signature": picture, "payment": map[string]any{"amount": "9.50", "currency": "EUR", "status": "paid", "gateway": "g"}}
	var blocks []map[string]any
	for kind := range schema.BlockTypes() {
		block := map[string]any{"id": kind.Type, "type": kind.Type, "label": "The " + kind.Type}
		switch kind.Shape {
		case schema.ShapeChoice, schema.ShapeChoices, schema.ShapeRanking:
			block["choices"] = choices
		case schema.ShapeMatrix:
			block["matrix_rows"], block["matrix_columns"] = choices, choices
		}
		if kind.Type == schema.TypePayment {
			block["properties"] = map[string]any{"amount": "9.50", "currency": "EUR"}
		}
		if kind.TakesAnswer() {
			blocks = append(blocks, block)
			expect.Require(t, values[kind.Type] != nil || hosts[kind.Type] != nil, "the test has no answer to %s", kind.Type)
		}
	}
	form := o.publish("Every", blocks)
	for _, answered := range []bool{false, true} {
		if answered {
			o.submit(form, time.Time{}, values, hosts)
		}
		found := o.summary(form, "")
		expect.That(t, len(found.Blocks) == len(blocks)+2,
			"%d blocks, want %d and a hidden field and a variable", len(found.Blocks), len(blocks))
		for _, b := range found.Blocks {
			titles := well(t, b.SVG)
			expect.That(t, len(titles) != 0 && strings.HasPrefix(titles[0], b.Label+": ") && len(b.Tables) != 0 && len(b.Tables[0].Rows) != 0,
				"%s: titles %q, tables %v", b.Type, titles, b.Tables)
			want := b.Type != "variable" && answered
			expect.That(t, (b.Answered == 1) == want, "%s: answered by %d", b.Type, b.Answered)
			total := int64(0)
			for _, table := range b.Tables {
				for _, row := range table.Rows {
					total += row.Count
				}
			}
			expect.That(t, !answered || total != 0, "%s: the table counts nothing: %+v", b.Type, b.Tables)
			switch b.Type {
			case "short_text", "long_text", "email", "phone", "website", "time", "address", "contact_info", "file_upload", "signature", "hidden":
				expect.That(t, answered == (len(b.Texts) == 1), "%s: the newest are %v", b.Type, b.Texts)
			default:
				expect.That(t, b.Texts == nil, "%s has texts: %v", b.Type, b.Texts)
			}
		}
	}
}

func TestChartsSayWhatWasAnswered(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	choices := []map[string]any{{"id": "a", "label": "Ape"}, {"id": "b", "label": "Bear"}, {"id": "c", "label": "Cat"}}
	form := o.publish("Zoo", []map[string]any{
		{"id": "one", "type": "single_choice", "label": "One", "choices": choices, "properties": map[string]any{"otherOption": true}},
		{"id": "rank", "type": "ranking", "label": "Rank", "choices": choices},
		{"id": "nps", "type": "nps", "label": "Recommend"},
		{"id": "stars", "type": "rating", "label": "Stars", "properties": map[string]any{"to": 7}},
		{"id": "day", "type": "date", "label": "Day"},
		{"id": "grid", "type": "matrix", "label": "Grid", "matrix_rows": choices[:2], "matrix_columns": choices},
		{"id": "land", "type": "country", "label": "Land"},
		{"id": "number", "type": "number", "label": "Number"},
	})
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i, answers := range []map[string]any{
		{"one": "a", "rank": []string{"c", "a", "b"}, "nps": 10, "stars": 5, "day": "2026-01-31", "grid": map[string]any{"a": "b"}, "land": "NL", "number": 1},
		{"one": "a", "rank": []string{"c", "b", "a"}, "nps": 9, "stars": 5, "day": "2026-03-01", "grid": map[string]any{"a": "b", "b": "c"}, "land": "DE", "number": 2.5},
		{"one": map[string]any{"other": "A newt"}, "nps": 3, "day": "2027-03-01", "land": "NL"},
		{"one": "b", "nps": 7},
	} {
		o.submit(form, at.Add(time.Duration(i)*time.Hour), answers, nil)
	}
	found := o.summary(form, "")
	said := map[string]string{}
	for _, b := range found.Blocks {
		said[b.ID] = fmt.Sprint(b.Answered, b.Skipped, b.Figures, b.Tables, well(t, b.SVG), len(b.Texts))
	}
	for id, want := range map[string]string{
		"one":   "4 0 [] [{ [{Ape 2 50 0} {Bear 1 25 0} {Cat 0 0 0} {Other 1 25 0}] 0}] [One: Ape 2 · 50%, Bear 1 · 25%, Cat 0 · 0%, Other 1 · 25%] 1",
		"rank":  "2 2 [] [{ [{Cat 2 100 1} {Ape 2 100 2.5} {Bear 2 100 2.5}] 0}] [Rank: Cat ⌀ 1, Ape ⌀ 2.5, Bear ⌀ 2.5] 0",
		"stars": "2 2 [{mean 5} {median 5} {standard_deviation 0} {min 5} {max 5}] [{ [{1 0 0 0} {2 0 0 0} {3 0 0 0} {4 0 0 0} {5 2 100 0} {6 0 0 0} {7 0 0 0}] 0}] [Stars: 1 0 · 0%, 2 0 · 0%, 3 0 · 0%, 4 0 · 0%, 5 2 · 100%, 6 0 · 0%, 7 0 · 0%] 0",
		"grid":  "2 2 [] [{Ape [{Ape 0 0 0} {Bear 2 100 0} {Cat 0 0 0}] 0} {Bear [{Ape 0 0 0} {Bear 0 0 0} {Cat 1 100 0}] 0}] [Grid: Ape: Ape 0 · 0%, Bear 2 · 100%, Cat 0 · 0%; Bear: Ape 0 · 0%, Bear 0 · 0%, Cat 1 · 100%] 0",
		"land":  "3 1 [] [{ [{Netherlands 2 66.66666666666667 0} {Germany 1 33.333333333333336 0}] 0}] [Land: Netherlands 2 · 67%, Germany 1 · 33%] 0",
	} {
		expect.That(t, said[id] == want, "%s:\n%s, want\n%s", id, said[id], want)
	}
	if !strings.Contains(said["nps"], "{nps 25}") || !strings.Contains(said["nps"], "[{Promoters (9–10) 2 50 0} {Passives (7–8) 1 25 0} {Detractors (0–6) 1 25 0}]") || !strings.Contains(said["nps"], "{10 1 25 0}]") {
		t.Error(said["nps"])
	}
	if !strings.Contains(said["day"], "{2026-01 1 ") || !strings.Contains(said["day"], "{2026-02 0 0 0}") || !strings.Contains(said["day"], "{2027-03 1 ") {
		t.Error(said["day"])
	}
	expect.That(t, found.Responses == 4 && found.Seconds == 60, "%+v", found)
	// Both bounds are included, and what is no time is a fault.
	if found := o.summary(form, "?since=2026-11-01T13:00:00Z&until=2026-11-01T14:00:00Z"); found.Responses != 2 {
		t.Errorf("%d responses, want 2", found.Responses)
	}
	status, _, body := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/summary?since=yesterday", "")
	expect.That(t, status == http.StatusUnprocessableEntity && bytes.Contains(body, []byte(`"/since"`)), "%d: %s", status, body)
}

// Classes of whole numbers begin and end with whole numbers, and each number is in one class alone.
func TestClassesOfWholeNumbers(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	for _, c := range []struct {
		last   float64
		labels string
	}{{21, "1 – 2, 3 – 4, 21"}, {79, "1 – 4, 5 – 8, 77 – 79"}, {39.5, "1 – 2.9, 2.9 – 4.8, 37.6 – 39.5"}} {
		form := o.publish("Whole", []map[string]any{{"id": "n", "type": "number", "label": "N"}})
		for n := 1.0; n < c.last; n++ {
			o.submit(form, time.Time{}, map[string]any{"n": n}, nil)
		}
		o.submit(form, time.Time{}, map[string]any{"n": c.last}, nil)
		rows := o.summary(form, "").Blocks[0].Tables[0].Rows
		expect.Equal(t, rows[0].Label+", "+rows[1].Label+", "+rows[len(rows)-1].Label, c.labels, "%v up to", c.last)
		expect.That(t, c.last != 79 || rows[1].Count == 4 && rows[len(rows)-1].Count == 3, "%v", rows)
	}
}

func TestDaysAreDrawnInFewBars(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	for _, c := range []struct{ first, last, label, end string }{
		{"2026-01-15", "2026-02-14", "2026-01-15", "2026-02-14"}, {"2026-01-31", "2026-03-31", "2026-01", "2026-03"},
		{"2019-05-05", "2026-03-01", "2019", "2026"}, {"1926-05-05", "2026-03-01", "192x", "202x"}, {"1066-05-05", "2026-03-01", "10xx", "20xx"}, {"1000-01-01", "9999-12-31", "1xxx", "9xxx"},
	} {
		form := o.publish("Days", []map[string]any{{"id": "day", "type": "date", "label": "Day"}})
		o.submit(form, time.Time{}, map[string]any{"day": c.last}, nil)
		o.submit(form, time.Time{}, map[string]any{"day": c.first}, nil)
		rows := o.summary(form, "").Blocks[0].Tables[0].Rows
		if len(rows) > 31 || rows[0].Label != c.label || rows[0].Count != 1 || rows[len(rows)-1].Label != c.end || rows[len(rows)-1].Count != 1 {
			t.Errorf("%s to %s: %v", c.first, c.last, rows)
		}
	}
}

// Nothing that owners or respondents write becomes part of a chart's markup, and long texts are cut.
func TestHostileTextsInCharts(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	plain := strings.NewReplacer("\n", " ", "\u2028", " ", "\u202e", " ") // what a response may have
	for _, text := range []string{
		`</text></svg><script>x()</script>`, `<img src=x onerror=x()>`, `"><script>x()</script>`, `' onload='x()`, `]]><script>`, `<!--`, `</title><script>x()</script>`, `&lt;script&gt;`, `{{.}}`,
		"a\nb\u2028c\u202ed", strings.Repeat("long <b>", 5000/8),
	} {
		choices := []map[string]any{{"id": "a", "label": text}, {"id": "b", "label": "Bear"}}
		form := o.publish("Hostile", []map[string]any{
			{"id": "one", "type": "single_choice", "label": text, "choices": choices, "properties": map[string]any{"otherOption": true}},
			{"id": "grid", "type": "matrix", "label": text, "matrix_rows": choices, "matrix_columns": choices},
			{"id": "rank", "type": "ranking", "label": text, "choices": choices}, {"id": "n", "type": "number", "label": text}, {"id": "t", "type": "long_text", "label": text},
		})
		o.submit(form, time.Time{}, map[string]any{"one": map[string]any{"other": "x" + plain.Replace(text[:min(len(text), 200)])}, "grid": map[string]any{"a": "a"}, "n": 3}, nil)
		o.submit(form, time.Time{}, map[string]any{"one": "a", "rank": []string{"a", "b"}, "t": "x" + plain.Replace(text)}, nil)
		for _, b := range o.summary(form, "").Blocks {
			titles := well(t, b.SVG)
			expect.That(t, len(titles) != 0 && len(b.SVG) <= 9000, "%s of %q: %d bytes", b.ID, text, len(b.SVG))
			for _, r := range b.Texts {
				expect.That(t, len([]rune(r.Text)) <= 300, "%s: a text of %d bytes", b.ID, len(r.Text))
			}
		}
	}
}

// An export is what Client.Export writes, under the form's name.
func TestExportDoor(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	form := o.publish(`Café "α/β": a\b`, []map[string]any{{"id": "q", "type": "short_text", "label": "Question"}})
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i := range 7 {
		s := o.submit(form, at.Add(time.Duration(i)*time.Hour), map[string]any{"q": "an earlier answer"}, nil)
		change := formsvc.SubmissionChange{Answers: map[string]json.RawMessage{"q": fmt.Appendf(nil, `"=a%d;\"b\""`, i)}}
		expect.Must(o.client.UpdateSubmission(t.Context(), form.ID, s.ID, change))
	}
	newest := o.summary(form, "").Blocks[0].Texts
	expect.That(t, len(newest) == 7 && newest[0].Text == `=a6;"b"`, "the newest texts are %v", newest)
	for query, e := range map[string]formsvc.Export{
		"": {}, "?changes=true": {Changes: true}, "?format=ndjson&changes=true": {Format: formsvc.NDJSON, Changes: true, History: true}, "?changes=false": {},
		"?format=ndjson": {Format: formsvc.NDJSON}, "?separator=semicolon&header=labels&bom=true": {Separator: ';', Labels: true, BOM: true},
		"?separator=tab&since=2026-11-01T13:00:00Z&until=2026-11-01T13:00:00Z": {Separator: '\t', Since: at.Add(time.Hour), Until: at.Add(time.Hour)},
		"?format=ndjson&since=2027-01-01T00:00:00Z":                            {Format: formsvc.NDJSON, Since: at.AddDate(1, 0, 0)},
	} {
		var want bytes.Buffer
		expect.NoError(o.t, o.client.Export(t.Context(), &want, form.ID, e))
		status, header, got := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/export"+query, "")
		expect.That(t, status == http.StatusOK && bytes.Equal(got, want.Bytes()),
			"%s: %d %q, want %q", query, status, got, want.Bytes())
		ending, kind := ".csv", "text/csv; charset=utf-8; header=present"
		if e.Format == formsvc.NDJSON {
			ending, kind = ".ndjson", "application/x-ndjson"
		}
		disposition, params, err := mime.ParseMediaType(header.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" || params["filename"] != "Café -α-β- a-b"+ending || header.Get("Content-Type") != kind || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", query, header)
		}
	}
	if status, _, _ := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/export?format=xlsx", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("a format that there is not: %d", status)
	}
}

// failing breaks off after the first page of responses.
type failing struct {
	storage.Storage
	pages atomic.Int64
}

func (f *failing) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	if f.pages.Add(-1) < 0 {
		return false, os.ErrClosed
	}
	return f.Storage.Submissions(ctx, who, form, q, each)
}

// A browser sees that a file was cut, and before its first byte an error is an answer.
func TestACutExport(t *testing.T) {
	t.Parallel()
	store := &failing{Storage: memory.New()}
	store.pages.Store(1 << 20)
	o := newOwners(t, store)
	form := o.publish("Long", []map[string]any{{"id": "q", "type": "long_text", "label": "Question"}})
	for range 1100 { // more than a page
		o.submit(form, time.Time{}, map[string]any{"q": strings.Repeat("word ", 40)}, nil)
	}
	for pages, begun := range map[int64]bool{0: false, 1: true} {
		store.pages.Store(pages)
		r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, o.server.URL+"/forms/-/builder/forms/"+form.ID.String()+"/export?format=ndjson", nil))
		r.Header.Set("User", "ada")
		response := expect.Must(http.DefaultClient.Do(r))
		_, err := io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		expect.That(t, (response.StatusCode == http.StatusOK) == begun && (err != nil) == begun,
			"after %d pages: %d, %v", pages, response.StatusCode, err)
	}
}

// waiting lets the next hold readers wait until they may go on.
type waiting struct {
	storage.Storage
	hold       atomic.Int64
	come, gone chan struct{}
}

func (w *waiting) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	if w.hold.Add(-1) >= 0 {
		w.come <- struct{}{}
		<-w.gone
	}
	return w.Storage.Submissions(ctx, who, form, q, each)
}

// Each user has two exports at a time, whatever the others do.
func TestExportsAtATime(t *testing.T) {
	t.Parallel()
	store := &waiting{Storage: memory.New(), come: make(chan struct{}), gone: make(chan struct{})}
	o := newOwners(t, store)
	form := o.publish("Slow", []map[string]any{{"id": "q", "type": "short_text"}})
	path := "/forms/" + form.ID.String() + "/export"
	for range 2 { // the second time, all of the first have ended
		store.hold.Store(2)
		done := make(chan int)
		for range 2 {
			go func() {
				status, _, _ := o.ask("ada", http.MethodGet, path, "")
				done <- status
			}()
			<-store.come
		}
		status, header, body := o.ask("ada", http.MethodGet, path, "")
		if status != http.StatusTooManyRequests || header.Get("Retry-After") != "10" || !bytes.Contains(body, []byte(`"code":"RATE_LIMITED"`)) {
			t.Errorf("the third: %d %v %s", status, header, body)
		}
		if status, _, _ := o.ask("bob", http.MethodGet, path, ""); status != http.StatusNotFound {
			t.Errorf("of another user: %d", status)
		}
		for range 2 {
			store.gone <- struct{}{}
			expect.Equal(t, <-done, http.StatusOK, "the first two")
		}
	}
}

func TestPartialsDoor(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	form := o.publish("Half", []map[string]any{{"id": "q", "type": "short_text", "label": "Question"}, {"id": "r", "type": "short_text", "label": "More"}})
	for i := range 3 {
		_, _, err := o.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, Answers: map[string]json.RawMessage{"q": json.RawMessage(`"begun"`)}, Block: "r", ShareWithOwner: i > 0})
		expect.NoError(o.t, err)
	}
	path := "/forms/" + form.ID.String() + "/partials"
	read := func(query string) (found struct {
		Items []struct {
			ID                string
			SavedAt, EndsAt   time.Time
			Shared            bool
			Answers           map[string]string
			Block             string
			Saved_at, Ends_at time.Time //nolint:revive // as they are sent
		}
		Page struct {
			HasMore    bool   `json:"has_more"`
			NextCursor string `json:"next_cursor"`
		}
	}) {
		status, _, body := o.ask("ada", http.MethodGet, path+query, "")
		expect.Require(t, status == http.StatusOK, "%d: %s", status, body)
		expect.NoError(o.t, json.Unmarshal(body, &found))
		return found
	}
	all := read("")
	shared := 0
	for _, p := range all.Items {
		if p.Shared {
			shared++
		}
		if p.Shared != (p.Answers["q"] == "begun") || p.Shared != (p.Block == "r") || p.Saved_at.IsZero() || !p.Ends_at.After(p.Saved_at) {
			t.Errorf("%+v", p)
		}
	}
	expect.Require(t, len(all.Items) == 3 && shared == 2 && !all.Page.HasMore, "%+v", all)
	if status, _, body := o.ask("ada", http.MethodDelete, path+"/"+all.Items[0].ID, ""); status != http.StatusOK {
		t.Errorf("%d: %s", status, body)
	}
	left := read("")
	expect.That(t, len(left.Items) == 2, "%+v", left)
	if status, _, _ := o.ask("ada", http.MethodDelete, path+"/"+all.Items[0].ID, ""); status != http.StatusNotFound {
		t.Errorf("the second time: %d", status)
	}
}

// Half responses are read page by page, each once, many saved in one moment among them. What is saved or
// deleted meanwhile moves nothing else.
func TestPagesOfPartials(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Now().Unix())
	o := newOwners(t, memory.New(), formsvc.WithClock(func() time.Time { return time.Unix(now.Load(), 0) }))
	form := o.publish("Halves", []map[string]any{{"id": "q", "type": "short_text"}})
	save := func() {
		_, _, err := o.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, Answers: map[string]json.RawMessage{}})
		expect.NoError(o.t, err)
	}
	for range 5 { // seconds
		now.Add(1)
		for range 3 {
			save()
		}
	}
	var want []string
	for _, p := range o.partials(form) {
		want = append(want, p.ID.String())
	}
	var got []string
	path := "/forms/" + form.ID.String() + "/partials"
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		_, _, body := o.ask("ada", http.MethodGet, path+"?limit=4&cursor="+cursor, "")
		var found struct {
			Items []struct{ ID string }
			Page  struct {
				HasMore    bool   `json:"has_more"`
				NextCursor string `json:"next_cursor"`
			}
		}
		expect.NoError(o.t, json.Unmarshal(body, &found))
		for _, item := range found.Items {
			got = append(got, item.ID)
		}
		cursor = found.Page.NextCursor
		last := len(want) == len(got)
		expect.Require(t, found.Page.HasMore != last && (cursor == "") == last && pages != len(want), "page %d: %+v", pages, found)
		now.Add(1)
		save()
		expect.NoError(o.t, o.client.DeletePartial(t.Context(), form.ID, idOf(t, got[len(got)-1])))
	}
	expect.That(t, slices.Equal(got, want), "%v, want %v", got, want)
}

func idOf(t *testing.T, text string) formsvc.ID {
	t.Helper()
	return expect.Must(formsvc.ParseID(text))
}

// without keeps no half responses.
type without struct{ storage.Storage }

func (without) Partials(context.Context, storage.Actor, storage.ID, storage.PartialQuery, func(*storage.Partial) error) (bool, error) {
	return false, storage.ErrUnimplemented
}

func TestAStorageWithoutPartials(t *testing.T) {
	t.Parallel()
	o := newOwners(t, without{memory.New()})
	form := o.publish("Whole", []map[string]any{})
	status, _, body := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/partials", "")
	expect.That(t, status == http.StatusNotImplemented && bytes.Contains(body, []byte(`"UNSUPPORTED"`)), "%d: %s", status, body)
}

// unchangeable cannot change submissions.
type unchangeable struct{ storage.Storage }

func (unchangeable) SubmissionHistory(context.Context, storage.Actor, storage.ID, storage.ID) ([]storage.SubmissionState, error) {
	return nil, storage.ErrUnimplemented
}

// overtaken changes a submission after it was read.
type overtaken struct {
	storage.Storage
	change func()
}

func (s *overtaken) SubmissionHistory(ctx context.Context, who storage.Actor, form, id storage.ID) ([]storage.SubmissionState, error) {
	if s.change != nil {
		s.change()
	}
	return s.Storage.SubmissionHistory(ctx, who, form, id)
}

// A response has its earlier states, newest first, and lists say which were changed.
func TestHistoryOfAResponse(t *testing.T) {
	t.Parallel()
	store := &overtaken{Storage: memory.New()}
	o := newOwners(t, store)
	form := o.publish("Notes", []map[string]any{{"id": "q", "type": "short_text", "label": "Question"}})
	o.submit(form, time.Time{}, map[string]any{"q": "whole"}, nil)
	sent := o.submit(form, time.Time{}, map[string]any{"q": "v0"}, nil)
	change := func(client formsvc.Client, value string) {
		expect.Must(client.UpdateSubmission(t.Context(), form.ID, sent.ID, formsvc.SubmissionChange{Answers: map[string]json.RawMessage{"q": json.RawMessage(value)}}))
	}
	type details struct {
		ID        formsvc.ID
		ChangedAt *time.Time `json:"changed_at"`
		Changes   int64
		Answers   []struct{ Value string }
		History   []struct {
			Answers    []struct{ Value string }
			ReplacedAt time.Time  `json:"replaced_at"`
			ReplacedBy formsvc.ID `json:"replaced_by"`
			Respondent bool       `json:"by_respondent"`
		}
	}
	path := "/forms/" + form.ID.String() + "/submissions"
	read := func(id formsvc.ID) (d details) {
		t.Helper()
		status, _, body := o.ask("ada", http.MethodGet, path+"/"+id.String(), "")
		expect.Require(t, status == http.StatusOK, "%d: %s", status, body)
		expect.NoError(t, json.Unmarshal(body, &d))
		return d
	}
	if d := read(sent.ID); d.ChangedAt != nil || d.Changes != 0 || d.History == nil || len(d.History) != 0 {
		t.Errorf("a new response: %+v", d)
	}
	change(o.client, `"v1"`)
	change(o.service.AsHost(), `null`)
	d := read(sent.ID)
	expect.Require(t, d.Changes == 2 && len(d.History) == 2 && d.ChangedAt != nil && d.ChangedAt.Equal(d.History[0].ReplacedAt), "two changes: %+v", d)
	expect.That(t, len(d.Answers) == 1 && d.History[0].Answers[0].Value == "v1" && d.History[1].Answers[0].Value == "v0", "the states: %+v", d)
	expect.That(t, d.History[0].ReplacedBy.IsZero() && d.History[1].ReplacedBy == formsvc.UserIDFrom("ada"), "by whom: %+v", d.History)

	expect.That(t, !d.History[0].Respondent && !d.History[1].Respondent, "by the respondent: %+v", d.History)

	// A change between the two reads is not shown yet, because the answers are older.
	store.change = func() { change(o.client, `"later"`) }
	if d := read(sent.ID); d.Changes != 2 || len(d.History) != 2 || len(d.Answers) != 1 {
		t.Errorf("with a change in the meantime: %+v", d)
	}
	store.change = nil
	for i := range 20 {
		change(o.client, fmt.Sprintf(`"v%d"`, i))
	}
	if d := read(sent.ID); d.Changes != 23 || len(d.History) != 20 || d.History[19].Answers[0].Value != "later" {
		t.Errorf("after many changes: %+v", d)
	}
	expect.Must(o.service.AsHost().UpdateSubmission(t.Context(), form.ID, sent.ID, formsvc.SubmissionChange{Answers: map[string]json.RawMessage{"q": json.RawMessage(`"v"`)}, ByRespondent: true}))
	expect.That(t, read(sent.ID).History[0].Respondent, "the respondent made the last change")

	// The link for editing shows the answers.
	status, _, body := o.ask("ada", http.MethodPost, path+"/"+sent.ID.String()+"/edit", "")
	var link struct{ URL string }
	expect.Require(t, status == http.StatusOK && json.Unmarshal(body, &link) == nil, "%d: %s", status, body)
	page := httptest.NewRecorder()
	o.pages.ServeHTTP(page, httptest.NewRequest(http.MethodGet, link.URL, nil))
	expect.That(t, page.Code == http.StatusOK && strings.Contains(page.Body.String(), `value="v"`), "%s: %d %s", link.URL, page.Code, page.Body)
	for _, filter := range []string{"", "?text=v", "?where=true"} {
		var page struct{ Items []details }
		status, _, body := o.ask("ada", http.MethodGet, path+filter, "")
		expect.Require(t, status == http.StatusOK && json.Unmarshal(body, &page) == nil, "%d: %s", status, body)
		for _, item := range page.Items {
			expect.That(t, (item.ChangedAt != nil) == (item.ID == sent.ID), "%s: %+v", filter, item)
		}
		expect.That(t, len(page.Items) == 2 || filter == "?text=v", "%s: %s", filter, body)
	}

	unable := newOwners(t, unchangeable{memory.New()})
	form = unable.publish("Notes", []map[string]any{})
	sent = unable.submit(form, time.Time{}, nil, nil)
	status, _, body = unable.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/submissions/"+sent.ID.String(), "")
	expect.That(t, status == http.StatusOK && bytes.Contains(body, []byte(`"history":null`)), "%d: %s", status, body)
}

// Nobody reaches the results of somebody else's form through a door, and ids that are none reach nothing.
func TestResultDoorsAreTheOwners(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	form := o.publish("Secret", []map[string]any{{"id": "q", "type": "short_text", "label": "Question"}})
	secret := o.submit(form, time.Time{}, map[string]any{"q": "whisper"}, nil)
	_, _, err := o.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, Answers: map[string]json.RawMessage{"q": json.RawMessage(`"half"`)}, ShareWithOwner: true})
	expect.NoError(o.t, err)
	var half formsvc.Partial
	for half, err = range o.client.Partials(t.Context(), form.ID, formsvc.Query{}) {
		expect.NoError(o.t, err)
	}
	own := "/forms/" + form.ID.String()
	counts := "/workspaces/" + o.place.String() + "/counts"
	asked := `{"forms":["` + form.ID.String() + `"]}`
	if _, _, body := o.ask("ada", http.MethodPost, counts, asked); string(body) != `{"`+form.ID.String()+`":{"responses":1,"unpublished":false}}`+"\n" {
		t.Errorf("the owner counts %s", body)
	}
	for _, user := range []string{"bob", ""} {
		for _, door := range []struct{ method, path string }{
			{"GET", own + "/summary"}, {"GET", own + "/export"}, {"GET", own + "/export?format=ndjson"}, {"GET", own + "/partials"}, {"DELETE", own + "/partials/" + half.ID.String()},
			{"GET", own + "/submissions"}, {"GET", own + "/submissions/" + secret.ID.String()}, {"GET", own + "/submissions/x"}, {"POST", own + "/submissions/" + secret.ID.String() + "/edit"}, {"POST", own + "/submissions/x/edit"}, {"GET", "/forms/x/summary"}, {"GET", "/forms/000000000000000000000000/export"}, {"GET", "/forms/x/partials"}, {"DELETE", own + "/partials/x"}, {"POST", own + "/summary"},
		} {
			want := http.StatusNotFound
			if user == "" {
				want = http.StatusUnauthorized
			}
			status, _, body := o.ask(user, door.method, door.path, "")
			if status != want || bytes.Contains(body, []byte("whisper")) || bytes.Contains(body, []byte("half")) || bytes.Contains(body, []byte("Question")) {
				t.Errorf("%q: %s %s: %d %s", user, door.method, door.path, status, body)
			}
		}
	}
	if status, _, body := o.ask("bob", http.MethodPost, counts, asked); status != http.StatusOK || string(body) != "{}\n" {
		t.Errorf("a stranger counts %d %s", status, body)
	}
	for _, bad := range []string{"", "{", `{"forms":["x"]}`, `{"forms":[` + strings.Repeat(`"`+form.ID.String()+`",`, 100) + `"` + form.ID.String() + `"]}`} {
		if status, _, _ := o.ask("ada", http.MethodPost, counts, bad); status != http.StatusUnprocessableEntity {
			t.Errorf("%.40q: %d", bad, status)
		}
	}
	if status, _, _ := o.ask("ada", http.MethodGet, own+"/summary", ""); status != http.StatusOK {
		t.Errorf("the owner: %d", status)
	}
	expect.Equal(t, len(o.partials(form)), 1, "half responses are left")
}

func (o *owners) partials(form formsvc.Form) (all []formsvc.Partial) {
	o.t.Helper()
	for p, err := range o.client.Partials(o.t.Context(), form.ID, formsvc.Query{}) {
		expect.NoError(o.t, err)
		all = append(all, p)
	}
	return all
}

// asks counts what a storage is asked.
type asks struct {
	storage.Storage
	funnels, totals, copies, webhooks atomic.Int64
}

func (s *asks) Funnel(ctx context.Context, who storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	s.funnels.Add(1)
	return s.Storage.Funnel(ctx, who, form, w)
}

func (s *asks) SubmissionTotals(ctx context.Context, who storage.Actor, forms []storage.ID) (map[storage.ID]int64, error) {
	s.totals.Add(1)
	return s.Storage.SubmissionTotals(ctx, who, forms)
}

func (s *asks) FormsWithDocument(ctx context.Context, who storage.Actor, kind string, forms []storage.ID) ([]storage.ID, error) {
	s.copies.Add(1)
	return s.Storage.FormsWithDocument(ctx, who, kind, forms)
}

func (s *asks) Webhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	s.webhooks.Add(1)
	return s.Storage.Webhooks(ctx, who, page)
}

// The counts of a list of forms and their unpublished changes are one look at the storage each, and a form's webhooks are read alone.
func TestListsReadWhatTheyShow(t *testing.T) {
	t.Parallel()
	store := &asks{Storage: memory.New()}
	o := newOwners(t, store)
	blocks := []map[string]any{{"id": "name", "type": "short_text"}}
	one, none, trashed := o.publish("one", blocks), o.publish("none", blocks), o.publish("trashed", blocks)
	for _, form := range []formsvc.Form{one, trashed} {
		o.submit(form, time.Time{}, map[string]any{"name": "x"}, nil)
	}
	for _, form := range []formsvc.Form{one, trashed} {
		expect.Must(o.client.WorkingCopy(form.ID).UpdateForm(t.Context(), formsvc.FormUpdate{Name: new("changed")}))
	}
	expect.NoError(t, o.client.TrashForm(t.Context(), trashed.ID))
	body := fmt.Sprintf(`{"forms":["%s","%s","%s","%s"]}`, one.ID, none.ID, trashed.ID, formsvc.UserIDFrom("no form"))
	counted := fmt.Sprintf(`{"%s":{"responses":1,"unpublished":true},"%s":{"responses":0,"unpublished":false}}`, one.ID, none.ID)
	for user, want := range map[string]string{"ada": counted, "bob": "{}"} {
		status, _, got := o.ask(user, http.MethodPost, "/workspaces/"+o.place.String()+"/counts", body)
		var is, should any
		expect.NoError(t, errors.Join(json.Unmarshal(got, &is), json.Unmarshal([]byte(want), &should)))
		expect.That(t, status == http.StatusOK && reflect.DeepEqual(is, should),
			"the counts of %s: %d %s, want %s", user, status, got, want)
	}
	expect.That(t, store.totals.Load() == 2 && store.copies.Load() == 2 && store.funnels.Load() == 0,
		"the storage was asked %d times for totals, %d for copies and %d for a funnel", store.totals.Load(), store.copies.Load(), store.funnels.Load())
	hook := storage.Webhook{ID: formsvc.UserIDFrom("a webhook"), FormID: one.ID, URL: "https://receiver.example/"}
	expect.NoError(t, store.CreateWebhook(t.Context(), storage.AsHost(), storage.NewWebhook{Webhook: hook}))
	for _, c := range []struct {
		user   string
		form   formsvc.ID
		status int
		want   string
	}{
		{"ada", one.ID, 200, hook.ID.String()}, {"ada", none.ID, 200, `{"items":[]}`}, {"ada", trashed.ID, 404, "NOT_FOUND"}, {"bob", one.ID, 404, "NOT_FOUND"},
	} {
		if status, _, body := o.ask(c.user, http.MethodGet, "/forms/"+c.form.String()+"/webhooks", ""); status != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("the webhooks of %s for %s: %d %s", c.form, c.user, status, body)
		}
	}
	expect.That(t, store.webhooks.Load() == 0, "all webhooks were read %d times", store.webhooks.Load())
}

// However many newer responses there are, the newest different texts are listed page by page, equal ones once.
func TestTextsArePaged(t *testing.T) {
	t.Parallel()
	choices := []map[string]any{{"id": "a", "label": "A"}}
	for _, c := range []struct {
		block map[string]any
		say   func(text string) any
	}{
		{map[string]any{"type": "long_text"}, func(text string) any { return text + strings.Repeat("é", 400) }},
		{map[string]any{"type": "single_choice", "choices": choices, "properties": map[string]any{"otherOption": true}}, func(text string) any { return map[string]any{"other": text} }},
		{map[string]any{"type": "email"}, func(text string) any { return text + "@example.com" }},
	} {
		o := newOwners(t, memory.New())
		c.block["id"] = "q"
		form := o.publish("Texts", []map[string]any{c.block, {"id": "other", "type": "number"}})
		for i := range 130 {
			o.submit(form, time.Time{}, map[string]any{"q": c.say(fmt.Sprintf("n%d", i))}, nil)
			o.submit(form, time.Time{}, map[string]any{"q": c.say("same")}, nil)
		}
		for range 150 {
			o.submit(form, time.Time{}, map[string]any{"other": 1}, nil)
		}
		first := o.summary(form, "?time=today").Blocks[0]
		texts, more := first.Texts, first.MoreTexts
		expect.That(t, len(texts) == 10, "%v: %d texts in the summary", c.block, len(texts))
		for more {
			var page struct {
				Items []givenText
				More  bool
			}
			_, _, body := o.ask("ada", http.MethodGet, fmt.Sprintf("/forms/%s/texts?time=today&block=q&from_text=%d", form.ID, len(texts)), "")
			expect.NoError(t, json.Unmarshal(body, &page))
			more = page.More
			expect.Require(t, len(page.Items) != 0, "%s", body)
			texts = append(texts, page.Items...)
		}
		if len(texts) != 131 || texts[0].Count+texts[1].Count != 131 || !strings.HasPrefix(texts[130].Text, "n0") || len([]rune(texts[0].Text)) > 300 {
			t.Errorf("%v: %d texts, the first %+v, the last %+v", c.block, len(texts), texts[0], texts[len(texts)-1])
		}
		status, _, _ := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/texts?block=none", "")
		expect.That(t, status == http.StatusNotFound, "the texts of no block: %d", status)
	}
}

// Answers of another type are counted apart, in one line.
func TestAChangedTypeIsCountedApart(t *testing.T) {
	t.Parallel()
	choices := []map[string]any{{"id": "a", "label": "A"}, {"id": "5", "label": "Five"}}
	for _, c := range []struct {
		from, to     string
		answer, next any
		other        int
	}{
		{"rating", "number", 5, 7, 1}, {"single_choice", "multiple_choice", "a", []string{"a"}, 1}, {"number", "single_choice", 5, "5", 1}, {"yes_no", "short_text", true, "true", 1},
		{"short_text", "long_text", "x", "x", 0}, {"dropdown", "single_choice", "a", "a", 0},
	} {
		o := newOwners(t, memory.New())
		form := o.publish("Changed", []map[string]any{{"id": "q", "type": c.from, "choices": choices}})
		o.submit(form, time.Time{}, map[string]any{"q": c.answer}, nil)
		o.submit(form, time.Time{}, nil, nil)
		_ = expect.Must(o.client.UpdateBlock(t.Context(), form.ID, "q", []byte(`{"type":"`+c.to+`"}`)))
		o.submit(form, time.Time{}, map[string]any{"q": c.next}, nil)
		b := o.summary(form, "").Blocks[0]
		if b.Type != c.to || int(b.Answered) != 2-c.other || b.Skipped != 1 || len(b.OtherTypes) != c.other || c.other == 1 && (b.OtherTypes[0].Type != c.from || b.OtherTypes[0].Count != 1) {
			t.Errorf("%s to %s: %+v", c.from, c.to, b)
		}
	}
}

// Periods and days are those of the service's zone, for summary, export and the list.
func TestTimesAreOfTheServicesZone(t *testing.T) {
	t.Parallel()
	in := func(name string) *time.Location { return expect.Must(time.LoadLocation(name)) }
	for _, c := range []struct {
		zone             *time.Location
		now, time, since string
		until            string
	}{
		{in("Asia/Kolkata"), "2026-11-20T20:00:00Z", "time=today", "2026-11-20T18:30:00Z", ""},
		{in("America/New_York"), "2026-11-02T20:00:00Z", "time=yesterday", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59.999999Z"}, // 25 hours
		{in("Africa/Cairo"), "2024-04-26T12:00:00Z", "time=today", "2024-04-25T22:00:00Z", ""},                                    // without a midnight
		{time.FixedZone("", 5*3600+45*60), "2026-11-20T20:00:00Z", "time=7d", "2026-11-14T18:15:00Z", ""},
		{in("America/St_Johns"), "2026-11-20T20:00:30Z", "time=24h", "2026-11-19T20:00:00Z", ""},
		{in("America/Sao_Paulo"), "2026-05-31T02:00:00Z", "time=3m", "2026-02-28T03:00:00Z", ""},
		{time.UTC, "2026-11-20T20:00:00Z", "time=30d", "2026-10-22T00:00:00Z", ""},
		{in("Pacific/Chatham"), "2026-11-20T20:00:00Z", "from=2026-09-27&to=2026-09-27", "2026-09-26T11:15:00Z", "2026-09-27T10:14:59.999999Z"}, // 23 hours
	} {
		now := expect.Must(time.Parse(time.RFC3339, c.now))
		o := newOwners(t, memory.New(), formsvc.WithTimeZone(c.zone), formsvc.WithClock(func() time.Time { return now }))
		form := o.publish("Times", []map[string]any{{"id": "q", "type": "number"}})
		since := expect.Must(time.Parse(time.RFC3339, c.since))
		times := []time.Time{since.Add(-time.Second), since, since.Add(time.Hour)}
		want := 2
		if c.until != "" {
			until := expect.Must(time.Parse(time.RFC3339, c.until))
			times, want = append(times, until.Truncate(time.Second), until.Add(time.Microsecond)), 3
		}
		for _, at := range times {
			o.submit(form, at, map[string]any{"q": 1}, nil)
		}
		found := o.summary(form, "?"+c.time)
		expect.That(t, int(found.Responses) == want, "%v %s: %d responses, want %d", c.zone, c.time, found.Responses, want)
		_, _, file := o.ask("ada", http.MethodGet, "/forms/"+form.ID.String()+"/export?format=ndjson&"+c.time, "")
		expect.Equal(t, bytes.Count(file, []byte("\n")), want, "%v %v responses in the export", c.zone, c.time)
		var bounds struct{ Since, Until string }
		_, _, body := o.ask("ada", http.MethodGet, "/times?"+c.time, "")
		if expect.NoError(t, json.Unmarshal(body, &bounds)); bounds.Since != c.since || bounds.Until != c.until {
			t.Errorf("%v %s: %+v, want %s to %s", c.zone, c.time, bounds, c.since, c.until)
		}
	}
	o := newOwners(t, memory.New())
	for query, want := range map[string]string{"time=decade": "query:period", "from=2026-02-30": "/from", "to=x": "/to"} {
		if status, _, body := o.ask("ada", http.MethodGet, "/times?"+query, ""); status != http.StatusUnprocessableEntity || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}
