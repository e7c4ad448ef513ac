package builder_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// doorHost is a host with two users, of whom each has a workspace. Who is signed in stands in a header.
type doorHost struct {
	*testing.T
	*site
	store          storage.Storage
	place, strange formsvc.ID // workspaces of "owner" and "stranger"
}

func newDoorHost(t *testing.T, store storage.Storage, config builder.Config, options ...formsvc.Option) *doorHost {
	t.Helper()
	h := &doorHost{T: t, site: newHost(t, store, config, options...), store: store}
	for name, id := range map[string]*formsvc.ID{"owner": &h.place, "stranger": &h.strange} {
		w := expect.Must(h.service.CreateWorkspace(t.Context(), formsvc.UserIDFrom(name), name))
		*id = w.ID
	}
	return h
}

// as sends a request to the door, and decodes the answer into each of into.
func (h *doorHost) as(user, method, path, body string, into ...any) int {
	h.Helper()
	w := h.serve(user, method, "/forms/-/builder"+path, body)
	for _, v := range into {
		err := json.Unmarshal(w.Body.Bytes(), v)
		expect.Require(h, err == nil, "%s %s: %v in %s", method, path, err, w.Body)
	}
	return w.Code
}

// ok sends a request of the owner, which has to succeed.
func (h *doorHost) ok(method, path, body string, into ...any) {
	h.Helper()
	var got json.RawMessage
	code := h.as("owner", method, path, body, append(into, &got)...)
	expect.Require(h, code == http.StatusOK, "%s %s: %d %s", method, path, code, got)
}

func (h *doorHost) owner() formsvc.Client { return h.service.As(formsvc.UserIDFrom("owner")) }

const twoBlocks = `[{"id":"name","type":"short_text","label":"Name"},{"id":"age","type":"number","label":"Age","properties":{"rule":{"set":{"score":{"var":"answers.age"}}}}}]`

// published makes a published form of the owner.
func (h *doorHost) published() formsvc.Form {
	h.Helper()
	form := expect.Must(h.owner().CreateForm(h.Context(), formsvc.FormCreate{Workspace: h.place, Name: "Form", Type: "MULTI", Definition: formsvc.Definition{
		Blocks: json.RawMessage(twoBlocks), Variables: json.RawMessage(`{"score":0}`), HiddenFields: json.RawMessage(`["ref"]`),
	}}))
	form = expect.Must(h.owner().PublishForm(h.Context(), form.ID))
	return form
}

// label gives a block of the form, or of its copy, another label.
func (h *doorHost) label(form formsvc.Form, inCopy bool, block, label string) {
	h.Helper()
	update := func(ctx context.Context, id string, patch json.RawMessage, c ...formsvc.Precondition) (formsvc.StoredBlock, error) {
		return h.owner().UpdateBlock(ctx, form.ID, id, patch, c...)
	}
	if inCopy {
		update = h.owner().WorkingCopy(form.ID).UpdateBlock
	}
	expect.Must(update(h.Context(), block, json.RawMessage(fmt.Sprintf(`{"label":%q}`, label))))
}

type changesAnswer struct {
	Copy     bool
	Revision int64
	Blocks   []struct {
		ID                    string
		Added, Removed, Moved bool
		Changed               []string
	}
	Members  []string
	Warnings schema.Warnings
}

// A working copy is compared, clashes, is published with a choice, and can be discarded.
func TestPublishing(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	at := "/forms/" + form.ID.String()

	var got changesAnswer
	h.ok("GET", at+"/changes", "", &got)
	expect.That(t, !got.Copy && got.Revision == form.Revision && len(got.Blocks)+len(got.Members) == 0, "without a copy: %+v", got)
	h.label(form, true, "name", "Your name")
	expect.Must(h.owner().WorkingCopy(form.ID).CreateBlock(t.Context(), json.RawMessage(`{"id":"pet","type":"dropdown","label":"Pet","required":true}`)))
	got = changesAnswer{}
	h.ok("GET", at+"/changes", "", &got)
	if !got.Copy || len(got.Blocks) != 2 || got.Blocks[0].ID != "name" || !slices.Equal(got.Blocks[0].Changed, []string{"/label"}) || !got.Blocks[1].Added {
		t.Errorf("with a copy: %+v", got)
	}
	expect.That(t, len(got.Warnings) != 0 && strings.HasPrefix(got.Warnings[0].Path, "/blocks/2"),
		"warnings of the copy: %+v", got.Warnings)
	var alone struct{ Items schema.Warnings }
	if h.ok("GET", at+"/warnings", "", &alone); !reflect.DeepEqual(alone.Items, got.Warnings) || alone.Items[0].Code != schema.WarnUnanswerableBlock {
		t.Errorf("the warnings alone: %+v", alone)
	}
	code := h.as("owner", "POST", at+"/publish", fmt.Sprintf(`{"if_revision":%d}`, got.Revision-1))
	expect.That(t, code == http.StatusPreconditionFailed, "a copy that was changed since is published: %d", code)

	h.label(form, false, "age", "Age, please")
	got = changesAnswer{}
	if h.ok("GET", at+"/changes", "", &got); len(got.Blocks) != 2 || got.Blocks[0].ID != "name" {
		t.Errorf("what was changed in the form is told as a change of the copy: %+v", got)
	}
	h.label(form, false, "name", "Name, please")
	var clash struct {
		Code      string
		Revision  int64
		Conflicts []struct {
			Path       string
			Copy, Form struct{ Label string }
		}
	}
	if code := h.as("owner", "POST", at+"/publish", fmt.Sprintf(`{"if_revision":%d}`, got.Revision), &clash); code != http.StatusConflict || clash.Revision != got.Revision || len(clash.Conflicts) != 1 {
		t.Fatalf("a clash: %d %+v", code, clash)
	}
	if c := clash.Conflicts[0]; c.Path != "/definition/blocks/name" || c.Copy.Label != "Your name" || c.Form.Label != "Name, please" {
		t.Errorf("the clash is %+v", c)
	}
	var shown struct{ ID, Status string }
	h.ok("POST", at+"/publish", fmt.Sprintf(`{"if_revision":%d,"take":{"/definition/blocks/name":"form"}}`, clash.Revision), &shown)
	expect.That(t, shown.ID == form.ID.String() && shown.Status == "published", "the form is not shown: %+v", shown)
	form = expect.Must(h.owner().Form(t.Context(), form.ID))
	expect.That(t, bytes.Contains(form.Definition.Blocks, []byte("Name, please")) && bytes.Contains(form.Definition.Blocks, []byte("Pet")),
		"published: %s", form.Definition.Blocks)

	// The opening time of a copy applies when the copy is published.
	opensAt := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	path := "/forms/-/copy/" + form.ID.String() + at
	w := h.serve("owner", "PATCH", path, `{"definition":{"settings":{"openAt":"2999-01-01T01:00:00+01:00"}}}`)
	expect.That(t, w.Code == http.StatusOK, "%s: %d %s", path, w.Code, w.Body)
	for _, want := range []time.Time{{}, opensAt} {
		public := expect.Must(h.service.PublicForm(t.Context(), form.PublicID))
		expect.That(t, public.OpensAt.Equal(want) && public.Closed == !want.IsZero(), "the form opens at %v, want %v", public.OpensAt, want)
		if h.ok("GET", at+"/changes", "", &got); got.Copy {
			h.ok("POST", at+"/publish", fmt.Sprintf(`{"if_revision":%d}`, got.Revision))
		}
	}

	h.label(form, true, "age", "How old?")
	h.ok("POST", at+"/discard", `{}`)
	got = changesAnswer{}
	h.ok("GET", at+"/changes", "", &got)
	expect.That(t, !got.Copy, "the copy is still there")
	code = h.as("owner", "POST", at+"/publish", `{"if_revison":1}`)
	expect.That(t, code == http.StatusUnprocessableEntity, "a member that there is not: %d", code)
}

// What was changed in a form beside its working copy is told at its place, whatever else clashes.
func TestChangedOutside(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	told := func() (paths []string) {
		t.Helper()
		var got struct{ Items schema.Warnings }
		h.ok("GET", "/forms/"+form.ID.String()+"/warnings", "", &got)
		for _, w := range got.Items {
			if w.Code == "CHANGED_OUTSIDE" {
				paths = append(paths, w.Path)
			}
		}
		return paths
	}
	outside := func(name, settings string) {
		t.Helper()
		_ = expect.Must(h.owner().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Name: &name, Definition: formsvc.Definition{Settings: json.RawMessage(settings)}}))
	}
	outside("Form", `{"closed":true}`)
	if paths := told(); paths != nil {
		t.Errorf("without a copy: %s", paths)
	}
	outside("Form", `{}`)
	h.label(form, true, "name", "Your name")
	if paths := told(); paths != nil {
		t.Errorf("only the copy was changed: %s", paths)
	}
	outside("Another name", `{"closed":true}`)
	h.label(form, false, "name", "Name, please")
	if paths := told(); !slices.Equal(paths, []string{"/name", "/settings/closed"}) {
		t.Errorf("told: %s", paths)
	}
}

// Versions are listed in pages, compared with the present form, and restored unless it has moved on.
func TestVersions(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	at := "/forms/" + form.ID.String()
	for i := range 52 {
		h.label(form, true, "name", fmt.Sprint("Name ", i))
		h.ok("POST", at+"/publish", "")
	}
	type list struct {
		Items []struct {
			Revision   int64
			ReplacedBy formsvc.ID `json:"replaced_by"`
		}
		Page struct {
			HasMore    bool   `json:"has_more"`
			NextCursor string `json:"next_cursor"`
		}
	}
	var first, rest list
	h.ok("GET", at+"/versions", "", &first)
	h.ok("GET", at+"/versions?cursor="+first.Page.NextCursor, "", &rest)
	if len(first.Items) != 50 || !first.Page.HasMore || len(rest.Items) != 2 || rest.Page.HasMore || rest.Items[0].Revision >= first.Items[49].Revision {
		t.Fatalf("%d and %d versions: %+v", len(first.Items), len(rest.Items), rest)
	}
	expect.That(t, first.Items[0].ReplacedBy == formsvc.UserIDFrom("owner"), "replaced by %s", first.Items[0].ReplacedBy)

	oldest := fmt.Sprint(at, "/versions/", rest.Items[1].Revision)
	h.label(form, true, "age", "How old?")
	var got struct {
		Present       int64
		Copy          bool
		Blocks        []struct{}
		Before, After struct{ Blocks []struct{ Label string } }
	}
	h.ok("GET", oldest, "", &got)
	expect.That(t, got.Copy && len(got.Blocks) == 1 && got.Before.Blocks[0].Label == "Name 51" && got.After.Blocks[0].Label == "Name",
		"the oldest version: %+v", got)
	code := h.as("owner", "POST", oldest+"/restore", fmt.Sprintf(`{"if_revision":%d}`, got.Present-1))
	expect.That(t, code == http.StatusPreconditionFailed, "restored over a change: %d", code)
	h.ok("POST", oldest+"/restore", fmt.Sprintf(`{"if_revision":%d}`, got.Present))
	form = expect.Must(h.owner().Form(t.Context(), form.ID))
	expect.That(t, !strings.Contains(string(form.Definition.Blocks), "Name 51"), "not restored: %s", form.Definition.Blocks)
}

// Links begin with the host's public address, or with nothing.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, public := range []string{"", "https://forms.example"} {
		h := newDoorHost(t, memory.New(), builder.Config{PublicURL: public})
		form := h.published()
		var share struct{ URL, Embed string }
		h.ok("GET", "/forms/"+form.ID.String()+"/share", "", &share)
		expect.That(t, share.URL == public+"/f/"+form.PublicID && share.Embed == public+"/f/-/embed.js", "links are %+v", share)
		h.ok("POST", "/forms/"+form.ID.String()+"/preview", "", &share)
		expect.That(t, strings.HasPrefix(share.URL, public+"/f/-/preview/"), "a preview is at %s", share.URL)
	}
}

// A form goes to the trash and comes back; from the trash of another workspace it does not.
func TestTrash(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	hook := h.hook(form)
	sent := expect.Must(h.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{"name": []byte(`"Ann"`)}}))
	expect.NoError(h.T, h.owner().TrashForm(t.Context(), form.ID))
	other := expect.Must(h.owner().CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "Other"}))
	var list struct {
		Items []struct{ ID, Name string }
	}
	h.ok("GET", "/workspaces/"+h.place.String()+"/trash", "", &list)
	expect.That(t, len(list.Items) == 1 && list.Items[0].ID == form.ID.String(), "in the trash: %+v", list)
	at := "/trash/" + form.ID.String()
	for _, from := range []string{other.ID.String(), h.strange.String(), ""} {
		code := h.as("owner", "POST", at+"/restore", `{"from":"`+from+`"}`)
		expect.That(t, (code == http.StatusNotFound || from == "") && code != http.StatusOK, "restored from %q: %d", from, code)
		expect.Equal(t, h.as("owner", "DELETE", at+"?from="+from, ""), http.StatusNotFound, "%v removed from", from)
	}
	h.ok("POST", at+"/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, h.place, other.ID))
	back, err := h.owner().Form(t.Context(), form.ID)
	expect.NoError(h.T, err)
	expect.That(t, back.WorkspaceID == other.ID && back.Status == formsvc.StatusPublished, "it is in %s, %s", back.WorkspaceID, back.Status)
	hooks := expect.Must(h.owner().FormWebhooks(t.Context(), form.ID))
	expect.That(t, len(hooks) == 1 && hooks[0].ID == hook.ID && hooks[0].Enabled, "it has the webhooks %+v", hooks)
	expect.Must(h.owner().Submission(t.Context(), form.ID, sent.ID))
	expect.NoError(h.T, h.owner().TrashForm(t.Context(), form.ID))
	h.ok("DELETE", at+"?from="+other.ID.String(), "")
	if forms, err := h.service.TrashedForms(t.Context(), other.ID); err != nil || len(forms) != 0 {
		t.Errorf("it is still there: %v %v", forms, err)
	}
}

// Members restore forms; only the owner of the workspace moves them elsewhere or removes them for good. What is
// refused changes nothing.
func TestTheTrashOfAMember(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	expect.NoError(h.T, h.service.AddMember(t.Context(), h.place, formsvc.UserIDFrom("stranger"))) // who owns another workspace
	hidden := expect.Must(h.owner().CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "Not the member's"}))
	form := h.published()
	expect.NoError(h.T, h.owner().TrashForm(t.Context(), form.ID))
	var list struct {
		Items []struct{ ID string }
		Owner bool
	}
	for user, owner := range map[string]bool{"owner": true, "stranger": false} {
		if code := h.as(user, "GET", "/workspaces/"+h.place.String()+"/trash", "", &list); code != http.StatusOK || len(list.Items) != 1 || list.Owner != owner {
			t.Errorf("the trash of %s: %d %+v", user, code, list)
		}
	}
	at := "/trash/" + form.ID.String()
	for _, refused := range []struct {
		user, method, path, body string
		status                   int
	}{
		{"stranger", "DELETE", at + "?from=" + h.place.String(), "", http.StatusForbidden},
		{"stranger", "POST", at + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, h.place, h.strange), http.StatusForbidden},
		{"stranger", "POST", at + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, h.place, hidden.ID), http.StatusForbidden},
		{"stranger", "DELETE", at + "?from=" + h.strange.String(), "", http.StatusNotFound},
		{"owner", "POST", at + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, h.place, h.strange), http.StatusNotFound},
		{"owner", "POST", at + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, h.place, form.ID), http.StatusNotFound},
	} {
		expect.Equal(t, h.as(refused.user, refused.method, refused.path, refused.body), refused.status, "%v", refused)
		trashed := expect.Must(h.service.TrashedForms(t.Context(), h.place))
		expect.Require(t, len(trashed) == 1 && trashed[0].ID == form.ID, "%+v has changed the trash: %v", refused, trashed)
	}
	code := h.as("stranger", "POST", at+"/restore", fmt.Sprintf(`{"from":%q}`, h.place))
	expect.That(t, code == http.StatusOK, "a member restores: %d", code)
	back, err := h.owner().Form(t.Context(), form.ID)
	expect.That(t, err == nil && back.WorkspaceID == h.place, "it is in %s: %v", back.WorkspaceID, err)
}

// Each door refuses a stranger and lets the owner pass, who comes second: nothing was changed.
func TestDoorsAreOfTheUser(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	h.label(form, true, "name", "Changed")
	h.ok("POST", "/forms/"+form.ID.String()+"/publish", "")
	h.label(form, true, "name", "Changed again")
	trashed := h.published()
	expect.NoError(h.T, h.owner().TrashForm(t.Context(), trashed.ID))
	purged := h.published()
	expect.NoError(h.T, h.owner().TrashForm(t.Context(), purged.ID))
	hook := h.hook(form)
	delivery := h.failed(form, hook)
	// The stranger has a webhook and a form in the trash, too, so that a door could take these for the others.
	stranger := h.service.As(formsvc.UserIDFrom("stranger"))
	own := expect.Must(stranger.CreateForm(t.Context(), formsvc.FormCreate{Workspace: h.strange, Name: "Own", Type: "MULTI"}))
	gone := expect.Must(stranger.CreateForm(t.Context(), formsvc.FormCreate{Workspace: h.strange, Name: "Gone", Type: "MULTI"}))
	expect.NoError(h.T, stranger.TrashForm(t.Context(), gone.ID))
	ownHook := expect.Must(stranger.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: own.ID, URL: "http://127.0.0.1:8080/own"}))
	code := h.as("stranger", "POST", fmt.Sprintf("/webhooks/%s/deliveries/%s/redeliver", ownHook.ID, delivery), "")
	expect.That(t, code == http.StatusNotFound, "a delivery of another webhook is sent: %d", code)
	code = h.as("stranger", "GET", fmt.Sprintf("/webhooks/%s/deliveries/%s/body", ownHook.ID, delivery), "")
	expect.That(t, code == http.StatusNotFound, "the body of another webhook's delivery is shown: %d", code)
	for _, from := range []formsvc.ID{h.strange, h.place} {
		for _, call := range [][3]string{
			{"POST", "/trash/" + trashed.ID.String() + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, from, h.strange)},
			{"POST", "/trash/" + trashed.ID.String() + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, from, h.place)},
			{"DELETE", "/trash/" + purged.ID.String() + "?from=" + from.String(), ""},
		} {
			expect.Equal(t, h.as("stranger", call[0], call[1], call[2]), http.StatusNotFound, "%v a stranger gets", call)
		}
	}

	var versions struct{ Items []struct{ Revision int64 } }
	f, d := "/forms/"+form.ID.String(), fmt.Sprintf("/webhooks/%s/deliveries/%s", hook.ID, delivery)
	h.ok("GET", f+"/versions", "", &versions)
	v := fmt.Sprint(f, "/versions/", versions.Items[0].Revision)
	for _, call := range [][3]string{
		{"GET", f + "/changes", ""},
		{"GET", f + "/versions", ""},
		{"GET", v, ""},
		{"POST", f + "/publish", ""},
		{"POST", v + "/restore", ""},
		{"POST", f + "/discard", ""},
		{"POST", f + "/preview", ""},
		{"GET", f + "/share", ""},
		{"GET", "/workspaces/" + h.place.String() + "/trash", ""},
		{"POST", "/trash/" + trashed.ID.String() + "/restore", fmt.Sprintf(`{"from":%q,"workspace":%q}`, h.place, h.place)},
		{"DELETE", "/trash/" + purged.ID.String() + "?from=" + h.place.String(), ""},
		{"PUT", "/webhooks/" + hook.ID.String() + "/events", `{"form_details":true}`},
		{"POST", "/webhooks/" + hook.ID.String() + "/test", ""},
		{"GET", d + "/body", ""},
		{"POST", d + "/redeliver", ""},
		{"POST", "/webhooks/" + hook.ID.String() + "/redeliver", ""},
	} {
		var got json.RawMessage
		before := h.queue(hook)
		if code := h.as("stranger", call[0], call[1], call[2], &got); code != http.StatusNotFound || bytes.Contains(got, []byte("Changed")) {
			t.Errorf("%s %s: a stranger gets %d %s", call[0], call[1], code, got)
		}
		expect.Equal(t, h.as("", call[0], call[1], call[2], &got), http.StatusUnauthorized, "nobody gets %v", call)
		expect.Equal(t, h.queue(hook), before, "a stranger queued something %v", call)
		expect.Equal(t, h.as("owner", call[0], call[1], call[2], &got), http.StatusOK, "the owner gets %v", call)
	}
	var paused struct{ Items []any }
	h.as("stranger", "GET", "/webhooks/paused?form="+form.ID.String(), "", &paused)
	expect.That(t, len(paused.Items) == 0, "a stranger sees paused webhooks: %v", paused)
}

// On a storage without documents a draft is published as it is, and there are no versions.
func TestPublishingWithoutDocuments(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, bare{memory.New()}, builder.Config{})
	form := expect.Must(h.owner().CreateForm(t.Context(), formsvc.FormCreate{Workspace: h.place, Name: "Form", Type: "MULTI"}))
	at := "/forms/" + form.ID.String()
	h.ok("GET", at+"/changes", "")
	var shown struct{ Status string }
	h.ok("POST", at+"/publish", fmt.Sprintf(`{"if_revision":%d}`, form.Revision), &shown)
	expect.That(t, shown.Status == "published", "it is %s", shown.Status)
	expect.Equal(t, h.as("owner", "GET", at+"/versions", ""), http.StatusNotImplemented, "versions")
}

// bare is a storage that keeps no documents.
type bare struct{ storage.Storage }

func (bare) Document(context.Context, storage.Actor, storage.ID, string, string) (storage.Document, error) {
	return storage.Document{}, storage.ErrUnimplemented
}

func (bare) Documents(context.Context, storage.Actor, storage.ID, storage.DocumentQuery) ([]storage.Document, bool, error) {
	return nil, false, storage.ErrUnimplemented
}

func (bare) PutDocument(context.Context, storage.Actor, storage.ID, storage.DocumentChange) (storage.Document, error) {
	return storage.Document{}, storage.ErrUnimplemented
}

// hook makes a webhook to which nothing is sent: no dispatcher runs.
func (h *doorHost) hook(form formsvc.Form) formsvc.Webhook {
	h.Helper()
	return expect.Must(h.owner().CreateWebhook(h.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "http://127.0.0.1:8080/hook"}))
}

// claim takes what is queued, as a dispatcher would.
func (h *doorHost) claim() []storage.ClaimedDelivery {
	h.Helper()
	pool := storage.Pool{MaxDeliveries: 100}
	claimed, _, err := h.store.ClaimDeliveries(h.Context(), storage.ClaimParams{Lease: time.Hour, Fast: pool, Slow: pool, NewOrFailing: pool, PerWebhook: 100, MaxBytes: 1 << 20})
	expect.NoError(h.T, err)
	return claimed
}

// settle records an attempt for each claimed delivery.
func (h *doorHost) settle(claimed []storage.ClaimedDelivery, status int) {
	h.Helper()
	var done []storage.Result
	for _, c := range claimed {
		d := storage.Delivery{ID: formsvc.UserIDFrom(rand.Text()), WebhookID: c.Lease.WebhookID, EventID: c.Lease.EventID, EventType: c.EventType, SubmissionID: c.SubmissionID, Attempt: c.Attempt, Status: status, Success: status < 300, CreatedAt: time.Now()}
		r := storage.Result{Lease: c.Lease, Delivery: &d}
		if !d.Success {
			d.Error = "status"
			r.Health, r.PauseFor, r.PauseReason = storage.Health{Failures: c.Health.Failures + 1}, time.Hour, storage.PauseFailures
		}
		done = append(done, r)
	}
	fenced, err := h.store.FinishDeliveries(h.Context(), done)
	expect.NoError(h.T, err)
	expect.Require(h, len(fenced) == 0, "a lease was lost")
}

// failed submits a response whose delivery is given up, and returns the id of that attempt.
func (h *doorHost) failed(form formsvc.Form, hook formsvc.Webhook) formsvc.ID {
	h.Helper()
	expect.Must(h.service.Submit(h.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{"name": json.RawMessage(`"Eve <b>"`), "age": json.RawMessage(`41.50`)}, Hidden: map[string]string{"ref": "mail"}, CompletionTime: 3.25}))
	h.settle(h.claim(), 500)
	return h.deliveries(hook)[0].ID
}

func (h *doorHost) deliveries(hook formsvc.Webhook) []formsvc.Delivery {
	h.Helper()
	return expect.Must(h.service.AsHost().Deliveries(h.Context(), hook.ID))
}

// queue describes what waits for a webhook.
func (h *doorHost) queue(formsvc.Webhook) string {
	h.Helper()
	stats := expect.Must(h.store.QueueStats(h.Context()))
	stats.OldestDue = time.Time{}
	return fmt.Sprintf("%+v", stats)
}

// A paused webhook is shown with its reason; a test event and redeliveries are queued, once.
func TestHooks(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	hook := h.hook(form)
	at := "/webhooks/" + hook.ID.String()
	first := h.failed(form, hook)

	var paused struct {
		Items []struct {
			WebhookID formsvc.ID `json:"webhook_id"`
			Failures  int
			Reason    string
			Since     time.Time `json:"failing_since"`
		}
	}
	h.ok("GET", "/webhooks/paused?form="+form.ID.String(), "", &paused)
	if len(paused.Items) != 1 || paused.Items[0].WebhookID != hook.ID || paused.Items[0].Failures != 1 || paused.Items[0].Reason != "failures" || paused.Items[0].Since.IsZero() {
		t.Errorf("paused: %+v", paused)
	}
	h.ok("GET", "/webhooks/paused?form="+hook.ID.String(), "", &paused)
	expect.That(t, len(paused.Items) == 0, "paused of another form: %+v", paused)

	h.ok("POST", at+"/test", "")
	if claimed := h.claim(); len(claimed) != 1 || !claimed[0].SubmissionID.IsZero() {
		t.Fatalf("the test event: %+v", claimed)
	} else {
		h.settle(claimed, 200)
	}
	var body struct{ Body any }
	h.ok("GET", at+"/deliveries/"+h.deliveries(hook)[0].ID.String()+"/body", "", &body)
	expect.That(t, body.Body == nil, "the body of a test event: %v", body)

	var queued struct{ Queued int }
	h.ok("POST", at+"/redeliver", fmt.Sprintf(`{"since":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)), &queued)
	expect.That(t, queued.Queued == 0, "queued since an hour to come: %d", queued.Queued)
	h.ok("POST", at+"/redeliver", `{}`, &queued)
	expect.That(t, queued.Queued == 1, "queued: %d", queued.Queued)
	h.ok("POST", at+"/redeliver", `{}`, &queued)
	expect.That(t, queued.Queued == 0, "queued twice: %d", queued.Queued)
	h.settle(h.claim(), 200)

	// What is shown is what was sent.
	h.ok("POST", at+"/deliveries/"+first.String()+"/redeliver", "")
	claimed := h.claim()
	expect.Require(t, len(claimed) == 1, "queued again: %+v", claimed)
	var sent any
	expect.NoError(h.T, json.Unmarshal(claimed[0].Body, &sent))
	h.ok("GET", at+"/deliveries/"+first.String()+"/body", "", &body)
	expect.That(t, reflect.DeepEqual(sent, body.Body), "sent %s, shown %v", claimed[0].Body, body.Body)

	off := false
	expect.Must(h.owner().UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{Enabled: &off}))
	for _, path := range []string{"/test", "/deliveries/" + first.String() + "/redeliver"} {
		expect.Equal(t, h.as("owner", "POST", at+path, ""), http.StatusConflict, "%v of a webhook that is off", path)
	}
}

// A local webhook of the host is in no list of the builder, and every endpoint answers as if it did not exist.
func TestLocalHooksAreHidden(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	hook := expect.Must(h.service.LocalWebhooks().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "local:mail"}))
	expect.NoError(t, h.service.SendTestEvent(t.Context(), hook.ID))
	pool := storage.Pool{MaxDeliveries: 100}
	claimed, _, err := h.store.ClaimDeliveries(t.Context(), storage.ClaimParams{Lease: time.Hour, NewOrFailing: pool, PerWebhook: 100, Local: []string{"local:mail"}})
	expect.NoError(t, err)
	h.settle(claimed, 500)
	log := expect.Must(h.service.LocalWebhooks().Deliveries(t.Context(), hook.ID))
	expect.Require(t, len(log) == 1, "the log is %+v", log)

	var list struct{ Items []struct{ ID formsvc.ID } }
	for _, path := range []string{"/forms/" + form.ID.String() + "/webhooks", "/webhooks/paused", "/webhooks/paused?form=" + form.ID.String()} {
		h.ok("GET", path, "", &list)
		expect.That(t, len(list.Items) == 0, "%s lists %+v", path, list.Items)
	}
	if w := h.serve("owner", "GET", "/forms/-/v1/webhooks", ""); w.Code != http.StatusOK || strings.Contains(w.Body.String(), hook.ID.String()) {
		t.Errorf("the API lists %d %s", w.Code, w.Body)
	}
	at := "/webhooks/" + hook.ID.String()
	delivery := at + "/deliveries/" + log[0].ID.String()
	for _, c := range [][3]string{
		{"POST", "/builder" + at + "/test", ""},
		{"POST", "/builder" + at + "/redeliver", "{}"},
		{"POST", "/builder" + delivery + "/redeliver", ""},
		{"GET", "/builder" + delivery + "/body", ""},
		{"GET", "/v1" + at, ""},
		{"GET", "/v1" + at + "/deliveries", ""},
		{"PATCH", "/v1" + at, `{"enabled":false}`},
		{"DELETE", "/v1" + at, ""},
	} {
		expect.Equal(t, h.serve("owner", c[0], "/forms/-"+c[1], c[2]).Code, http.StatusNotFound, "%s %s", c[0], c[1])
	}
	code := h.serve("owner", "POST", "/forms/-/v1/webhooks", fmt.Sprintf(`{"form_id":%q,"url":"local:mail"}`, form.ID)).Code
	expect.Equal(t, code, http.StatusUnprocessableEntity, "a local URL")
	expect.Must(h.service.LocalWebhooks().Webhook(t.Context(), hook.ID))
}

// An endpoint of the builder stores the switches of a webhook, if the user can see its form.
func TestEventsOfAHook(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	hook := h.hook(form)
	at := "/webhooks/" + hook.ID.String() + "/events"
	expect.Equal(t, h.as("stranger", "PUT", at, `{"form_details":true}`), http.StatusNotFound, "a stranger")
	type switches struct {
		FormDetails bool `json:"form_details"`
		Updates     bool `json:"updates"`
	}
	for _, c := range []struct {
		body string
		want switches
	}{
		{`{"form_details":true,"updates":false}`, switches{true, false}},
		{`{"updates":true}`, switches{true, true}},
		{`{"form_details":false}`, switches{false, true}},
		{`{"form_details":false,"updates":false}`, switches{}},
	} {
		h.ok("PUT", at, c.body)
		var list struct{ Items []switches }
		h.ok("GET", "/forms/"+form.ID.String()+"/webhooks", "", &list)
		expect.That(t, len(list.Items) == 1 && list.Items[0] == c.want, "after %s: %+v, want %+v", c.body, list, c.want)
	}
}
