package servicetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// auditing is a host's decorator.
type auditing struct{ *postgres.Store }

func TestNewRefusesAStorageThatIsNone(t *testing.T) {
	t.Parallel()
	var pool *pgxpool.Pool
	svc := servicetest.New(t, memory.New())
	for _, c := range []struct {
		store storage.Storage
		says  string
	}{
		{nil, "nil"},
		{(*memory.Store)(nil), "*memory.Store"},
		{(*postgres.Store)(nil), "*postgres.Store"},
		{auditing{}, "the store is nil"},
		{&postgres.Store{}, "the pool or transaction is nil"},
		{postgres.New(nil), "the pool or transaction is nil"},
		{postgres.New(pool), "the pool or transaction is nil"},
		{auditing{postgres.New(pool)}, "the pool or transaction is nil"},
	} {
		_, err := formsvc.New(formsvc.WithStorage(c.store))
		if err == nil || !strings.Contains(err.Error(), "WithStorage") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("New with %T = %v, want an error with %q", c.store, err, c.says)
		}
		said := fmt.Sprint(panicOf(func() { svc.Using(c.store) }))
		if !strings.Contains(said, "formsvc: Using: ") || !strings.Contains(said, c.says) {
			t.Errorf("Using(%T) says %q, want %q", c.store, said, c.says)
		}
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (thrown any) {
	defer func() { thrown = recover() }()
	f()
	return nil
}

// Every method of a zero Client says what is wrong.
func TestAZeroClientSaysSo(t *testing.T) {
	t.Parallel()
	client := reflect.ValueOf(formsvc.Client{})
	for i := range client.NumMethod() {
		method, name := client.Method(i), client.Type().Method(i).Name
		var args []reflect.Value
		fixed := method.Type().NumIn()
		if method.Type().IsVariadic() {
			fixed--
		}
		for k := range fixed {
			arg := reflect.New(method.Type().In(k)).Elem()
			if arg.Type() == reflect.TypeFor[context.Context]() {
				arg.Set(reflect.ValueOf(t.Context()))
			}
			args = append(args, arg)
		}
		said := panicOf(func() {
			out := method.Call(args)
			if out[0].Kind() == reflect.Func { // a list, which reads in its loop
				for range out[0].Seq2() {
					break
				}
			}
		})
		if text, ok := said.(string); !ok || !strings.Contains(text, "Client is zero") {
			t.Errorf("%s: %v", name, said)
		}
	}
}

func TestAClosedPoolIsUnavailable(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	servicetest.Migrated(t, pgtest.Pool(t), postgres.WithSchema(schema))
	pool, err := pgxpool.New(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	b := servicetest.SetupOn(t, postgres.New(pool, postgres.WithSchema(schema)), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	pool.Close()
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/workspaces", ""},
		{http.MethodPatch, "/forms/" + form.String(), `{"name":"Other"}`},
	} {
		if w := b.Do(r.method, r.path, r.body, nil); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s, want 503 with Retry-After", r.method, r.path, w.Code, w.Body)
		}
	}
	if _, err := b.Answer(form, "name", `"x"`); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Submit = %v", err)
	}
	// What waits to be written cannot be any more, and the next call has nothing left to write.
	if err := b.Close(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Close = %v", err)
	}
}

// panickyStore is a host's storage with a fault: while broken it panics after it has made room
// for deliveries, or fails and gives the room back late, when its caller has gone.
type panickyStore struct {
	storage.Storage
	broken, panics atomic.Bool
}

func (s *panickyStore) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if !s.broken.Load() {
		return s.Storage.Submit(ctx, n)
	}
	if n.HandOver != nil {
		n.HandOver.Reserve(n.Submission.FormID)
		n.HandOver.Reserve(n.Submission.FormID) // as for another try
	}
	if s.panics.Load() {
		panic("broken")
	}
	if n.HandOver != nil {
		time.AfterFunc(time.Millisecond, func() { n.HandOver.HandOver(nil, false) })
	}
	return storage.Submission{}, false, storage.ErrUnavailable
}

// A storage that panics between Reserve and HandOver does not stop the webhooks, nor does one
// that calls HandOver after its Submit has returned.
func TestWhatABrokenStorageReservedIsGivenBack(t *testing.T) {
	t.Parallel()
	store := &panickyStore{Storage: memory.New()}
	b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit())
	url, requests := servicetest.Receiver(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	hook := b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()
	answer := func(text string) {
		t.Helper()
		if _, err := b.Answer(form, "name", `"`+text+`"`); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-requests:
			if !strings.Contains(got.Body, text) {
				t.Fatalf("sent %s, want %q", got.Body, text)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q is not sent", text)
		}
	}
	answer("the first")
	b.Deliveries(hook, 1) // it is known to be quick, so that room is made for it
	for _, panics := range []bool{true, false} {
		store.panics.Store(panics)
		store.broken.Store(true)
		for range 1000 {
			thrown := panicOf(func() {
				if _, err := b.Answer(form, "name", `"x"`); !errors.Is(err, storage.ErrUnavailable) {
					t.Errorf("Submit = %v", err)
				}
			})
			if (thrown == "broken") != panics {
				t.Fatalf("Submit panics with %v", thrown)
			}
		}
		store.broken.Store(false)
		answer(fmt.Sprintf("after panics: %v", panics))
	}
}
