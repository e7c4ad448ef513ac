package formpage_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"unsafe"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// copies is a storage that reads every form into memory of its own, as one over a network
// does that remembers nothing.
type copies struct{ storage.Storage }

func copied(f storage.Form, err error) (storage.Form, error) {
	d := &f.Definition
	for _, section := range []*[]byte{(*[]byte)(&d.Blocks), (*[]byte)(&d.Settings), (*[]byte)(&d.Theme), (*[]byte)(&d.Variables), (*[]byte)(&d.HiddenFields)} {
		*section = bytes.Clone(*section)
	}
	return f, err
}

func (s copies) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	return copied(s.Storage.Form(ctx, who, id))
}

func (s copies) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	return copied(s.Storage.FormByPublicID(ctx, publicID))
}

func arrays(d storage.Definition) [5]*byte {
	return [5]*byte{
		unsafe.SliceData(d.Blocks), unsafe.SliceData(d.Settings), unsafe.SliceData(d.Theme),
		unsafe.SliceData(d.Variables), unsafe.SliceData(d.HiddenFields),
	}
}

// A page, its service and a storage that keeps forms have the bytes of a definition once.
func TestADefinitionIsKeptOnce(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]storage.Storage{"memory": memory.New(), "copies": copies{memory.New()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, formpage.Config{Secret: secret}, formsvc.WithStorage(store))
			form := s.form("SINGLE", `[{"id":"name","type":"short_text","label":"Name"}]`, `{"submitLabel":"Go"}`, `{"colors":{"primary":"#123456"}}`, "ref")
			base := s.server.URL + "/f/" + form.PublicID
			want := [5]*byte{}
			check := func(what string, d storage.Definition) {
				t.Helper()
				if want == ([5]*byte{}) {
					want = arrays(d)
				}
				if got := arrays(d); got != want || got[0] == nil {
					t.Errorf("%s has %v, want %v", what, got, want)
				}
			}
			if name == "memory" { // the others are to have what it keeps
				kept, err := store.Form(t.Context(), storage.AsHost(), form.ID)
				if err != nil {
					t.Fatal(err)
				}
				check("the storage", kept.Definition)
			}
			public := func(what string) {
				t.Helper()
				f, err := s.service.PublicForm(t.Context(), form.PublicID)
				if err != nil {
					t.Fatal(err)
				}
				check(what, f.Definition)
			}
			public("PublicForm")
			s.get(base)
			check("a page", s.pages.Remembered(form.ID))
			var got struct{ State string }
			if status, _ := s.ask(http.MethodGet, base+"/form.json", "", nil, &got); status != http.StatusOK {
				t.Fatal(status)
			}
			if status, _ := s.ask(http.MethodPost, base+"/path", "", map[string]any{"state": got.State}, nil); status != http.StatusOK {
				t.Fatal(status)
			}
			if _, err := s.service.Path(t.Context(), form.ID, nil, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.service.Submit(t.Context(), formsvc.Response{FormID: form.ID}); err != nil {
				t.Fatal(err)
			}
			preview, _, err := s.service.PreviewForm(t.Context(), form.ID)
			if err != nil {
				t.Fatal(err)
			}
			check("PreviewForm", preview.Definition)
			public("PublicForm after Path and Submit")
			s.get(base)
			check("a page after Path and Submit", s.pages.Remembered(form.ID))
		})
	}
}
