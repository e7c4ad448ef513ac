package servicetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// misleading is what stands in no name: line breaks, escapes and what turns the
// direction of text.
const misleading = "\t\n\v\f\r\x1b\x7f\u0085\u009b\u2028\u2029\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// wantBadFormat reports an error that is not one BAD_FORMAT at a path.
func wantBadFormat(t *testing.T, err error, what string, paths ...string) {
	t.Helper()
	var found *schema.Error
	if !errors.As(err, &found) {
		t.Errorf("%s: %v, want a *schema.Error", what, err)
		return
	}
	var got []string
	for _, v := range found.Violations {
		got = append(got, v.Path+" "+v.Code)
	}
	for i := range paths {
		paths[i] += " BAD_FORMAT"
	}
	if !slices.Equal(got, paths) {
		t.Errorf("%s: %q, want %q", what, got, paths)
	}
}

func TestNamesMisleadNobody(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	form, ctx, host := b.Form(servicetest.TextBlock, `{}`), t.Context(), b.AsHost()
	for _, c := range misleading {
		name := "a" + string(c) + "b"
		what := fmt.Sprintf("%U", c)
		_, err := host.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: name, Owner: b.User.ID})
		wantBadFormat(t, err, what+", CreateWorkspace", "/name")
		_, err = b.CreateWorkspace(ctx, b.User.ID, name)
		wantBadFormat(t, err, what+", Service.CreateWorkspace", "/name")
		_, err = host.RenameWorkspace(ctx, b.Workspace, name)
		wantBadFormat(t, err, what+", RenameWorkspace", "/name")
		_, err = host.CreateForm(ctx, formsvc.FormCreate{Workspace: b.Workspace, Name: name})
		wantBadFormat(t, err, what+", CreateForm", "/name")
		_, err = host.UpdateForm(ctx, form, formsvc.FormUpdate{Name: &name})
		wantBadFormat(t, err, what+", UpdateForm", "/name")
		_, err = b.CreateKey(ctx, formsvc.KeyRequest{User: b.User, Name: name, Scopes: storage.Scopes()})
		wantBadFormat(t, err, what+", CreateKey", "/name")

	}
	// What scripts and pictures are written with stays, and so do spaces in between.
	for _, name := range []string{"Año 2026 – „Umfrage“", "می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "a  b c", " \t trimmed \n"} {
		want := strings.TrimSpace(name)
		if w, err := b.CreateWorkspace(ctx, b.User.ID, name); err != nil || w.Name != want {
			t.Errorf("%q: %q, %v", name, w.Name, err)
		}
		if f, err := host.UpdateForm(ctx, form, formsvc.FormUpdate{Name: &name}); err != nil || f.Name != want {
			t.Errorf("%q: %q, %v", name, f.Name, err)
		}
		k, err := b.CreateKey(ctx, formsvc.KeyRequest{User: b.User, Name: name, Scopes: storage.Scopes()})
		if err != nil || k.Key.Name != want {
			t.Errorf("%q: %q, %v", name, k.Key.Name, err)
		}
	}
}

// Hidden fields and metadata stand in lines: no control character is in them.
func TestHiddenFieldsAndMetadataCarryNoControlCharacters(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	if _, err := b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{HiddenFields: []byte(`["ref"]`)}}); err != nil {
		t.Fatal(err)
	}
	submit := func(text string) error {
		_, err := b.Submit(t.Context(), formsvc.Response{
			FormID: form, Answers: servicetest.Answers("name", `"x"`), Hidden: map[string]string{"ref": text, "undeclared": "\x1b"},
			Metadata: formsvc.Metadata{
				Country: text, Device: text, UserAgent: text,
				UTM: map[string]string{"campaign": text, "content": text, "medium": text, "source": text, "term": text, "other": "\x1b"},
			},
		})
		return err
	}
	for _, c := range "\x00\x07\t\n\r\x1b\x7f\u0085\u009b" {
		wantBadFormat(t, submit("a"+string(c)+"b"), fmt.Sprintf("%U", c), "/hidden/ref",
			"/metadata/country", "/metadata/device", "/metadata/user_agent",
			"/metadata/utm/campaign", "/metadata/utm/content", "/metadata/utm/medium", "/metadata/utm/source", "/metadata/utm/term")
	}
	if n := b.Submissions(form); n != 0 {
		t.Errorf("%d responses are stored", n)
	}
	for _, text := range []string{"", "Größe 日本 (x; y) 👩\u200d👩\u200d👧", "سعر \u200f٪"} {
		if err := submit(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
