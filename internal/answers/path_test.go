package answers

import (
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const hidingBlocks = `[
	{"id":"name","type":"short_text","required":true},
	{"id":"plan","type":"short_text","required":true,"properties":{"hide":true}},
	{"id":"box","type":"group","properties":{"hide":true},"children":[{"id":"inner","type":"number","required":true}]},
	{"id":"open","type":"group","children":[{"id":"shown","type":"number"},{"id":"covered","type":"number","required":true,"properties":{"hide":true}}]},
	{"id":"bye","type":"ending"},
	{"id":"after","type":"number","required":true}]`

func TestOnlyBlocksOnThePathCount(t *testing.T) {
	f := compileTestForm(t, hidingBlocks, "", "")
	got, err := f.Check(Input{Answers: raws("name", `"Ann"`, "plan", `"forged"`, "inner", `"nonsense"`, "shown", "1", "covered", "2", "after", "3")})
	expect.NoError(t, err)
	if want := `{"name":"Ann","shown":1}`; string(got.ByField) != want {
		t.Errorf("stored %s, want %s", got.ByField, want)
	}
	got = expect.Must(f.Check(Input{
		Answers:     raws("name", `"Ann"`, "plan", `"forged"`),
		HostAnswers: raws("plan", `"gold"`, "inner", "4", "covered", "5", "after", "6"),
	}))
	if want := `{"name":"Ann","plan":"gold","inner":4,"covered":5}`; string(got.ByField) != want {
		t.Errorf("stored %s, want %s", got.ByField, want)
	}
	_, err = f.Check(Input{HostAnswers: raws("inner", `"x"`, "shown", "1"), Answers: raws("nobody", "1")})
	want := "/answers/name REQUIRED, /answers/nobody UNKNOWN_FIELD, /host_answers/inner WRONG_TYPE, /host_answers/shown NOT_ALLOWED"
	expect.Equal(t, answerFaults(t, err), want, "faults")
}

func TestPathOfAnIncompleteResponse(t *testing.T) {
	f := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(hidingBlocks), Variables: json.RawMessage(`{"score":1,"tier":"free"}`)}}))
	path := expect.Must(f.Path(raws("shown", `"x"`, "after", `"dropped"`), nil, someDay))
	expect.That(t, len(path.Violations) == 1 && path.Violations[0].Field == "shown", "faults %+v, want that of shown", path.Violations)
	path.Violations = nil
	want := schema.Path{
		Blocks:    []schema.PathBlock{{ID: "name", Required: true}, {ID: "open"}, {ID: "bye"}},
		Ending:    "bye",
		Variables: map[string]any{"score": 1.0, "tier": "free"}, Answers: json.RawMessage("[]"),
	}
	expect.Same(t, want, path, "path")
}

// What a host says of a hidden block counts on the path as it does in a check.
func TestPathAndCheckAgreeOnHostAnswers(t *testing.T) {
	f := compileTestForm(t, `[
		{"id":"plan","type":"short_text","properties":{"hide":true}},
		{"id":"box","type":"group","properties":{"hide":true},"children":[{"id":"inner","type":"number"}]},
		{"id":"why","type":"short_text","required":true,"properties":{"rule":{"show":{"or":[{"==":[{"var":"answers.plan"},"gold"]},{"==":[{"var":"answers.inner"},1]}]}}}}]`, "", "")
	for _, host := range [][]string{{"plan", `"gold"`}, {"inner", "1"}, {"plan", `"free"`, "inner", "2"}} {
		path, err := f.Path(raws(host...), nil, someDay)
		expect.NoError(t, err)
		_, err = f.Check(Input{HostAnswers: raws(host...)})
		if asked, refused := len(path.Blocks) == 1, err != nil; asked != refused {
			t.Errorf("with %v, why is on the path: %v, and the response is refused without it: %v", host, asked, refused)
		}
	}
	path, err := f.Path(raws("plan", `"gold"`), nil, someDay)
	expect.That(t, err == nil && len(path.Blocks) == 1, "path %+v, error %v, want why on it", path, err)
}

func TestAllowedFilesTakePatterns(t *testing.T) {
	const file = `{"id":"f","name":"A.PNG","url":"https://files.example/f","mime_type":"image/png","size":1}`
	for allowed, want := range map[string]bool{`"*.png"`: true, `"*.pdf"`: false, `"*"`: true, `"*/*"`: true, `"*.*"`: true, `"pdf","*"`: true} {
		f := compileTestForm(t, `[{"id":"q","type":"file_upload","properties":{"allowedFiles":[`+allowed+`]}}]`, "", "")
		_, err := f.Check(Input{HostAnswers: raws("q", file)})
		expect.That(t, (err == nil) == want, "allowedFiles %s: %v", allowed, err)
	}
}
