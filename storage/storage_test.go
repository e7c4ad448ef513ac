package storage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	const lower = "5f2b8c1e9d3a4b6c7d8e9f01"
	for _, text := range []string{lower, strings.ToUpper(lower), "5F2b8c1E9d3a4b6c7d8e9f01"} {
		id, err := storage.ParseID(text)
		if err != nil || id.String() != lower || id.IsZero() {
			t.Errorf("%q: %s, %v", text, id, err)
		}
	}
	for _, text := range []string{"", lower[1:], lower + "0", "5f2b8c1e9d3a4b6c7d8e9f0g", "5f2b8c1e9d3a4b6c7d8e9f0\x00", " " + lower[1:], "５f2b8c1e9d3a4b6c7d8e"} {
		if id, err := storage.ParseID(text); err == nil {
			t.Errorf("%q is taken for %s", text, id)
		}
	}

	var decoded struct{ ID storage.ID }
	if err := json.Unmarshal([]byte(`{"ID":"`+lower+`"}`), &decoded); err != nil || decoded.ID.String() != lower {
		t.Errorf("%s, %v", decoded.ID, err)
	}
	if encoded, err := json.Marshal(decoded); err != nil || string(encoded) != `{"ID":"`+lower+`"}` {
		t.Errorf("%s, %v", encoded, err)
	}
	before := decoded.ID
	if err := decoded.ID.UnmarshalText([]byte("x")); err == nil || decoded.ID != before {
		t.Errorf("a bad text: %v, and the id is %s", err, decoded.ID)
	}
}

func TestIDsInColumns(t *testing.T) {
	t.Parallel()
	want := storage.ID{0x5f, 0x2b, 0x8c, 11: 0xff}
	value, err := want.Value()
	if err != nil || value != want.String() {
		t.Errorf("Value is %v, %v", value, err)
	}
	for _, src := range []any{want[:], want.String(), strings.ToUpper(want.String()), []byte(want.String()), `\x` + want.String()} {
		var got storage.ID
		if err := got.Scan(src); err != nil || got != want {
			t.Errorf("%v: %v, %v", src, got, err)
		}
	}
	for _, src := range []any{nil, int64(7), "", `\x`, "5f2b", make([]byte, 11), make([]byte, 13), strings.Repeat("g", 24), `\x` + want.String() + "00"} {
		got := want
		if err := got.Scan(src); err == nil || got != want {
			t.Errorf("%v: %v, %v; want an error and the id as it was", src, got, err)
		}
	}
}

func TestActors(t *testing.T) {
	t.Parallel()
	ann := storage.ID{1}
	for name, c := range map[string]struct {
		actor       storage.Actor
		user        storage.ID
		known, host bool
	}{
		"a user":      {storage.As(ann), ann, true, false},
		"the host":    {storage.AsHost(), storage.ID{}, false, true},
		"nobody":      {storage.Actor{}, storage.ID{}, false, false},
		"the zero ID": {storage.As(storage.ID{}), storage.ID{}, false, false},
	} {
		user, known := c.actor.User()
		if user != c.user || known != c.known || c.actor.Host() != c.host {
			t.Errorf("%s: user %s %v, host %v", name, user, known, c.actor.Host())
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	all := storage.Scopes()
	if len(all) != 9 {
		t.Errorf("%d scopes, want 9", len(all))
	}
	for _, s := range all {
		if !s.Valid() {
			t.Errorf("%s is not valid", s)
		}
	}
	for _, s := range []storage.Scope{"", "forms", "forms:Read", "forms:read ", "*"} {
		if s.Valid() {
			t.Errorf("%q is valid", s)
		}
	}
}

func TestARevisionErrorIsARevisionMismatch(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("update: %w", &storage.RevisionError{Current: 7})
	var revision *storage.RevisionError
	if !errors.Is(err, storage.ErrRevisionMismatch) || !errors.As(err, &revision) || revision.Current != 7 {
		t.Errorf("%v", err)
	}
	if errors.Is(err, storage.ErrConflict) {
		t.Error("it is a conflict as well")
	}
}

// Every method of Storage has an answer before it is written.
func TestUnimplementedAnswersEveryMethod(t *testing.T) {
	t.Parallel()
	contract := reflect.TypeFor[storage.Storage]()
	none := reflect.ValueOf(storage.Unimplemented{})
	methods := 0
	for i := range contract.NumMethod() {
		method := contract.Method(i)
		if !method.IsExported() {
			continue
		}
		methods++
		in := make([]reflect.Value, method.Type.NumIn())
		for p := range in {
			in[p] = reflect.Zero(method.Type.In(p))
		}
		out := none.MethodByName(method.Name).Call(in)
		if err, _ := out[len(out)-1].Interface().(error); !errors.Is(err, storage.ErrUnimplemented) {
			t.Errorf("%s: %v", method.Name, err)
		}
	}
	if methods < 35 {
		t.Errorf("%d methods seen", methods)
	}
}

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
