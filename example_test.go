package formsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

// exampleForm makes a service with one published form.
func exampleForm(opts ...formsvc.Option) (*formsvc.Service, formsvc.ID) {
	svc, err := formsvc.New(append(opts, formsvc.WithStorage(memory.New()))...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback", Definition: formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"score","type":"nps","label":"Would you recommend us?","required":true},
		{"id":"why","type":"long_text","label":"Why?"}]`)}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ann.PublishForm(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	return svc, form.ID
}

func Example() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go svc.Dispatcher().Run(ctx)

	mux := http.NewServeMux()
	mux.Handle("/v1/", svc)
	server := httptest.NewServer(mux)
	defer server.Close()

	response, err := http.Get(server.URL + "/v1/openapi.json")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output: 200 OK
}

func ExampleService_CreateKey() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithKeyPrefix("acme"))
	if err != nil {
		log.Fatal(err)
	}
	nextYear := time.Now().AddDate(1, 0, 0)
	issued, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{
		User:      formsvc.User{ID: formsvc.UserIDFrom("42"), Name: "Ann", Email: "ann@example.com"},
		Name:      "reporting",
		Scopes:    []formsvc.Scope{formsvc.ScopeFormsRead, formsvc.ScopeSubmissionsRead},
		ExpiresAt: &nextYear,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(issued.Secret[:10], len(issued.Secret)) // show it once; it is not stored
	// Output: acme_live_ 59
}

func ExampleService_Submit() {
	svc, form := exampleForm()
	defer svc.Close(context.Background())
	submission, err := svc.Submit(context.Background(), formsvc.Response{
		FormID:         form,
		Answers:        map[string]json.RawMessage{"score": json.RawMessage(`9`), "why": json.RawMessage(`"Quick help"`)},
		CompletionTime: 31.5,
		IdempotencyKey: "6f6e1c", // made when the page was shown
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(submission.Answers))
	// Output: [{"field":{"id":"score","type":"nps","label":"Would you recommend us?"},"value":9},{"field":{"id":"why","type":"long_text","label":"Why?"},"value":"Quick help"}]
}

func ExampleError() {
	svc, form := exampleForm()
	defer svc.Close(context.Background())
	_, err := svc.Submit(context.Background(), formsvc.Response{
		FormID:  form,
		Answers: map[string]json.RawMessage{"score": json.RawMessage(`11`), "who": json.RawMessage(`"me"`)},
	})
	var faults *formsvc.Error
	if errors.As(err, &faults) {
		for _, v := range faults.Violations {
			fmt.Println(v.Field, v.Code)
		}
	}
	// Output:
	// score OUT_OF_RANGE
	// who UNKNOWN_FIELD
}

func ExampleUserIDFrom() {
	fmt.Println(formsvc.UserIDFrom("9b2f3c1e-7d7e-4a51-8d0a-3c0f6b1f2a11"))
	// Output: f70bee8e1aeaa1d4e2d6fd56
}

type sessions map[string]formsvc.Principal

func (s sessions) ResolveKey(_ context.Context, token string) (formsvc.Principal, error) {
	p, ok := s[token]
	if !ok {
		return formsvc.Principal{}, formsvc.ErrInvalidKey
	}
	return p, nil
}

func ExampleWithKeyResolver() {
	svc, err := formsvc.New(
		formsvc.WithStorage(memory.New()),
		formsvc.WithKeyResolver(sessions{"s3ss10n": {
			KeyID: "session 1", UserID: formsvc.UserIDFrom("42"), Name: "Ann", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead},
		}}),
		formsvc.WithCredential(func(r *http.Request) string { // from a cookie of the host's
			c, err := r.Cookie("session")
			if err != nil {
				return ""
			}
			return c.Value
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
	r.AddCookie(&http.Cookie{Name: "session", Value: "s3ss10n"})
	w := httptest.NewRecorder()
	svc.ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), `"name":"Ann"`))
	// Output: 200 true
}

// logins knows who is logged in, and passes API keys on to the service.
type logins struct {
	users map[string]formsvc.ID // by the cookie's value
	svc   *formsvc.Service
}

func (s *logins) ResolveKey(ctx context.Context, credential string) (formsvc.Principal, error) {
	user, ok := s.users[credential]
	if !ok {
		return s.svc.ResolveKey(ctx, credential)
	}
	return formsvc.Principal{KeyID: "user " + user.String(), UserID: user, Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}}, nil
}

// Login sessions and API keys on one service. A cookie comes along with requests that
// other sites cause, so the standard library's protection stands in front.
func ExampleService_ResolveKey() {
	auth := &logins{users: map[string]formsvc.ID{"session-of-ann": formsvc.UserIDFrom("ann")}}
	svc, err := formsvc.New(
		formsvc.WithStorage(memory.New()),
		formsvc.WithKeyResolver(auth),
		formsvc.WithCredential(func(r *http.Request) string {
			if key := formsvc.Credential(r); key != "" {
				return key
			}
			if cookie, err := r.Cookie("session"); err == nil { // an old one is no harm to a key
				return cookie.Value
			}
			return ""
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	auth.svc = svc
	api := http.NewCrossOriginProtection().Handler(svc)

	key, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("bob")}, Name: "script", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, header := range []http.Header{{"Cookie": {"session=session-of-ann"}}, {"X-Api-Key": {key.Secret}}, {"Cookie": {"session=old"}, "X-Api-Key": {key.Secret}}, {"X-Api-Key": {"nonsense"}}} {
		r := httptest.NewRequest(http.MethodGet, "/v1/forms", nil)
		r.Header = header
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 200
	// 401
}

// An admin page lists forms and responses with Go calls only.
func ExampleService_AsHost() {
	svc, form := exampleForm()
	ctx := context.Background()
	if _, err := svc.Submit(ctx, formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"score": []byte("9")}}); err != nil {
		log.Fatal(err)
	}
	admin := svc.AsHost()
	for f, err := range admin.Forms(ctx, formsvc.FormQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(f.Name, f.Status)
		for s, err := range admin.Submissions(ctx, f.ID, formsvc.SubmissionQuery{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(string(s.Answers))
		}
	}
	// Output:
	// Feedback published
	// [{"field":{"id":"score","type":"nps","label":"Would you recommend us?"},"value":9}]
}

// A page of settings lists a user's API keys and ends one of them.
func ExampleService_Keys() {
	svc, _ := exampleForm()
	ctx, ann := context.Background(), formsvc.UserIDFrom("ann")
	issued, err := svc.CreateKey(ctx, formsvc.KeyRequest{User: formsvc.User{ID: ann}, Name: "old script", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := svc.Keys(ctx, ann)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range keys {
		fmt.Println(key.Name, key.Scopes)
		if err := svc.RevokeKey(ctx, ann, key.ID); err != nil {
			log.Fatal(err)
		}
	}
	_, err = svc.ResolveKey(ctx, issued.Secret)
	fmt.Println(errors.Is(err, formsvc.ErrInvalidKey))
	// Output:
	// old script [forms:read]
	// true
}

// A form of settings offers all scopes.
func ExampleScopes() {
	for _, scope := range formsvc.Scopes() {
		fmt.Println(scope)
	}
	// Output:
	// analytics:read
	// forms:read
	// forms:write
	// submissions:read
	// submissions:write
	// webhooks:read
	// webhooks:write
	// workspaces:read
	// workspaces:write
}

// A user's workspaces, as a page of the product lists them and changes them.
func ExampleClient_Workspaces() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	for _, name := range []string{"Customers", "Staff"} {
		if _, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: name}); err != nil {
			log.Fatal(err)
		}
	}
	for w, err := range ann.Workspaces(ctx, formsvc.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		switch w.Name {
		case "Customers":
			renamed, err := ann.RenameWorkspace(ctx, w.ID, "Clients")
			fmt.Println(renamed.Name, err)
		case "Staff": // its forms, if any, go to the trash
			fmt.Println("deleted:", ann.DeleteWorkspace(ctx, w.ID))
			_, err := ann.Workspace(ctx, w.ID)
			fmt.Println(errors.Is(err, formsvc.ErrNotFound))
		}
	}
	// Unordered output:
	// Clients <nil>
	// deleted: <nil>
	// true
}

// Ann hands her workspace over to Bob, and then leaves it.
func ExampleService_TransferWorkspace() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann, bob := context.Background(), formsvc.UserIDFrom("ann"), formsvc.UserIDFrom("bob")
	workspace, err := svc.CreateWorkspace(ctx, ann, "Customers")
	if err != nil {
		log.Fatal(err)
	}
	if err := svc.TransferWorkspace(ctx, workspace.ID, bob); err != nil {
		log.Fatal(err)
	}
	members, err := svc.Members(ctx, workspace.ID)
	fmt.Println(len(members) == 1 && members[0] == ann, err) // who was the owner is a member
	if err := svc.RemoveMember(ctx, workspace.ID, ann); err != nil {
		log.Fatal(err)
	}
	members, err = svc.Members(ctx, workspace.ID)
	fmt.Println(len(members), err)
	// Output:
	// true <nil>
	// 0 <nil>
}

// Members of a workspace see its forms; others do not.
func ExampleService_AddMember() {
	svc, id := exampleForm()
	ctx, bob := context.Background(), formsvc.UserIDFrom("bob")
	form, err := svc.AsHost().Form(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	_, err = svc.As(bob).Form(ctx, id)
	fmt.Println(errors.Is(err, formsvc.ErrNotFound))
	if err := svc.AddMember(ctx, form.WorkspaceID, bob); err != nil {
		log.Fatal(err)
	}
	_, err = svc.As(bob).Form(ctx, id)
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
