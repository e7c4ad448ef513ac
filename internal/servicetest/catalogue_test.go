package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Every code that the description lists is provoked with its status. That no other
// code is ever returned, serve checks with every answer, and the handler's catalogue is
// held against the list in its own package.
func TestEveryErrorOfTheDescriptionCanBeProvoked(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithLimits(formsvc.Limits{Workspaces: 1}), formsvc.WithoutRateLimit())
	form := "/forms/" + b.Form(servicetest.TextBlock, `{}`).String()
	limited := servicetest.Setup(t, formsvc.WithRateLimit(1, time.Hour))
	limited.Do(http.MethodGet, "/me", "", nil)
	failing := func(err error) *httptest.ResponseRecorder {
		svc := servicetest.New(t, failingStore{b.Store, err}, formsvc.WithoutRateLimit())
		w := httptest.NewRecorder()
		servicetest.Serve(t, svc, w, b.Request(http.MethodGet, "/workspaces", ""))
		return w
	}
	key := func(user formsvc.User, scopes ...formsvc.Scope) string {
		issued, err := b.CreateKey(t.Context(), formsvc.KeyRequest{User: user, Name: "k", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return issued.Secret
	}
	member := formsvc.User{ID: formsvc.UserIDFrom("member")}
	if err := b.AddMember(t.Context(), b.Workspace, member.ID); err != nil {
		t.Fatal(err)
	}
	with := func(method, path, body, header, value string) *httptest.ResponseRecorder {
		r := b.Request(method, path, body)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		servicetest.Serve(t, b.Service, w, r)
		return w
	}
	do := func(method, path, body string) *httptest.ResponseRecorder { return b.Do(method, path, body, nil) }

	provoked := map[string]func() *httptest.ResponseRecorder{
		"MALFORMED_JSON":         func() *httptest.ResponseRecorder { return do("POST", "/forms", "{") },
		"METHOD_NOT_ALLOWED":     func() *httptest.ResponseRecorder { return do("PUT", "/me", "{}") },
		"BODY_TOO_LARGE":         func() *httptest.ResponseRecorder { return do("POST", "/forms", strings.Repeat(" ", 1<<20+1)) },
		"UNSUPPORTED_MEDIA_TYPE": func() *httptest.ResponseRecorder { return with("POST", "/forms", "{}", "Content-Type", "text/plain") },
		"INVALID_API_KEY":        func() *httptest.ResponseRecorder { return b.DoAs("nonsense", "GET", "/me", "") },
		"INSUFFICIENT_SCOPE": func() *httptest.ResponseRecorder {
			return b.DoAs(key(b.User, storage.ScopeFormsRead), "GET", "/workspaces", "")
		},
		"OWNER_REQUIRED": func() *httptest.ResponseRecorder {
			return b.DoAs(key(member, storage.Scopes()...), "DELETE", "/workspaces/"+b.Workspace.String(), "")
		},
		"NOT_FOUND":               func() *httptest.ResponseRecorder { return do("GET", "/forms/nothing", "") },
		"WORKSPACE_LIMIT_REACHED": func() *httptest.ResponseRecorder { return do("POST", "/workspaces", `{"name":"x"}`) },
		"BLOCK_EXISTS":            func() *httptest.ResponseRecorder { return do("POST", form+"/blocks", `{"block":{"id":"name"}}`) },
		"REVISION_MISMATCH":       func() *httptest.ResponseRecorder { return with("PATCH", form, `{"name":"x"}`, "If-Match", `"old"`) },
		"VALIDATION_FAILED":       func() *httptest.ResponseRecorder { return do("PATCH", form, `{}`) },
		"INVALID_CURSOR":          func() *httptest.ResponseRecorder { return do("GET", "/forms?cursor=x", "") },
		"WEBHOOK_URL_REJECTED": func() *httptest.ResponseRecorder {
			return do("POST", "/webhooks", `{"form_id":"`+strings.TrimPrefix(form, "/forms/")+`","url":"http://127.0.0.1/"}`)
		},
		"RATE_LIMITED":   func() *httptest.ResponseRecorder { return limited.Do("GET", "/me", "", nil) },
		"INTERNAL_ERROR": func() *httptest.ResponseRecorder { return failing(errors.New("a bug")) },
		"UNAVAILABLE":    func() *httptest.ResponseRecorder { return failing(storage.ErrUnavailable) },
	}

	var document struct {
		Codes map[string]int `json:"x-error-codes"`
	}
	if err := json.Unmarshal(schema.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	for code, status := range document.Codes {
		provoke := provoked[code]
		if provoke == nil {
			t.Errorf("no request provokes %s", code)
			continue
		}
		var e struct{ Code, Message string }
		w := provoke()
		if given := w.Header().Get("Retry-After") != ""; given != (code == "UNAVAILABLE" || code == "RATE_LIMITED") {
			t.Errorf("%s: Retry-After %q", code, w.Header().Get("Retry-After"))
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code != code || w.Code != status || e.Message == "" {
			t.Errorf("%d %s (%v), want %d %s", w.Code, w.Body, err, status, code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(provoked)) {
		if _, known := document.Codes[code]; !known {
			t.Errorf("%s is not described", code)
		}
	}
}

// noWorkspace makes none, with the error of a failingStore.
type noWorkspace struct{ failingStore }

func (s noWorkspace) CreateWorkspace(context.Context, storage.Workspace, int) error { return s.err }

// A host that answers as the comment of Client says answers as the API does.
func TestErrorsHaveTheStatusThatClientSays(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../formsvc.go")
	if err != nil {
		t.Fatal(err)
	}
	b := servicetest.Setup(t)
	causes := map[string]error{
		"*Error": &formsvc.Error{}, "*RejectedURLError": &formsvc.RejectedURLError{}, "*RevisionError": &formsvc.RevisionError{},
		"ErrInvalidKey": formsvc.ErrInvalidKey, "ErrNotOwner": formsvc.ErrNotOwner, "ErrNotFound": formsvc.ErrNotFound,
		"ErrLimitReached": formsvc.ErrLimitReached, "ErrBlockExists": formsvc.ErrBlockExists,
		"ErrUnavailable": formsvc.ErrUnavailable, "ErrOutcomeUnknown": formsvc.ErrOutcomeUnknown, "context.Canceled": context.Canceled,
	}
	rows := regexp.MustCompile(`(?m)^//\t(\S+) +(\d{3}) ([A-Z_]+)`).FindAllStringSubmatch(string(source), -1)
	if len(rows) != len(causes) {
		t.Errorf("the comment has %d rows, want %d", len(rows), len(causes))
	}
	for _, row := range rows {
		cause := causes[row[1]]
		if cause == nil {
			t.Errorf("the row of %s is not tried", row[1])
			continue
		}
		resolver := formsvc.KeyResolver(b)
		if errors.Is(cause, formsvc.ErrInvalidKey) {
			resolver = noKeys{}
		}
		svc := servicetest.New(t, noWorkspace{failingStore{b.Store, fmt.Errorf("wrapped: %w", cause)}}, formsvc.WithKeyResolver(resolver))
		r := b.Request(http.MethodGet, "/workspaces", "")
		if errors.Is(cause, formsvc.ErrLimitReached) {
			r = b.Request(http.MethodPost, "/workspaces", `{"name":"x"}`)
		}
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r) // an operation whose description need not have the error
		var e struct{ Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || strconv.Itoa(w.Code) != row[2] || e.Code != row[3] {
			t.Errorf("%s: %d %s, %v; the comment has %s %s", row[1], w.Code, w.Body, err, row[2], row[3])
		}
	}
}

// noKeys accepts none.
type noKeys struct{}

func (noKeys) ResolveKey(context.Context, string) (formsvc.Principal, error) {
	return formsvc.Principal{}, formsvc.ErrInvalidKey
}

// What integrations read in the log of deliveries.
func TestTheMembersOfADeliverySummary(t *testing.T) {
	t.Parallel()
	url, requests := servicetest.Receiver(t)
	b := servicetest.Setup(t, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	hook := b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"Ann"`)}); err != nil {
		t.Fatal(err)
	}
	<-requests
	if err := b.SendTestEvent(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	<-requests
	b.Deliveries(hook, 2)
	var list struct{ Items []map[string]any }
	b.Do(http.MethodGet, "/webhooks/"+hook.String()+"/deliveries", "", &list)
	want := []string{
		"attempt", "created_at", "duration_ms", "error", "event", "event_id", "id", "next_attempt_at", "status", "submission_id", "success",
	}
	for _, item := range list.Items {
		if got := slices.Sorted(maps.Keys(item)); !slices.Equal(got, want) {
			t.Errorf("members %q, want %q", got, want)
		}
		if item["event"] != "form.response.completed" {
			t.Errorf("the event is called %v", item["event"])
		}
	}
	if list.Items[0]["submission_id"] != nil || list.Items[1]["submission_id"] == nil {
		t.Errorf("submission ids %v and %v, want none with the test event only", list.Items[0]["submission_id"], list.Items[1]["submission_id"])
	}
}
