package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/apispec"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// TestPrismFindsNoAnswerThatIsNotDescribed sends the requests of the conformance
// suite through a proxy that holds every answer against the description.
func TestPrismFindsNoAnswerThatIsNotDescribed(t *testing.T) {
	unlessShort(t)
	prism := node(t, "prism")
	seen := newObserved(t)
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			service := newService(t, store.open(t), formsvc.WithoutRateLimit())
			seen.suite(t, prism, service)
		})
	}
	t.Run("limited", func(t *testing.T) {
		service := newService(t, memory.New(), formsvc.WithRateLimit(5, time.Hour))
		seen.suite(t, prism, service, conformance.Only("ratelimit"))
	})
	t.Run("broken", func(t *testing.T) {
		broken := &failing{Storage: memory.New()}
		service := newService(t, broken, formsvc.WithoutRateLimit())
		seen.failures(t, prism, service, broken)
	})
	seen.report(t)
}

func newService(t *testing.T, store storage.Storage, opts ...formsvc.Option) *formsvc.Service {
	t.Helper()
	service := must(formsvc.New(append([]formsvc.Option{formsvc.WithStorage(store)}, opts...)...))
	t.Cleanup(func() {
		if err := service.Close(context.Background()); err != nil { // t's own context has ended
			t.Error(err)
		}
	})
	return service
}

// failing is a storage that returns an error when there is one.
type failing struct {
	storage.Storage

	mu  sync.Mutex
	err error
}

func (f *failing) Workspaces(ctx context.Context, who storage.Actor, p storage.Page) ([]storage.Workspace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	return f.Storage.Workspaces(ctx, who, p)
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// observed is what went through the proxy.
type observed struct {
	responses *apispec.Description

	mu         sync.Mutex
	requests   int
	operations map[string]bool // method and path as described
	codes      map[string]bool // of errors
	violations map[string]int  // with an example each
}

func newObserved(t *testing.T) *observed {
	t.Helper()
	responses := must(apispec.New())
	return &observed{responses: responses, operations: make(map[string]bool), codes: make(map[string]bool), violations: make(map[string]int)}
}

// suite runs the conformance suite through a proxy. What it finds is not looked at
// here: a proxy changes paths and headers, and the suite's own tests run without
// one.
func (o *observed) suite(t *testing.T, prism string, service *formsvc.Service, opts ...conformance.Option) {
	t.Helper()
	target := servicetarget.New(service, o.proxy(t, prism, service)+"/v1")
	target.Client = &http.Client{Transport: o.transport(t, service), Timeout: patience}
	target.RawPaths = true
	if len(opts) > 0 {
		target.RateLimit = 5
	}
	if len(opts) == 0 {
		opts = append(opts, conformance.Skip("bodies", "the proxy ends when it meets hostile JSON"))
	}
	report := must(conformance.Check(t.Context(), target, opts...))
	for _, r := range report.Failures() {
		t.Logf("through the proxy: %s: %.300s", r.Case.Name, r)
	}
}

// failures asks a service whose storage fails.
func (o *observed) failures(t *testing.T, prism string, service *formsvc.Service, store *failing) {
	t.Helper()
	base := o.proxy(t, prism, service)
	client := &http.Client{Transport: o.transport(t, service), Timeout: patience}
	key := must(service.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("u")}, Name: "k", Scopes: storage.Scopes()}))
	for _, fault := range []error{errors.New("a bug"), storage.ErrUnavailable} {
		store.fail(fault)
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/workspaces", nil))
		r.Header.Set("X-Api-Key", key.Secret)
		res := must(client.Do(r))
		_ = res.Body.Close()
	}
}

// proxy starts the proxy in front of a service and returns its base URL.
func (o *observed) proxy(t *testing.T, prism string, service http.Handler) string {
	t.Helper()
	upstream := serve(t, service)
	served := must(os.ReadFile((&host{url: upstream}).document(t)))
	strict := must(apispec.MakeStrict(served))
	document := filepath.Join(t.TempDir(), "strict.json")
	noError(t, os.WriteFile(document, strict, 0o600))
	host, port, _ := strings.Cut(freeAddress(t), ":")
	var out bytes.Buffer
	command := exec.CommandContext(t.Context(), prism, "proxy", document, upstream, "--host", host, "--port", port, "--verboseLevel", "silent")
	command.Stdout, command.Stderr = &out, &out
	noError(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	base := "http://" + host + ":" + port
	for deadline := time.Now().Add(patience); ; {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/openapi.json", nil))
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = res.Body.Close()
			return base
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the proxy ended: %v\n%s", err, &out)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the proxy does not answer: %v", err)
		}
	}
}

// transport sends through the proxy what it can take, and the rest straight to the
// service: it answers paths and methods that are not described by itself, and
// hangs on bodies that are not JSON.
func (o *observed) transport(t *testing.T, service http.Handler) http.RoundTripper {
	t.Helper()
	direct, err := url.Parse(serve(t, service))
	if err != nil {
		t.Fatal(err)
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		through := o.fits(r, body)
		if !through {
			r.URL.Host = direct.Host
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && through {
			err = o.look(r, res)
		}
		return res, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (o *observed) fits(r *http.Request, body []byte) bool {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/v1")
	known, method := o.responses.HasRoute(r.Method, path)
	return known && method && r.Method != http.MethodOptions && r.Method != http.MethodHead && !strings.Contains(path, "%") &&
		(len(body) == 0 || json.Valid(body) && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && len(body) < 1<<20)
}

// look notes what the proxy says of an answer.
func (o *observed) look(r *http.Request, res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct{ Code string }
	if res.StatusCode >= http.StatusBadRequest {
		_ = json.Unmarshal(body, &answer) // an answer that is no JSON is a violation
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests++
	o.operations[r.Method+" "+operation(strings.TrimPrefix(r.URL.Path, "/v1"))] = true
	o.codes[answer.Code] = true
	var found []struct {
		Location []string
		Message  string
	}
	if text := res.Header.Get("Sl-Violations"); text != "" {
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	for _, v := range found {
		// Most requests of the suite are wrong on purpose.
		if len(v.Location) > 0 && v.Location[0] == "response" {
			o.violations[fmt.Sprintf("%s %s %d: %s: %s", r.Method, operation(r.URL.Path), res.StatusCode, strings.Join(v.Location, "."), v.Message)]++
		}
	}
	return nil
}

// operation replaces what differs from path to path.
func operation(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) == 24 || i > 0 && parts[i-1] == "blocks" {
			parts[i] = "{}"
		}
	}
	return strings.Join(parts, "/")
}

func (o *observed) report(t *testing.T) {
	t.Helper()
	t.Logf("%d requests, %d operations, codes %v", o.requests, len(o.operations), slices.Sorted(maps.Keys(o.codes)))
	for _, v := range slices.Sorted(maps.Keys(o.violations)) {
		t.Errorf("%d times: %s", o.violations[v], v)
	}
	if o.requests < 5000 {
		t.Errorf("only %d requests went through the proxy", o.requests)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
		Codes map[string]int `json:"x-error-codes"`
	}
	noError(t, json.Unmarshal(schema.OpenAPI(), &document))
	for path, methods := range document.Paths {
		for method := range methods {
			of := braces(strings.TrimPrefix(path, "/v1"))
			if method != "parameters" && !o.operations[strings.ToUpper(method)+" "+of] {
				t.Errorf("%s %s was not sent", method, path)
			}
		}
	}
	for code := range document.Codes {
		// These come from paths and bodies that the proxy does not pass on.
		if !slices.Contains([]string{"METHOD_NOT_ALLOWED", "MALFORMED_JSON", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE"}, code) && !o.codes[code] {
			t.Errorf("no answer had the code %s", code)
		}
	}
}

// braces empties the names of a described path.
func braces(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "{}"
		}
	}
	return strings.Join(parts, "/")
}
