package memory

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
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

// The last attempt of a delivery that ends without another one says so.
func TestNothingFollowsWhatEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, b *bundle, hook storage.ID){
		"its webhook is disabled": func(t *testing.T, b *bundle, hook storage.ID) {
			_, err := b.store.UpdateWebhook(t.Context(), b.owner, hook, storage.WebhookChange{Enabled: new(bool), At: start})
			must(t, err)
		},
		"its form goes to the trash": func(t *testing.T, b *bundle, _ storage.ID) {
			must(t, b.store.TrashForm(t.Context(), b.owner, b.form, storage.TrashParams{At: start}))
			must(t, b.store.RestoreForm(t.Context(), b.form, storage.ID{}, start))
		},
		"it expires": func(t *testing.T, b *bundle, _ storage.ID) {
			p := storage.ExpireParams{NewID: func() storage.ID { return id('x', 1) }, At: start.Add(-time.Hour)}
			none, err := b.store.ExpireDeliveries(t.Context(), p)
			if err != nil || none.Deliveries != 0 || !none.Next.IsZero() {
				t.Errorf("a call with a Max of 0: %+v, %v", none, err)
			}
			p.Max = 1
			done, err := b.store.ExpireDeliveries(t.Context(), p)
			if err != nil || done.Deliveries != 1 {
				t.Errorf("ended %d deliveries, want 1: %v", done.Deliveries, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := start
			b := setup(t, WithClock(func() time.Time { return clock }))
			hook := b.addWebhook(t, 1)
			b.submit(t, 1)
			got, _, err := b.store.ClaimDeliveries(t.Context(), storage.ClaimParams{Others: storage.Pool{Room: 1}, PerWebhook: 1})
			must(t, err)
			_, err = b.store.FinishDeliveries(t.Context(), []storage.Result{{
				Lease: got[0].Lease, Delivery: &storage.Delivery{ID: id('a', 1), EventID: got[0].Lease.EventID, CreatedAt: start},
				RetryIn: time.Minute, Standing: storage.Standing{Failures: 1},
			}})
			must(t, err)
			newest := func() storage.Delivery {
				list, err := b.store.Deliveries(t.Context(), b.owner, hook, 1)
				must(t, err)
				return list[0]
			}
			if newest().NextAttemptAt.IsZero() {
				t.Fatal("nothing follows while the delivery waits")
			}
			clock = clock.Add(time.Hour)
			end(t, b, hook)
			if a := newest(); !a.NextAttemptAt.IsZero() {
				t.Errorf("NextAttemptAt = %v after the delivery ended", a.NextAttemptAt)
			}
		})
	}
}

// farFuture is a clock that no count is ahead of.
var farFuture = time.Unix(1<<40, 0)

func TestFunnel(t *testing.T) {
	t.Parallel()

	t.Run("Tells minutes apart as far as two days back, also for a count that comes late", func(t *testing.T) {
		t.Parallel()
		f := funnel{counts: map[int64]storage.Counters{}}
		border := start.Add(-48 * time.Hour)
		f.add(border, farFuture, storage.Counters{Views: 1})
		f.add(start, farFuture, storage.Counters{Views: 1})
		f.add(border, farFuture, storage.Counters{Views: 1})
		if got := f.window(border, border.Add(time.Minute)).Views; got != 2 {
			t.Errorf("views = %d, want 2", got)
		}
	})

	t.Run("Keeps a bounded number of minutes", func(t *testing.T) {
		t.Parallel()
		f := funnel{counts: map[int64]storage.Counters{}}
		const days, minutes = 10, 10 * day / minute
		for i := range minutes {
			f.add(start.Add(time.Duration(i)*time.Minute), farFuture, storage.Counters{Views: 1})
		}
		if n, most := len(f.counts), 3*day/minute+days; n > most {
			t.Errorf("%d minutes and days, want at most %d", n, most)
		}
		if got := f.window(time.Time{}, time.Time{}).Views; got != minutes {
			t.Errorf("all = %d, want %d", got, minutes)
		}
	})
}

// The store keeps users by id, and a host may by mistake name the zero id.
func TestZeroActor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t)
	b.addWebhook(t, 1)
	must(t, b.store.CreateWorkspace(ctx, storage.Workspace{ID: id('w', 2), PublicID: "w2", CreatedAt: start}, 0))
	must(t, b.store.SetMember(ctx, b.workspace, storage.ID{}, true))
	for name, who := range map[string]storage.Actor{"The zero actor": {}, "The actor for the zero id": storage.As(storage.ID{})} {
		t.Run(name+" sees nothing, not even what the zero id owns", func(t *testing.T) {
			t.Parallel()
			workspaces, err := b.store.Workspaces(ctx, who, storage.Page{Limit: 9})
			must(t, err)
			forms, err := b.store.Forms(ctx, who, storage.FormsParams{Page: storage.Page{Limit: 9}})
			must(t, err)
			webhooks, err := b.store.Webhooks(ctx, who, storage.Page{Limit: 9})
			must(t, err)
			if n := len(workspaces) + len(forms) + len(webhooks); n != 0 {
				t.Errorf("listed %d records, want none", n)
			}
			for _, w := range []storage.ID{b.workspace, id('w', 2)} {
				if _, err := b.store.Workspace(ctx, who, w); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("Workspace = %v, want ErrNotFound", err)
				}
			}
		})
	}
}
