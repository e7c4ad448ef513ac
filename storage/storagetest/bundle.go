package storagetest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// bundle is what a case works with: the test, the store, and makers of records
// with ids of their own. Its methods belong to the case's goroutine.
type bundle struct {
	reporter
	store  storage.Storage
	second storage.Storage // another handle on the data of store, or store itself

	ticks    int
	users    []storage.ID // whose keys a snapshot shows
	hashes   [][32]byte
	webhooks []storage.ID
}

// at returns a fixed time, d after the one at which the suite's records begin.
// It has microseconds, so that a store that loses them fails early.
func at(d time.Duration) time.Time {
	return time.Date(2026, 3, 4, 5, 6, 7, 891011000, time.UTC).Add(d)
}

// soon is after every record that a bundle makes.
func soon() time.Time { return at(24 * time.Hour) }

// tick returns a time that is later than the one before.
func (b *bundle) tick() time.Time {
	b.ticks++
	return at(time.Duration(b.ticks) * time.Second)
}

// newID returns a random id. It is safe in any goroutine.
func newID() storage.ID {
	var id storage.ID
	rand.Read(id[:]) // never fails, says its documentation
	return id
}

// text returns a string that nobody else has.
func text(kind string) string { return kind + "-" + newID().String() }

func (b *bundle) user() storage.ID {
	id := newID()
	b.users = append(b.users, id)
	return id
}

func (b *bundle) newWorkspace(owner storage.ID) storage.Workspace {
	now := b.tick()
	return storage.Workspace{
		ID: newID(), PublicID: text("w"), OwnerID: owner, Name: text("Workspace"),
		CreatedAt: now, UpdatedAt: now,
	}
}

func (b *bundle) addWorkspace(owner storage.ID) storage.Workspace {
	b.Helper()
	w := b.newWorkspace(owner)
	b.ok(b.store.CreateWorkspace(b.Context(), w, 0), "CreateWorkspace")
	return w
}

func (b *bundle) addMember(workspace storage.ID) storage.ID {
	b.Helper()
	user := b.user()
	b.ok(b.store.SetMember(b.Context(), workspace, user, true), "SetMember")
	return user
}

// newForm returns a published form.
func (b *bundle) newForm(workspace storage.ID) storage.Form {
	now := b.tick()
	return storage.Form{
		ID: newID(), PublicID: text("f"), WorkspaceID: workspace,
		Status: storage.StatusPublished, Revision: 1,
		CreatedAt: now, UpdatedAt: now,
		FormContent: storage.FormContent{Name: text("Form"), Type: "SINGLE", Definition: storage.Definition{
			Blocks:       json.RawMessage(`[{"id":"q1","type":"short_text"}]`),
			Settings:     json.RawMessage(`{"branding":true}`),
			Theme:        json.RawMessage(`{"font":"Inter"}`),
			Variables:    json.RawMessage(`{"score":1.50}`),
			HiddenFields: json.RawMessage(`["ref"]`),
			Format:       1,
		}},
	}
}

func (b *bundle) addForm(workspace storage.ID, edit ...func(*storage.Form)) storage.Form {
	b.Helper()
	f := b.newForm(workspace)
	for _, e := range edit {
		e(&f)
	}
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm")
	return f
}

// anyForm adds a form in a workspace of a new user.
func (b *bundle) anyForm(edit ...func(*storage.Form)) storage.Form {
	b.Helper()
	return b.addForm(b.addWorkspace(b.user()).ID, edit...)
}

func withLimit(n int64) func(*storage.Form) {
	return func(f *storage.Form) { f.Acceptance.ResponseLimit = n }
}

func asDraft(f *storage.Form) { f.Status = storage.StatusDraft }

// newSubmission returns a response to the form as it is at f.Revision.
func (b *bundle) newSubmission(f storage.Form) storage.NewSubmission {
	now := b.tick()
	return submissionAt(f, now)
}

// submissionAt is newSubmission for any goroutine.
func submissionAt(f storage.Form, now time.Time) storage.NewSubmission {
	id, event := newID(), newEvent()
	return storage.NewSubmission{
		Submission: storage.Submission{
			ID: id, FormID: f.ID, FormRevision: f.Revision, SubmittedAt: now, CompletionTime: 12.5, Revision: 1,
			Answers:  json.RawMessage(fmt.Sprintf(`[{"field":{"id":"q1"},"value":%q}]`, id)),
			Metadata: json.RawMessage(`{"country":"NL"}`),
			Hidden:   json.RawMessage(`{"ref":"mail"}`),
			Ending:   []string{"", "thanks"}[id[len(id)-1]%2],
		},
		FormRevision: f.Revision,
		Event:        event,
	}
}

func newEvent() storage.Event {
	id := newID()
	return storage.Event{ID: id, Type: "form.response.completed", Body: []byte(`{"id": "` + id.String() + `"}`)}
}

// submit stores a response that has to be accepted.
func (b *bundle) submit(f storage.Form, edit ...func(*storage.NewSubmission)) storage.NewSubmission {
	b.Helper()
	n := b.newSubmission(f)
	for _, e := range edit {
		e(&n)
	}
	_, replayed, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit")
	if replayed {
		b.Fatalf("Submit: want a new submission, got an earlier one (replayed is true)")
	}
	return n
}

func withKey(key string) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) { n.IdempotencyKey = key }
}

func withAnswer(digest string) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) { n.UniqueField, n.UniqueAnswer = fieldOne, []byte(digest) }
}

func (b *bundle) newWebhook(form storage.ID) storage.Webhook {
	now := b.tick()
	return storage.Webhook{
		ID: newID(), FormID: form, URL: "https://" + text("host") + ".example/hook", Enabled: true,
		HasSecret: true, CreatedAt: now, UpdatedAt: now,
	}
}

// secretOf returns the secret that createWebhook gives to a webhook.
func secretOf(w storage.Webhook) []byte {
	if !w.HasSecret {
		return nil
	}
	return []byte("secret of " + w.ID.String())
}

// createWebhook adds a webhook with its secret. HasSecret, which is for the store to set,
// goes in as what it is not.
func (b *bundle) createWebhook(w storage.Webhook, limit int) error {
	n := storage.NewWebhook{Webhook: w, Secret: secretOf(w), Max: limit}
	n.Webhook.HasSecret = !w.HasSecret
	return b.store.CreateWebhook(b.Context(), storage.AsHost(), n)
}

// secret returns the stored secret of a webhook, "" when it has none.
func (b *bundle) secret(webhook storage.ID) string {
	b.Helper()
	list, err := b.store.Secrets(b.Context(), storage.ID{}, 1000)
	b.ok(err, "Secrets")
	for _, stored := range list {
		if stored.WebhookID == webhook {
			return string(stored.Secret)
		}
	}
	return ""
}

func (b *bundle) addWebhook(form storage.ID, edit ...func(*storage.Webhook)) storage.Webhook {
	b.Helper()
	w := b.newWebhook(form)
	for _, e := range edit {
		e(&w)
	}
	b.ok(b.createWebhook(w, 0), "CreateWebhook")
	b.webhooks = append(b.webhooks, w.ID)
	return w
}

func asDisabled(w *storage.Webhook) { w.Enabled = false }

// enqueue queues a new event for the webhook.
func (b *bundle) enqueue(webhook storage.ID) storage.Event {
	b.Helper()
	e := newEvent()
	b.ok(b.store.Enqueue(b.Context(), webhook, e), "Enqueue")
	return e
}

// formOf reads the form of a webhook.
func (b *bundle) formOf(w storage.Webhook) storage.Form {
	b.Helper()
	return b.getForm(w.FormID)
}

func (b *bundle) newKey(user storage.ID) (storage.Key, [32]byte) {
	now := b.tick()
	var hash [32]byte
	rand.Read(hash[:])
	return storage.Key{
		ID: newID(), UserID: user, Name: text("Key"), Prefix: "fs_live_abcd",
		Scopes:    []storage.Scope{storage.ScopeFormsRead, storage.ScopeFormsWrite},
		CreatedAt: now,
	}, hash
}

func newUser(id storage.ID) storage.User {
	return storage.User{ID: id, Name: "Ada " + id.String(), Email: id.String() + "@example.com"}
}

func (b *bundle) addKey(user storage.ID, edit ...func(*storage.Key)) (storage.Key, [32]byte) {
	b.Helper()
	k, hash := b.newKey(user)
	for _, e := range edit {
		e(&k)
	}
	b.ok(b.store.CreateKey(b.Context(), storage.NewKey{User: newUser(user), Key: k, Hash: hash, Max: 0}), "CreateKey")
	b.hashes = append(b.hashes, hash)
	return k, hash
}

// together calls f(0) … f(n-1) at the same time and returns their errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// everyRecord is a page size that is larger than the number of records of any case.
const everyRecord = 1 << 20

func ptr[V any](v V) *V { return &v }
