package servicetest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
)

// goScopes lists the scope of each method that makes or reads something.
var goScopes = map[string]formsvc.Scope{
	"Workspaces": "workspaces:read", "Workspace": "workspaces:read",
	"CreateWorkspace": "workspaces:write", "RenameWorkspace": "workspaces:write", "DeleteWorkspace": "workspaces:write",
	"Forms": "forms:read", "Form": "forms:read", "Blocks": "forms:read", "Block": "forms:read", "Warnings": "forms:read",
	"EditorForm": "forms:read", "FormsWithWorkingCopy": "forms:read",
	"CreateForm": "forms:write", "EnsureForm": "forms:write", "UpdateForm": "forms:write", "PublishForm": "forms:write", "TrashForm": "forms:write",
	"CreateBlock": "forms:write", "ReplaceBlocks": "forms:write", "UpdateBlock": "forms:write", "DeleteBlock": "forms:write",
	"Publish": "forms:write", "Discard": "forms:write",
	"Versions": "forms:write", "Version": "forms:write", "RestoreVersion": "forms:write",
	"Submissions": "submissions:read", "Submission": "submissions:read", "Partials": "submissions:read",
	"Summary": "submissions:read", "SubmissionPage": "submissions:read", "SummaryWithin": "submissions:read", "Export": "submissions:read",
	"Import":            "submissions:write", // and forms:write
	"SubmissionHistory": "submissions:read",
	"SubmissionForm":    "submissions:read",
	"UpdateSubmission":  "submissions:write", // and submissions:read
	"DeleteSubmission":  "submissions:write", "DeletePartial": "submissions:write",
	"Metrics": "analytics:read", "SubmissionTotals": "analytics:read",
	"Webhooks": "webhooks:read", "FormWebhooks": "webhooks:read", "PausedWebhooks": "webhooks:read", "Webhook": "webhooks:read",
	"Deliveries":    "webhooks:read",
	"CreateWebhook": "webhooks:write", "UpdateWebhook": "webhooks:write", "DeleteWebhook": "webhooks:write",
}

// scopeSets returns all nonempty sets of scopes.
func scopeSets() (sets [][]formsvc.Scope) {
	for bits := 1; bits < 1<<len(formsvc.Scopes()); bits++ {
		var set []formsvc.Scope
		for i, s := range formsvc.Scopes() {
			if bits&(1<<i) != 0 {
				set = append(set, s)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// Every method of a client and of a working copy is refused if and only if its scope is missing.
func TestAClientWithScopesHasNoOtherMethods(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	for _, set := range scopeSets() {
		client := b.As(b.User.ID).With(set...)
		for _, receiver := range []any{client, client.WorkingCopy(formsvc.ID{})} {
			each := reflect.ValueOf(receiver)
			for i := range each.NumMethod() {
				name := each.Type().Method(i).Name
				if name == "With" || name == "WorkingCopy" || name == "ServeHTTP" {
					continue
				}
				scope, known := goScopes[name]
				expect.Require(t, known, "%T.%s has no scope in this test", receiver, name)
				err := callWithZeros(t, each.Method(i))
				has := slices.Contains(set, scope) && (name != "Import" || slices.Contains(set, formsvc.ScopeFormsWrite)) &&
					(name != "UpdateSubmission" || slices.Contains(set, formsvc.ScopeSubmissionsRead))
				if refused := errors.Is(err, formsvc.ErrInsufficientScope); refused == has {
					t.Fatalf("%T.%s with %s: %v", receiver, name, set, err)
				}
			}
		}
	}
}

// callWithZeros calls a method with zero values and returns its error.
func callWithZeros(t *testing.T, method reflect.Value) (err error) {
	t.Helper()
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
	out := method.Call(args)
	if out[0].Kind() == reflect.Func {
		for _, e := range out[0].Seq2() {
			err, _ = e.Interface().(error)
		}
		return err
	}
	err, _ = out[len(out)-1].Interface().(error)
	return err
}

func TestWithOnlyRemovesScopes(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	reader := b.As(b.User.ID).With(formsvc.ScopeFormsRead)
	for name, client := range map[string]formsvc.Client{
		"more scopes": reader.With(formsvc.Scopes()...), "no scopes": reader.With(), "the host without scopes": b.AsHost().With(),
	} {
		_, err := client.UpdateForm(t.Context(), formsvc.ID{}, formsvc.FormUpdate{})
		expect.Error(t, name, err, formsvc.ErrInsufficientScope)
	}
	// The Go API and HTTP refuse the same, and scopes come before the body.
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/forms", http.StatusOK},
		{http.MethodGet, "/me", http.StatusOK},
		{http.MethodGet, "/openapi.json", http.StatusOK},
		{http.MethodPost, "/forms", http.StatusForbidden},
		{http.MethodGet, "/webhooks", http.StatusForbidden},
	} {
		w := httptest.NewRecorder()
		reader.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
		expect.That(t, w.Code == c.status, "%s %s: %d %s, want %d", c.method, c.path, w.Code, w.Body, c.status)
	}
}
