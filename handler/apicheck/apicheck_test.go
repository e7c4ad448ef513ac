package apicheck_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/apicheck"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// service returns a service and a key for it.
func service(t *testing.T) (svc *formsvc.Service, key string) {
	t.Helper()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	expect.NoError(t, err)
	issued, err := svc.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: storage.ID{1}, Name: "U"}, Name: "K", Scopes: storage.Scopes()})
	expect.NoError(t, err)
	return svc, issued.Secret
}

// call sends a request and returns the status with the differences.
func call(t *testing.T, h http.Handler, base, key, method, path, body string) (status int, all []apicheck.Difference) {
	t.Helper()
	checked, err := apicheck.New(h, apicheck.Config{BasePath: base, Report: func(d apicheck.Difference) { all = append(all, d) }})
	expect.NoError(t, err)
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-API-Key", key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	checked.ServeHTTP(w, r)
	return w.Code, all
}

func TestRequestsAndResponsesAsDescribedAreNotReported(t *testing.T) {
	t.Parallel()
	svc, key := service(t)
	const missing = "/v1/forms/65f1a0b2c3d4e5f601234567"
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v1/me", "", 200},
		{"HEAD", "/v1/me", "", 200},
		{"OPTIONS", "/v1/me", "", 204},
		{"POST", "/v1/workspaces", `{"name":"W"}`, 201},
		{"GET", "/v1/workspaces?limit=3", "", 200},
		{"PATCH", missing + "/blocks/a%2Fb", `{"block":{"label":null}}`, 404},
		{"DELETE", missing, "", 404},
		{"GET", "/v1/openapi.json", "", 200},
		{"GET", "/elsewhere", "", 404},
	} {
		if status, all := call(t, svc, "", key, c.method, c.path, c.body); status != c.status || len(all) > 0 {
			t.Errorf("%s %s: %d, want %d, and %+v", c.method, c.path, status, c.status, all)
		}
	}
	if status, all := call(t, svc, "", "", "GET", "/v1/me", ""); status != 401 || len(all) > 0 {
		t.Errorf("without a key: %d, %+v", status, all)
	}
	mounted := http.StripPrefix("/api", svc)
	if status, all := call(t, mounted, "/api/v1/", key, "GET", "/api/v1/me", ""); status != 200 || len(all) > 0 {
		t.Errorf("mounted deeper: %d, %+v", status, all)
	}
}

func TestWrongRequestsAreReported(t *testing.T) {
	t.Parallel()
	svc, key := service(t)
	for _, c := range []struct{ method, path, body, reason string }{
		{"POST", "/v1/workspaces", `{"Name":"W"}`, "additionalProperties 'Name' not allowed"},
		{"POST", "/v1/workspaces", `{"name":1}`, "/name expected string, but got number"},
		{"POST", "/v1/workspaces", `{"name":`, "malformed JSON"},
		{"POST", "/v1/workspaces", ``, "the body is missing"},
		{"GET", "/v1/workspaces?limit=101", "", "query parameter limit"},
		{"GET", "/v1/workspaces?limit=many", "", "query parameter limit"},
		{"GET", "/v1/workspaces?page=2", "", "the query parameter page is not in the API description"},
		{"GET", "/v1/workspaces?limit=%zz", "", "query: "},
		{"PUT", "/v1/me", "", "the path does not support the method PUT"},
		{"GET", "/v1/nothing", "", "the path /nothing is not in the API description"},
	} {
		status, all := call(t, svc, "", key, c.method, c.path, c.body)
		if len(all) != 1 || !all[0].InRequest || all[0].Method != c.method || all[0].Status != status || !strings.Contains(all[0].Reason, c.reason) {
			t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, all)
		}
	}
}

func TestWrongResponsesAreReported(t *testing.T) {
	t.Parallel()
	svc, key := service(t)
	for name, change := range map[string]func(w http.ResponseWriter, r *http.Request, status int, header http.Header, body []byte){
		"another member": func(w http.ResponseWriter, _ *http.Request, status int, _ http.Header, body []byte) {
			w.WriteHeader(status)
			_, _ = w.Write(bytes.Replace(body, []byte("{"), []byte(`{"extra":1,`), 1))
		},
		"an undeclared status": func(w http.ResponseWriter, _ *http.Request, _ int, _ http.Header, body []byte) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write(body)
		},
		"no request id": func(w http.ResponseWriter, _ *http.Request, status int, _ http.Header, body []byte) {
			w.Header().Del("X-Request-Id")
			w.WriteHeader(status)
			_, _ = w.Write(body)
		},
		"no body": func(http.ResponseWriter, *http.Request, int, http.Header, []byte) {},
	} {
		middleware := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner := httptest.NewRecorder()
			svc.ServeHTTP(inner, r)
			for field, values := range inner.Header() {
				w.Header()[field] = values
			}
			change(w, r, inner.Code, inner.Header(), inner.Body.Bytes())
		})
		status, all := call(t, middleware, "", key, "GET", "/v1/me", "")
		expect.That(t, len(all) == 1 && !all[0].InRequest && all[0].Status == status && all[0].Path == "/v1/me", "%s: %+v", name, all)
	}
}

// The wrapper changes nothing for the service and its client.
func TestTheWrapperIsTransparent(t *testing.T) {
	t.Parallel()
	var flushed, read bool
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		read = err == nil && string(body) == "{}"
		w.Header().Set("Content-Encoding", "br")
		w.WriteHeader(http.StatusEarlyHints)
		flushed = http.NewResponseController(w).Flush() == nil
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "compressed")
	})
	var all []apicheck.Difference
	checked, err := apicheck.New(h, apicheck.Config{Report: func(d apicheck.Difference) { all = append(all, d) }})
	expect.NoError(t, err)
	server := httptest.NewServer(checked)
	defer server.Close()
	response, err := server.Client().Post(server.URL+"/v1/workspaces", "application/json", strings.NewReader("{}"))
	expect.NoError(t, err)
	defer response.Body.Close()
	sent, err := io.ReadAll(response.Body)
	expect.That(t, flushed && read && err == nil && string(sent) == "compressed" && response.StatusCode == http.StatusOK,
		"flushed %t, read %t, sent %d %s, %v", flushed, read, response.StatusCode, sent, err)
	expect.That(t, len(all) == 1 && all[0].InRequest && strings.Contains(all[0].Reason, "name"),
		"reported %+v, want the missing name of the request", all)
	expect.That(t, expect.ErrorOf(apicheck.New(h, apicheck.Config{})) != nil, "a wrapper without Report is made")
}
