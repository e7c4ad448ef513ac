package answers

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// The sentences of the owners' pages (handler/builder/web/src/rules) mean what they say: the tests
// there write the file with what each sentence means in plain words, here each is a rule on the path
// of the responses.
func TestSentencesMeanWhatTheySay(t *testing.T) {
	raw := expect.Must(os.ReadFile("testdata/sentences.json"))
	var file struct {
		Form struct {
			Blocks       []json.RawMessage
			HiddenFields json.RawMessage `json:"hidden_fields"`
			Variables    json.RawMessage
		}
		Responses  json.RawMessage
		Conditions []struct {
			Says  string
			Logic json.RawMessage
			Holds []string
		}
		Values []struct {
			Says  []string
			Logic json.RawMessage
			Gives []any
		}
	}
	expect.NoError(t, json.Unmarshal(raw, &file))
	var responses map[string]struct {
		Answers map[string]json.RawMessage
		Hidden  map[string]string
	}
	expect.NoError(t, json.Unmarshal(file.Responses, &responses))
	expect.Require(t, len(file.Conditions) >= 250 && len(file.Values) >= 20 && len(responses) >= 4,
		"the file has %d conditions, %d values and %d responses", len(file.Conditions), len(file.Values), len(responses))
	names := []string{"none", "low", "middle", "high"} // the order of gives
	form := func(rule string) Form {
		blocks := expect.Must(json.Marshal(append(slices.Clone(file.Form.Blocks), json.RawMessage(`{"id":"result","type":"statement","properties":{"rule":`+rule+`}}`))))
		return compileRuled(t, string(blocks), string(file.Form.Variables), string(file.Form.HiddenFields))
	}
	for _, c := range file.Conditions {
		f := form(`{"show":` + string(c.Logic) + `}`)
		var holds []string
		for _, name := range names {
			path, err := f.Path(responses[name].Answers, responses[name].Hidden, someDay)
			expect.Require(t, err == nil && len(path.Violations) == 0, "%s: %v %v", name, err, path.Violations)
			if path.Blocks[len(path.Blocks)-1].ID == "result" {
				holds = append(holds, name)
			}
		}
		expect.That(t, slices.Equal(holds, c.Holds), "%s (%s): it holds for %v, and should for %v", c.Says, c.Logic, holds, c.Holds)
	}
	for _, v := range file.Values {
		f := form(`{"set":{"score":` + string(v.Logic) + `}}`)
		var gives []any
		for _, name := range names {
			path := expect.Must(f.Path(responses[name].Answers, responses[name].Hidden, someDay))
			gives = append(gives, path.Variables["score"])
		}
		expect.Same(t, v.Gives, gives, "%s (%s)", v.Says, v.Logic)
	}
}
