package identity

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// faultsOf are the violations that conditions report.
func faultsOf(c *Conditions) []schema.Violation {
	var invalid *schema.Error
	if !errors.As(c.Err(), &invalid) {
		return nil
	}
	return invalid.Violations
}

func TestConditions(t *testing.T) {
	list := json.RawMessage(`[
		{"field":{"id":"e","type":"email","label":""},"value":"Ann@Example.com"},
		{"field":{"id":"n","type":"number","label":""},"value":7.50},
		{"field":{"id":"w","type":"website","label":""},"value":"https://example.com/"},
		{"field":{"id":"p","type":"phone","label":""},"value":"+31201234567"},
		{"field":{"id":"c","type":"contact_info","label":""},"value":{"firstName":"Ann","email":"ann@work.example","phone":"+31207654321"}},
		{"field":{"id":"s","type":"single_choice","label":""},"value":{"id":"a","label":"A"}},
		{"field":{"id":"o","type":"dropdown","label":""},"value":{"other":"Green"}},
		{"field":{"id":"m","type":"multiple_choice","label":""},"value":[{"id":"a","label":"A"}]},
		{"field":{"id":"x/y","type":"short_text","label":""},"value":"slash"},
		{"field":{"id":"y","type":"yes_no","label":""},"value":true},
		{"field":{"id":"l","type":"country","label":""},"value":"NL"},
		{"field":{"id":"customer","type":"hidden","label":"customer"},"value":"C-7"},
		{"field":{"id":"score","type":"variable","label":""},"value":7}]`)
	form, err := compile.New(compile.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for _, holds := range []map[string]string{
		{"e": "ann@example.com"}, {"e": " ANN@example.COM "}, {"n": "7.5"}, {"n": "75e-1"}, {"w": "example.com"}, {"w": "http://EXAMPLE.com"},
		{"p": "+31 20 123 4567"}, {"c/email": "Ann@work.example"}, {"c/firstName": "ANN"}, {"c/phone": "+31 20 765 4321"},
		{"s": "a"}, {"o": "green"}, {"m": "a"}, {"x/y": "Slash"}, {"y": "true"}, {"l": "nl"}, {"customer": "C-7"},
		{"e": "ann@example.com", "customer": "C-7", "c/email": "ann@work.example"},
	} {
		if !NewConditions(form, holds).Match(list) {
			t.Errorf("%v does not hold", holds)
		}
	}
	for _, not := range []map[string]string{
		{}, {"e": "bob@example.com"}, {"e": ""}, {"nobody": "x"}, {"n": "7"}, {"n": "x"}, {"w": "example.com/a"}, {"p": "0201234567"},
		{"c": "ann@work.example"}, {"c/city": ""}, {"c/email": "ann@example.com"}, {"e/email": "ann@example.com"}, {"s": "A"}, {"o": "Gree"}, {"m": "b"},
		{"y": "false"}, {"score": "7"}, {"customer": "c-7"}, {"customer": "Ｃ-7"}, {"e": "ann@example.com", "customer": "C-8"}, {"e": "ann@example.com", "nobody": "x"},
	} {
		if NewConditions(form, not).Match(list) {
			t.Errorf("%v holds", not)
		}
	}
}

// A condition that nobody could meet is told apart from one that nobody meets.
func TestConditionsThatNobodyCouldMeet(t *testing.T) {
	form, err := compile.New(compile.Source{Definition: storage.Definition{
		Blocks: json.RawMessage(`[
			{"id":"mail","type":"email"},{"id":"tel","type":"phone"},{"id":"tel nl","type":"phone","properties":{"defaultCountry":"NL"}},
			{"id":"who","type":"contact_info","properties":{"defaultCountry":"NL"}},{"id":"grid","type":"matrix"},{"id":"pay","type":"payment"},
			{"id":"g","type":"group","children":[{"id":"inside","type":"short_text"}]},{"id":"hello","type":"statement"},{"id":"was text","type":"matrix"}]`),
		HiddenFields: json.RawMessage(`["ref"]`), Variables: json.RawMessage(`{"score":1}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	lists := []json.RawMessage{
		json.RawMessage(`[{"field":{"id":"gone","type":"short_text"},"value":"x"},{"field":{"id":"gone file","type":"file_upload"},"value":[]}]`),
		json.RawMessage(`[{"field":{"id":"gone who","type":"address"},"value":{"city":"Utrecht"}},{"field":{"id":"was text","type":"short_text"},"value":"x"}]`),
		json.RawMessage(`[{"field":{"id":"tel","type":"phone"},"value":"extension 7"},{"field":{"id":"tel nl","type":"phone"},"value":"+31201234567"}]`),
	}
	for name, want := range map[string]string{
		"mail": "", "who/city": "", "who/phone": "", "ref": "", "inside": "", "gone": "", "gone who/city": "", "gone who/zip": "", "was text": "",
		"mial": "UNKNOWN_FIELD", "who/emial": "UNKNOWN_FIELD", "nobody/email": "UNKNOWN_FIELD", "mail/email": "UNKNOWN_FIELD", "grid/row": "UNKNOWN_FIELD", "Ref": "UNKNOWN_FIELD",
		"who": "NOT_ALLOWED", "gone who": "NOT_ALLOWED", "grid": "NOT_ALLOWED", "pay": "NOT_ALLOWED", "g": "NOT_ALLOWED", "hello": "NOT_ALLOWED",
		"gone file": "NOT_ALLOWED", "score": "NOT_ALLOWED",
	} {
		conditions := NewConditions(form, map[string]string{name: "020 123 4567"})
		for _, list := range lists {
			if conditions.Match(list) {
				t.Errorf("%s holds for %s", name, list)
			}
		}
		var got string
		for _, fault := range faultsOf(conditions) {
			got += fault.Code
			if fault.Path != jsontree.JoinPointer("/answers", name) || fault.Message == "" {
				t.Errorf("%s: %+v", name, fault)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct {
		name, value, want string
		holds             bool
	}{
		{"tel", "+31 20 123 4567", "", false}, {"tel", "020 123 4567", "BAD_FORMAT", false}, {"tel", "Extension 7", "", true},
		{"tel nl", "020 123 4567", "", true}, {"tel nl", "020", "BAD_FORMAT", false}, {"who/phone", "ann", "BAD_FORMAT", false},
	} {
		conditions := NewConditions(form, map[string]string{test.name: test.value})
		holds := slices.ContainsFunc(lists, conditions.Match)
		var got string
		for _, fault := range faultsOf(conditions) {
			got += fault.Code
		}
		if got != test.want || holds != test.holds {
			t.Errorf("%s %s: %q, %t", test.name, test.value, got, holds)
		}
	}
	two := NewConditions(form, map[string]string{"mail": "a@example.com", "mial": "a@example.com"})
	if faults := faultsOf(two); len(faults) != 1 || faults[0].Path != "/answers/mial" {
		t.Errorf("one of two names is unknown: %+v", faults)
	}
}
