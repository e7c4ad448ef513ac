package storage_test

import (
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

// Each section counts.
func TestDefinitionsWithTheSameBytes(t *testing.T) {
	t.Parallel()
	definition := func() (d storage.Definition) {
		for _, section := range d.Sections() {
			*section.Value = json.RawMessage(section.Empty)
		}
		return d
	}
	a, b := definition(), definition()
	if !a.Equal(&b) || a.Size() != 10 {
		t.Errorf("equal definitions are not the same, or their size %d is not 10", a.Size())
	}
	if b.Format++; a.Equal(&b) {
		t.Error("definitions with other formats are the same")
	}
	for i, section := range a.Sections() {
		b := definition()
		if *b.Sections()[i].Value = json.RawMessage(`[ ]`); a.Equal(&b) || b.Size() != 11 {
			t.Errorf("with other %s: the same is %t, the size is %d", section.Name, a.Equal(&b), b.Size())
		}
	}
}

// In JSON the content of a form is one object, and it has a member for each part.
func TestSectionsAreNamedAsInJSON(t *testing.T) {
	t.Parallel()
	content := storage.FormContent{Name: "Form", Type: "MULTI"}
	for i, section := range content.Sections() {
		*section.Value = json.RawMessage{byte('1' + i)}
	}
	raw, err := json.Marshal(content)
	if want := `{"name":"Form","type":"MULTI","blocks":1,"settings":2,"theme":3,"variables":4,"hidden_fields":5}`; err != nil || string(raw) != want {
		t.Errorf("%s %v, want %s", raw, err, want)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	for _, section := range content.Sections() {
		if string(members[section.Name]) != string(*section.Value) {
			t.Errorf("%s is %s in JSON, want %s", section.Name, members[section.Name], *section.Value)
		}
	}
}

// A change of no section leaves the format.
func TestApplyReplacesTheSectionsOfAChange(t *testing.T) {
	t.Parallel()
	for i := range new(storage.Definition).Sections() {
		d := storage.Definition{Format: 1}
		if d.Apply(storage.Definition{Format: 2}); d.HasSections() || d.Format != 1 {
			t.Errorf("after no change: %+v", d)
		}
		change := storage.Definition{Format: 2}
		*change.Sections()[i].Value = json.RawMessage(`[]`)
		if d.Apply(change); !d.HasSections() || !d.Equal(&change) {
			t.Errorf("%+v after %+v", d, change)
		}
	}
}
