package servicetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/apicheck"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// exported returns an NDJSON export without the IDs, which an import assigns.
func exported(t *testing.T, b *servicetest.Bundle, form formsvc.ID) (raw, comparable string) {
	t.Helper()
	var file bytes.Buffer
	expect.NoError(t, b.AsHost().Export(t.Context(), &file, form, formsvc.Export{Format: formsvc.NDJSON, CompletionLine: true, Respondent: true}))
	return file.String(), regexp.MustCompile(`"(id|form_id)":"[0-9a-f]{24}",`).ReplaceAllString(file.String(), "")
}

func importInto(t *testing.T, b *servicetest.Bundle, form formsvc.ID, lines string, o formsvc.Import) formsvc.ImportReport {
	t.Helper()
	return expect.Must(b.As(b.User.ID).Import(t.Context(), form, strings.NewReader(lines), o))
}

const importedForm = `[{"id":"text","type":"short_text","label":"Text"},{"id":"nps","type":"nps","label":"NPS"},
	{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}],"properties":{"otherOption":true}},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
	{"id":"rank","type":"ranking","label":"Rank","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
	{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r","label":"R"},{"id":"s","label":"S"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}],"properties":{"multiSelection":true}},
	{"id":"when","type":"date","label":"When","properties":{"showTimePicker":true}},{"id":"who","type":"contact_info","label":"Who"},
	{"id":"agree","type":"legal","label":"Agree","properties":{"legalText":"The [terms](https://example.com/)"}},
	{"id":"file","type":"file_upload","label":"File"},{"id":"pay","type":"payment","label":"Pay","properties":{"rule":{"set":{"score":{"var":"answers.nps"}}}}},
	{"id":"secret","type":"short_text","label":"Secret","properties":{"hide":true}}]`

func importForm(b *servicetest.Bundle) formsvc.ID {
	form := b.Form(importedForm, `{}`)
	b.Change(form, formsvc.Definition{Variables: json.RawMessage(`{"score":0}`), HiddenFields: json.RawMessage(`["ref"]`)})
	b.Publish(form)
	return form
}

// What an export writes, an import stores byte for byte, once, with the same figures on the same days.
func TestAnExportIsImported(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		from, to := importForm(b), importForm(b)
		r := rand.New(rand.NewPCG(4, 49))
		given := map[string][]string{
			"text": {`"plain"`, `"\u00e9 \"quoted\" <b>\\"`}, "nps": {"0", "10", "7.0", "1e1"}, "one": {`"a"`, `{"other":"Möhre"}`}, "many": {`["b","a"]`}, "rank": {`["b","a"]`},
			"grid": {`{"r":["x","y"],"s":["y"]}`}, "when": {`"2026-11-20T10:00:00+02:00"`}, "who": {`{"firstName":"Ann","email":"ann@example.com"}`}, "agree": {"true", "false"},
		}
		for i := range 60 {
			p := formsvc.SubmitParams{
				FormID: from, Answers: map[string]json.RawMessage{}, HostAnswers: map[string]json.RawMessage{}, Hidden: map[string]string{"ref": fmt.Sprint(i)},
				SubmittedAt: time.Date(2026, 11, 1+i%20, 1, i, 0, 0, time.UTC), CompletionTime: float64(i) / 8,
				Metadata: formsvc.Metadata{Country: "NL", UTM: map[string]string{"source": "x"}},
			}
			if i%3 == 0 {
				p.Respondent = fmt.Sprint("user ", i)
			}
			for id, values := range given {
				if r.IntN(3) > 0 {
					p.Answers[id] = json.RawMessage(values[r.IntN(len(values))])
				}
			}
			if i%5 == 0 {
				p.HostAnswers["file"] = json.RawMessage(`[{"id":"f","name":"a.pdf","url":"https://files.example/f","size":3.0,"mime_type":"application/pdf"}]`)
				p.HostAnswers["pay"] = json.RawMessage(`{"amount":"5.00","currency":"EUR","status":"paid","gateway":"x","reference":"y"}`)
				p.HostAnswers["secret"] = json.RawMessage(`"hidden"`)
			}
			expect.Must(b.Submit(t.Context(), p))
		}
		raw, want := exported(t, b, from)
		var progress []formsvc.ImportReport
		report := importInto(t, b, to, raw, formsvc.Import{Progress: func(r formsvc.ImportReport) error { progress = append(progress, r); return nil }})
		expect.That(t, report.Imported == 60 && report.Refused == nil && len(progress) == 1, "the report is %+v", report)
		_, got := exported(t, b, to)
		expect.Equal(t, cmp.Diff(got, want), "", "the exports")
		again := importInto(t, b, to, "\ufeff\n"+raw+"\n", formsvc.Import{})
		expect.That(t, again.Repeated == 60 && again.Imported == 0, "the second report is %+v", again)
		for _, day := range []int{1, 7, 20} {
			q := formsvc.SubmissionQuery{Since: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 11, day, 23, 59, 59, 0, time.UTC)}
			old, imported := expect.Must(b.AsHost().Summary(t.Context(), from, q)), expect.Must(b.AsHost().Summary(t.Context(), to, q))
			for _, s := range []*formsvc.Summary{&old, &imported} {
				for i := range s.Blocks {
					for j := range s.Blocks[i].Texts {
						s.Blocks[i].Texts[j].Submission = formsvc.ID{}
					}
				}
			}
			expect.Equal(t, cmp.Diff(imported, old), "", "a day")
		}
		oldMetrics, newMetrics := expect.Must(b.AsHost().Metrics(t.Context(), from, formsvc.PeriodAll)), expect.Must(b.AsHost().Metrics(t.Context(), to, formsvc.PeriodAll))
		expect.Equal(t, newMetrics, oldMetrics, "the metrics")
	})
}

const storedLine = `{"id":%q,"submitted_at":"2026-01-02T03:04:05Z","answers":[%s]}`

func line(id string, answers ...string) string {
	return fmt.Sprintf(storedLine, id, strings.Join(answers, ","))
}

func stored(id, kind, value string) string {
	return fmt.Sprintf(`{"field":{"id":%q,"type":%q,"label":"L"},"value":%s}`, id, kind, value)
}

// Old submissions that break today's rules are refused, or stored and marked if the import is lenient.
func TestTodaysRulesApplyToImports(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		blocks := `[{"id":"name","type":"short_text","label":"Name","required":true},{"id":"age","type":"number","label":"Age","properties":{"minVal":true,"min":18}},
			{"id":"mail","type":"email","label":"Mail"}]`
		lines := strings.Join([]string{
			line("ok", stored("name", "short_text", `"Ann"`), stored("mail", "email", `"ann@example.com"`)),
			line("missing", stored("age", "number", "20")),
			line("young", stored("name", "short_text", `"Bob"`), stored("age", "number", "17")),
			line("deleted", stored("name", "short_text", `"Cem"`), stored("gone", "single_choice", `{"id":"x","label":"Old choice"}`)),
			line("same", stored("name", "short_text", `"Ann"`), stored("mail", "email", `"ANN@example.com"`)),
		}, "\n")
		codes := func(report formsvc.ImportReport) string {
			var list []string
			for _, refused := range report.Refused {
				if broken, ok := errors.AsType[*formsvc.Error](refused.Err); ok {
					list = append(list, fmt.Sprint(refused.Line, " ", broken.Violations[0].Code))
				} else {
					list = append(list, fmt.Sprint(refused.Line, " ", errors.Is(refused.Err, formsvc.ErrDuplicate)))
				}
			}
			return strings.Join(list, ", ")
		}
		strict, lenient := b.Form(blocks, `{"duplicateField":"mail"}`), b.Form(blocks, `{"duplicateField":"mail","closed":true}`)
		report := importInto(t, b, strict, lines, formsvc.Import{})
		expect.Equal(t, codes(report), "2 REQUIRED, 3 OUT_OF_RANGE, 4 UNKNOWN_FIELD, 5 true", "strict")
		expect.Equal(t, report.Imported, 1, "strict")
		report = importInto(t, b, lenient, lines, formsvc.Import{Lenient: true})
		expect.Equal(t, codes(report), "5 true", "lenient")
		expect.Equal(t, report.Imported, 4, "lenient")
		marked := 0
		for s, err := range b.AsHost().Submissions(t.Context(), lenient, formsvc.SubmissionQuery{}) {
			expect.NoError(t, err)
			if strings.Contains(string(s.Metadata), `"imported":`) {
				marked++
			}
		}
		expect.Equal(t, marked, 3, "marked")
		raw, _ := exported(t, b, lenient)
		expect.That(t, strings.Contains(raw, `"Old choice"`), "the label of a deleted choice is lost")
	})
}

func TestMalformedLinesAreRefused(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := importForm(b)
	text := stored("text", "short_text", `"x"`)
	for _, bad := range []string{
		`{`, `[]`, `null`, `{"answers":[]}`, `{"submitted_at":"x","answers":[]}`, `{"submitted_at":"2999-01-01T00:00:00Z","answers":[]}`,
		`{"submitted_at":"0000-01-01T00:00:00Z","answers":[]}`, `{"submitted_at":"0001-01-01T00:00:00+14:00","answers":[]}`,
		line("a", text, text), line("b", stored("text", "nope", `"x"`)), line("c", stored("text", "short_text", `{"id":1}`)), line("d", `{"value":1}`),
		line("e", stored("", "short_text", `"x"`)), line("f", stored("ref", "hidden", "1")), line("g", stored("one", "single_choice", `{"id":"gone","label":"Gone"}`)),
		line("h", stored("text", "short_text", `"\u0000"`)), line("i", stored("text", "statement", `"x"`)),
		`{"submitted_at":"2026-01-02T03:04:05Z","answers":[],"metadata":{"x":1}}`, `{"submitted_at":"2026-01-02T03:04:05Z","answers":[],"metadata":[]}`,
		`{"submitted_at":"2026-01-02T03:04:05Z","answers":[],"metadata":{"country":"\u0007"}}`, `{"submitted_at":"2026-01-02T03:04:05Z","answers":[],"completion_time":-1}`,
		`{"submitted_at":"2026-01-02T03:04:05Z","answers":[],"idempotency_key":"` + strings.Repeat("x", 256) + `"}`,
	} {
		report := importInto(t, b, form, bad+"\n", formsvc.Import{})
		expect.That(t, len(report.Refused) == 1 && report.Imported == 0, "%s: %+v", bad, report)
	}
	for _, csv := range []string{"\ufeffsubmission_id;submitted_at;text\r\n1;2026-01-01T00:00:00Z;x\r\n", "\n \nsubmission_id\ttext\n1\tx\n", "submission_id;gr\xfc\xdfe\n", `"submission_id","text"` + "\n"} {
		report, err := b.AsHost().Import(t.Context(), form, strings.NewReader(csv), formsvc.Import{})
		expect.That(t, err != nil && strings.Contains(err.Error(), "CSV cannot be imported. The first line is ") && strings.Contains(err.Error(), "submission_id") && len(report.Refused) == 0, "a CSV file: %v, %+v", err, report)
	}
	_, err := b.AsHost().Import(t.Context(), form, strings.NewReader(strings.Repeat("{\n", 10_002)), formsvc.Import{})
	_, broken := errors.AsType[*formsvc.Error](err)
	expect.That(t, broken, "too many refused lines: %v", err)
	_, err = b.AsHost().Import(t.Context(), form, strings.NewReader(strings.Repeat(" ", 9<<20)), formsvc.Import{})
	_, broken = errors.AsType[*formsvc.Error](err)
	expect.That(t, broken, "a long line: %v", err)
	_, err = b.As(formsvc.UserIDFrom("stranger")).Import(t.Context(), form, strings.NewReader(line("a", text)), formsvc.Import{})
	expect.That(t, errors.Is(err, formsvc.ErrNotFound), "a stranger: %v", err)
	_, err = b.As(b.User.ID).With(formsvc.ScopeSubmissionsWrite).Import(t.Context(), form, strings.NewReader(line("a", text)), formsvc.Import{})
	expect.That(t, errors.Is(err, formsvc.ErrInsufficientScope), "one scope: %v", err)
	expect.Equal(t, b.Submissions(form), 0, "stored")
}

func TestAKeyHasOneImportAtATime(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := importForm(b)
	post := func(body io.Reader) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/imports/"+form.String(), body)
		r.Header.Set("X-API-Key", b.Key)
		r.Header.Set("Content-Type", "application/x-ndjson")
		b.ImportHandler().ServeHTTP(w, r)
		return w.Code
	}
	body, upload := io.Pipe()
	first := make(chan int)
	go func() { first <- post(body) }()
	expect.Must(upload.Write([]byte("\n"))) // returns when the first import reads
	expect.Equal(t, post(strings.NewReader("")), http.StatusTooManyRequests, "the second import")
	expect.NoError(t, upload.Close())
	expect.Equal(t, <-first, http.StatusOK, "the first import")
	expect.Equal(t, post(strings.NewReader("")), http.StatusOK, "the third import")
}

func TestImportsOverHTTP(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := importForm(b)
	post := func(path, key, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("X-API-Key", key)
		r.Header.Set("Content-Type", "application/x-ndjson")
		b.ImportHandler().ServeHTTP(w, r)
		return w
	}
	path := "/imports/" + form.String()
	body := line("1", stored("text", "short_text", `"x"`)) + "\n" + line("2", stored("file", "file_upload", `[{"id":"f","name":"a","url":"https://x.example/","size":1,"mime_type":"a/b"}]`)) + "\n" +
		line("3", stored("secret", "short_text", `"x"`)) + "\n" + line("4", stored("pay", "short_text", `"paid"`)) + "\n" + line("5", stored("gone", "payment", `{"amount":"5.00","currency":"EUR","status":"paid","gateway":"x"}`)) + "\n" +
		`{"id":"6","submitted_at":"2026-01-02T03:04:05Z","answers":[],"respondent":"user"}`
	for _, query := range []string{"", "?lenient=true"} { // a key cannot forge a payment, also if the import is lenient
		w := post(path+query, b.Key, body)
		var got struct {
			Imported, Repeated int
			Refused            []struct {
				Line    int
				Code    string
				Details []schema.Violation
			}
		}
		expect.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		expect.That(t, w.Code == http.StatusOK && got.Imported+got.Repeated == 1 && len(got.Refused) == 5, "%d %s", w.Code, w.Body)
		for i, refused := range got.Refused {
			expect.That(t, refused.Line == i+2 && refused.Code == "VALIDATION_FAILED" && refused.Details[0].Code == schema.CodeNotAllowed, "%+v", refused)
		}
	}
	some := func(scopes ...formsvc.Scope) string { return b.Issue(b.User.ID, scopes...).Secret }
	for name, c := range map[string]struct {
		path, key string
		want      int
	}{
		"no key":            {path, "", http.StatusUnauthorized},
		"submissions:write": {path, some(formsvc.ScopeSubmissionsWrite), http.StatusForbidden},
		"forms:write":       {path, some(formsvc.ScopeFormsWrite), http.StatusForbidden},
		"both":              {path, some(formsvc.ScopeFormsWrite, formsvc.ScopeSubmissionsWrite), http.StatusOK},
		"a draft":           {"/imports/" + expect.Must(b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "Draft"})).ID.String(), b.Key, http.StatusConflict},
		"another form":      {"/imports/" + strings.Repeat("0", 24), b.Key, http.StatusNotFound},
		"no form":           {"/imports/", b.Key, http.StatusNotFound},
		"a mistake":         {path + "?lenient=yes", b.Key, http.StatusUnprocessableEntity},
		"another user":      {path, b.Issue(formsvc.UserIDFrom("other"), formsvc.ScopeFormsWrite, formsvc.ScopeSubmissionsWrite).Secret, http.StatusNotFound},
	} {
		w := post(c.path, c.key, "")
		expect.Equal(t, w.Code, c.want, name)
	}
	expect.Equal(t, post(path, b.Key, "submission_id;text\n1;x\n").Code, http.StatusUnprocessableEntity, "a CSV file")
	for settings, code := range map[string]string{`{"duplicateField":"text"}`: "DUPLICATE", `{"responseLimit":1}`: "TOO_MANY"} {
		w := post("/imports/"+b.Form(importedForm, settings).String()+"?lenient=true", b.Key, line("1", stored("text", "short_text", `"x"`))+"\n"+line("2", stored("text", "short_text", `"X"`)))
		expect.That(t, w.Code == http.StatusOK && strings.Contains(w.Body.String(), `"refused":[{"line":2,"code":"VALIDATION_FAILED"`) && strings.Contains(w.Body.String(), `"details":[{"path":"","code":"`+code+`"`), "%s: %d %s", settings, w.Code, w.Body)
	}
	w := httptest.NewRecorder()
	b.ImportHandler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	expect.Equal(t, w.Code, http.StatusMethodNotAllowed, "GET")
}

// An import has the media type of an export, or of JSON, and no content encoding.
func TestMediaTypesOfImports(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := importForm(b)
	body := line("1", stored("text", "short_text", `"x"`))
	for _, c := range []struct {
		types          []string
		encoding, body string
		want           int
	}{
		{[]string{"application/x-ndjson"}, "", body, http.StatusOK},
		{[]string{"Application/X-NDJSON; charset=utf-8"}, "", body, http.StatusOK},
		{[]string{"application/ndjson"}, "identity", body, http.StatusOK},
		{[]string{"application/json"}, "", body, http.StatusOK},
		{[]string{"application/vnd.example+json"}, "", body, http.StatusOK},
		{nil, "", "", http.StatusOK},
		{[]string{"text/csv"}, "", "", http.StatusOK},
		{nil, "", body, http.StatusUnsupportedMediaType},
		{[]string{"application/x-ndjson"}, "gzip", body, http.StatusUnsupportedMediaType},
		{[]string{"text/csv"}, "", body, http.StatusUnsupportedMediaType},
		{[]string{"application/x-www-form-urlencoded"}, "", body, http.StatusUnsupportedMediaType},
		{[]string{"application/x-ndjson", "application/x-ndjson"}, "", body, http.StatusUnsupportedMediaType},
		{[]string{"application/x-ndjson/x"}, "", body, http.StatusUnsupportedMediaType},
	} {
		for _, chunked := range []bool{false, true} {
			if chunked && c.body == "" {
				continue
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/imports/"+form.String(), strings.NewReader(c.body))
			if chunked {
				r.ContentLength = -1
			}
			r.Header.Set("X-API-Key", b.Key)
			r.Header["Content-Type"] = c.types
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			w := httptest.NewRecorder()
			b.ImportHandler().ServeHTTP(w, r)
			expect.Equal(t, w.Code, c.want, "%q %q, chunked %t: %s", c.types, c.encoding, chunked, w.Body)
		}
	}
}

// mutate changes one place in a JSON value.
func mutate(r *rand.Rand, v any) any {
	others := []any{nil, "", "x", "2026-02-30", "25:00", json.Number("-1"), json.Number("1.5"), json.Number("9e30"), true, []any{}, map[string]any{}, []any{v}, map[string]any{"id": "x"}, map[string]any{"id": "x", "label": "X"}, map[string]any{"other": "x"}}
	other := others[r.IntN(len(others))]
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 {
			return other
		}
		name := names[r.IntN(len(names))]
		switch r.IntN(8) {
		case 0:
			delete(v, name)
		case 1:
			v[strings.ToUpper(name[:1])+name[1:]] = v[name]
			delete(v, name)
		case 2:
			v[[]string{"x", "text", "label", "other", "imported", "reference"}[r.IntN(6)]] = others[r.IntN(11)] // not v itself
		case 3:
			return other
		default:
			v[name] = mutate(r, v[name])
		}
	case []any:
		switch at := r.IntN(len(v) + 1); {
		case at == len(v):
			return append(v, other)
		case r.IntN(6) == 0:
			return append(v, v[at])
		default:
			v[at] = mutate(r, v[at])
		}
	case string:
		types := []string{"short_text", "number", "rating", "yes_no", "single_choice", "multiple_choice", "picture_choice", "ranking", "matrix", "date", "time", "file_upload", "signature", "address", "payment", "hidden", "variable", "statement"}
		if strings.Contains(v, "_") && r.IntN(2) == 0 {
			return types[r.IntN(len(types))]
		}
		return other
	default:
		return other
	}
	return v
}

// Whatever an import accepts can be read as the API description says, in lists, exports, summaries and filters.
func TestAllImportsCanBeRead(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, from := everyTypeForm(b), everyTypeForm(b)
		p := everyAnswer(from)
		p.Metadata = formsvc.Metadata{Country: "NL", Device: "phone", UserAgent: "x", UTM: map[string]string{"source": "x", "term": "y"}}
		expect.Must(b.Submit(t.Context(), p))
		original, _ := exported(t, b, from)
		original, _, _ = strings.Cut(original, "\n")
		r, count, stored := rand.New(rand.NewPCG(1, 49)), 2000, int64(0)
		if testing.Short() {
			count = 500
		}
		for _, lenient := range []bool{false, true} {
			var lines strings.Builder
			for i := range count {
				d := json.NewDecoder(strings.NewReader(original))
				d.UseNumber()
				var v map[string]any
				expect.NoError(t, d.Decode(&v))
				part := []string{"answers", "answers", "answers", "answers", "metadata"}[r.IntN(5)]
				v["id"], v[part] = fmt.Sprint(lenient, i), mutate(r, v[part])
				lines.Write(expect.Must(json.Marshal(v)))
				lines.WriteByte('\n')
			}
			report := importInto(t, b, form, lines.String(), formsvc.Import{Lenient: lenient})
			stored += report.Imported
			expect.That(t, int(report.Imported) > count/50 && len(report.Refused) > count/2, "%d are imported and %d refused", report.Imported, len(report.Refused))
		}
		differences := 0
		checked, err := apicheck.New(b.Service, apicheck.Config{Report: func(d apicheck.Difference) {
			if differences++; differences < 5 {
				t.Errorf("%+v", d)
			}
		}})
		expect.NoError(t, err)
		read := 0
		for cursor := ""; ; {
			var page struct {
				Items []json.RawMessage
				Page  struct {
					NextCursor string `json:"next_cursor"`
				}
			}
			w := httptest.NewRecorder()
			checked.ServeHTTP(w, b.Request(http.MethodGet, "/forms/"+form.String()+"/submissions?limit=100"+cursor, ""))
			expect.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
			read += len(page.Items)
			if page.Page.NextCursor == "" {
				break
			}
			cursor = "&cursor=" + url.QueryEscape(page.Page.NextCursor)
		}
		expect.Equal(t, int64(read), stored, "read")
		host := b.AsHost()
		expect.Equal(t, expect.Must(host.Summary(t.Context(), form, formsvc.SubmissionQuery{})).Submissions, stored, "counted")
		expect.Equal(t, expect.Must(host.Summary(t.Context(), form, formsvc.SubmissionQuery{Text: "no one wrote this"})).Read, stored, "searched")
		expect.NoError(t, host.Export(t.Context(), io.Discard, form, formsvc.Export{Format: formsvc.CSV}))
		lines, _ := exported(t, b, form)
		again := importInto(t, b, from, lines, formsvc.Import{Lenient: true})
		expect.That(t, again.Imported == stored && len(again.Refused) == 0, "what was imported cannot be exported and imported: %+v", again)
	})
}

// An import asks the lists and checks of the host, but not again for what it has stored.
func TestImportsAskTheHost(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		source := new(rooms)
		b := servicetest.SetupOn(t, store, hostOptions(source)...)
		strict, lenient := b.Form(roomBlocks, `{}`), b.Form(roomBlocks, `{}`)
		pick := func(id string) string { return stored("room", "dropdown", `{"id":"`+id+`","label":"Old room"}`) }
		offered := source.of(formsvc.ChoiceQuery{Workspace: b.Workspace})[1].ID
		lines := line("1", pick(offered)) + "\n" + line("2", pick("gone")) + "\n" + line("3", stored("order", "short_text", `"12"`)) + "\n" + line("4", stored("order", "short_text", `"2"`))
		codes := func(r formsvc.ImportReport) (list []string) {
			for _, refused := range r.Refused {
				list = append(list, fmt.Sprint(refused.Line, " ", violations(refused.Err)))
			}
			return list
		}
		report := importInto(t, b, strict, lines, formsvc.Import{})
		expect.Same(t, []string{"2 /answers/room NOT_A_CHOICE", "3 /answers/order CHECK_FAILED"}, codes(report), "refused")
		expect.Equal(t, report.Imported, 2, "imported")
		report = importInto(t, b, lenient, lines, formsvc.Import{Lenient: true})
		expect.That(t, report.Imported == 4 && report.Refused == nil, "lenient: %+v", report)
		file, _ := exported(t, b, lenient)
		expect.Equal(t, strings.Count(file, `"imported":true`), 2, "marked")
		expect.Equal(t, strings.Count(file, `"label":"Old room"`), 2, "labels")

		source.hook = func(context.Context) error { return errors.New("down") }
		calls := source.calls.Load()
		report = importInto(t, b, lenient, lines, formsvc.Import{Lenient: true})
		expect.That(t, report.Repeated == 4 && source.calls.Load() == calls, "repeated: %+v", report)
		for _, o := range []formsvc.Import{{}, {Lenient: true}} {
			report, err := b.AsHost().Import(t.Context(), strict, strings.NewReader(line("5", stored("order", "short_text", `"3"`))+"\n"+line("6", pick(offered))+"\n"+line("7")), o)
			expect.That(t, errors.Is(err, formsvc.ErrUnavailable) && report.Refused == nil && report.Imported+report.Repeated == 1, "the list is down: %+v %v", report, err)
		}
	})
}

// A refused line names what is wrong with it.
func TestRefusedLinesNameTheField(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := importForm(b)
	for broken, want := range map[string]string{
		`{"answers":[]}`: "/submitted_at REQUIRED", `{"submitted_at":"2026-01-02T03:04:05Z","text":"x"}`: "/answers REQUIRED", `{"submitted_at":null,"answers":[]}`: "/submitted_at BAD_FORMAT",
		`{"submitted_at":"2026-01-02T03:04:05+24:00","answers":[]}`: "/submitted_at BAD_FORMAT", `{"submitted_at":"02.01.2024","answers":[],"completion_time":"1"}`: "/completion_time BAD_FORMAT, /submitted_at BAD_FORMAT",
		`{"submitted_at":"2026-01-02T03:04:05Z","answers":[],"id":7}`: "/id BAD_FORMAT", "[]": " BAD_FORMAT",
		`{"submitted_at":"2026-01-02T03:04:05Z","answers":{"text":"x"}}`:            "/answers BAD_FORMAT",
		line("1", `{"field":{"id":"text"},"value":"x"}`):                            "/answers/0/field/label REQUIRED, /answers/0/field/type REQUIRED",
		line("2", `{"value":1}`):                                                    "/answers/0/field/id REQUIRED, /answers/0/field/label REQUIRED, /answers/0/field/type REQUIRED",
		line("3", stored("nps", "nps", "1"), stored("when", "date", `"x"`)):         "/answers/1/value BAD_FORMAT",
		line("4", `{"field":{"id":"nps","type":"nps","label":"L"}}`):                "/answers/0/value REQUIRED",
		line("5", `{"field":{"id":"nps","type":"nps","label":7},"value":1}`):        "/answers/0/field BAD_FORMAT",
		line("6", `{"field":{"id":"nps","type":"nps","label":""},"value":1,"x":1}`): "/answers/0 UNKNOWN_FIELD",
	} {
		report := importInto(t, b, form, broken, formsvc.Import{})
		expect.Require(t, len(report.Refused) == 1, "%s: %+v", broken, report)
		expect.Equal(t, violations(report.Refused[0].Err), want, broken)
	}
}

// A repeated import changes nothing, also if the rules have changed in the meantime.
func TestRepeatedImportsIgnoreNewRules(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"name","type":"short_text","label":"Name"}]`, `{}`)
		lines := line("1", stored("name", "short_text", `"Ann"`)) + "\n" + `{"submitted_at":"2026-01-02T03:04:05Z","answers":[]}`
		expect.Equal(t, importInto(t, b, form, lines, formsvc.Import{}).Imported, 2, "imported")
		b.Change(form, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"name","type":"number","label":"Name","required":true}]`)})
		again := importInto(t, b, form, lines+"\n"+line("2"), formsvc.Import{})
		expect.That(t, again.Repeated == 1 && again.Imported == 0 && len(again.Refused) == 2, "again: %+v", again)
	})
}

// Of thousands of old submissions, those that break today's rules are refused or marked. The others, and all figures,
// are the old ones, also if the import is interrupted and repeated.
func TestOldSubmissionsMove(t *testing.T) {
	t.Parallel()
	count := 5000
	if testing.Short() {
		count = 300
	}
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		b := servicetest.SetupOn(t, store, formsvc.WithClock(func() time.Time { return now }), formsvc.WithoutRateLimit())
		const past = `[{"id":"name","type":"short_text","label":"Name"},{"id":"age","type":"number","label":"Age"},{"id":"gone","type":"long_text","label":"Gone"},
			{"id":"turned","type":"short_text","label":"Turned"},{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
			{"id":"word","type":"short_text","label":"Word"},{"id":"checked","type":"number","label":"Checked"},{"id":"day","type":"date","label":"Day"},
			{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]},
			{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r","label":"R"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},
			{"id":"nps","type":"nps","label":"NPS"},{"id":"bye","type":"ending","label":"Bye"}]`
		const today = `[{"id":"name","type":"short_text","label":"Name","required":true},{"id":"age","type":"number","label":"Age","properties":{"minVal":true,"min":18}},
			{"id":"turned","type":"number","label":"Turned"},{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"A"}]},
			{"id":"word","type":"short_text","label":"Word","properties":{"maxChars":3}},
			{"id":"checked","type":"number","label":"Checked","properties":{"rule":{"check":[{"if":{">":[{"var":"answers.checked"},5]},"say":"At most 5."}]}}},
			{"id":"day","type":"date","label":"Day","properties":{"afterDate":"2026-01-01T00:00:00Z"}},
			{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}],"properties":{"limit":2}},
			{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r","label":"R"}],"matrix_columns":[{"id":"x","label":"X"}]},
			{"id":"nps","type":"nps","label":"NPS"},{"id":"bye","type":"ending","label":"Bye"}]`
		kinds := []struct{ block, answer, code string }{
			{"name", "null", schema.CodeRequired}, {"age", "17", schema.CodeOutOfRange}, {"gone", `"x"`, schema.CodeUnknownField}, {"turned", `"x"`, schema.CodeWrongType},
			{"one", `"b"`, schema.CodeNotAChoice}, {"word", `"long"`, schema.CodeTooLong}, {"checked", "6", schema.CodeCheckFailed}, {"day", `"2025-12-31"`, schema.CodeOutOfRange},
			{"many", `["a","b","c"]`, schema.CodeTooMany}, {"grid", `{"r":"y"}`, schema.CodeNotAChoice},
		}
		formOf := func(blocks string) formsvc.ID {
			form := b.Form(blocks, `{}`)
			b.Change(form, formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)})
			b.Publish(form)
			return form
		}
		from, strict, lenient := formOf(past), formOf(today), formOf(today)
		broken := map[string]string{} // the code of each broken submission by its hidden field
		for i := range count {
			ref := fmt.Sprint(i)
			p := formsvc.SubmitParams{
				FormID: from, SubmittedAt: now.Add(-time.Duration(i*10/count)*24*time.Hour - time.Duration(i)*time.Second), CompletionTime: float64(i % 100), Metadata: formsvc.Metadata{Country: "NL"},
				Answers: servicetest.Answers("name", fmt.Sprintf("%q", "Ann "+ref), "age", "18", "one", `"a"`, "many", `["a","b"]`, "day", `"2026-01-01"`, "nps", fmt.Sprint(i%11)), Hidden: map[string]string{"ref": ref},
			}
			if every := count / 50; i%every == every/2 {
				k := kinds[i/every%len(kinds)]
				broken[ref], p.Answers[k.block] = k.code, json.RawMessage(k.answer)
			}
			expect.Must(b.Submit(t.Context(), p))
		}
		file, old := exported(t, b, from)
		refs := map[int64]string{}
		for i, l := range strings.Split(file, "\n") {
			if found := regexp.MustCompile(`"ref","type":"hidden","label":"ref"},"value":"(\d+)"`).FindStringSubmatch(l); found != nil {
				refs[int64(i)+1] = found[1]
			}
		}
		expect.That(t, len(refs) == count && len(broken) == 50, "%d lines, %d are broken", len(refs), len(broken))

		// A strict import ends in the middle and is repeated.
		half := io.MultiReader(strings.NewReader(file[:len(file)/2]), readerFunc(func([]byte) (int, error) { return 0, errors.New("the connection ended") }))
		first, err := b.AsHost().Import(t.Context(), strict, half, formsvc.Import{})
		expect.That(t, err != nil && first.Imported > int64(count)/3, "interrupted: %v after %d", err, first.Imported)
		report := importInto(t, b, strict, file, formsvc.Import{})
		expect.That(t, report.Repeated == first.Imported && report.Imported+report.Repeated == int64(count)-50, "strict: %d imported, %d repeated", report.Imported, report.Repeated)
		refused := map[string]string{}
		for _, l := range report.Refused {
			e, ok := errors.AsType[*formsvc.Error](l.Err)
			expect.Require(t, ok && len(e.Violations) == 1, "line %d: %v", l.Line, l.Err)
			refused[refs[l.Line]] = e.Violations[0].Code
		}
		expect.Equal(t, cmp.Diff(refused, broken), "", "refused")

		report = importInto(t, b, lenient, file, formsvc.Import{Lenient: true})
		expect.That(t, report.Imported == int64(count) && report.Refused == nil, "lenient: %+v", report)
		for form, o := range map[formsvc.ID]formsvc.Import{strict: {}, lenient: {Lenient: true}} {
			_, before := exported(t, b, form)
			again := importInto(t, b, form, file, o)
			expect.That(t, again.Imported == 0 && again.Repeated+int64(len(again.Refused)) == int64(count), "again: %+v", again)
			_, after := exported(t, b, form)
			expect.That(t, before == after, "a repeated import changes what is stored")
		}
		marked := map[string]string{}
		_, kept := exported(t, b, lenient)
		for l := range strings.SplitSeq(kept, "\n") {
			if strings.Contains(l, `"imported":true`) {
				ref := regexp.MustCompile(`"ref","type":"hidden","label":"ref"},"value":"(\d+)"`).FindStringSubmatch(l)[1]
				marked[ref] = broken[ref]
			}
		}
		expect.Equal(t, cmp.Diff(marked, broken), "", "marked")
		expect.That(t, strings.ReplaceAll(kept, `,"imported":true`, "") == old, "the lenient import changes submissions")

		// With the same definition, both forms have the same figures on each day.
		b.Change(from, formsvc.Definition{Blocks: json.RawMessage(today)})
		withoutIDs := cmpopts.IgnoreFields(formsvc.TextCount{}, "Submission")
		for day := range 11 {
			start := now.Truncate(24*time.Hour).AddDate(0, 0, -day)
			q := formsvc.SubmissionQuery{Since: start, Until: start.Add(24*time.Hour - time.Second)}
			want, got := expect.Must(b.AsHost().Summary(t.Context(), from, q)), expect.Must(b.AsHost().Summary(t.Context(), lenient, q))
			expect.Equal(t, cmp.Diff(want, got, withoutIDs, cmpopts.EquateApprox(1e-9, 1e-9)), "", "day %d", day)
			expect.That(t, want.Submissions > 0 == (day < 10), "day %d has %d submissions", day, want.Submissions)
		}
		for _, period := range []formsvc.Period{formsvc.PeriodToday, formsvc.PeriodYesterday, formsvc.Period24h, formsvc.Period7d, formsvc.Period30d, formsvc.Period12m, formsvc.PeriodAll} {
			want, got := expect.Must(b.AsHost().Metrics(t.Context(), from, period)), expect.Must(b.AsHost().Metrics(t.Context(), lenient, period))
			expect.That(t, want == got && want.Submissions > 0, "%s: %+v, want %+v", period, got, want)
		}
	})
}

// keyOf is a host whose only key has the scopes that it contains.
type keyOf struct {
	user   formsvc.ID
	scopes atomic.Pointer[[]formsvc.Scope]
}

// ResolveKey implements [formsvc.KeyResolver].
func (k *keyOf) ResolveKey(context.Context, string) (formsvc.Principal, error) {
	return formsvc.Principal{UserID: k.user, KeyID: "key", Scopes: *k.scopes.Load()}, nil
}

// An import ends after 1,000 lines if its key has lost a scope, or its user the form.
func TestAnImportEndsWithItsAccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose func(b *servicetest.Bundle, k *keyOf, form formsvc.ID)
		want int
	}{
		"forms:write": {func(_ *servicetest.Bundle, k *keyOf, _ formsvc.ID) {
			k.scopes.Store(&[]formsvc.Scope{formsvc.ScopeSubmissionsWrite})
		}, http.StatusUnauthorized},
		"submissions:write": {func(_ *servicetest.Bundle, k *keyOf, _ formsvc.ID) {
			k.scopes.Store(&[]formsvc.Scope{formsvc.ScopeFormsWrite})
		}, http.StatusUnauthorized},
		"the form": {func(b *servicetest.Bundle, _ *keyOf, form formsvc.ID) {
			other := expect.Must(b.CreateWorkspace(t.Context(), formsvc.UserIDFrom("other"), "Other"))
			expect.Must(b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Workspace: &other.ID}))
		}, http.StatusNotFound},
	} {
		key := new(keyOf)
		key.scopes.Store(new(formsvc.Scopes()))
		b := servicetest.Setup(t, formsvc.WithKeyResolver(key))
		key.user = b.User.ID
		form := importForm(b)
		first := strings.Repeat("\n", 998) + line("1", stored("text", "short_text", `"x"`)) + "\n"
		lose := readerFunc(func([]byte) (int, error) { c.lose(b, key, form); return 0, io.EOF })
		rest := strings.NewReader("\n" + line("2", stored("text", "short_text", `"y"`)) + "\n")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/imports/"+form.String(), io.MultiReader(strings.NewReader(first), lose, rest))
		r.Header.Set("X-API-Key", "any")
		r.Header.Set("Content-Type", "application/x-ndjson")
		w := httptest.NewRecorder()
		b.ImportHandler().ServeHTTP(w, r)
		expect.Equal(t, w.Code, c.want, "the status after losing "+name)
		expect.Equal(t, len(respondents(t, b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}))), 1, "submissions after losing "+name)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// slowWrites is a storage whose calls take three seconds of the ten that one operation has.
type slowWrites struct{ storage.Storage }

// Submit implements [storage.Storage].
func (s slowWrites) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	ctx, end := timeout.WithTimeout(ctx, 10*time.Second)
	defer end()
	time.Sleep(3 * time.Second)
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, false, err
	}
	return s.Storage.Submit(ctx, n)
}

// An import as a whole has no deadline: not that of an operation, nor those of the server. A client that sends too
// little has one.
func TestImportsTakeAnyTime(t *testing.T) {
	t.Parallel()
	wait := func(d time.Duration, then string) io.Reader {
		return io.MultiReader(readerFunc(func([]byte) (int, error) { time.Sleep(d); return 0, io.EOF }), strings.NewReader(then))
	}
	lineOf := func(i int, size int) string {
		l := line(fmt.Sprint(i), stored("text", "short_text", `"`+strings.Repeat("x", size)+`"`)) + "\n"
		return strings.Replace(l, "2026", "1999", 1) // a bubble's clock starts in 2000
	}
	var small strings.Builder
	var paced []io.Reader
	for i := range 100 {
		small.WriteString(lineOf(i, 1))
		paced = append(paced, wait(5*time.Second, lineOf(i, 8000)))
	}
	for name, c := range map[string]struct {
		query  string
		body   func() io.Reader
		status int
		answer string
		took   time.Duration
	}{
		"slow storage":   {"", func() io.Reader { return strings.NewReader(small.String()) }, http.StatusOK, `"imported":100`, 300 * time.Second},
		"lenient":        {"?lenient=true", func() io.Reader { return strings.NewReader(small.String()) }, http.StatusOK, `"imported":100`, 300 * time.Second},
		"a slow client":  {"", func() io.Reader { return io.MultiReader(paced...) }, http.StatusOK, `"imported":100`, 503 * time.Second},
		"one that stops": {"", func() io.Reader { return io.MultiReader(strings.NewReader(lineOf(0, 1)), wait(time.Hour, "")) }, http.StatusServiceUnavailable, "UNAVAILABLE", 63 * time.Second},
		"one that hardly sends": {"", func() io.Reader {
			return io.MultiReader(wait(50*time.Second, "\n"), wait(20*time.Second, "\n"), wait(time.Hour, ""))
		}, http.StatusServiceUnavailable, "UNAVAILABLE", 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := servicetest.SetupOn(t, slowWrites{memory.New()})
				form := importForm(b)
				p, stop := servePipesWithin(t, 10*time.Second, b.ImportHandler())
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(), nil }}}
				r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/imports/"+form.String()+c.query, c.body()))
				r.Header.Set("X-API-Key", b.Key)
				r.Header.Set("Content-Type", "application/x-ndjson")
				start := time.Now()
				answer, err := client.Do(r)
				expect.Require(t, err == nil, "no response: %v", err)
				body := servicetest.ReadAll(t, answer.Body)
				answer.Body.Close()
				took := time.Since(start)
				expect.That(t, answer.StatusCode == c.status && strings.Contains(body, c.answer) && took == c.took, "%d after %v: %.300s", answer.StatusCode, took, body)
				time.Sleep(2 * time.Hour) // the body ends
				stop()
			})
		})
	}
}
