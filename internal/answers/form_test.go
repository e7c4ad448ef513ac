package answers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func TestCompileRefusesForeignData(t *testing.T) {
	for name, sections := range map[string][3]string{
		"blocks":        {`{"a":1}`, ``, ``},
		"settings":      {``, `[]`, ``},
		"hidden fields": {``, ``, `[1]`},
	} {
		_, err := Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(sections[0]), Settings: json.RawMessage(sections[1]), HiddenFields: json.RawMessage(sections[2])}})
		expect.That(t, err != nil && strings.Contains(err.Error(), name), "%s: got %v, want an error that names the section", name, err)
	}
}

func TestCompileUsesTheFileSizeLimit(t *testing.T) {
	blocks := json.RawMessage(`[{"id":"q","type":"signature","properties":{"maxFileSize":true}}]`)
	f := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: blocks}, Limits: schema.Limits{FileSize: 5}}))
	for size, want := range map[string]string{"5": "", "6": "/host_answers/q/size OUT_OF_RANGE"} {
		_, err := f.Check(inputOne(f, `{"id":"f","name":"a","url":"https://files.example/f","mime_type":"image/png","size":`+size+`}`))
		expect.Equal(t, answerFaults(t, err), want, "%s bytes", size)
	}
}

func TestCompileKeepsTheFirstOfEqualIDs(t *testing.T) {
	f := compileTestForm(t, `[{"id":"q","type":"number"},{"id":"q","type":"email"}]`, "", `["q"]`)
	got, err := f.Check(Input{Answers: raws("q", "1"), Hidden: map[string]string{"q": "x"}})
	expect.That(t, err == nil && string(got.ByField) == `{"q":1}` && string(got.Hidden) == `{}`,
		"got %s and %s (%v)", got.ByField, got.Hidden, err)
}

func TestCheckEscapesWhatADefinitionSays(t *testing.T) {
	f := compileTestForm(t, `[{"id":"a\"/~\n","type":"yes_no","label":"</script>\\\u0007"}]`, "", "")
	got, err := f.Check(Input{Answers: raws("a\"/~\n", "true")})
	expect.NoError(t, err)
	expect.That(t, storedValue(t, got) == "true", "got %s", got.List)
	_, err = f.Check(Input{Answers: raws("a\"/~\n", "1")})
	if got, want := answerFaults(t, err), "/answers/a\"~1~0\n WRONG_TYPE"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The rows of a matrix are member names of its answer, and have no bound.
func TestARowWithALongIDCanBeAnswered(t *testing.T) {
	row := strings.Repeat("r", 2*jsontree.MaxName)
	f := compileOne(t, schema.TypeMatrix, `"matrix_rows":[{"id":"`+row+`"}],"matrix_columns":[{"id":"c"}]`)
	expect.Nil(t, expect.ErrorOf(f.Check(inputOne(f, `{"`+row+`":"c"}`))))
}
