package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// newService returns a service that may send to the loopback network; nothing is
// sent, because its dispatcher does not run. Its rate limit counts but never
// refuses.
func newService(st storage.Storage) (*formsvc.Service, error) {
	return formsvc.New(formsvc.WithStorage(st), formsvc.WithRateLimit(1<<40, 1<<40),
		formsvc.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
}

// owner makes forms through the API.
type owner struct {
	service   *formsvc.Service
	key       string
	workspace formsvc.ID
}

func newOwner(ctx context.Context, service *formsvc.Service) (*owner, error) {
	user := formsvc.User{ID: formsvc.UserIDFrom("ann"), Name: "Ann"}
	key, err := service.CreateKey(ctx, formsvc.KeyRequest{User: user, Name: "all", Scopes: storage.Scopes()})
	if err != nil {
		return nil, err
	}
	workspace, err := service.CreateWorkspace(ctx, user.ID, "Workspace")
	return &owner{service, key.Secret, workspace.ID}, err
}

// call makes one API call and returns the id of what it answers with.
func (o *owner) call(ctx context.Context, method, path string, content any) (formsvc.ID, error) {
	var made struct{ ID formsvc.ID }
	body, err := json.Marshal(content)
	if err != nil {
		return made.ID, err
	}
	r := httptest.NewRequestWithContext(ctx, method, "/v1"+path, bytes.NewReader(body))
	r.Header.Set("X-API-Key", o.key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	o.service.ServeHTTP(w, r)
	if w.Code >= http.StatusMultipleChoices {
		return made.ID, fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return made.ID, json.Unmarshal(w.Body.Bytes(), &made)
}

// publish makes a published form, with a webhook when that is asked for.
func (o *owner) publish(ctx context.Context, definition map[string]any, webhook bool) (formsvc.ID, error) {
	form, err := o.call(ctx, http.MethodPost, "/forms", map[string]any{
		"workspace_id": o.workspace, "name": "Form", "definition": definition,
	})
	if err != nil {
		return form, err
	}
	if webhook {
		if _, err := o.call(ctx, http.MethodPost, "/webhooks", map[string]any{"form_id": form, "url": "http://127.0.0.1:8080/hook"}); err != nil {
			return form, err
		}
	}
	_, err = o.call(ctx, http.MethodPatch, "/forms/"+form.String(), map[string]any{"status": "published"})
	return form, err
}

// note keeps a fact for the serving processes, in a table of its own.
func (db *database) note(ctx context.Context, name, value string) error {
	_, err := db.pool.Exec(ctx, db.sql(`INSERT INTO formsvc.bench_facts VALUES ($1, $2)`), name, value)
	return err
}

const factsTable = `CREATE TABLE formsvc.bench_facts (name text PRIMARY KEY, value text NOT NULL)`

func (db *database) fact(ctx context.Context, name string) (value string, err error) {
	err = db.pool.QueryRow(ctx, db.sql(`SELECT value FROM formsvc.bench_facts WHERE name = $1`), name).Scan(&value)
	return value, err
}

func (db *database) form(ctx context.Context, name string) (formsvc.ID, error) {
	text, err := db.fact(ctx, name)
	if err != nil {
		return formsvc.ID{}, err
	}
	return storage.ParseID(text)
}
