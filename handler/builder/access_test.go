package builder_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// requiredScopes lists every endpoint and page of the builder with its scopes, separated by spaces. The test compares it
// with the API description and with the routes.
var requiredScopes = map[string]string{
	"GET /-/v1/openapi.json": "", "GET /-/v1/me": "",
	"GET /-/v1/workspaces": "workspaces:read", "POST /-/v1/workspaces": "workspaces:write",
	"GET /-/v1/workspaces/{workspaceId}": "workspaces:read", "PATCH /-/v1/workspaces/{workspaceId}": "workspaces:write", "DELETE /-/v1/workspaces/{workspaceId}": "workspaces:write",
	"GET /-/v1/forms": "forms:read", "POST /-/v1/forms": "forms:write",
	"GET /-/v1/forms/{formId}": "forms:read", "PATCH /-/v1/forms/{formId}": "forms:write", "DELETE /-/v1/forms/{formId}": "forms:write",
	"GET /-/v1/forms/{formId}/questions": "forms:read", "GET /-/v1/forms/{formId}/blocks": "forms:read",
	"POST /-/v1/forms/{formId}/blocks": "forms:write", "PUT /-/v1/forms/{formId}/blocks": "forms:write",
	"GET /-/v1/forms/{formId}/blocks/{blockId}": "forms:read", "PATCH /-/v1/forms/{formId}/blocks/{blockId}": "forms:write", "DELETE /-/v1/forms/{formId}/blocks/{blockId}": "forms:write",
	"GET /-/v1/forms/{formId}/submissions": "submissions:read", "GET /-/v1/forms/{formId}/submissions/{submissionId}": "submissions:read",
	"DELETE /-/v1/forms/{formId}/submissions/{submissionId}": "submissions:write",
	"GET /-/v1/forms/{formId}/analytics/metrics":             "analytics:read",
	"GET /-/v1/webhooks":                                     "webhooks:read", "POST /-/v1/webhooks": "webhooks:write",
	"GET /-/v1/webhooks/{webhookId}": "webhooks:read", "PATCH /-/v1/webhooks/{webhookId}": "webhooks:write", "DELETE /-/v1/webhooks/{webhookId}": "webhooks:write",
	"GET /-/v1/webhooks/{webhookId}/deliveries": "webhooks:read",

	"GET /-/copy/{formId}/forms/{formId}": "forms:read", "PATCH /-/copy/{formId}/forms/{formId}": "forms:write",
	"PUT /-/copy/{formId}/forms/{formId}/blocks": "forms:write", "DELETE /-/copy/{formId}/forms/{formId}/blocks/{blockId}": "forms:write",
	"GET /-/canvas/{formId}": "forms:read", "POST /-/canvas/{formId}": "forms:read",

	"GET /-/builder/workspaces":               "workspaces:read",
	"GET /-/builder/forms/{form}/warnings":    "forms:read",
	"GET /-/builder/forms/{form}/choices":     "forms:read",
	"GET /-/builder/forms/{form}/changes":     "forms:write",
	"POST /-/builder/forms/{form}/publish":    "forms:write",
	"POST /-/builder/forms/{form}/discard":    "forms:write",
	"GET /-/builder/forms/{form}/versions":    "forms:write",
	"POST /-/builder/forms/{form}/preview":    "forms:read",
	"GET /-/builder/forms/{form}/share":       "forms:read",
	"POST /-/builder/trash/{form}/restore":    "forms:write",
	"DELETE /-/builder/trash/{form}":          "forms:write",
	"GET /-/builder/forms/{form}/summary":     "submissions:read",
	"GET /-/builder/forms/{form}/texts":       "submissions:read",
	"GET /-/builder/forms/{form}/submissions": "submissions:read",
	"GET /-/builder/forms/{form}/partials":    "submissions:read",
	"GET /-/builder/forms/{form}/export":      "submissions:read",
	"GET /-/builder/forms/{form}/webhooks":    "webhooks:read",
	"POST /-/builder/pattern":                 "", "GET /-/builder/times": "",
	"GET /-/builder/webhooks/paused":          "webhooks:read",
	"POST /-/builder/webhooks/{webhook}/test": "webhooks:write",

	"GET /-/builder/workspaces/{workspace}/trash":                        "forms:write",
	"POST /-/builder/workspaces/{workspace}/counts":                      "forms:read",
	"GET /-/builder/forms/{form}/versions/{revision}":                    "forms:write",
	"POST /-/builder/forms/{form}/versions/{revision}/restore":           "forms:write",
	"DELETE /-/builder/forms/{form}/partials/{id}":                       "submissions:write",
	"GET /-/builder/forms/{form}/submissions/{submission}":               "submissions:read",
	"POST /-/builder/forms/{form}/submissions/{submission}/edit":         "submissions:read submissions:write",
	"PUT /-/builder/webhooks/{webhook}/events":                           "webhooks:write",
	"POST /-/builder/webhooks/{webhook}/redeliver":                       "webhooks:write",
	"POST /-/builder/webhooks/{webhook}/deliveries/{delivery}/redeliver": "webhooks:write",
	"GET /-/builder/webhooks/{webhook}/deliveries/{delivery}/body":       "webhooks:read submissions:read",

	"GET /": "workspaces:read", "GET /w/{workspace}": "workspaces:read forms:read", "GET /w/{workspace}/trash": "workspaces:read forms:read forms:write",
	"GET /{form}": "forms:read", "GET /{form}/results": "forms:read submissions:read", "GET /{form}/results/partials": "forms:read submissions:read",
	"GET /{form}/webhooks": "forms:read webhooks:read", "GET /{form}/versions": "forms:read forms:write",
}

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

// Each endpoint and page is refused if and only if one of its scopes is missing, whatever the other scopes are.
func TestScopesOfEveryEndpoint(t *testing.T) {
	t.Parallel()
	var granted []formsvc.Scope
	s := newSite(t, func(c *builder.Config) {
		c.Limits = builder.Limits{Requests: -1, TestEvents: -1}
		c.Scopes = func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) { return granted, nil }
	})
	form := s.form("ann", oneQuestion)
	owner := s.service.As(formsvc.UserIDFrom("ann"))
	form = expect.Must(owner.PublishForm(t.Context(), form.ID))
	const respondent = "respondent-7f3a"
	expect.Must(s.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Respondent: respondent, Answers: map[string]json.RawMessage{"name": []byte(`"x"`)}}))
	_, _, err := s.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, Respondent: respondent, ShareWithOwner: true})
	expect.NoError(t, err)
	hook := expect.Must(owner.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "http://127.0.0.1/", Disabled: true}))
	sent := expect.Must(first(owner.Submissions(t.Context(), form.ID, formsvc.SubmissionQuery{})))
	records := strings.NewReplacer("{formId}", form.ID.String(), "{form}", form.ID.String(), "{workspaceId}", form.WorkspaceID.String(), "{workspace}", form.WorkspaceID.String(),
		"{webhookId}", hook.ID.String(), "{webhook}", hook.ID.String(), "{submissionId}", sent.ID.String(), "{blockId}", "name", "{revision}", "1", "{delivery}", sent.ID.String(), "{id}", sent.ID.String())
	none := regexp.MustCompile(`\{(\w+)\}`)

	var paths struct{ Paths map[string]map[string]any }
	granted = formsvc.Scopes()
	_, description := s.do("ann", http.MethodGet, "/forms/-/v1/openapi.json", "")
	expect.NoError(t, json.Unmarshal([]byte(description), &paths))
	for path, methods := range paths.Paths {
		for method := range methods {
			name := strings.ToUpper(method) + " /-" + path
			_, known := requiredScopes[name]
			expect.That(t, known || method == "parameters", "the operation %s has no row", name)
		}
	}
	for _, e := range endpoints(t) {
		_, known := requiredScopes[e[0]+" /-/builder"+e[1]]
		expect.That(t, known, "the endpoint %s %s has no row", e[0], e[1])
	}

	allowed, refused := 0, 0
	for name, scopes := range requiredScopes {
		method, path, _ := strings.Cut(name, " ")
		body := map[string]string{http.MethodPost: `{}`, http.MethodPatch: `{}`, http.MethodPut: `{}`}[method]
		for _, granted = range scopeSets() {
			lacks := false
			for _, scope := range strings.Fields(scopes) {
				lacks = lacks || !slices.Contains(granted, formsvc.Scope(scope))
			}
			at := none.ReplaceAllString(path, "0123456789abcdef01234567") // changes nothing if it is allowed
			if lacks {
				at = records.Replace(path)
			}
			answer, got := s.do("ann", method, "/forms"+at, body)
			if lacks {
				refused++
			} else {
				allowed++
			}
			if (answer.StatusCode == http.StatusForbidden) != lacks || lacks && strings.HasPrefix(path, "/-/") && !strings.Contains(got, "INSUFFICIENT_SCOPE") {
				t.Fatalf("%s with %s: %d %s", name, granted, answer.StatusCode, got)
			}
		}
	}
	t.Logf("%d requests were allowed, %d were refused", allowed, refused)
	granted, allowed = formsvc.Scopes(), 0
	for name := range requiredScopes {
		for _, query := range []string{"", "?respondent=true"} {
			if path, reads := strings.CutPrefix(name, "GET "); reads {
				answer, got := s.do("ann", http.MethodGet, "/forms"+records.Replace(path)+query, "")
				allowed += map[int]int{http.StatusOK: 1}[answer.StatusCode]
				expect.That(t, !strings.Contains(got+fmt.Sprint(answer.Header), respondent), "%s%s has the respondent: %s", name, query, got)
			}
		}
	}
	expect.That(t, allowed > 50, "%d requests were answered", allowed)
	after := expect.Must(owner.Form(t.Context(), form.ID))
	expect.Equal(t, after.Revision, form.Revision, "the revision")
	expect.Must(owner.Webhook(t.Context(), hook.ID))
	expect.Must(owner.Submission(t.Context(), form.ID, sent.ID))
}

// first returns the first record of a list.
func first[T any](list func(func(T, error) bool)) (value T, err error) {
	for value, err = range list {
		break
	}
	return value, err
}

// roles is a host that knows a user's scopes by workspace, and refuses requests that concern none.
type roles map[formsvc.ID][]formsvc.Scope

func (r roles) scopes(_ *http.Request, workspace, _ formsvc.ID) ([]formsvc.Scope, error) {
	return r[workspace], nil
}

// A request gets the scopes for the workspace that it reads or changes, however it names that workspace.
func TestScopesByWorkspace(t *testing.T) {
	t.Parallel()
	onEachStore(t, testScopesByWorkspace)
}

func testScopesByWorkspace(t *testing.T, store storage.Storage) {
	t.Helper()
	granted := roles{}
	s := newHost(t, store, builder.Config{Scopes: granted.scopes, Limits: builder.Limits{Requests: -1}}, formsvc.WithBasePath("/forms"))
	owner := s.service.As(formsvc.UserIDFrom("ann"))
	edited, read := s.form("ann", oneQuestion), s.form("ann", oneQuestion)
	foreign := s.form("eve", oneQuestion)
	trashed := expect.Must(owner.CreateForm(t.Context(), formsvc.FormCreate{Workspace: edited.WorkspaceID, Name: "Old"}))
	expect.NoError(t, owner.TrashForm(t.Context(), trashed.ID))
	hook := expect.Must(owner.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: read.ID, URL: "http://127.0.0.1/"}))
	kept := expect.Must(owner.CreateForm(t.Context(), formsvc.FormCreate{Workspace: read.WorkspaceID, Name: "Kept"}))
	expect.NoError(t, owner.TrashForm(t.Context(), kept.ID))
	granted[edited.WorkspaceID] = formsvc.Scopes()
	granted[read.WorkspaceID] = []formsvc.Scope{formsvc.ScopeFormsRead, formsvc.ScopeWorkspacesRead, formsvc.ScopeWebhooksRead}

	e, f, ew, rw := edited.ID.String(), read.ID.String(), edited.WorkspaceID.String(), read.WorkspaceID.String()
	create := func(workspace string) string { return fmt.Sprintf(`{"name":"New","workspace_id":%q}`, workspace) }
	restore := func(from, to string) string { return fmt.Sprintf(`{"from":%q,"workspace":%q}`, from, to) }
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		// forms
		{"GET", "/-/v1/forms/" + f, "", 200},
		{"PATCH", "/-/v1/forms/" + f, `{"name":"x"}`, 403},
		{"PATCH", "/-/v1/forms/" + f + "?workspace_id=" + ew, `{"name":"x"}`, 403},
		{"PATCH", "/-/v1/forms/" + f, create(ew), 403},                      // moves it out
		{"PATCH", "/-/v1/forms/" + e, `{"workspace_id":"` + rw + `"}`, 403}, // moves it in
		{"PATCH", "/-/v1/forms/" + e, `{"workspace\u005fid":"` + rw + `"}`, 403},
		{"PATCH", "/-/v1/forms/" + e, `{"workspace_id":"` + rw + `","workspace_id":"` + ew + `"}`, 400},
		{"PATCH", "/-/v1/forms/" + e, strings.Repeat(" ", 1<<20-100) + `{"workspace_id":"` + rw + `"}`, 403},
		{"PATCH", "/-/v1/forms/" + e, strings.Repeat(" ", 1<<20) + `{"workspace_id":"` + rw + `"}`, 413},
		{"PATCH", "/-/v1/forms/" + e, `{"name":"x"}`, 200},
		{"POST", "/-/v1/forms", create(rw), 403},
		{"POST", "/-/v1/forms?workspace_id=" + ew, create(rw), 403},
		{"POST", "/-/v1/forms", create(ew), 201},
		// lists
		{"GET", "/-/v1/forms?workspace_id=" + rw, "", 200},
		{"GET", "/-/v1/forms", "", 403},
		{"GET", "/-/v1/forms?from=" + ew, "", 403},
		{"GET", "/-/v1/workspaces?workspace_id=" + ew, "", 403},
		{"GET", "/-/v1/webhooks?workspace_id=" + ew + "&form=" + e + "&form_id=" + e, "", 403},
		{"GET", "/-/builder/webhooks/paused", "", 403},
		{"GET", "/-/builder/webhooks/paused?workspace_id=" + ew + "&from=" + ew, "", 403},
		{"GET", "/-/builder/webhooks/paused?form=" + f, "", 200},
		// IDs and paths that another spelling hides
		{"PATCH", "/-/v1/forms/%" + fmt.Sprintf("%x", f[0]) + f[1:], `{"name":"x"}`, 404},
		{"PATCH", "/-/v1/forms/forms/" + f, `{"name":"x"}`, 404}, // the service's base path is /forms
		{"PATCH", "/-/v1//forms/" + f, `{"name":"x"}`, 404},
		{"GET", "/-/builder/%66orms/" + f + "/versions", "", 404},
		{"PATCH", "/-/copy/" + e + "/forms/" + f, `{"name":"x"}`, 404},
		{"PATCH", "/-/copy/" + f + "/forms/" + f, `{"name":"x"}`, 403},
		{"GET", "/-/canvas/" + f, "", 200},
		// webhooks
		{"GET", "/-/v1/webhooks/" + hook.ID.String(), "", 200},
		{"DELETE", "/-/v1/webhooks/" + hook.ID.String(), "", 403},
		{"POST", "/-/builder/webhooks/" + hook.ID.String() + "/test", "", 403},
		{"POST", "/-/v1/webhooks", `{"form_id":"` + f + `","url":"http://127.0.0.1/"}`, 403},
		{"POST", "/-/v1/webhooks", `{"form_id":"` + e + `","url":"http://127.0.0.1/"}`, 201},
		// the trash
		{"POST", "/-/builder/trash/" + trashed.ID.String() + "/restore", restore(ew, rw), 403},
		{"POST", "/-/builder/trash/" + trashed.ID.String() + "/restore", restore(rw, ew), 403},
		{"POST", "/-/builder/trash/" + kept.ID.String() + "/restore?from=" + ew, `{"from":"` + rw + `"}`, 403},
		{"DELETE", "/-/builder/trash/" + trashed.ID.String() + "?from=" + rw, "", 403},
		{"POST", "/-/builder/trash/" + trashed.ID.String() + "/restore", restore(ew, ew), 200},
		// another user's form
		{"GET", "/-/v1/forms/" + foreign.ID.String(), "", 403}, // concerns no workspace that the user knows
		{"GET", "/-/v1/forms/" + foreign.ID.String() + "?workspace_id=" + ew, "", 403},
		{"GET", "/-/v1/workspaces/" + foreign.WorkspaceID.String(), "", 403},
		{"POST", "/-/builder/workspaces/" + rw + "/counts", `{"forms":["` + e + `","` + f + `"]}`, 200},
		// pages
		{"GET", "/w/" + rw, "", 403}, // the list of workspaces is refused
		{"GET", "/" + f, "", 200},
		{"GET", "/" + f + "/versions", "", 403},
		{"GET", "/" + f + "/webhooks/x", "", 200},
		{"GET", "/" + foreign.ID.String(), "", 403},
	} {
		answer, body := s.do("ann", c.method, "/forms"+c.path, c.body)
		expect.That(t, answer.StatusCode == c.status, "%s %s %.80s: %d %s, want %d", c.method, c.path, strings.TrimSpace(c.body), answer.StatusCode, body, c.status)
		if strings.HasSuffix(c.path, "/counts") {
			expect.That(t, !strings.Contains(body, e) && body == `{"`+f+`":{"unpublished":false}}`+"\n", "the counts are %s", body)
		}
	}
	granted[formsvc.ID{}] = formsvc.Scopes()
	for _, path := range []string{"/-/v1/forms/", "/-/builder/forms/"} { // access rules still apply
		answer, body := s.do("ann", http.MethodGet, "/forms"+path+foreign.ID.String()+map[bool]string{true: "/share"}[path != "/-/v1/forms/"], "")
		expect.That(t, answer.StatusCode == http.StatusNotFound, "%s: %d %s", path, answer.StatusCode, body)
	}
	// A body that ends early is checked as far as it goes.
	expect.NoError(t, owner.TrashForm(t.Context(), trashed.ID))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/forms/-/builder/trash/"+trashed.ID.String()+"/restore", io.MultiReader(strings.NewReader(restore(ew, rw)), iotest.ErrReader(io.ErrUnexpectedEOF)))
	r.Header.Set("User", "ann")
	w := httptest.NewRecorder()
	s.owners.ServeHTTP(w, r)
	expect.That(t, w.Code == http.StatusForbidden, "an incomplete body: %d %s", w.Code, w.Body)
	answer, body := s.do("ann", http.MethodGet, "/forms/w/"+rw, "")
	expect.That(t, answer.StatusCode == http.StatusOK && strings.Contains(body, "&#34;scopes&#34;:[&#34;forms:read&#34;,"), "the page has the scopes: %d %s", answer.StatusCode, body)
}

func TestScopesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSite(t, func(c *builder.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Scopes = func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) {
			return formsvc.Scopes(), errors.New("roles are down")
		}
	})
	form := s.form("ann", oneQuestion)
	for _, path := range []string{"/-/v1/me", "/-/builder/times", "/-/canvas/" + form.ID.String(), "/", "/" + form.ID.String()} {
		answer, body := s.do("ann", http.MethodGet, "/forms"+path, "")
		expect.That(t, answer.StatusCode == http.StatusServiceUnavailable, "%s: %d %s", path, answer.StatusCode, body)
	}
	expect.That(t, strings.Contains(log.String(), "roles are down"), "the log is %s", &log)
}
