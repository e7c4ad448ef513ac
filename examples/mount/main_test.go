package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	service, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBaseURL("/api"), formsvc.WithoutRateLimit())
	expect.NoError(t, err)
	user := formsvc.User{ID: formsvc.UserIDFrom("ann"), Name: "Ann"}
	key, err := service.CreateKey(t.Context(), formsvc.KeyRequest{User: user, Name: "Test", Scopes: formsvc.Scopes()})
	expect.NoError(t, err)
	var log bytes.Buffer
	product := routes(service, slog.New(slog.NewTextHandler(&log, nil)))
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("X-API-Key", key.Secret)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		product.ServeHTTP(w, r)
		return w
	}

	if w := send(http.MethodGet, "/healthz", ""); w.Code != http.StatusOK || w.Body.String() != "ok\n" {
		t.Errorf("the product's own route: %d %q", w.Code, w.Body)
	}
	w := send(http.MethodPost, "/api/v1/workspaces", `{"name":"Research"}`)
	var made struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(w.Body.Bytes(), &made)
	expect.Require(t, err == nil && w.Code == http.StatusCreated, "a workspace: %d %s", w.Code, w.Body)
	location := w.Header().Get("Location")
	want := "/api/v1/workspaces/" + made.ID
	expect.That(t, location == want, "Location is %q, want %q", location, want)
	if w := send(http.MethodGet, location, ""); w.Code != http.StatusOK {
		t.Errorf("the Location leads to %d %s", w.Code, w.Body)
	}
	id := w.Header().Get("X-Request-ID")
	expect.That(t, id != "" && strings.Contains(log.String(), "request_id="+id), "the product's log lacks the request id %q", id)
}

func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)

	t.Run("shuts down when its context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := &http.Server{Addr: "127.0.0.1:0", BaseContext: func(net.Listener) context.Context {
			cancel() // it listens
			return context.WithoutCancel(ctx)
		}}
		expect.Nil(t, run(ctx, server, slog.New(slog.DiscardHandler)))
	})
}
