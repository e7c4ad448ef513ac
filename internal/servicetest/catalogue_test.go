package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// Every code that the description lists is provoked with its status. That no other
// code is ever returned, serve checks with every answer, and the handler's catalog is
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
	member := formsvc.UserIDFrom("member")
	expect.NoError(t, b.AddMember(t.Context(), b.Workspace, member))
	with := func(method, path, body, header, value string) *httptest.ResponseRecorder {
		r := b.Request(method, path, body)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		servicetest.Serve(t, b.Service, w, r)
		return w
	}
	do := func(method, path, body string) *httptest.ResponseRecorder { return b.Do(method, path, body, nil) }

	provoked := map[string]*httptest.ResponseRecorder{
		"MALFORMED_JSON":          do("POST", "/forms", "{"),
		"METHOD_NOT_ALLOWED":      do("PUT", "/me", "{}"),
		"BODY_TOO_LARGE":          do("POST", "/forms", strings.Repeat(" ", 1<<20+1)),
		"UNSUPPORTED_MEDIA_TYPE":  with("POST", "/forms", "{}", "Content-Type", "text/plain"),
		"INVALID_API_KEY":         b.DoAs("nonsense", "GET", "/me", ""),
		"INSUFFICIENT_SCOPE":      b.DoAs(b.Issue(b.User.ID, storage.ScopeFormsRead).Secret, "GET", "/workspaces", ""),
		"OWNER_REQUIRED":          b.DoAs(b.Issue(member, storage.Scopes()...).Secret, "DELETE", "/workspaces/"+b.Workspace.String(), ""),
		"NOT_FOUND":               do("GET", "/forms/nothing", ""),
		"WORKSPACE_LIMIT_REACHED": do("POST", "/workspaces", `{"name":"x"}`),
		"BLOCK_EXISTS":            do("POST", form+"/blocks", `{"block":{"id":"name"}}`),
		"REVISION_MISMATCH":       with("PATCH", form, `{"name":"x"}`, "If-Match", `"old"`),
		"VALIDATION_FAILED":       do("PATCH", form, `{}`),
		"INVALID_CURSOR":          do("GET", "/forms?cursor=x", ""),
		"WEBHOOK_URL_REJECTED":    do("POST", "/webhooks", `{"form_id":"`+strings.TrimPrefix(form, "/forms/")+`","url":"http://127.0.0.1/"}`),
		"RATE_LIMITED":            limited.Do("GET", "/me", "", nil),
		"INTERNAL_ERROR":          failing(errors.New("a bug")),
		"UNAVAILABLE":             failing(storage.ErrUnavailable),
	}

	var document struct {
		Codes map[string]int `json:"x-error-codes"`
	}
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &document))
	for code, status := range document.Codes {
		w := provoked[code]
		if w == nil {
			t.Errorf("no request provokes %s", code)
			continue
		}
		var e struct{ Code, Message string }
		given := w.Header().Get("Retry-After") != ""
		expect.That(t, given == (code == "UNAVAILABLE" || code == "RATE_LIMITED"), "%s: Retry-After %q", code, w.Header().Get("Retry-After"))
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code != code || w.Code != status || e.Message == "" {
			t.Errorf("%d %s (%v), want %d %s", w.Code, w.Body, err, status, code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(provoked)) {
		_, known := document.Codes[code]
		expect.That(t, known, "%s is not described", code)
	}
}

// noWorkspace makes none, with the error of a failingStore.
type noWorkspace struct{ failingStore }

func (s noWorkspace) CreateWorkspace(context.Context, storage.Workspace, int) error { return s.err }

// A host that answers as the comment of Client says answers as the API does.
func TestErrorsHaveTheStatusThatClientSays(t *testing.T) {
	t.Parallel()
	source := expect.Must(os.ReadFile("../../formsvc.go"))
	b := servicetest.Setup(t)
	causes := map[string]error{
		"*Error": &formsvc.Error{}, "*RejectedURLError": &formsvc.RejectedURLError{}, "*RevisionError": &formsvc.RevisionError{},
		"ErrInvalidKey": formsvc.ErrInvalidKey, "ErrNotOwner": formsvc.ErrNotOwner, "ErrInsufficientScope": formsvc.ErrInsufficientScope, "ErrNotFound": formsvc.ErrNotFound,
		"ErrLimitReached": formsvc.ErrLimitReached, "ErrBlockExists": formsvc.ErrBlockExists,
		"ErrUnavailable": formsvc.ErrUnavailable, "ErrOutcomeUnknown": formsvc.ErrOutcomeUnknown, "context.Canceled": context.Canceled,
	}
	rows := regexp.MustCompile(`(?m)^//\t(\S+) +(\d{3}) ([A-Z_]+)`).FindAllStringSubmatch(string(source), -1)
	expect.That(t, len(rows) == len(causes), "the comment has %d rows, want %d", len(rows), len(causes))
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

type describedFacts struct {
	Info     struct{ Description string }
	Paths    map[string]map[string]json.RawMessage // by path and method
	Webhooks map[string]struct {
		Post struct{ Description string }
	}
	Components struct {
		Headers map[string]struct{ Example any }
		Schemas map[string]struct {
			Properties map[string]struct {
				Words    []any `json:"x-extensible-enum"`
				MaxItems int
			}
		}
	}
}

func readFacts(t *testing.T) (d describedFacts) {
	t.Helper()
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &d))
	return d
}

// operations are the ids of the operations.
func (d describedFacts) operations() (ids []string) {
	for _, methods := range d.Paths {
		for _, raw := range methods {
			var op struct{ OperationID string }
			if json.Unmarshal(raw, &op) == nil && op.OperationID != "" { // parameters are a list
				ids = append(ids, op.OperationID)
			}
		}
	}
	return ids
}

// packageDoc is the documentation of a package that stands in its doc.go.
func packageDoc(t *testing.T, dir string) string {
	t.Helper()
	file := expect.Must(parser.ParseFile(gotoken.NewFileSet(), filepath.Join("../..", dir, "doc.go"), nil, parser.ParseComments))
	return file.Doc.Text()
}

// unwrapped is a text without its line ends.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// The numbers of webhooks that the description and package webhooks say are the defaults.
func TestTextsSayTheDefaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	d, said := readFacts(t), unwrapped(packageDoc(t, "webhooks"))
	described := d.Webhooks["form.response.completed"].Post.Description
	// The schedule is held by TestTextsSayTheDefaultSchedule of webhooks.
	seconds := strconv.Itoa(int(webhooks.DefaultTimeout / time.Second))
	want := "waits at most " + seconds + " seconds"
	expect.That(t, strings.Contains(described, want), "the description does not say %q", want)
	want = "[Config.Timeout] (" + seconds + " s by default)"
	expect.That(t, strings.Contains(said, want), "the documentation of webhooks does not say %q", want)
	days := map[time.Duration]string{3 * 24 * time.Hour: "three days"}[webhooks.DefaultMaxAge]
	want = "By default, deliveries that have waited for " + days + " expire"
	expect.That(t, days != "" && strings.Contains(described, want), "the description does not say %q", want)
	want = "after " + days + " of failures ([Config.MaxAge])"
	expect.That(t, days != "" && strings.Contains(said, want), "the documentation of webhooks does not say %q", want)
}

func TestTextsSayTheDefaultRateLimit(t *testing.T) {
	t.Parallel()
	expect.Require(t, ratelimit.DefaultPer == time.Minute, "the texts say a minute")
	requests := fmt.Sprintf("%d requests ", ratelimit.DefaultTokens)
	for name, said := range map[string][2]string{
		"description":               {readFacts(t).Info.Description, requests + "per minute"},
		"documentation of the root": {unwrapped(packageDoc(t, ".")), requests + "a minute"},
	} {
		expect.That(t, strings.Contains(said[0], said[1]), "the %s does not say %q", name, said[1])
	}
	for name, want := range map[string]string{
		"RateLimitPolicy": fmt.Sprintf(`"key";q=%d;w=60`, ratelimit.DefaultTokens),
		"RateLimit":       fmt.Sprintf(`"key";r=%d;t=42`, ratelimit.DefaultTokens-1),
	} {
		expect.Equal[any](t, readFacts(t).Components.Headers[name].Example, want, "the example of %s", name)
	}
}

// The list of answers in the documentation of package schema has each type that answers.
func TestTheDocumentationListsEveryAnswerType(t *testing.T) {
	t.Parallel()
	_, list, found := strings.Cut(packageDoc(t, "schema"), "# Answers\n")
	list, _, end := strings.Cut(list, "\n# ")
	expect.Require(t, found && end, "the documentation of schema has no section about answers")
	listed := map[string]bool{}
	for _, item := range strings.Split(list, "\n  - ")[1:] {
		types, _, _ := strings.Cut(item, ":")
		for _, kind := range strings.FieldsFunc(types, func(r rune) bool { return r == ' ' || r == ',' }) {
			listed[kind] = true
		}
	}
	enum := readFacts(t).Components.Schemas["AnswerField"].Properties["type"].Words
	expect.Require(t, len(enum) != 0, "the description has no types of answers")
	for _, value := range enum {
		kind := value.(string)
		expect.That(t, kind == schema.TypeHidden || kind == schema.TypeVariable || listed[kind], "the list has no %s", value)
	}
}

// The history that is kept is that of the description.
func TestHistoryIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	d := readFacts(t)
	got := d.Components.Schemas["DeliveryList"].Properties["items"].MaxItems
	expect.That(t, got == storage.MaxHistory, "the description shows %d deliveries, the storage keeps %d", got, storage.MaxHistory)
}

// What the API takes, the Client takes: each member of a body has a field.
func TestClientHasEveryMemberOfAForm(t *testing.T) {
	t.Parallel()
	d := readFacts(t)
	for name, of := range map[string]reflect.Type{
		"FormCreate": reflect.TypeFor[formsvc.FormCreate](),
		"FormUpdate": reflect.TypeFor[formsvc.FormUpdate](),
	} {
		members := d.Components.Schemas[name].Properties
		expect.That(t, len(members) != 0, "the description has no members of %s", name)
		for member := range members {
			field := strings.TrimSuffix(member, "_id")
			field = strings.ToUpper(field[:1]) + field[1:]
			_, ok := of.FieldByName(field)
			expect.That(t, ok, "%s has no %s for %s of %s", of, field, member, name)
		}
	}
}

// What the Client takes it stores: each text of a form comes back as it was given.
func TestClientKeepsEveryMemberOfAForm(t *testing.T) {
	t.Parallel()
	s := expect.Must(formsvc.New(formsvc.WithStorage(memory.New())))
	w := expect.Must(s.AsHost().CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Owner: formsvc.ID{1}, Name: "W"}))
	create, update := formsvc.FormCreate{Workspace: w.ID}, formsvc.FormUpdate{}
	want := map[string]string{"Type": "MULTI", "Status": "published"}
	set := func(of reflect.Value, value string) {
		for i := range of.NumField() {
			given := value
			if one, ok := want[of.Type().Field(i).Name]; ok && one != "created" {
				given = one
			}
			switch f := of.Field(i); f.Interface().(type) {
			case string:
				f.SetString(given)
			case *string:
				f.Set(reflect.ValueOf(&given))
			default:
				continue
			}
			want[of.Type().Field(i).Name] = given
		}
	}
	check := func(what string, got formsvc.Form, err error, of reflect.Type) {
		t.Helper()
		expect.Require(t, err == nil, "%s = %v", what, err)
		for i := range of.NumField() {
			name := of.Field(i).Name
			kept, ok := want[name]
			expect.That(t, !ok || reflect.ValueOf(got).FieldByName(name).Interface() == kept, "%s lost %s", what, name)
		}
	}
	set(reflect.ValueOf(&create).Elem(), "created")
	ensured, err := s.AsHost().EnsureForm(t.Context(), create)
	check("EnsureForm", ensured.Form, err, reflect.TypeFor[formsvc.FormCreate]())
	create.PublicID = "" // CreateForm makes one
	delete(want, "PublicID")
	got, err := s.AsHost().CreateForm(t.Context(), create)
	check("CreateForm", got, err, reflect.TypeFor[formsvc.FormCreate]())
	set(reflect.ValueOf(&update).Elem(), "updated")
	got, err = s.AsHost().UpdateForm(t.Context(), got.ID, update)
	check("UpdateForm", got, err, reflect.TypeFor[formsvc.FormUpdate]())
}

// The README says how much there is.
func TestTheReadmeCountsTheOperations(t *testing.T) {
	t.Parallel()
	readme := expect.Must(os.ReadFile("../../README.md"))
	want := fmt.Sprintf(" %d operations", len(readFacts(t).operations()))
	expect.That(t, strings.Contains(string(readme), want), "the README has no%s", want)
}

// A host names the scopes of a key by the root's constants.
func TestTheRootHasEveryScope(t *testing.T) {
	t.Parallel()
	surface := expect.Must(os.ReadFile("../docs/surface.txt"))
	scopes := regexp.MustCompile(`(?m)^const (\w+)\s+Scope\s+= `).FindAllSubmatch(surface, -1)
	if len(scopes) != len(storage.Scopes()) {
		t.Errorf("the surface has %d scopes, want %d", len(scopes), len(storage.Scopes()))
	}
	for _, scope := range scopes {
		if want := fmt.Sprintf("\nconst %[1]s = storage.%[1]s\n", scope[1]); !strings.Contains(string(surface), want) {
			t.Errorf("the root has no %s", scope[1])
		}
	}
}

// A mistyped path is not taken for a form that is somebody else's.
func TestAPathWithoutAnOperationLeadsToTheDescription(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithBaseURL("https://example.com/api"))
	const leads = "GET https://example.com/api/v1/openapi.json for all operations."
	for path, want := range map[string]bool{"/form": true, "/me/": true, "/forms/1": false, "/forms/65a1f0c2d4e5b6a7980c1d02": false} {
		w := b.Do(http.MethodGet, path, "", nil)
		expect.That(t, w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), leads) == want, "%s: %d %s", path, w.Code, w.Body)
	}
}

func TestAPublicIDThatNoStoreCanHaveIsNotFound(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		for _, id := range []string{"", "a\x00bcdefghijk", "\xff\xfebcdefghij", strings.Repeat("a", 12), strings.Repeat("a", 1<<20)} {
			expect.Error(t, fmt.Sprintf("%s: %.20q", name, id), expect.ErrorOf(b.PublicForm(t.Context(), id)), formsvc.ErrNotFound)
		}
	}
}
