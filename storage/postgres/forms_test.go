package postgres

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/storage"
)

// fill gives every part of a record a value that is not the zero value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
		return
	case *json.RawMessage:
		*value = json.RawMessage(`["filled"]`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("filled")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Uint8:
		v.Set(reflect.ValueOf(7).Convert(v.Type()))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	default:
		t.Fatalf("a %s is not known here", v.Type())
	}
}

// A member that a record gets is kept, and changed: no statement forgets it.
func TestEveryMemberOfAFormIsKept(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	var f storage.Form
	fill(t, reflect.ValueOf(&f).Elem())
	f.WorkspaceID, f.Revision, f.Type, f.Status = storage.ID{1}, 1, "SINGLE", storage.StatusPublished
	f.TrashedAt, f.Full, f.Beside = time.Time{}, false, 0 // set by the store, as DuplicatesCovered is
	must(t, s.CreateWorkspace(t.Context(), storage.Workspace{ID: f.WorkspaceID, PublicID: "w"}, 0))
	must(t, s.CreateForm(t.Context(), storage.AsHost(), f))
	got, err := s.Form(t.Context(), storage.AsHost(), f.ID)
	if diff := cmp.Diff(f, got); err != nil || diff != "" {
		t.Errorf("Form = %v; it differs:\n%s", err, diff)
	}

	changes := reflect.TypeFor[storage.FormChange]()
	for i := range changes.NumField() {
		name := changes.Field(i).Name
		if name == "IfRevision" || name == "At" || name == "Documents" { // not what is changed of the form
			continue
		}
		c := storage.FormChange{At: f.UpdatedAt}
		fill(t, reflect.ValueOf(&c).Elem().Field(i))
		switch name {
		case "Name":
			*c.Name = "another"
		case "Type":
			*c.Type = "MULTI"
		case "Status":
			*c.Status = storage.StatusDraft
		case "WorkspaceID":
			*c.WorkspaceID = storage.ID{2}
			must(t, s.CreateWorkspace(t.Context(), storage.Workspace{ID: storage.ID{2}, PublicID: "w2"}, 0))
		case "Definition":
			c.Definition.Theme = json.RawMessage(`{}`)
		case "Gate":
			c.Gate.Closed = false
		}
		before := got.Revision
		if got, err = s.UpdateForm(t.Context(), storage.AsHost(), f.ID, c); err != nil || got.Revision != before+1 {
			t.Errorf("a change of %s makes revision %d out of %d (%v)", name, got.Revision, before, err)
		}
	}
}
