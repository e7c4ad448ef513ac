package servicetest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

// everyType is a form with every type of block that answers.
const everyType = `[
	{"id":"text","type":"short_text","label":"Text"},
	{"id":"long","type":"long_text","label":"Long"},
	{"id":"email","type":"email","label":"E-mail"},
	{"id":"phone","type":"phone","label":"Phone"},
	{"id":"site","type":"website","label":"Site"},
	{"id":"number","type":"number","label":"Number"},
	{"id":"rating","type":"rating","label":"Rating"},
	{"id":"scale","type":"opinion_scale","label":"Scale"},
	{"id":"nps","type":"nps","label":"Recommend"},
	{"id":"yes","type":"yes_no","label":"Yes"},
	{"id":"legal","type":"legal","label":"Legal"},
	{"id":"group","type":"group","label":"Group","children":[
		{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}],"properties":{"otherOption":true}},
		{"id":"drop","type":"dropdown","label":"Drop","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]}]},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"},{"id":"c","label":"Corn"}],"properties":{"otherOption":true}},
	{"id":"picture","type":"picture_choice","label":"Picture","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]},
	{"id":"pictures","type":"picture_choice","label":"Pictures","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}],"properties":{"multiSelection":true}},
	{"id":"rank","type":"ranking","label":"Rank","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]},
	{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"z","label":"First"},{"id":"y","label":"Second"}],"matrix_columns":[{"id":"good","label":"Good"},{"id":"bad","label":"Bad"}]},
	{"id":"grids","type":"matrix","label":"Grids","matrix_rows":[{"id":"z","label":"First"}],"matrix_columns":[{"id":"good","label":"Good"},{"id":"bad","label":"Bad"}],"properties":{"multiSelection":true}},
	{"id":"day","type":"date","label":"Day"},
	{"id":"moment","type":"date","label":"Moment","properties":{"showTimePicker":true}},
	{"id":"time","type":"time","label":"Time"},
	{"id":"address","type":"address","label":"Address","properties":{"addressOrContact":{"firstName":{"hide":true},"lastName":{"hide":true}}}},
	{"id":"contact","type":"contact_info","label":"Contact"},
	{"id":"country","type":"country","label":"Country"},
	{"id":"files","type":"file_upload","label":"Files","properties":{"multipleFiles":true}},
	{"id":"sign","type":"signature","label":"Signature"},
	{"id":"pay","type":"payment","label":"Payment"},
	{"id":"end","type":"ending"}]`

// everyAnswer answers everyType.
func everyAnswer(form formsvc.ID) formsvc.Response {
	file := func(name string) string {
		return `{"id":"` + name + `","name":"` + name + `.pdf","url":"https://files.example.com/` + name + `","mime_type":"application/pdf","size":12}`
	}
	return formsvc.Response{
		FormID: form,
		Answers: servicetest.Answers(
			"text", `"=1+1"`, "long", `"a\nb"`, "email", `"ada@example.com"`, "phone", `"+442083661177"`, "site", `"https://example.com/"`,
			"number", `-1.50`, "rating", `4`, "scale", `7`, "nps", `9`, "yes", `true`, "legal", `false`,
			"one", `{"other":"-2"}`, "drop", `"b"`, "many", `["a","c",{"other":"dill; mint"}]`, "picture", `"a"`, "pictures", `["b"]`,
			"rank", `["b","a"]`, "grid", `{"y":"bad","z":"good"}`, "grids", `{"z":["good","bad"]}`,
			"day", `"2026-02-28"`, "moment", `"2026-02-28T10:30:00Z"`, "time", `"08:33"`,
			"address", `{"address":"1 High Street","city":"Utrecht","country":"NL"}`, "contact", `{"firstName":"Ada","phone":"+442083661177"}`, "country", `"NL"`,
		),
		HostAnswers: servicetest.Answers("files", "["+file("one")+","+file("two")+"]", "sign", strings.NewReplacer("pdf", "png", "application", "image").Replace(file("sig")),
			"pay", `{"amount":"10.00","currency":"EUR","status":"paid","gateway":"bank","reference":"r1"}`),
		Hidden: map[string]string{"ref": "@home"},
	}
}

// everyTypeForm makes a published form of everyType with one hidden field.
func everyTypeForm(b *servicetest.Bundle) formsvc.ID {
	b.T.Helper()
	f, err := b.As(b.User.ID).CreateForm(b.T.Context(), formsvc.FormCreate{
		Workspace: b.Workspace, Name: "Every type",
		Definition: formsvc.Definition{Blocks: json.RawMessage(everyType), HiddenFields: json.RawMessage(`["ref"]`)},
	})
	if err == nil {
		_, err = b.As(b.User.ID).PublishForm(b.T.Context(), f.ID)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	return f.ID
}

func TestEveryStoredAnswerHasAGoValue(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := everyTypeForm(b)
	if _, err := b.Submit(t.Context(), everyAnswer(form)); err != nil {
		t.Fatal(err)
	}
	apple, beet, corn := schema.Pick{ID: "a", Label: "Apple"}, schema.Pick{ID: "b", Label: "Beet"}, schema.Pick{ID: "c", Label: "Corn"}
	good, bad := schema.Pick{ID: "good", Label: "Good"}, schema.Pick{ID: "bad", Label: "Bad"}
	file := func(name string) schema.File {
		return schema.File{ID: name, Name: name + ".pdf", URL: "https://files.example.com/" + name, MIMEType: "application/pdf", Size: 12}
	}
	want := []struct {
		id    string
		value schema.Value
		text  string
	}{
		{"text", schema.Text("=1+1"), "=1+1"},
		{"long", schema.Text("a\nb"), "a\nb"},
		{"email", schema.Text("ada@example.com"), "ada@example.com"},
		{"phone", schema.Text("+442083661177"), "+442083661177"},
		{"site", schema.Text("https://example.com/"), "https://example.com/"},
		{"number", schema.Number(-1.5), "-1.5"},
		{"rating", schema.Number(4), "4"},
		{"scale", schema.Number(7), "7"},
		{"nps", schema.Number(9), "9"},
		{"yes", schema.Bool(true), "true"},
		{"legal", schema.Bool(false), "false"},
		{"one", schema.Picks{{Other: "-2"}}, "-2"},
		{"drop", schema.Picks{beet}, "Beet"},
		{"many", schema.Picks{apple, corn, {Other: "dill; mint"}}, "Apple, Corn, dill; mint"},
		{"picture", schema.Picks{apple}, "Apple"},
		{"pictures", schema.Picks{beet}, "Beet"},
		{"rank", schema.Picks{beet, apple}, "Beet, Apple"},
		{"grid", schema.Matrix{{ID: "z", Picks: schema.Picks{good}}, {ID: "y", Picks: schema.Picks{bad}}}, "z: Good; y: Bad"},
		{"grids", schema.Matrix{{ID: "z", Picks: schema.Picks{good, bad}}}, "z: Good, Bad"},
		{"day", schema.Date{Time: time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)}, "2026-02-28"},
		{"moment", schema.Date{Time: time.Date(2026, 2, 28, 10, 30, 0, 0, time.UTC), HasTime: true}, "2026-02-28T10:30:00Z"},
		{"time", schema.Text("08:33"), "08:33"},
		{"address", schema.Contact{Address: "1 High Street", City: "Utrecht", Country: "NL"}, "1 High Street, Utrecht, NL"},
		{"contact", schema.Contact{FirstName: "Ada", Phone: "+442083661177"}, "Ada, +442083661177"},
		{"country", schema.Text("NL"), "NL"},
		{"files", schema.Files{file("one"), file("two")}, "one.pdf, two.pdf"},
		{"sign", schema.Files{{ID: "sig", Name: "sig.png", URL: "https://files.example.com/sig", MIMEType: "image/png", Size: 12}}, "sig.png"},
		{"pay", schema.Payment{Amount: "10.00", Currency: "EUR", Status: "paid", Gateway: "bank", Reference: "r1"}, "10.00 EUR paid"},
		{"ref", schema.Text("@home"), "@home"},
	}
	for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got, err := formsvc.DecodeAnswers(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d answers, want %d: %v", len(got), len(want), got)
		}
		for i, w := range want {
			if a := got[i]; a.ID != w.id || !cmp.Equal(a.Value, w.value) || a.String() != w.text || !json.Valid(a.JSON) {
				t.Errorf("answer %d is %s %#v (%q), want %s %#v (%q)", i, a.ID, a.Value, a, w.id, w.value, w.text)
			}
		}
		if last := got[len(got)-1]; last.Type != schema.TypeHidden {
			t.Errorf("the hidden field has the type %q", last.Type)
		}
	}

	// A value of a shape that another release stored is handed out as JSON. Only what is
	// not a list of answers, each with its field and value, is an error.
	for raw, kind := range map[string]schema.Value{
		`{"a":[1]}`: schema.Other(`{"a":[1]}`), `[1,2]`: schema.Other(`[1,2]`), `null`: schema.Other(`null`), `7`: schema.Number(7), `"x"`: schema.Text("x"),
	} {
		for _, fieldType := range []string{"matrix", "variable", "no_such_type", "date", "payment"} {
			got, err := schema.DecodeAnswers(json.RawMessage(`[{"field":{"id":"f","type":"` + fieldType + `"},"value":` + raw + `}]`))
			if err != nil || len(got) != 1 || !cmp.Equal(got[0].Value, kind) {
				t.Errorf("%s of type %s is %#v, %v; want %#v", raw, fieldType, got, err, kind)
			}
		}
	}
	if _, err := formsvc.DecodeAnswers(formsvc.Submission{Answers: json.RawMessage(`{}`)}); err == nil {
		t.Error("an object is taken for a list of answers")
	}
}

// What a Client returns is the caller's, also on a storage that hands out its own bytes.
func TestFormsOfAClientAreTheCallers(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	host, form := b.AsHost(), b.Form(servicetest.TextBlock, `{}`)
	want, err := host.Form(t.Context(), form)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := host.Form(t.Context(), form)
		if err != nil || !cmp.Equal(f, want) {
			t.Fatalf("%v %s", err, cmp.Diff(want, f))
		}
		all, err := host.Blocks(t.Context(), form)
		if err != nil {
			t.Fatal(err)
		}
		one, err := host.Block(t.Context(), form, "name")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{f.Definition.Blocks, f.Definition.Settings, all.JSON, one.JSON} {
			clear(text)
		}
	}
}

func TestDecodeForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	f, err := b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "F", Definition: formsvc.Definition{
		Blocks: json.RawMessage(servicetest.TextBlock), Settings: json.RawMessage(`{"submitLabel":"Send"}`), Theme: json.RawMessage(`{"customCss":"a{}"}`),
		Variables: json.RawMessage(`{"score":1.5,"level":"low"}`), HiddenFields: json.RawMessage(`["ref"]`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := formsvc.DecodeForm(f)
	if err != nil || c.Blocks[0].ID != "name" || c.Settings.SubmitLabel != "Send" || c.Theme.CustomCSS != "a{}" ||
		!cmp.Equal(c.Variables, map[string]any{"score": 1.5, "level": "low"}) || !cmp.Equal(c.HiddenFields, []string{"ref"}) {
		t.Errorf("%+v, %v", c, err)
	}
	for listed, err := range b.AsHost().Forms(t.Context(), formsvc.FormQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if c, err := formsvc.DecodeForm(listed); err == nil {
			t.Errorf("a form out of a list, which has no definition, is decoded to %+v", c)
		}
	}
	for _, broken := range []formsvc.Definition{{Blocks: []byte(`{}`)}, {Settings: []byte(`[]`)}, {Theme: []byte(`1`)}, {Variables: []byte(`[]`)}, {HiddenFields: []byte(`{}`)}} {
		if c, err := formsvc.DecodeForm(formsvc.Form{FormContent: formsvc.FormContent{Definition: broken}}); err == nil {
			t.Errorf("%+v is decoded to %+v", broken, c)
		}
	}
}
