package memory

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// id returns the nth id of a kind, so that ids of different kinds never meet.
func id(kind byte, n int) storage.ID {
	out := storage.ID{kind}
	binary.BigEndian.PutUint64(out[4:], uint64(n))
	return out
}

// bundle is a store with one owner, one workspace and one published form.
type bundle struct {
	store     *Store
	owner     storage.Actor
	user      storage.User
	workspace storage.ID
	form      storage.ID
	hash      [32]byte // of a key of the owner
}

func setup(tb testing.TB, opts ...Option) *bundle {
	tb.Helper()
	b := &bundle{
		store:     New(opts...),
		owner:     storage.As(id('u', 1)),
		user:      storage.User{ID: id('u', 1), Name: "Ada", Email: "ada@example.com"},
		workspace: id('w', 1),
		form:      id('f', 1),
		hash:      [32]byte{1},
	}
	ctx := context.Background()
	must(tb, b.store.CreateWorkspace(ctx, storage.Workspace{
		ID: b.workspace, PublicID: "w1", OwnerID: b.user.ID, Name: "Main", CreatedAt: start, UpdatedAt: start,
	}, 0))
	must(tb, b.store.CreateForm(ctx, b.owner, newForm(b, b.form, 4096)))
	must(tb, b.store.CreateKey(ctx, storage.NewKey{User: b.user, Key: storage.Key{
		ID: id('k', 1), UserID: b.user.ID, Name: "ci", Prefix: "fs_live_a", Scopes: storage.Scopes(), CreatedAt: start,
	}, Hash: b.hash, Max: 20}))
	return b
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// newForm returns a published form with blocks of about size bytes.
func newForm(b *bundle, form storage.ID, size int) storage.Form {
	blocks, _ := json.Marshal([]any{map[string]any{"id": "a", "label": string(make([]byte, size/6))}})
	return storage.Form{
		ID: form, PublicID: form.String(), WorkspaceID: b.workspace,
		Status: storage.StatusPublished, Revision: 1, CreatedAt: start, UpdatedAt: start,
		FormContent: storage.FormContent{Name: "Survey", Type: "SINGLE", Definition: storage.Definition{
			Blocks:       blocks,
			Settings:     json.RawMessage(`{"branding":true}`),
			Theme:        json.RawMessage(`{"font":"Inter"}`),
			Variables:    json.RawMessage(`{"score":0}`),
			HiddenFields: json.RawMessage(`["ref"]`),
			Format:       1,
		}},
	}
}

func (b *bundle) addWebhook(tb testing.TB, n int) storage.ID {
	tb.Helper()
	w := storage.Webhook{ID: id('h', n), FormID: b.form, URL: "https://example.com/hook", Enabled: true, CreatedAt: start, UpdatedAt: start}
	must(tb, b.store.CreateWebhook(context.Background(), b.owner, storage.NewWebhook{Webhook: w, Secret: []byte("0123456789abcdef")}))
	return w.ID
}

// response returns the nth submission of the bundle's form, one second after the
// one before.
func (b *bundle) response(n int) storage.NewSubmission {
	at := start.Add(time.Duration(n) * time.Second)
	answers, _ := json.Marshal([]any{map[string]any{"field": map[string]string{"id": "a"}, "value": string(make([]byte, 200))}})
	return storage.NewSubmission{
		Submission: storage.Submission{
			ID: id('s', n), FormID: b.form, SubmittedAt: at, CompletionTime: 12,
			Answers: answers, Metadata: json.RawMessage(`{"device":"desktop"}`), Hidden: json.RawMessage(`{"ref":"x"}`),
		},
		FormRevision:   1,
		UniqueAnswer:   binary.BigEndian.AppendUint64(nil, uint64(n)),
		IdempotencyKey: "attempt-" + id('s', n).String(),
		Event:          storage.Event{ID: id('e', n), Type: "form.response.completed", Body: answers},
	}
}

func (b *bundle) submit(tb testing.TB, n int) {
	tb.Helper()
	_, _, err := b.store.Submit(context.Background(), b.response(n))
	must(tb, err)
}
