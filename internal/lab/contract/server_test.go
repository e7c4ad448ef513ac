package contract

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/freeport"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// stores are the storages that the service runs on.
var stores = []struct {
	name string
	open func(t *testing.T) storage.Storage
}{
	{"memory", func(*testing.T) storage.Storage { return memory.New() }},
	{"postgres", func(t *testing.T) storage.Storage {
		schema := postgres.WithSchema(pgtest.Schema(t))
		pool := pgtest.Pool(t, pgtest.MaxConns(8))
		noError(t, postgres.Migrate(t.Context(), pool, schema))
		return postgres.New(pool, schema)
	}},
}

// host is a running service with a dispatcher, and what a client of its API cannot
// do for itself: it submits a response, and receives what the webhooks are sent.
type host struct {
	service *formsvc.Service
	url     string // of the service, without the base path
	key     string
	control string // POST with a form's id as body submits a response to it
	hook    string // receives deliveries
}

// newHost starts a service.
func newHost(t *testing.T, store storage.Storage) *host {
	t.Helper()
	receiver := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	service := must(formsvc.New(
		formsvc.WithStorage(store),
		formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(webhooks.Config{
			AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			Resolver:        everyName{},
		}),
	))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- service.Dispatcher().Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, service.Close(context.Background())); err != nil { // t's own context has ended
			t.Error(err)
		}
	})
	issued := must(service.CreateKey(t.Context(), formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("contract"), Name: "Contract"}, Name: "contract", Scopes: storage.Scopes(),
	}))
	h := &host{service: service, key: issued.Secret, hook: receiver + "/hook"}
	h.url = serve(t, service)
	h.control = serve(t, http.HandlerFunc(h.submit))
	return h
}

// submit stores a response with an answer of each kind that the forms of the flows
// ask for.
func (h *host) submit(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // an empty body is no id
	var form formsvc.ID
	if err := form.UnmarshalText(body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stored, err := h.service.Submit(r.Context(), formsvc.SubmitParams{
		FormID: form,
		Answers: map[string]json.RawMessage{
			"stars": json.RawMessage(`4`), "found": json.RawMessage(`"friend"`), "why": json.RawMessage(`"Because"`),
			"exact": json.RawMessage(`16777217`),
		},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, stored.ID.String()) // the client may be gone
}

// everyName resolves every name to this machine, so that the examples of the description
// can be sent as they are, and what a webhook of theirs is sent goes nowhere.
type everyName struct{}

func (everyName) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// document writes the served description to a file and returns its name.
func (h *host) document(t *testing.T) string {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/v1/openapi.json", nil))
	res := must(http.DefaultClient.Do(r))
	defer func() { _ = res.Body.Close() }()
	doc := must(io.ReadAll(res.Body))
	file := filepath.Join(t.TempDir(), "openapi.json")
	noError(t, os.WriteFile(file, doc, 0o600))
	return file
}

// freeAddress is an address that a program can listen on.
func freeAddress(t *testing.T) string {
	t.Helper()
	return must(freeport.Address(t.Context()))
}

// patience bounds what waits for a program.
const patience = time.Minute
