package servicetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, wherever they run

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// The rules of blocks run on a body whose shape is not known yet.
func TestWhatIsNotABlockIsRefusedWhereverABlockBelongs(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := "/forms/" + b.Form(servicetest.TextBlock, `{}`).String()
	for _, place := range []struct{ method, path, body, pointer string }{
		{http.MethodPost, form + "/blocks", `{"block":#}`, "/block"},
		{http.MethodPost, form + "/blocks", `{"block":{"id":"a","children":[#]}}`, "/block/children/0"},
		{http.MethodPut, form + "/blocks", `{"blocks":[#]}`, "/blocks/0"},
		{http.MethodPut, form + "/blocks", `{"blocks":[{"id":"a","children":[#]}]}`, "/blocks/0/children/0"},
		{http.MethodPatch, form + "/blocks/name", `{"block":#}`, "/block"},
		{http.MethodPatch, form + "/blocks/name", `{"block":{"children":[#]}}`, "/block/children/0"},
		{http.MethodPatch, form, `{"definition":{"blocks":[#]}}`, "/definition/blocks/0"},
		{http.MethodPatch, form, `{"definition":{"blocks":[{"id":"a","children":[#]}]}}`, "/definition/blocks/0/children/0"},
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.Workspace.String() + `","name":"a","definition":{"blocks":[#]}}`, "/definition/blocks/0"},
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.Workspace.String() + `","name":"a","definition":{"blocks":[{"id":"a","children":[#]}]}}`, "/definition/blocks/0/children/0"},
	} {
		for _, wrong := range []string{`[1]`, `["id"]`, `[{"id":"x"}]`, `[[[]]]`, `[]`, `1`, `"id"`, `true`, `null`} {
			body := strings.Replace(place.body, "#", wrong, 1)
			var refusal struct{ Details []schema.Violation }
			w := b.Do(place.method, place.path, body, &refusal)
			if w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s %s: %d %s", place.method, body, w.Code, w.Body)
				continue
			}
			if len(refusal.Details) != 1 || refusal.Details[0].Path != place.pointer || refusal.Details[0].Code != schema.CodeWrongType {
				t.Errorf("%s %s: %+v", place.method, body, refusal.Details)
			}
		}
	}
}

// A definition has one bound, by whichever write it grows.
func TestNoWriteMakesADefinitionLargerThanItsLimit(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithLimits(formsvc.Limits{Definition: 2000}))
	form := "/forms/" + b.Form(`[{"id":"a","type":"long_text","label":"`+strings.Repeat("x", 1500)+`"}]`, `{}`).String()
	long := `"` + strings.Repeat("y", 600) + `"`
	for _, c := range []struct{ method, path, body, pointer string }{
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.Workspace.String() + `","name":"a","definition":{"theme":{"customCss":"` + strings.Repeat("z", 2000) + `"}}}`, "/definition"},
		{http.MethodPatch, form, `{"definition":{"theme":{"customCss":` + long + `}}}`, "/definition"},
		{http.MethodPatch, form, `{"definition":{"settings":{"closedMessage":` + long + `}}}`, "/definition"},
		{http.MethodPatch, form, `{"definition":{"variables":{"v":` + long + `}}}`, "/definition"},
		{http.MethodPost, form + "/blocks", `{"block":{"id":"b","label":` + long + `}}`, "/block"},
		{http.MethodPatch, form + "/blocks/a", `{"block":{"description":` + long + `}}`, "/block"},
		{http.MethodPut, form + "/blocks", `{"blocks":[{"id":"a","label":` + long + `},{"id":"b","label":` + long + `},{"id":"c","label":` + long + `},{"id":"d","label":` + long + `}]}`, "/blocks"},
	} {
		var refusal struct{ Details []schema.Violation }
		w := b.Do(c.method, c.path, c.body, &refusal)
		if w.Code != http.StatusUnprocessableEntity || len(refusal.Details) != 1 || refusal.Details[0].Path != c.pointer || refusal.Details[0].Code != schema.CodeTooLong {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	status(t, b.Do(http.MethodPatch, form+"/blocks/a", `{"block":{"label":`+long+`}}`, nil), http.StatusOK, "a form that shrinks")
}

// A matrix copies labels: the bound is on what is stored.
func TestAResponseIsBoundedAsItIsStored(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	rows := `{"id":"r0"}`
	for i := 1; i < 300; i++ {
		rows += `,{"id":"r` + strconv.Itoa(i) + `"}`
	}
	form := b.Form(`[{"id":"m","type":"matrix","label":"M","matrix_rows":[`+rows+`],"matrix_columns":[{"id":"c","label":"`+strings.Repeat("x", 5000)+`"}]}]`, `{}`)
	answer := map[string]string{}
	for i := range 300 {
		answer["r"+strconv.Itoa(i)] = "c"
	}
	raw, err := json.Marshal(answer)
	expect.NoError(t, err)
	_, err = b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("m", string(raw))})
	expect.Equal(t, violations(err), " TOO_LONG", "%d bytes that would be stored as 1.5 MB", len(raw))
	expect.Equal(t, b.Submissions(form), 0, "responses are stored")
}

// The form of an editor is the working copy with what is typed, within the limits of a write; nothing is stored.
func TestEditorForm(t *testing.T) {
	t.Parallel()
	svc := servicetest.New(t, memory.New())
	owner := svc.As(formsvc.UserIDFrom("owner"))
	workspace := expect.Must(owner.CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "Mine"}))
	form, err := owner.CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Stored", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"Stored"}]`), Theme: json.RawMessage(`{"corners":7}`),
	}})
	if err == nil {
		_, err = owner.WorkingCopy(form.ID).UpdateBlock(t.Context(), "a", json.RawMessage(`{"label":"Edited"}`))
	}
	expect.NoError(t, err)
	got, err := owner.EditorForm(t.Context(), form.ID, formsvc.FormUpdate{})
	if err != nil || got.Name != "Stored" || len(got.Blocks) != 1 || got.Blocks[0].Label != "Edited" || got.Theme.Corners == nil {
		t.Errorf("nothing was typed: %v %+v", err, got)
	}
	name := "Typed"
	got, err = owner.EditorForm(t.Context(), form.ID, formsvc.FormUpdate{Name: &name, Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"b","label":"Typed","required":"perhaps"},7,{"id":"c","properties":{"specificDates":["soon"]}},{"id":"d"}]`),
	}})
	if err != nil || got.Name != "Typed" || len(got.Blocks) != 4 || got.Blocks[0].Label != "Typed" || got.Blocks[3].ID != "d" || got.Theme.Corners == nil {
		t.Errorf("typed: %v %+v", err, got)
	}
	stored, err := owner.WorkingCopy(form.ID).Form(t.Context())
	expect.That(t, err == nil && stored.Name == "Stored", "something was stored: %v %+v", err, stored)
	for _, blocks := range []string{`[{"id":"b","label":"` + strings.Repeat("x", 5001) + `"}]`, `[` + strings.Repeat("0,", 500) + `0]`, `[{"id":"b","Choices":[]}]`, `[` + strings.Repeat("0,", 500_000) + `0]`, `[`} {
		typed := formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(blocks)}}
		refused(t, expect.ErrorOf(owner.EditorForm(t.Context(), form.ID, typed)), "%.50s…", blocks)
	}
	expect.Error(t, "a stranger", expect.ErrorOf(svc.As(formsvc.UserIDFrom("stranger")).EditorForm(t.Context(), form.ID, formsvc.FormUpdate{})), formsvc.ErrNotFound)
}

// A path follows the form as it is stored now, also when another process changed it.
func TestPath(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		id := b.Form(`[{"id":"a","type":"number","required":true},{"id":"b","type":"number"},{"id":"end","type":"ending"}]`, `{}`)
		ids := func() string {
			path := expect.Must(b.Path(t.Context(), id, map[string]json.RawMessage{"a": json.RawMessage("1")}, nil))
			var list string
			for _, block := range path.Blocks {
				list += block.ID + " "
			}
			return list + path.Ending
		}
		expect.Equal(t, ids(), "a b end end", "%s: path", name)
		other := expect.Must(formsvc.New(formsvc.WithStorage(store)))
		expect.Must(other.AsHost().UpdateForm(t.Context(), id, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"b","type":"number"}]`)}}))
		expect.Equal(t, ids(), "b ", "%s: path after another process changed the form", name)
		expect.Error(t, name, expect.ErrorOf(b.Path(t.Context(), formsvc.ID{1}, nil, nil)), formsvc.ErrNotFound)
	}
}

// The warnings of a form, and that only who may read it gets them.
func TestWarnings(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	id := b.Form(`[{"id":"a","type":"ranking","label":"A","required":true},{"id":"d","type":"date","label":"D","properties":{"afterDate":"2026-08-01T20:00:00Z","beforeDate":"2026-08-01T22:00:00Z","disabledDays":64}}]`, `{"duplicateField":"nobody"}`)
	found := expect.Must(b.As(b.User.ID).Warnings(t.Context(), id))
	var got []string
	for _, w := range found {
		got = append(got, w.Path+" "+w.Code)
	}
	want := "[/blocks/0/choices UNANSWERABLE_BLOCK /blocks/1/properties UNANSWERABLE_BLOCK /blocks UNANSWERABLE_FORM /settings/duplicateField DUPLICATE_FIELD]"
	expect.That(t, fmt.Sprint(got) == want, "got %v, want %s", got, want)
	expect.Error(t, "a stranger", expect.ErrorOf(b.As(formsvc.UserIDFrom("bob")).Warnings(t.Context(), id)), formsvc.ErrNotFound)
	found, err := b.Warnings(formsvc.Definition{})
	expect.That(t, err == nil && len(found) == 0, "an empty definition: %v, %v", found, err)
	expect.That(t, expect.ErrorOf(b.Warnings(formsvc.Definition{Blocks: json.RawMessage(`{}`)})) != nil, "no blocks are accepted as blocks")
}

// A form is previewed as it is stored now, until it goes to the trash.
func TestPreviewForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	ctx := t.Context()
	draft, err := b.As(b.User.ID).CreateForm(ctx, formsvc.FormCreate{Workspace: b.Workspace, Name: "Draft", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"ranking","required":true}]`), Settings: json.RawMessage(`{"submitLabel":"Go"}`),
	}})
	expect.NoError(t, err)
	form, warnings, err := b.PreviewForm(ctx, draft.ID)
	if err != nil || form.ID != draft.ID || form.PublicID != draft.PublicID || len(form.Blocks) != 1 || form.Settings.SubmitLabel != "Go" {
		t.Errorf("%+v, %v", form, err)
	}
	if want, err := b.As(b.User.ID).Warnings(ctx, draft.ID); err != nil || len(want) == 0 || fmt.Sprint(warnings) != fmt.Sprint(want) {
		t.Errorf("the warnings are %v, want %v, %v", warnings, want, err)
	}
	expect.NoError(t, b.As(b.User.ID).TrashForm(ctx, draft.ID))
	for _, id := range []formsvc.ID{draft.ID, {1}} {
		if _, _, err := b.PreviewForm(ctx, id); !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// zones have whole and changing offsets, on both sides of UTC and of the date line. In
// each of them clocks change near one of the days that the tests choose.
var zones = []string{"Asia/Tokyo", "America/New_York", "Europe/Berlin", "Pacific/Auckland"}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	return expect.Must(time.LoadLocation(name))
}

// calendarBlocks are a form whose owner chose the days of June 10 to 20, no Sunday, and
// three single days on which clocks change, as the function at writes the days.
func calendarBlocks(at func(day string) string) string {
	bounds := `"afterDate":"` + at("2026-06-10") + `","beforeDate":"` + at("2026-06-20") + `","disabledDays":1`
	single := `"specificDates":["` + at("2026-03-08") + `","` + at("2026-03-29") + `","` + at("2026-09-27") + `"]`
	return `[{"id":"span","type":"date","properties":{` + bounds + `}},
		{"id":"span_time","type":"date","properties":{"showTimePicker":true,` + bounds + `}},
		{"id":"single","type":"date","properties":{` + single + `}},
		{"id":"single_time","type":"date","properties":{"showTimePicker":true,` + single + `}}]`
}

// checkCalendar submits the days around those that calendarBlocks chose. A time counts
// by the day that it is written with, whatever its offset.
func checkCalendar(t *testing.T, b *servicetest.Bundle, form formsvc.ID) {
	t.Helper()
	for _, c := range []struct {
		block, day string
		ok         bool
	}{
		{"span", "2026-06-09", false}, {"span", "2026-06-10", true}, {"span", "2026-06-14", false}, {"span", "2026-06-15", true},
		{"span", "2026-06-20", true}, {"span", "2026-06-21", false}, {"span", "2026-06-22", false},
		{"single", "2026-03-07", false}, {"single", "2026-03-08", true}, {"single", "2026-03-09", false}, {"single", "2026-03-28", false},
		{"single", "2026-03-29", true}, {"single", "2026-03-30", false}, {"single", "2026-09-26", false}, {"single", "2026-09-27", true}, {"single", "2026-09-28", false},
	} {
		answers := map[string][]string{c.block: {`"` + c.day + `"`}}
		for _, clock := range []string{"T00:00:00Z", "T23:59:59+09:00", "T00:00:00-04:00", "T23:59:59-05:00", "T00:30:00+13:00", "T12:00:00+02:00"} {
			answers[c.block+"_time"] = append(answers[c.block+"_time"], `"`+c.day+clock+`"`)
		}
		for block, values := range answers {
			for _, value := range values {
				_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{block: json.RawMessage(value)}})
				var refused *formsvc.Error
				if c.ok && err != nil || !c.ok && !errors.As(err, &refused) {
					t.Errorf("%s of %s: %v, want accepted: %t", value, block, err, c.ok)
				}
			}
		}
	}
}

// Owners send the days in UTC, as those of the service's zone, or with the offset of their own zone.
func TestDaysMeanTheDaysOfTheirZone(t *testing.T) {
	t.Parallel()
	for _, service := range append([]string{"UTC"}, zones...) {
		t.Run("a service in "+service, func(t *testing.T) {
			t.Parallel()
			home := location(t, service)
			b := servicetest.Setup(t, formsvc.WithTimeZone(home))
			for owner, zone := range map[string]*time.Location{"UTC": home, zones[0]: location(t, zones[0]), zones[1]: location(t, zones[1])} {
				for _, clock := range []string{"00:00:00", "09:30:00", "23:59:59"} {
					form := b.Form(calendarBlocks(func(day string) string {
						at := expect.Must(time.ParseInLocation(time.DateTime, day+" "+clock, zone))
						if owner == "UTC" {
							at = at.UTC()
						}
						return at.Format(time.RFC3339)
					}), `{}`)
					checkCalendar(t, b, form)
					var read struct {
						Items []struct{ Properties struct{ AfterDate string } }
					}
					b.Do(http.MethodGet, "/forms/"+form.String()+"/blocks", "", &read)
					want := time.Date(2026, 6, 10, 0, 0, 0, 0, home).UTC().Format(time.RFC3339)
					if got := read.Items[0].Properties.AfterDate; owner != "UTC" && got != want {
						t.Errorf("an owner in %s reads %s, want the start of the day in the service's zone, %s", owner, got, want)
					}
				}
			}
		})
	}
}

// What is read and put back unchanged changes nothing: not a byte, so not a day.
func TestReadingAndPuttingBackKeepsTheDays(t *testing.T) {
	t.Parallel()
	bundles := make(map[string]*servicetest.Bundle)
	for _, name := range append([]string{"UTC", "Africa/Cairo", "Pacific/Chatham", "America/Sao_Paulo", "Pacific/Apia"}, zones...) {
		bundles[name] = servicetest.Setup(t, formsvc.WithTimeZone(location(t, name)), formsvc.WithoutRateLimit())
	}
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SampledFrom([]string{"UTC", "Africa/Cairo", "Pacific/Chatham", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Pacific/Auckland"})
		b := bundles[names.Draw(r, "zone")]
		bound := rapid.Custom(func(r *rapid.T) string {
			at := time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(r, "time"), 0).UTC()
			offset := rapid.SampledFrom([]string{"Z", "+00:00", "-00:00", "+09:00", "-04:00", "+13:45", "-11:30", "+14:00"}).Draw(r, "offset")
			return `"` + at.Format("2006-01-02T15:04:05") + offset + `"`
		})
		block := fmt.Sprintf(`{"id":"a","type":"date","properties":{"afterDate":%s,"beforeDate":%s,"specificDates":[%s]}}`,
			bound.Draw(r, "after"), bound.Draw(r, "before"), strings.Join(rapid.SliceOfN(bound, 0, 3).Draw(r, "single"), ","))
		form := "/forms/" + b.Form("["+block+"]", `{}`).String()
		first := b.Do(http.MethodGet, form+"/blocks", "", nil)
		var read struct{ Items json.RawMessage }
		if err := json.Unmarshal(first.Body.Bytes(), &read); err != nil {
			r.Fatalf("%s: %v", first.Body, err)
		}
		only := strings.TrimSuffix(strings.TrimPrefix(string(read.Items), "["), "]")
		for _, write := range []struct{ method, path, body string }{
			{http.MethodPut, form + "/blocks", `{"blocks":` + string(read.Items) + `}`},
			{http.MethodPatch, form, `{"definition":{"blocks":` + string(read.Items) + `}}`},
			{http.MethodPatch, form + "/blocks/a", `{"block":` + only + `}`},
		} {
			if w := b.Do(write.method, write.path, write.body, nil); w.Code != http.StatusOK {
				r.Fatalf("%s %s: %d %s", write.method, write.body, w.Code, w.Body)
			}
			again := b.Do(http.MethodGet, form+"/blocks", "", nil)
			if again.Body.String() != first.Body.String() || again.Header().Get("ETag") != first.Header().Get("ETag") {
				r.Fatalf("%s %s changes %s to %s", write.method, write.path, first.Body, again.Body)
			}
		}
	})
}

// misleading is what stands in no name: line breaks, escapes and what turns the
// direction of text.
const misleading = "\t\n\v\f\r\x1b\x7f\u0085\u009b\u2028\u2029\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

func TestNamesMisleadNobody(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	form, ctx, host := b.Form(servicetest.TextBlock, `{}`), t.Context(), b.AsHost()
	for _, c := range misleading {
		name := "a" + string(c) + "b"
		for call, err := range map[string]error{
			"CreateWorkspace":         expect.ErrorOf(host.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: name, Owner: b.User.ID})),
			"Service.CreateWorkspace": expect.ErrorOf(b.CreateWorkspace(ctx, b.User.ID, name)),
			"RenameWorkspace":         expect.ErrorOf(host.RenameWorkspace(ctx, b.Workspace, name)),
			"CreateForm":              expect.ErrorOf(host.CreateForm(ctx, formsvc.FormCreate{Workspace: b.Workspace, Name: name})),
			"UpdateForm":              expect.ErrorOf(host.UpdateForm(ctx, form, formsvc.FormUpdate{Name: &name})),
			"CreateKey":               expect.ErrorOf(b.CreateKey(ctx, formsvc.KeyRequest{User: b.User, Name: name, Scopes: storage.Scopes()})),
		} {
			expect.Equal(t, violations(err), "/name BAD_FORMAT", "%U, %s", c, call)
		}
	}
	const unseen = "\u200b\u200d"
	refused(t, expect.ErrorOf(host.RenameWorkspace(ctx, b.Workspace, unseen)), "a workspace whose name nobody sees")
	refused(t, expect.ErrorOf(b.CreateKey(ctx, formsvc.KeyRequest{User: b.User, Name: unseen, Scopes: storage.Scopes()})), "a key whose name nobody sees")
	// What scripts and pictures are written with stays, and so do spaces in between. What is pasted
	// with a name and cannot be seen does not.
	names := map[string]string{
		"\u200b Customer\u00ad survey \U0001f3f4\U000e0067\U000e007f\u2060": "Customer survey \U0001f3f4\U000e0067\U000e007f",
		strings.Repeat("a", 120) + "\u200b":                                 strings.Repeat("a", 120), " \t trimmed \n": "trimmed",
	}
	for _, name := range []string{"Año 2026 – „Umfrage“", "می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "a  b c"} {
		names[name] = name
	}
	for name, want := range names {
		w, err := b.CreateWorkspace(ctx, b.User.ID, name)
		expect.That(t, err == nil && w.Name == want, "%q: %q, %v", name, w.Name, err)
		f, err := host.UpdateForm(ctx, form, formsvc.FormUpdate{Name: &name})
		expect.That(t, err == nil && f.Name == want, "%q: %q, %v", name, f.Name, err)
		k, err := b.CreateKey(ctx, formsvc.KeyRequest{User: b.User, Name: name, Scopes: storage.Scopes()})
		expect.That(t, err == nil && k.Key.Name == want, "%q: %q, %v", name, k.Key.Name, err)
	}
}

// Hidden fields and metadata stand in lines: no control character is in them.
func TestHiddenFieldsAndMetadataCarryNoControlCharacters(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	b.Change(form, formsvc.Definition{HiddenFields: []byte(`["ref"]`)})
	submit := func(text string) error {
		_, err := b.Submit(t.Context(), formsvc.SubmitParams{
			FormID: form, Answers: servicetest.Answers("name", `"x"`), Hidden: map[string]string{"ref": text, "undeclared": "\x1b"},
			Metadata: formsvc.Metadata{
				Country: text, Device: text, UserAgent: text,
				UTM: map[string]string{"campaign": text, "content": text, "medium": text, "source": text, "term": text, "other": "\x1b"},
			},
		})
		return err
	}
	for _, c := range "\x00\x07\t\n\r\x1b\x7f\u0085\u009b" {
		const want = "/hidden/ref, /metadata/country, /metadata/device, /metadata/user_agent, " +
			"/metadata/utm/campaign, /metadata/utm/content, /metadata/utm/medium, /metadata/utm/source, /metadata/utm/term"
		got := violations(submit("a" + string(c) + "b"))
		expect.Equal(t, got, strings.ReplaceAll(want, ",", " BAD_FORMAT,")+" BAD_FORMAT", "%U", c)
	}
	expect.Equal(t, b.Submissions(form), 0, "responses are stored")
	for _, text := range []string{"", "Größe 日本 (x; y) 👩\u200d👩\u200d👧", "سعر \u200f٪"} {
		expect.Error(t, fmt.Sprintf("%q", text), submit(text), nil)
	}
}

// What programs send as times, and what they send twice, is understood or refused in the same
// way by the list and by the export.
func TestQueriesOfPrograms(t *testing.T) {
	t.Parallel()
	clock := servicetest.NewClock(time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC))
	b := servicetest.Setup(t, formsvc.WithClock(clock.Now), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	expect.Must(b.Answer(form, "name", `"only-answer"`))
	const found, empty, refused = 1, 0, -1
	for query, want := range map[string]int{
		"since=0001-01-01T00:00:00Z":                                found,
		"until=0001-01-01T00:00:00Z":                                empty,
		"since=0001-01-01T00:00:00Z&until=0001-01-01T00:00:00Z":     empty,
		"since=2026-11-20T08:33:01Z":                                found,
		"since=2026-11-20T08:33:01.000Z":                            found,
		"since=2026-11-20T08:33:01.5Z":                              empty,
		"since=2026-11-20T08:33:01.0000001Z":                        empty,
		"since=2026-11-20T08:33:00.5Z&until=2026-11-20T08:33:01.2":  refused,
		"since=2026-11-20T08:33:00.5Z&until=2026-11-20T08:33:01.2Z": found,
		"since=2026-11-20T08:33:01.7Z&until=2026-11-20T08:33:01.9Z": empty,
		"since=9999-12-31T23:59:59.9Z":                              empty,
		"since=" + url.QueryEscape("2026-11-20T09:33:01+0100"):      found,
		"since=2026-11-20T09:33:01+0100":                            found,
		"since=2026-11-20T09:33:02%2B01":                            empty,
		"until=2026-11-20T03:03:00-0530":                            empty,
		"since=2026-11-20T08:33:01Z&since=2026-11-20T08:33:01Z":     found,
		"since=2026-11-20T08:33:01Z&since=2026-11-21T08:33:01Z":     refused,
		"until=2026-11-20T08:33:01Z&since=&until=x":                 refused,
		"x=1&x=2": found,
	} {
		list := b.Do(http.MethodGet, "/forms/"+form.String()+"/submissions?"+query, "", nil)
		r := b.Request(http.MethodGet, "/exports/"+form.String()+".ndjson?"+query, "")
		export := httptest.NewRecorder()
		b.ExportHandler().ServeHTTP(export, r)
		for name, w := range map[string]*httptest.ResponseRecorder{"list": list, "export": export} {
			got := refused
			if w.Code == http.StatusOK {
				got = strings.Count(w.Body.String(), "only-answer")
			} else if w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s with %s: %d %s", name, query, w.Code, w.Body)
			}
			expect.That(t, got == want, "%s with %s: %d responses, want %d: %s", name, query, got, want, w.Body)
		}
	}
	for _, path := range []string{"/forms?limit=1&limit=2", "/forms?workspace_id=" + form.String() + "&workspace_id=x", "/workspaces?cursor=a&cursor=b", "/forms/" + form.String() + "/analytics/metrics?period=7d&period=30d"} {
		if w := b.Do(http.MethodGet, path, "", nil); w.Code != 422 || !strings.Contains(w.Body.String(), "must not be repeated") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	n := 0
	for _, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{Since: clock.Now().Add(time.Nanosecond)}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	expect.That(t, n == 0, "Client.Submissions includes a response from before Since")

	w := b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"settings":{"closeAt":"0001-01-01T00:00:00Z"}}}`, nil)
	expect.That(t, w.Code == 422 && strings.Contains(w.Body.String(), "0001-01-01T00:00:01Z"),
		"closeAt in the first second: %d %s", w.Code, w.Body)
	for _, body := range []string{"\ufeff{}", "\xff\xfe{\x00}\x00"} {
		if w := b.Do(http.MethodPatch, "/forms/"+form.String(), body, nil); w.Code != 400 || !strings.Contains(w.Body.String(), "byte order mark") {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}
