package answers

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// fullBlocks is a form with every type that answers, all of them required.
const fullBlocks = `[
	{"id":"short_text","type":"short_text","required":true,"properties":{"maxChars":4}},
	{"id":"long_text","type":"long_text","required":true},
	{"id":"email","type":"email","required":true},
	{"id":"phone","type":"phone","required":true},
	{"id":"website","type":"website","required":true},
	{"id":"number","type":"number","required":true,"properties":{"min":1.5,"max":2,"minVal":true,"maxVal":true}},
	{"id":"rating","type":"rating","required":true,"properties":{"to":3}},
	{"id":"scale","type":"opinion_scale","required":true,"properties":{"from":-0.3,"to":0.4,"scaleStep":0.1}},
	{"id":"nps","type":"nps","required":true},
	{"id":"yes_no","type":"yes_no","required":true},
	{"id":"legal","type":"legal","required":true,"properties":{"legalStopFurther":true}},
	{"id":"group","type":"group","children":[
		{"id":"single","type":"single_choice","required":true,"choices":[{"id":"a","label":"A"},{"id":"b"}]},
		{"id":"dropdown","type":"dropdown","required":true,"properties":{"otherOption":true}},
		{"id":"many","type":"multiple_choice","required":true,"choices":[{"id":"a"},{"id":"b"},{"id":"c"}],"properties":{"min":2,"minVal":true,"limit":2}},
		{"id":"picture","type":"picture_choice","required":true,"choices":[{"id":"a"}]},
		{"id":"pictures","type":"picture_choice","required":true,"choices":[{"id":"a"}],"properties":{"multiSelection":true}},
		{"id":"ranking","type":"ranking","required":true,"choices":[{"id":"a"},{"id":"b"}]}]},
	{"id":"matrix","type":"matrix","required":true,"matrix_rows":[{"id":"r"},{"id":"s"}],"matrix_columns":[{"id":"x"}]},
	{"id":"matrices","type":"matrix","required":true,"matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"x"}],"properties":{"multiSelection":true}},
	{"id":"date","type":"date","required":true,"properties":{"beforeDate":"2020-08-01T00:00:00Z","disabledDays":126}},
	{"id":"moment","type":"date","required":true,"properties":{"showTimePicker":true,"afterDate":"2030-08-01T10:00:00Z","disabledDays":63}},
	{"id":"one_day","type":"date","required":true,"properties":{"specificDates":["2031-08-02T00:00:00Z","2031-08-01T00:00:00Z"]}},
	{"id":"time","type":"time","required":true,"properties":{"showSeconds":true}},
	{"id":"address","type":"address","required":true},
	{"id":"contact","type":"contact_info","required":true,"properties":{"addressOrContact":{"email":{"required":true},"zip":{"hide":true,"required":true}}}},
	{"id":"country","type":"country","required":true},
	{"id":"files","type":"file_upload","required":true,"properties":{"allowedFiles":[".PNG"],"maxFileSize":true}},
	{"id":"pictures_only","type":"file_upload","required":true,"properties":{"allowedFiles":["image/*"]}},
	{"id":"signature","type":"signature","required":true},
	{"id":"payment","type":"payment","required":true,"properties":{"amount":"free","currency":"usd"}},
	{"id":"captcha","type":"captcha","required":true},
	{"id":"end","type":"ending"}]`

// asInput hands stored answers back as an input.
func asInput(t expect.Test, f Form, a Answers) Input {
	var all map[string]json.RawMessage
	in := Input{Answers: make(map[string]json.RawMessage), HostAnswers: make(map[string]json.RawMessage)}
	err := json.Unmarshal(a.ByField, &all)
	expect.Require(t, err == nil, "ByField %s: %v", a.ByField, err)
	err = json.Unmarshal(a.Hidden, &in.Hidden)
	expect.Require(t, err == nil, "Hidden %s: %v", a.Hidden, err)
	for i := range f.form.Blocks {
		b := &f.form.Blocks[i]
		if raw, ok := all[b.ID]; ok && b.Host {
			in.HostAnswers[b.ID] = raw
		} else if ok {
			in.Answers[b.ID] = raw
		}
	}
	return in
}

func TestSample(t *testing.T) {
	f := compileTestForm(t, fullBlocks, `{"duplicateField":"email"}`, `["src"]`)
	sample := f.Sample()
	expect.That(t, sample.Unique == nil, "a sample has a digest: it would count as an answer")
	got, err := f.Check(asInput(t, f, sample))
	expect.Require(t, err == nil, "the sample is refused: %v\n%s", err, sample.ByField)
	got.Unique, got.Ending = nil, "" // a sample is no submission
	expect.Same(t, sample, got, "the sample, checked")
	expect.Same(t, sample, f.Sample(), "a second sample")
}

func TestSampleLeavesOutWhatCannotBeAnswered(t *testing.T) {
	for typ, members := range map[string]string{
		schema.TypeSingleChoice:   ``,
		schema.TypeMultipleChoice: `,"choices":[{"id":"a"}],"properties":{"min":3,"minVal":true}`,
		schema.TypeOpinionScale:   `,"properties":{"from":5,"to":1}`,
		schema.TypeDate:           `,"properties":{"disabledDays":127}`,
		schema.TypeMatrix:         ``,
		schema.TypeWelcome:        ``,
	} {
		f := compileTestForm(t, fmt.Sprintf(`[{"id":"q","type":%q,"required":true%s},{"id":"n","type":"nps"}]`, typ, members), "", "")
		got := string(f.Sample().ByField)
		expect.That(t, got == `{"n":5}`, "%s: got %s, want only the other block", typ, got)
	}
}
