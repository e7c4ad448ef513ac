package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func labelOf(t *testing.T, block formsvc.StoredBlock, err error) string {
	t.Helper()
	var b struct{ Label string }
	if err == nil {
		err = json.Unmarshal(block.JSON, &b)
	}
	expect.NoError(t, err)
	return b.Label
}

func label(text string) json.RawMessage { return json.RawMessage(`{"label":"` + text + `"}`) }

// Respondents see what is published, editors what they write, and Publish makes the one the other.
func TestAWorkingCopyIsSeenWhenItIsPublished(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, ctx := b.Form(servicetest.TextBlock, `{}`), t.Context()
		c := b.As(b.User.ID)
		copied := c.WorkingCopy(form)
		before := expect.Must(c.Form(ctx, form))
		read, err := copied.Form(ctx)
		expect.Require(t, err == nil && read.Revision == before.Revision && read.Name == "Form", "without a copy the form is %+v, %v", read, err)
		block, err := copied.UpdateBlock(ctx, "name", label("Half a wo"), formsvc.IfRevision(before.Revision))
		expect.Equal(t, labelOf(t, block, err), "Half a wo", "labelOf")
		expect.That(t, block.Revision >= 1<<40, "the copy is at %d, which a form could be", block.Revision)
		name := "Renamed"
		if _, err := copied.UpdateForm(ctx, formsvc.FormUpdate{Name: &name, IfRevision: before.Revision}); !errors.Is(err, storage.ErrRevisionMismatch) {
			t.Errorf("a condition on the form's revision: %v", err)
		}
		check(t, expect.ErrorOf(copied.UpdateForm(ctx, formsvc.FormUpdate{Name: &name, IfRevision: block.Revision})))
		public, err := b.PublicForm(ctx, before.PublicID)
		expect.That(t, err == nil && public.Name == "Form" && public.Blocks[0].Label == "Name", "respondents see %+v, %v", public, err)
		f, err := c.Form(ctx, form)
		expect.That(t, err == nil && f.Revision == before.Revision, "the form is at %d, %v", f.Revision, err)
		preview, _, err := b.PreviewForm(ctx, form)
		expect.That(t, err == nil && preview.Name == "Renamed" && preview.Blocks[0].Label == "Half a wo",
			"the preview has %+v, %v", preview.Blocks, err)
		expect.Error(t, "a response after the preview", expect.ErrorOf(b.Answer(form, "name", `"Ann"`)), nil)

		published, err := copied.Publish(ctx, formsvc.PublishOptions{})
		if err != nil || published.Name != "Renamed" || published.Revision != before.Revision+1 || published.Status != "published" {
			t.Fatalf("published: %+v, %v", published, err)
		}
		public, err = b.PublicForm(ctx, before.PublicID)
		expect.That(t, err == nil && public.Name == "Renamed" && public.Blocks[0].Label == "Half a wo", "respondents see %+v, %v", public, err)
		if read, err := copied.Form(ctx); err != nil || read.Revision != published.Revision {
			t.Errorf("after it was published the copy is %+v, %v", read, err)
		}
		v, err := c.Version(ctx, form, before.Revision)
		if err != nil || v.Name != "Form" || v.ReplacedBy != b.User.ID || !strings.Contains(string(v.Definition.Blocks), `"label":"Name"`) {
			t.Errorf("the version is %+v, %v", v, err)
		}

		_, err = copied.UpdateBlock(ctx, "name", label("Thrown away"))
		if err == nil {
			err = copied.Discard(ctx)
		}
		expect.NoError(t, err)
		got, err := copied.Block(ctx, "name")
		expect.That(t, labelOf(t, got, err) == "Half a wo", "what was discarded is there")
	})
}

// A form has a working copy as long as there is something to publish: not when a change was taken back, nor when
// the form was changed in the same way.
func TestAWorkingCopyThatChangesNothingIsRemoved(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, ctx := b.Form(servicetest.TextBlock, `{}`), t.Context()
		c, copied := b.As(b.User.ID), b.As(b.User.ID).WorkingCopy(form)
		unpublished := func(want bool, after string) {
			t.Helper()
			for who, client := range map[string]formsvc.Client{"owner": c, "stranger": b.As(formsvc.UserIDFrom("stranger"))} {
				found, err := client.FormsWithWorkingCopy(ctx, form, form, formsvc.UserIDFrom("no form"))
				if err != nil || (len(found) == 1) != (want && who == "owner") {
					t.Errorf("%s: the %s has unpublished changes in %v, %v", after, who, found, err)
				}
			}
		}
		unpublished(false, "at first")
		first := expect.Must(copied.UpdateBlock(ctx, "name", label("Full name")))
		unpublished(true, "after a change")
		wrote := expect.Must(copied.UpdateBlock(ctx, "name", label("Name"), formsvc.IfRevision(first.Revision)))
		unpublished(false, "after it was taken back")
		if want := expect.Must(c.Form(ctx, form)).Revision; wrote.Revision != want {
			t.Errorf("the copy that was removed is at %d, the form at %d", wrote.Revision, want)
		}
		again := expect.Must(copied.UpdateBlock(ctx, "name", label("Full name")))
		expect.That(t, again.Revision != first.Revision, "the next copy has a revision of the one before")
		expect.Must(c.UpdateBlock(ctx, form, "name", label("First name")))
		expect.Must(copied.UpdateBlock(ctx, "name", label("First name")))
		unpublished(false, "after the form was changed in the same way")
		expect.Must(copied.UpdateForm(ctx, formsvc.FormUpdate{Type: new("MULTI"), Name: new("Other")}))
		expect.Must(copied.UpdateForm(ctx, formsvc.FormUpdate{Name: new("Form")}))
		unpublished(true, "after a part was taken back")
		expect.Must(copied.Publish(ctx, formsvc.PublishOptions{}))
		unpublished(false, "after publishing")
	})
}

// Parts that only one side changed are both kept; the same part is a conflict until the caller
// says which is wanted, and until then nothing has changed.
func TestPublishMergesWhatTheFormBecameMeanwhile(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]`, `{"closedMessage":"Closed"}`)
		ctx, c := t.Context(), b.As(b.User.ID)
		copied := c.WorkingCopy(form)
		expect.Must(copied.UpdateBlock(ctx, "a", label("A of the copy")))
		expect.Must(copied.UpdateBlock(ctx, "b", label("B of the copy")))
		expect.Must(c.UpdateBlock(ctx, form, "b", label("B of the form")))
		expect.Must(c.UpdateBlock(ctx, form, "c", label("C of the form")))
		b.Settings(form, `{"closedMessage":"Gone"}`)

		before, err := c.Form(ctx, form)
		expect.NoError(t, err)
		_, err = copied.Publish(ctx, formsvc.PublishOptions{})
		clash, ok := errors.AsType[*formsvc.ConflictError](err)
		if !ok || len(clash.Conflicts) != 1 || clash.Conflicts[0].Path != "/definition/blocks/b" ||
			!strings.Contains(string(clash.Conflicts[0].Copy), "B of the copy") || !strings.Contains(string(clash.Conflicts[0].Form), "B of the form") {
			t.Fatalf("the conflict is %v", err)
		}
		after, err := c.Form(ctx, form)
		expect.That(t, err == nil && after.Revision == before.Revision, "the refused publication changed the form: %v", err)
		take := formsvc.PublishOptions{Resolutions: map[string]formsvc.Side{clash.Conflicts[0].Path: formsvc.FormSide}, DryRun: true}
		would, err := copied.Publish(ctx, take)
		if after, e := c.Form(ctx, form); err != nil || e != nil || after.Revision != before.Revision || would.Revision != before.Revision {
			t.Errorf("the dry run changed the form: %v, %v", err, e)
		}
		take.DryRun = false
		f, err := copied.Publish(ctx, take)
		expect.NoError(t, err)
		diff := cmp.Diff(would.Definition, f.Definition)
		expect.That(t, diff == "", "the dry run and what was published (-dry +published):\n%s", diff)
		for id, want := range map[string]string{"a": "A of the copy", "b": "B of the form", "c": "C of the form"} {
			if got, err := c.Block(ctx, form, id); labelOf(t, got, err) != want {
				t.Errorf("block %s is %q, want %q", id, labelOf(t, got, err), want)
			}
		}
		expect.That(t, string(f.Definition.Settings) == `{"closedMessage":"Gone"}`, "the settings are %s", f.Definition.Settings)
	})
}

// The layout is a part of the copy, of what is published, of conflicts and of versions.
func TestTheLayoutIsPublished(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"a","label":"A"}]`, `{}`)
		ctx, c := t.Context(), b.As(b.User.ID)
		copied := c.WorkingCopy(form)
		multi, single := "MULTI", "SINGLE"
		is := func(what string, f formsvc.Form, err error, want string) {
			t.Helper()
			expect.Require(t, err == nil && f.Type == want, "%s: %s, %v, want %s", what, f.Type, err, want)
		}
		f, err := copied.UpdateForm(ctx, formsvc.FormUpdate{Type: &multi})
		is("the copy", f, err, multi)
		f, err = c.Form(ctx, form)
		is("the form beside its copy", f, err, single)
		f, err = copied.Publish(ctx, formsvc.PublishOptions{})
		is("published", f, err, multi)
		earlier := f.Revision - 1
		f, err = c.RestoreVersion(ctx, form, earlier, formsvc.RestoreOptions{})
		is("the version before", f, err, single)

		_, err = copied.UpdateForm(ctx, formsvc.FormUpdate{Type: &multi})
		if err == nil {
			_, err = c.UpdateForm(ctx, form, formsvc.FormUpdate{Type: &multi})
		}
		if err == nil {
			_, err = c.UpdateForm(ctx, form, formsvc.FormUpdate{Type: &single})
		}
		f, e := copied.Publish(ctx, formsvc.PublishOptions{})
		is("changed and changed back beside the copy", f, errors.Join(err, e), multi)
		_, err = c.UpdateForm(ctx, form, formsvc.FormUpdate{Type: new("PAGES")})
		expect.That(t, strings.Contains(fmt.Sprint(err), "/type"), "a layout that there is not: %v", err)
	})
}

// A publication passes the rules of a write: what each side may have alone, the two together may
// not.
func TestWhatIsPublishedFollowsTheRules(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit(), formsvc.WithLimits(formsvc.Limits{Blocks: 3}))
	ctx, c := t.Context(), b.AsHost()
	form := b.Form(`[{"id":"a","label":"A"}]`, `{}`)
	copied := c.WorkingCopy(form)
	for _, id := range []string{"b", "c"} {
		expect.Must(copied.CreateBlock(ctx, json.RawMessage(`{"id":"`+id+`"}`)))
	}
	expect.Must(c.CreateBlock(ctx, form, json.RawMessage(`{"id":"d"}`)))
	_, err := copied.Publish(ctx, formsvc.PublishOptions{})
	expect.That(t, strings.HasPrefix(violations(err), "/definition/blocks "), "four blocks where three may be: %v", err)
	expect.Must(copied.DeleteBlock(ctx, "c"))
	check(t, expect.ErrorOf(copied.Publish(ctx, formsvc.PublishOptions{})))
	status := "draft"
	_, err = copied.UpdateForm(ctx, formsvc.FormUpdate{Status: &status, Workspace: &b.Workspace})
	expect.Equal(t, violations(err), "/status NOT_ALLOWED, /workspace_id NOT_ALLOWED", "a status and a workspace for a copy")
}

// Nobody but the users of the form's workspace reads, changes, publishes or discards a copy, or
// sees a version.
func TestWorkingCopiesAndVersionsAreTheFormsUsersAlone(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx, form := t.Context(), b.Form(servicetest.TextBlock, `{}`)
		own := b.As(b.User.ID)
		expect.Must(own.WorkingCopy(form).UpdateBlock(ctx, "name", label("Secret")))
		f := expect.Must(own.WorkingCopy(form).Publish(ctx, formsvc.PublishOptions{}))
		expect.Must(own.WorkingCopy(form).UpdateBlock(ctx, "name", label("Secret too")))
		check := func(who string, c formsvc.Client) {
			t.Helper()
			w := c.WorkingCopy(form)
			var versions error
			for _, versions = range c.Versions(ctx, form) {
			}
			for name, err := range map[string]error{
				"Form":           expect.ErrorOf(w.Form(ctx)),
				"UpdateForm":     expect.ErrorOf(w.UpdateForm(ctx, formsvc.FormUpdate{Definition: f.Definition})),
				"UpdateBlock":    expect.ErrorOf(w.UpdateBlock(ctx, "name", label("x"))),
				"Publish":        expect.ErrorOf(w.Publish(ctx, formsvc.PublishOptions{})),
				"Discard":        w.Discard(ctx),
				"Version":        expect.ErrorOf(c.Version(ctx, form, f.Revision-1)),
				"RestoreVersion": expect.ErrorOf(c.RestoreVersion(ctx, form, f.Revision-1, formsvc.RestoreOptions{})),
				"Versions":       versions,
			} {
				expect.Error(t, who+", "+name, err, formsvc.ErrNotFound)
			}
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/forms/"+form.String(), nil))
			expect.That(t, rec.Code == http.StatusNotFound && !strings.Contains(rec.Body.String(), "Secret"),
				"%s, ServeHTTP: %d %s", who, rec.Code, rec.Body)
		}
		check("a stranger", b.As(formsvc.UserIDFrom("bob")))
		got, err := own.WorkingCopy(form).Block(ctx, "name")
		expect.That(t, labelOf(t, got, err) == "Secret too", "a stranger changed the copy")
		expect.NoError(t, own.TrashForm(ctx, form))
		check("the owner, of a form in the trash", own)
		expect.NoError(t, b.RestoreForm(ctx, form, formsvc.ID{}))
		got, err = own.WorkingCopy(form).Block(ctx, "name")
		expect.That(t, labelOf(t, got, err) == "Secret too", "the copy did not come back from the trash")
	})
}

// An editor in a browser gets the copy below a path of its own: the form's operations, nothing
// else, with its ETag and with links that lead back to it.
func TestAWorkingCopyIsServedAsAForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	form, other := b.Form(servicetest.TextBlock, `{}`), b.Form(servicetest.TextBlock, `{}`)
	mux := http.NewServeMux()
	mux.Handle("/edit/", http.StripPrefix("/edit", b.As(b.User.ID).WorkingCopy(form)))
	do := func(method, path, body, ifMatch string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if ifMatch != "" {
			r.Header.Set("If-Match", ifMatch)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	at := "/edit/forms/" + form.String()
	first := do(http.MethodGet, at, "", "")
	expect.Require(t, first.Code == http.StatusOK && strings.Contains(first.Body.String(), `"self":"/edit/forms/`+form.String()+`"`),
		"%d %s", first.Code, first.Body)
	tag := first.Header().Get("Etag")
	for _, step := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPatch, "", `{"name":"Other"}`, 200},
		{http.MethodPost, "/blocks", `{"block":{"id":"a/b"}}`, 201},
		{http.MethodGet, "/blocks/a%2Fb", "", 200},
		{http.MethodPatch, "/blocks/a%2Fb", `{"block":{"label":"B"}}`, 200},
		{http.MethodGet, "/questions", "", 200},
		{http.MethodDelete, "/blocks/name", "", 204},
		{http.MethodPut, "/blocks", `{"blocks":[{"id":"z"},{"id":"a/b"}]}`, 200},
	} {
		w := do(step.method, at+step.path, step.body, tag)
		expect.Require(t, w.Code == step.want && w.Header().Get("Etag") != "" && w.Header().Get("X-Request-Id") != "",
			"%s %s: %d %s", step.method, step.path, w.Code, w.Body)
		location := w.Header().Get("Location")
		expect.That(t, step.want != 201 || location == at+"/blocks/a%2Fb", "the new block is at %q", location)
		if step.method != http.MethodGet {
			if stale := do(http.MethodPatch, at, `{"name":"Lost"}`, tag); stale.Code != http.StatusPreconditionFailed {
				t.Errorf("after %s %s an old tag is taken: %d", step.method, step.path, stale.Code)
			}
		}
		tag = w.Header().Get("Etag")
	}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodDelete, at, "", 405}, {http.MethodGet, at + "/submissions", "", 404}, {http.MethodGet, "/edit/me", "", 404},
		{http.MethodGet, "/edit/forms/" + other.String(), "", 404}, {http.MethodPatch, "/edit/forms/" + other.String(), `{"name":"x"}`, 404},
		{http.MethodPost, "/edit/forms/" + other.String() + "/blocks", `{"block":{"id":"x"}}`, 404},
		{http.MethodPatch, at, `{"status":"draft"}`, 422}, {http.MethodPatch, at, `{"workspace_id":"` + b.Workspace.String() + `"}`, 422},
		{http.MethodPatch, at, `{"name":""}`, 422}, {http.MethodGet, "/edit/workspaces", "", 404}, {http.MethodGet, "/edit/openapi.json", "", 404},
	} {
		status(t, do(c.method, c.path, c.body, ""), c.want, "%s %s", c.method, c.path)
	}
	f, err := b.AsHost().Form(t.Context(), form)
	expect.That(t, err == nil && f.Name == "Form", "the form itself is %q, %v", f.Name, err)
	f, err = b.AsHost().Form(t.Context(), other)
	expect.That(t, err == nil && f.Revision == 2, "the other form is at %d, %v", f.Revision, err)
}

// Which writes keep a version, and which are too soon after another one.
func TestVersions(t *testing.T) {
	t.Parallel()
	onEachWithClock(t, time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		ctx, c := t.Context(), b.As(b.User.ID)
		form := b.Form(servicetest.TextBlock, `{}`) // at revision 2
		var want []int64
		check := func(step string, add ...int64) {
			t.Helper()
			want = append(add, want...)
			want = want[:min(3, len(want))]
			var got []int64
			for v, err := range c.Versions(ctx, form) {
				expect.NoError(t, err)
				expect.That(t, v.Name == "" && v.Definition.Blocks == nil && !v.ReplacedAt.IsZero(), "the list has %+v", v)
				got = append(got, v.Revision)
			}
			expect.That(t, fmt.Sprint(got) == fmt.Sprint(want), "%s: versions %v, want %v", step, got, want)
		}
		change := func(u formsvc.FormUpdate) {
			t.Helper()
			expect.Must(c.UpdateForm(ctx, form, u))
		}
		name := func(text string) formsvc.FormUpdate { return formsvc.FormUpdate{Name: &text} }
		status := func(text string) formsvc.FormUpdate { return formsvc.FormUpdate{Status: &text} }
		check("nothing was replaced yet")
		change(name("Two")) // now at 3
		check("the first write", 2)
		change(name("Three"))
		check("too soon")
		clock.Advance(10*time.Minute - time.Second)
		change(name("Four"))
		check("a second too soon")
		clock.Advance(time.Second)
		if _, err := c.UpdateBlock(ctx, form, "name", label("Your name")); err != nil { // now at 6
			t.Fatal(err)
		}
		check("ten minutes later", 5)
		clock.Advance(time.Hour)
		change(name("Four"))
		change(formsvc.FormUpdate{Workspace: &b.Workspace})
		check("nothing was changed")
		change(status("draft")) // now at 7
		check("it is made a draft", 6)
		clock.Advance(time.Hour)
		change(name("Five"))
		change(status("published")) // now at 9
		check("a draft has no versions")
		w := c.WorkingCopy(form)
		for _, text := range []string{"Six", "Seven"} {
			other := name(text)
			other.Definition = formsvc.Definition{
				Blocks: []byte(`[{"id":"end","type":"ending","label":"` + text + `"}]`), Settings: []byte(`{"submitLabel":"Go"}`), Theme: []byte(`{"font":"mono"}`),
				Variables: []byte(`{"score":1}`), HiddenFields: []byte(`["ref"]`),
			}
			expect.Must(w.UpdateForm(ctx, other))
			expect.Must(w.Publish(ctx, formsvc.PublishOptions{}))
		}
		check("Publish does so each time", 10, 9)
		expect.Error(t, "the fourth but last is there", expect.ErrorOf(c.Version(ctx, form, 2)), formsvc.ErrNotFound)
		expect.Error(t, "and can be restored", expect.ErrorOf(c.RestoreVersion(ctx, form, 2, formsvc.RestoreOptions{})), formsvc.ErrNotFound)
		expect.Error(t, "a condition that does not hold", expect.ErrorOf(c.RestoreVersion(ctx, form, 9, formsvc.RestoreOptions{IfRevision: 10})), storage.ErrRevisionMismatch)
		five := expect.Must(c.Version(ctx, form, 9))
		f, err := c.RestoreVersion(ctx, form, 9, formsvc.RestoreOptions{IfRevision: 11})
		expect.That(t, err == nil && f.Name == "Five" && f.Revision == 12 && f.Status == "published", "restored: %+v, %v", f, err)
		if d, err := schema.Diff(five.FormContent, f.FormContent); err != nil || len(d.Blocks)+len(d.Fields) != 0 {
			t.Errorf("restored with differences: %+v, %v", d, err)
		}
		check("so does RestoreVersion", 11)
		v, err := c.Version(ctx, form, 10)
		expect.That(t, err == nil && v.Name == "Six" && v.ReplacedAt.Equal(clock.Now()) && v.ReplacedBy == b.User.ID,
			"version 10 is %+v, %v", v, err)
	}, formsvc.WithoutRateLimit(), formsvc.WithVersions(3))
}

// A storage that has no documents refuses the calls that need them, and keeps none for the others.
func TestAStorageWithoutDocuments(t *testing.T) {
	t.Parallel()
	b := servicetest.SetupOn(t, withoutDocuments{storage.Unimplemented{}, beneath{memory.New()}}, formsvc.WithoutRateLimit())
	form, ctx, c := b.Form(servicetest.TextBlock, `{}`), t.Context(), b.AsHost()
	expect.Error(t, "a write", expect.ErrorOf(c.UpdateBlock(ctx, form, "name", label("Your name"))), nil)
	f, _, err := b.PreviewForm(ctx, form)
	expect.That(t, err == nil && f.Blocks[0].Label == "Your name", "a preview: %v", err)
	w := c.WorkingCopy(form)
	var versions error
	for _, versions = range c.Versions(ctx, form) {
	}
	for name, err := range map[string]error{
		"WorkingCopy.Form":    expect.ErrorOf(w.Form(ctx)),
		"WorkingCopy.Block":   expect.ErrorOf(w.Block(ctx, "name")),
		"WorkingCopy.Publish": expect.ErrorOf(w.Publish(ctx, formsvc.PublishOptions{})),
		"WorkingCopy.Discard": w.Discard(ctx),
		"Version":             expect.ErrorOf(c.Version(ctx, form, 1)),
		"Versions":            versions,
	} {
		expect.Error(t, name, err, formsvc.ErrUnsupported)
	}
}

// beneath is a storage whose methods those beside it hide.
type beneath struct{ storage.Storage }

// withoutDocuments is a storage that has no documents.
type withoutDocuments struct {
	storage.DocumentStore
	beneath
}

// Editors in two processes write into one copy, others publish, restore, discard nothing, and write to the
// form beside it. Each has blocks of their own, so nothing of what a call reported as done may
// be gone in the end, and each state that was replaced by Publish or RestoreVersion is a version.
func TestManyWriteToOneCopy(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		const editors = 6
		edits := 40
		if n, err := strconv.Atoi(testSteps()); err == nil {
			edits = n / (2 * editors)
		}
		var replaced sync.Map // revisions that Publish replaced
		store := publications{b.Store, &replaced}
		first := servicetest.New(t, store, formsvc.WithoutRateLimit(), formsvc.WithVersions(100_000))
		second := servicetest.New(t, store, formsvc.WithoutRateLimit(), formsvc.WithVersions(100_000))
		var blocks []string
		for i := range editors {
			blocks = append(blocks, fmt.Sprintf(`{"id":"copy%d","label":"0"},{"id":"form%d","label":"0"}`, i, i))
		}
		form, ctx := b.Form("["+strings.Join(blocks, ",")+"]", `{}`), t.Context()
		var all sync.WaitGroup
		var left atomic.Int64
		written := make([]map[string]string, 2*editors)
		for i := range 2 * editors {
			written[i] = map[string]string{}
			svc, id, random := []*formsvc.Service{first, second}[i%2], fmt.Sprintf("copy%d", i/2), rand.New(rand.NewPCG(uint64(i), 28))
			c := svc.As(b.User.ID)
			left.Add(1)
			all.Go(func() {
				defer left.Add(-1)
				write := c.WorkingCopy(form).UpdateBlock
				if i%2 == 1 {
					id = fmt.Sprintf("form%d", i/2)
					write = func(ctx context.Context, id string, patch json.RawMessage, on ...formsvc.Precondition) (formsvc.StoredBlock, error) {
						return c.UpdateBlock(ctx, form, id, patch, on...)
					}
				}
				// On a busy machine the editors continue until the second publication.
				for n := 0; n < edits || n < 100*edits && !severalIn(&replaced); n++ {
					text := fmt.Sprintf("%d of %d", n, random.Int())
					if _, err := write(ctx, id, label(text)); err != nil {
						t.Errorf("%s: %v", id, err)
						return
					}
					written[i][id] = text
				}
			})
		}
		for i := range 2 {
			svc := []*formsvc.Service{first, second}[i]
			all.Go(func() {
				for done := false; !done; {
					done = left.Load() == 0
					_, err := svc.AsHost().WorkingCopy(form).Publish(ctx, formsvc.PublishOptions{})
					// A copy can begin from the form as it was before a publication that ended in the meantime. A block
					// that its editor wrote before and after that is a conflict, in which the copy has the newer text.
					if clash, ok := errors.AsType[*formsvc.ConflictError](err); ok {
						newest := map[string]formsvc.Side{}
						for _, c := range clash.Conflicts {
							newest[c.Path] = formsvc.CopySide
						}
						_, err = svc.AsHost().WorkingCopy(form).Publish(ctx, formsvc.PublishOptions{IfRevision: clash.Revision, Resolutions: newest})
						if _, changed := errors.AsType[*formsvc.RevisionError](err); changed {
							continue
						}
					}
					if err != nil {
						t.Errorf("Publish: %v", err)
						return
					}
				}
			})
		}
		all.Wait()
		c := first.AsHost()
		for _, blocks := range written {
			for id, want := range blocks {
				if got, err := c.Block(ctx, form, id); labelOf(t, got, err) != want {
					t.Errorf("block %s has %q, last written was %q", id, labelOf(t, got, err), want)
				}
			}
		}
		kept := map[int64]bool{}
		for v, err := range c.Versions(ctx, form) {
			expect.NoError(t, err)
			kept[v.Revision] = true
		}
		published := 0
		for revision := range replaced.Range {
			if published++; !kept[revision.(int64)] {
				t.Errorf("revision %d was replaced by a publication and is no version", revision)
			}
		}
		expect.That(t, published >= 2, "%d publications beside the writers", published)
	})
}

// severalIn reports whether a map has more than one entry.
func severalIn(m *sync.Map) bool {
	entries := 0
	m.Range(func(any, any) bool {
		entries++
		return entries < 2
	})
	return entries > 1
}

// publications notes the revisions that were replaced together with a working copy.
type publications struct {
	storage.Storage
	replaced *sync.Map
}

func (s publications) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := s.Storage.UpdateForm(ctx, who, id, c)
	removes := slices.ContainsFunc(c.Documents, func(d storage.DocumentChange) bool { return d.Value == nil })
	if err == nil && removes && f.Revision == c.IfRevision[0]+1 {
		s.replaced.Store(c.IfRevision[0], true)
	}
	return f, err
}

// A crash leaves nothing half-done, because each step on a copy is one write of the storage: an
// edit, a publication with its version and the removal of the copy, a restoration.
func TestEachStepOnACopyIsOneWrite(t *testing.T) {
	t.Parallel()
	written := 0
	b := servicetest.SetupOn(t, writes{memory.New(), &written}, formsvc.WithoutRateLimit())
	form, ctx, c := b.Form(servicetest.TextBlock, `{}`), t.Context(), b.AsHost()
	w := c.WorkingCopy(form)
	text := func(s string) *string { return &s }
	for _, step := range []struct {
		name string
		want int
		do   func() error
	}{
		{"reading", 0, func() error { _, err := w.Form(ctx); return err }},
		{"the first edit", 1, func() error { _, err := w.UpdateBlock(ctx, "name", label("A")); return err }},
		{"the same again", 0, func() error { _, err := w.UpdateBlock(ctx, "name", label("A")); return err }},
		{"another edit", 1, func() error { _, err := w.UpdateForm(ctx, formsvc.FormUpdate{Name: text("B")}); return err }},
		{"Publish", 1, func() error { _, err := w.Publish(ctx, formsvc.PublishOptions{}); return err }},
		{"a write of the form with a version", 1, func() error {
			_, err := c.UpdateForm(ctx, form, formsvc.FormUpdate{Name: text("C")})
			return err
		}},
		{"RestoreVersion", 1, func() error { _, err := c.RestoreVersion(ctx, form, 2, formsvc.RestoreOptions{}); return err }},
	} {
		written = 0
		expect.Error(t, step.name, step.do(), nil)
		expect.That(t, written == step.want, "%s: %d writes, want %d", step.name, written, step.want)
	}
}

type writes struct {
	storage.Storage
	count *int
}

func (s writes) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	*s.count++
	return s.Storage.UpdateForm(ctx, who, id, c)
}

func (s writes) PutDocument(ctx context.Context, who storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	*s.count++
	return s.Storage.PutDocument(ctx, who, form, c)
}

// contentStep is one operation on the content of a form: PATCH with a body, and the like.
type contentStep struct {
	method, path, body string // path: "", /blocks, /questions or /blocks/ and an id
	condition          int    // 0: none; 1: the current revision; 2: an earlier one; 3: *
}

func randomContentStep(r *rand.Rand) contentStep {
	id := func() string { return string("abcdef"[r.IntN(6)]) }
	block := func() string {
		return [...]string{`{"id":"` + id() + `","label":"L"}`, `{"id":"` + id() + `","type":"rating","properties":{"to":` + fmt.Sprint(r.IntN(7)) + `}}`, `{"id":""}`, `{"label":1}`}[r.IntN(4)]
	}
	s := contentStep{condition: r.IntN(4)}
	switch r.IntN(8) {
	case 0:
		s.method = http.MethodGet
	case 1:
		s.method, s.path = http.MethodGet, [...]string{"/questions", "/blocks", "/blocks/" + id()}[r.IntN(3)]
	case 2, 3:
		s.method = http.MethodPatch
		s.body = [...]string{
			`{"name":"N` + id() + `"}`, `{"name":" "}`, `{"definition":{"settings":{"closedMessage":"` + id() + `"}}}`, `{"definition":{"theme":{"font":"` + id() + `"},"hidden_fields":["` + id() + `"]}}`,
			`{"definition":{"blocks":[` + block() + `]}}`, `{"definition":{"variables":{"n":1}},"name":"V"}`, `{"definition":{"settings":{"closed":3}}}`,
		}[r.IntN(7)]
	case 4:
		s.method, s.path, s.body = http.MethodPost, "/blocks", `{"block":`+block()+`}`
	case 5:
		s.method, s.path, s.body = http.MethodPut, "/blocks", `{"blocks":[`+block()+`,`+block()+`]}`
	case 6:
		s.method, s.path, s.body = http.MethodPatch, "/blocks/"+id(), `{"block":`+[...]string{`{"label":"` + id() + `"}`, `{"type":null}`, `{"required":true}`, `{"label":{}}`}[r.IntN(4)]+`}`
	default:
		s.method, s.path = http.MethodDelete, "/blocks/"+id()
	}
	return s
}

// contentDoor serves steps and remembers the tags that its answers had.
type contentDoor struct {
	handler http.Handler
	prefix  string
	key     string
	tags    []string
}

func (d *contentDoor) do(t *testing.T, s contentStep) string {
	r := httptest.NewRequest(s.method, d.prefix+s.path, strings.NewReader(s.body))
	r.Header.Set("X-API-Key", d.key)
	if s.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	switch last := len(d.tags) - 1; s.condition {
	case 1:
		r.Header.Set("If-Match", d.tags[last])
	case 2:
		r.Header.Set("If-Match", d.tags[max(0, last-1)])
	case 3:
		r.Header.Set("If-Match", "*")
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if tag := w.Header().Get("Etag"); tag != "" && tag != d.tags[len(d.tags)-1] {
		d.tags = append(d.tags, tag)
	}
	var body map[string]any
	if w.Body.Len() > 0 {
		expect.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	}
	for _, name := range []string{"id", "public_id", "links", "status", "created_at", "updated_at", "request_id", "message"} {
		if _, isForm := body["definition"]; isForm || name == "request_id" || name == "message" {
			delete(body, name)
		}
	}
	return fmt.Sprint(w.Code, " ", canonical(t, body))
}

// The operations on a working copy are those on a form: the same random steps have the same
// outcomes on a form through the API and on a copy over HTTP, and what is published in the end is
// the same form.
func TestAWorkingCopyTakesWhatAFormTakes(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		const steps = 300
		random, ctx := rand.New(rand.NewPCG(28, 2)), t.Context()
		c := b.As(b.User.ID)
		var forms [2]formsvc.ID
		for i := range forms {
			forms[i] = b.Form(`[{"id":"a","label":"A"},{"id":"b","label":"B"}]`, `{}`)
		}
		first := c.WorkingCopy(forms[1])
		doors := []*contentDoor{
			{handler: b, prefix: "/v1/forms/" + forms[0].String(), key: b.Key, tags: []string{`"r2"`}},
			{handler: first, prefix: "/forms/" + forms[1].String(), tags: []string{`"r2"`}},
		}
		for n := range steps {
			s := randomContentStep(random)
			want := doors[0].do(t, s)
			got := doors[1].do(t, s)
			expect.Require(t, got == want, "step %d, %+v: a copy over HTTP %s, a form %s", n, s, got, want)
		}
		expect.That(t, len(doors[0].tags) >= steps/10 && len(doors[0].tags) == len(doors[1].tags), "tags %v and %v", doors[0].tags, doors[1].tags)
		want := expect.Must(c.Form(ctx, forms[0]))
		got := expect.Must(first.Publish(ctx, formsvc.PublishOptions{}))
		expect.Equal(t, contentText(got), contentText(want), "published")
		expect.Equal(t, got.Acceptance, want.Acceptance, "the gate")
	})
}

func contentText(f formsvc.Form) string {
	d := f.Definition
	return fmt.Sprintf("%s %s %s %s %s %s", f.Name, d.Blocks, d.Settings, d.Theme, d.Variables, d.HiddenFields)
}

// The Go calls of a copy are those of the client: they have their conditions, and the form beside
// the copy stays as it is.
func TestAWorkingCopyInGo(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	ctx, c, form := t.Context(), b.As(b.User.ID), b.Form(`[{"id":"a","label":"A"},{"id":"b"}]`, `{}`)
	w, before, stale, name := c.WorkingCopy(form), expect.Must(c.Form(ctx, form)), formsvc.IfRevision(1), "Other"
	block := func(id string) json.RawMessage { return json.RawMessage(`{"id":"` + id + `"}`) }
	for name, err := range map[string]error{
		"UpdateForm":    expect.ErrorOf(w.UpdateForm(ctx, formsvc.FormUpdate{Name: &name, IfRevision: 1})),
		"CreateBlock":   expect.ErrorOf(w.CreateBlock(ctx, block("c"), stale)),
		"UpdateBlock":   expect.ErrorOf(w.UpdateBlock(ctx, "a", label("C"), stale)),
		"DeleteBlock":   expect.ErrorOf(w.DeleteBlock(ctx, "b", stale)),
		"ReplaceBlocks": expect.ErrorOf(w.ReplaceBlocks(ctx, json.RawMessage(`[]`), stale)),
	} {
		expect.Error(t, name, err, storage.ErrRevisionMismatch)
	}
	expect.Error(t, "a block that there is", expect.ErrorOf(w.CreateBlock(ctx, block("a"))), formsvc.ErrBlockExists)
	made := expect.Must(w.CreateBlock(ctx, block("c")))
	expect.Must(w.UpdateBlock(ctx, "c", label("C"), formsvc.IfRevision(made.Revision)))
	left := expect.Must(w.DeleteBlock(ctx, "b"))
	blocks := expect.Must(w.Blocks(ctx))
	want := `[{"id":"a","label":"A","type":"short_text"},{"id":"c","label":"C","type":"short_text"}]`
	expect.That(t, canonical(t, blocks.JSON) == want && blocks.Revision == left, "the copy has %s at %d", blocks.JSON, blocks.Revision)
	expect.Must(w.ReplaceBlocks(ctx, json.RawMessage(`[{"id":"z"}]`), formsvc.IfRevision(left)))
	expect.Error(t, "a block that was replaced", expect.ErrorOf(w.Block(ctx, "a")), formsvc.ErrNotFound)
	expect.That(t, cmp.Equal(expect.Must(c.Form(ctx, form)), before), "the form itself was changed")
}
