package servicetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// A host submits inside its own transaction: what it rolls back never was, and
// what it commits is sent.
func TestASubmitInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	url, requests := servicetest.Receiver(t)
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()

	submit := func(name string, end func(pgx.Tx) error) {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		inTx := b.Using(store.On(tx))
		if _, err := inTx.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"`+name+`"`)}); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
		b.Dispatcher().Wake()
	}
	submit("rolled back", func(tx pgx.Tx) error { return tx.Rollback(t.Context()) })
	if n := b.Submissions(form); n != 0 {
		t.Errorf("%d submissions after a rollback, want 0", n)
	}
	submit("committed", func(tx pgx.Tx) error { return tx.Commit(t.Context()) })
	if got := <-requests; !strings.Contains(got.Body, "committed") {
		t.Errorf("sent %s, want the response that was committed", got.Body)
	}
	if n := b.Submissions(form); n != 1 {
		t.Errorf("%d submissions, want 1", n)
	}
}

// A transaction that is rolled back takes its revision with it, and the number
// comes to mean another definition. What the transaction compiled must not be used
// for that one.
func TestARolledBackDefinitionIsNotRemembered(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t)
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	path := "/forms/" + form.String()

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inTx := *b
	inTx.Service = b.Using(store.On(tx))
	numbers := `[{"id":"name","type":"number"}]`
	if w := inTx.Do(http.MethodPatch, path, `{"definition":{"blocks":`+numbers+`}}`, nil); w.Code != http.StatusOK {
		t.Fatalf("in the transaction: %d %s", w.Code, w.Body)
	}
	for _, step := range []struct {
		on     *formsvc.Service
		answer string
		stored bool
	}{{inTx.Service, `1`, true}, {inTx.Service, `"text"`, false}} {
		_, err := step.on.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", step.answer)})
		if (err == nil) != step.stored {
			t.Errorf("in the transaction, %s: %v", step.answer, err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	// The same revision again, with another definition.
	texts := `[{"id":"name","type":"long_text"}]`
	if w := b.Do(http.MethodPatch, path, `{"definition":{"blocks":`+texts+`}}`, nil); w.Code != http.StatusOK {
		t.Fatalf("after the rollback: %d %s", w.Code, w.Body)
	}
	var refused *formsvc.Error
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `1`)}); !errors.As(err, &refused) {
		t.Errorf("a number: %v, want an Error", err)
	}
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"text"`)}); err != nil {
		t.Errorf("a text: %v", err)
	}
}

// A host that forgets the schema of its service does not write into another one.
func TestAStoreOnATransactionKeepsItsSchema(t *testing.T) {
	t.Parallel()
	database := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, database.URL())
	other := servicetest.Migrated(t, pool)
	store := servicetest.Migrated(t, pool, postgres.WithSchema("tenant"))
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)

	submit := func(on func(pgx.Tx) storage.Storage) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := b.Using(on(tx)).Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
			return err
		})
	}
	if err := submit(func(tx pgx.Tx) storage.Storage { return store.On(tx) }); err != nil {
		t.Errorf("Store.On: %v", err)
	}
	err := submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx) })
	if err == nil || !strings.Contains(err.Error(), `"tenant"`) {
		t.Errorf("New without a schema: %v, want an error that names the other schema", err)
	}
	for name, named := range map[string]postgres.Option{"the right one": postgres.WithSchema("tenant"), "the default one": postgres.WithSchema(postgres.DefaultSchema)} {
		err := submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx, named) })
		if (err == nil) != (name == "the right one") || err != nil && !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("New with the schema of %s: %v", name, err)
		}
	}
	if n := b.Submissions(form); n != 2 {
		t.Errorf("%d submissions, want 2", n)
	}
	if found, err := other.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1}); err != nil || len(found) != 0 {
		t.Errorf("the other schema has %d workspaces, %v", len(found), err)
	}

	// With one schema in the database there is nothing to forget. What the service has gathered
	// goes with the other one.
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `DROP SCHEMA tenant CASCADE`); err != nil {
		t.Fatal(err)
	}
	err = submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx) })
	if !errors.Is(err, formsvc.ErrNotFound) {
		t.Errorf("New without a schema, in a database with one: %v, want ErrNotFound", err)
	}
}

func TestTwoServicesOnOneSchemaShareEverythingAtOnce(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	first := servicetest.SetupOn(t, servicetest.Migrated(t, pgtest.Pool(t), postgres.WithSchema(schema)))
	second := servicetest.SetupOn(t, postgres.New(pgtest.Pool(t), postgres.WithSchema(schema)))
	form := first.Form(servicetest.TextBlock, `{}`)
	if code := servicetest.Get(t, second, "/v1/forms/"+form.String(), first.Key); code != http.StatusOK {
		t.Errorf("the other service's form with the other service's key: %d", code)
	}
	keys, err := first.Keys(t.Context(), first.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if err := first.RevokeKey(t.Context(), first.User.ID, k.ID); err != nil {
			t.Fatal(err)
		}
	}
	if code := servicetest.Get(t, second, "/v1/forms/"+form.String(), first.Key); code != http.StatusUnauthorized {
		t.Errorf("a key that the other service revoked: %d", code)
	}

	apart := servicetest.SetupOn(t, servicetest.PostgresStore(t))
	if code := servicetest.Get(t, apart, "/v1/me", second.Key); code != http.StatusUnauthorized {
		t.Errorf("a key of another schema: %d", code)
	}
}

// A client that goes away in the middle gives its connection back.
func TestAClientThatDisconnectsLeavesNoConnectionBusy(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(2))
	b := servicetest.SetupOn(t, servicetest.Migrated(t, pool, postgres.WithSchema(schema)), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	for i := range 100 {
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d %s"`, i, strings.Repeat("x", 5000)))}); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(b)
	defer server.Close()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/forms/"+form.String()+"/submissions?limit=100", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", b.Key)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(response.Body, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		cancel()
		response.Body.Close()
	}
	if code := servicetest.Get(t, b, "/v1/me", b.Key); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
	server.CloseClientConnections()
	server.Close() // waits for the handlers
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are busy, want 0", n)
	}
}

// The server is killed under load. Every write that was acknowledged is there
// afterwards, and every call that failed was an error in the shape of the API.
func TestTheServerIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	const kills, writers = 3, 8
	database := pgtest.NewServer(t, pgtest.Config{})
	b := servicetest.SetupOn(t, servicetest.Migrated(t, pgtest.PoolAt(t, database.URL(), pgtest.MaxConns(writers))), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	api := httptest.NewServer(b)
	defer api.Close()

	var (
		mu       sync.Mutex
		made     []string // acknowledged workspaces, by id
		answered []formsvc.ID
		failed   atomic.Int64
		stop     = make(chan struct{})
		progress = make(chan struct{}, 1)
		wg       sync.WaitGroup
	)
	acknowledged := func(note func()) {
		mu.Lock()
		note()
		mu.Unlock()
		select {
		case progress <- struct{}{}:
		default:
		}
	}
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if w%2 == 0 {
					s, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d-%d"`, w, i))})
					switch {
					case err == nil:
						acknowledged(func() { answered = append(answered, s.ID) })
					case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown):
						failed.Add(1)
					default:
						t.Errorf("Submit: %v, want unavailable or outcome unknown", err)
					}
					continue
				}
				status, body := post(t, api.URL+"/v1/forms", b.Key, `{"workspace_id":"`+b.Workspace.String()+`","name":"n"}`)
				var answer struct {
					ID, Type, Code string
					Status         any    // of a form, or of an error
					RequestID      string `json:"request_id"`
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil {
					t.Errorf("%d %s: %v", status, body, err)
				}
				switch status {
				case http.StatusCreated:
					acknowledged(func() { made = append(made, answer.ID) })
				case http.StatusServiceUnavailable:
					failed.Add(1)
					if answer.Type != "server_error" || answer.Code != "UNAVAILABLE" || answer.Status != float64(503) || answer.RequestID == "" {
						t.Errorf("an error in another shape: %s", body)
					}
				default:
					t.Errorf("%d %s, want 201 or 503", status, body)
				}
			}
		})
	}
	for range kills {
		for range 20 { // let some work be done, and none of it wait
			<-progress
		}
		database.Kill()
		database.Restart()
	}
	for range 20 {
		<-progress
	}
	close(stop)
	wg.Wait()

	if failed.Load() == 0 {
		t.Error("no call failed: the server was never killed in the middle of one")
	}
	for _, id := range made {
		if code := servicetest.Get(t, b, "/v1/forms/"+id, b.Key); code != http.StatusOK {
			t.Errorf("the acknowledged form %s: %d", id, code)
		}
	}
	for _, id := range answered {
		if code := servicetest.Get(t, b, "/v1/forms/"+form.String()+"/submissions/"+id.String(), b.Key); code != http.StatusOK {
			t.Errorf("the acknowledged submission %s: %d", id, code)
		}
	}
	t.Logf("%d forms and %d submissions acknowledged, %d calls failed, %d kills", len(made), len(answered), failed.Load(), kills)
}

func post(t *testing.T, url, key, body string) (status int, answer string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.Header.Set("X-API-Key", key)
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: time.Minute}
	response, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	return response.StatusCode, servicetest.ReadAll(t, response.Body)
}
