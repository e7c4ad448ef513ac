package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestAudited(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	store := audited{
		Storage: memory.New(), logger: slog.New(slog.NewTextHandler(&log, nil)), slow: time.Second,
		now: func() time.Time { now = now.Add(600 * time.Millisecond); return now }, // a call takes 600 ms
	}
	service, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit())
	if err != nil {
		t.Fatal(err)
	}
	form := publishedForm(t, service)
	submit := func(key, answer string) error {
		log.Reset()
		_, err := service.Submit(t.Context(), formsvc.Response{
			FormID: form, IdempotencyKey: key, Answers: map[string]json.RawMessage{"name": json.RawMessage(answer)},
		})
		return err
	}

	if err := submit("k1", `"Ann"`); err != nil || strings.Count(log.String(), "response stored") != 1 {
		t.Errorf("stored: %v, log %q", err, &log)
	}
	if err := submit("k1", `"Ann"`); err != nil || log.Len() != 0 {
		t.Errorf("repeated: %v, log %q", err, &log)
	}
	if err := submit("k2", `""`); err == nil || log.Len() != 0 {
		t.Errorf("refused: %v, log %q", err, &log)
	}
	store.slow = 600 * time.Millisecond
	if _, err := store.Submissions(t.Context(), storage.AsHost(), form, storage.SubmissionQuery{Page: storage.Page{Limit: 1}}); err != nil ||
		!strings.Contains(log.String(), "call=Submissions took=600ms") {
		t.Errorf("slow: %v, log %q", err, &log)
	}
}

// publishedForm makes a form with one required block.
func publishedForm(t *testing.T, service *formsvc.Service) formsvc.ID {
	t.Helper()
	user := formsvc.User{ID: formsvc.UserIDFrom("ann"), Name: "Ann"}
	key, err := service.CreateKey(t.Context(), formsvc.KeyRequest{User: user, Name: "Test", Scopes: storage.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	workspace, err := service.CreateWorkspace(t.Context(), user.ID, "Research")
	if err != nil {
		t.Fatal(err)
	}
	var form struct{ ID formsvc.ID }
	for _, call := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/forms", `{"workspace_id":"` + workspace.ID.String() + `","name":"F","definition":{"blocks":[{"id":"name","type":"short_text","required":true}]}}`},
		{http.MethodPatch, "/v1/forms/", `{"status":"published"}`},
	} {
		path := call.path
		if !form.ID.IsZero() {
			path += form.ID.String()
		}
		r := httptest.NewRequestWithContext(t.Context(), call.method, path, strings.NewReader(call.body))
		r.Header.Set("X-API-Key", key.Secret)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		service.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), &form); err != nil || w.Code >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s", call.method, path, w.Code, w.Body)
		}
	}
	if err := service.Close(t.Context()); err != nil { // the key's last use is written
		t.Error(err)
	}
	return form.ID
}
