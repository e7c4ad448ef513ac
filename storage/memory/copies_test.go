package memory

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/storage"
)

// scribble overwrites every byte, scope and key that can be reached from v, and
// appends to every slice of bytes as far as its capacity goes.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[time.Time](), reflect.TypeFor[storage.Definition](): // a definition is read only
			return
		}
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b := v.Bytes()
			clear(b)
			clear(b[len(b):cap(b)])
			return
		}
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scribbled")
		}
	}
}

func render(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", " ")
	must(t, err)
	return string(out)
}

// TestCopies reads everything that has reference members twice and scribbles
// over the first result in between.
func TestCopies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t, WithClock(func() time.Time { return start }))
	hook := b.addWebhook(t, 1)
	b.submit(t, 1)
	must(t, b.store.SetLifetimeCounters(ctx, b.form, storage.Counters{Views: 7}))
	put := storage.DocumentChange{Kind: "version", Key: "1", Value: json.RawMessage(`{"v":1}`), At: start}
	_, err := b.store.PutDocument(ctx, b.owner, b.form, put)
	must(t, err)

	reads := map[string]func() (any, error){
		"Form": func() (any, error) {
			f, err := b.store.Form(ctx, b.owner, b.form)
			return &f, err
		},
		"FormByPublicID": func() (any, error) {
			f, err := b.store.FormByPublicID(ctx, b.form.String())
			return &f, err
		},
		"Document": func() (any, error) {
			d, err := b.store.Document(ctx, b.owner, b.form, "version", "1")
			return &d, err
		},
		"Documents": func() (any, error) {
			d, _, err := b.store.Documents(ctx, b.owner, b.form, storage.DocumentQuery{Kind: "version", Limit: 9})
			return d, err
		},
		"PutDocument": func() (any, error) {
			put.Value = json.RawMessage(`{"v":2}`)
			d, err := b.store.PutDocument(ctx, b.owner, b.form, put)
			d.Revision = 0
			return &d, err
		},
		"FormForKey": func() (any, error) {
			got, err := b.store.FormForKey(ctx, storage.FormForKeyParams{Hash: b.hash, Form: b.form, At: start})
			return &got, err
		},
		"KeyByHash": func() (any, error) {
			k, _, err := b.store.KeyByHash(ctx, b.hash)
			return &k, err
		},
		"Keys": func() (any, error) { return b.store.Keys(ctx, b.user.ID) },
		"Submission": func() (any, error) {
			s, err := b.store.Submission(ctx, b.owner, b.form, id('s', 1))
			return &s, err
		},
		"SubmissionByKey": func() (any, error) {
			s, err := b.store.SubmissionByKey(ctx, b.form, b.response(1).IdempotencyKey)
			return &s, err
		},
		"Submit again": func() (any, error) {
			s, _, err := b.store.Submit(ctx, b.response(1))
			return &s, err
		},
		"Submissions": func() (any, error) {
			return storage.ListSubmissions(ctx, b.store, b.owner, b.form, storage.SubmissionsParams{Page: storage.Page{Limit: 9}})
		},
		"Webhook": func() (any, error) {
			w, err := b.store.Webhook(ctx, b.owner, hook)
			return &w, err
		},
		"Webhooks": func() (any, error) { return b.store.Webhooks(ctx, b.owner, storage.Page{Limit: 9}) },
		"ClaimDeliveries": func() (any, error) {
			// The lease has no length, so the next call claims the same again.
			d, _, err := b.store.ClaimDeliveries(ctx, storage.ClaimParams{Others: storage.Pool{Room: 9}, PerWebhook: 9})
			for i := range d {
				d[i].Lease.Token = 0
			}
			return d, err
		},
		"Members": func() (any, error) { return b.store.Members(ctx, b.workspace) },
		"Funnel": func() (any, error) {
			f, err := b.store.Funnel(ctx, b.owner, b.form, storage.Window{})
			if err == nil && f.Lifetime.Views != 7 {
				t.Errorf("lifetime views = %d, want 7", f.Lifetime.Views)
			}
			f.Lifetime.Views++
			return &f, err
		},
	}
	for name, read := range reads {
		t.Run("What comes from "+name+" is the caller's own", func(t *testing.T) {
			first, err := read()
			must(t, err)
			before := render(t, first)
			scribble(reflect.ValueOf(first))
			second, err := read()
			must(t, err)
			if diff := cmp.Diff(before, render(t, second)); diff != "" {
				t.Errorf("second read (-first +second):\n%s", diff)
			}
		})
	}
}

func TestUTC(t *testing.T) {
	t.Parallel()
	now := time.Now()
	if a, b := utc(now), utc(now.In(time.FixedZone("", 3600))); a != b || !a.Equal(now) {
		t.Errorf("utc = %v and %v, want one value equal to %v", a, b, now)
	}
	if got := utc(time.Time{}); got != (time.Time{}) {
		t.Errorf("utc of the zero time = %v", got)
	}
}
