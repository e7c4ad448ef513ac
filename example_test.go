package formsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
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

// A process that is told to stop ends its server first, then the dispatcher, then the service.
func Example_stopping() {
	signaled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "127.0.0.1:0", Handler: svc, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute}

	// With the signal's context the dispatcher would stop while responses still come.
	delivering, stopDelivering := context.WithCancel(context.Background())
	defer stopDelivering()
	served, delivered := make(chan error, 1), make(chan error, 1)
	go func() { delivered <- svc.Dispatcher().Run(delivering) }()
	go func() { served <- server.ListenAndServe() }()

	stop() // stands for the signal here
	select {
	case <-signaled.Done():
	case err = <-served: // it cannot listen
	}

	// No request comes in, and those under way end. An export may take longer: it is cut.
	ending, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if late := server.Shutdown(ending); late != nil {
		err = errors.Join(err, late, server.Close())
	}
	// Deliveries under way end, and the others stay in the queue: at most 16 seconds.
	stopDelivering()
	err = errors.Join(err, <-delivered)
	// Views, starts and the last uses of keys are written.
	closing, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err = errors.Join(err, svc.Close(closing))
	// Last comes what the host gave the service: pool.Close()
	fmt.Println("stopped:", err)
	// Output: stopped: <nil>
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
	// A handler returns the secret once; it is not stored. The JSON of issued itself has no secret.
	body, err := json.Marshal(map[string]any{"id": issued.Key.ID, "secret": issued.Secret})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(issued.Secret[:10], len(issued.Secret), strings.Contains(string(body), issued.Secret))
	// Output: acme_live_ 59 true
}

func ExampleService_Submit() {
	svc, form := exampleForm()
	defer svc.Close(context.Background())
	submission, err := svc.Submit(context.Background(), formsvc.SubmitParams{
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
	_, err := svc.Submit(context.Background(), formsvc.SubmitParams{
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

// An admin page lists forms and responses with Go calls only.
func ExampleService_AsHost() {
	svc, form := exampleForm()
	ctx := context.Background()
	if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte("9")}}); err != nil {
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

// A form is made of Go values.
func ExampleClient_CreateForm() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := json.Marshal([]schema.Block{
		{ID: "score", Type: schema.TypeNPS, Label: "Would you recommend us?", Required: true},
		{ID: "found", Type: schema.TypeSingleChoice, Label: "How did you find us?", Choices: []schema.Choice{{ID: "web", Label: "The web"}, {ID: "friend", Label: "A friend"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback", Definition: formsvc.Definition{Blocks: blocks}})
	if err != nil {
		log.Fatal(err)
	}
	form, err = ann.PublishForm(ctx, form.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(form.Name, form.Status, form.IsClosed(time.Now()))
	// Output: Feedback published false
}

// Every fault of what was given is reported at once.
func ExampleClient_CreateForm_faults() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	_, err := ann.UpdateForm(ctx, form, formsvc.FormUpdate{Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"nonsense"},{"id":"a","type":"nps"}]`),
	}})
	var faults *schema.Error
	if errors.As(err, &faults) {
		for _, v := range faults.Violations {
			fmt.Println(v.Path, v.Code)
		}
	}
	// Output:
	// /definition/blocks/0/type NOT_ALLOWED
	// /definition/blocks/1/id DUPLICATE
}

// Two people edit one form: the second change says which revision it is about.
func ExampleClient_UpdateForm() {
	svc, id := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	form, err := ann.Form(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	name, other := "Feedback 2026", "Feedback for all"
	if _, err := ann.UpdateForm(ctx, id, formsvc.FormUpdate{Name: &name, IfRevision: form.Revision}); err != nil {
		log.Fatal(err)
	}
	_, err = ann.UpdateForm(ctx, id, formsvc.FormUpdate{Name: &other, IfRevision: form.Revision})
	var moved *formsvc.RevisionError
	fmt.Println(errors.As(err, &moved), moved.Current-form.Revision)
	// Output: true 1
}

// Blocks are appended, changed by a merge patch, and removed.
func ExampleClient_CreateBlock() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	block, err := json.Marshal(schema.Block{ID: "email", Type: schema.TypeEmail, Label: "Your address"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ann.CreateBlock(ctx, form, block); err != nil {
		log.Fatal(err)
	}
	if _, err := ann.UpdateBlock(ctx, form, "email", json.RawMessage(`{"required":true}`)); err != nil {
		log.Fatal(err)
	}
	if _, err := ann.DeleteBlock(ctx, form, "why"); err != nil {
		log.Fatal(err)
	}
	stored, err := ann.Blocks(ctx, form)
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := stored.Decode()
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range blocks {
		fmt.Println(b.ID, b.Type, b.Required)
	}
	// Output:
	// score nps true
	// email email true
}

// An editor puts the blocks in another order, at the revision that it has shown.
func ExampleClient_ReplaceBlocks() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	why, err := ann.Block(ctx, form, "why")
	if err != nil {
		log.Fatal(err)
	}
	score, err := ann.Block(ctx, form, "score")
	if err != nil {
		log.Fatal(err)
	}
	order, err := json.Marshal([]json.RawMessage{why.JSON, score.JSON})
	if err != nil {
		log.Fatal(err)
	}
	stored, err := ann.ReplaceBlocks(ctx, form, order, formsvc.IfRevision(score.Revision))
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := stored.Decode()
	fmt.Println(blocks[0].ID, blocks[1].ID, stored.Revision-score.Revision, err)
	// Output: why score 1 <nil>
}

// An editor shows what would make a form unanswerable before it is stored.
func ExampleService_Warnings() {
	svc, _ := exampleForm()
	warnings, err := svc.Warnings(formsvc.Definition{Blocks: json.RawMessage(`[{"id":"found","type":"single_choice","label":"How did you find us?","required":true}]`)})
	if err != nil {
		log.Fatal(err) // a *schema.Error: it could not be stored
	}
	for _, w := range warnings {
		fmt.Println(w.Path, w.Code)
	}
	// Output:
	// /blocks/0/choices UNANSWERABLE_BLOCK
	// /blocks UNANSWERABLE_FORM
}

func ExampleDecodeForm() {
	svc, id := exampleForm()
	form, err := svc.AsHost().Form(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	content, err := formsvc.DecodeForm(form)
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range content.Blocks {
		fmt.Println(block.Label)
	}
	// Output:
	// Would you recommend us?
	// Why?
}

// An admin page lists forms and responses with Go calls only.
func Example_adminPage() {
	svc, form := exampleForm()
	if _, err := svc.Submit(context.Background(), formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`), "why": []byte(`"<3"`)}}); err != nil {
		log.Fatal(err)
	}
	page := template.Must(template.New("").Parse(`{{range .}}<h2>{{.Name}}</h2>
{{range .Responses}}<ul>{{range .}}<li>{{.Label}} {{.}}</li>{{end}}</ul>
{{end}}{{end}}`))
	type shown struct {
		Name      string
		Responses [][]formsvc.Answer
	}
	admin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // behind the host's own login
		var forms []shown
		for f, err := range svc.AsHost().Forms(r.Context(), formsvc.FormQuery{Limit: 20}) {
			if err != nil {
				http.Error(w, "unavailable", http.StatusServiceUnavailable)
				return
			}
			one := shown{Name: f.Name}
			for s, err := range svc.AsHost().Submissions(r.Context(), f.ID, formsvc.SubmissionQuery{Limit: 5}) {
				answers, decodeErr := formsvc.DecodeAnswers(s)
				if errors.Join(err, decodeErr) != nil {
					http.Error(w, "unavailable", http.StatusServiceUnavailable)
					return
				}
				one.Responses = append(one.Responses, answers)
			}
			forms = append(forms, one)
		}
		if err := page.Execute(w, forms); err != nil {
			log.Println(err)
		}
	})
	w := httptest.NewRecorder()
	admin.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/admin", nil))
	fmt.Print(w.Body)
	// Output:
	// <h2>Feedback</h2>
	// <ul><li>Would you recommend us? 9</li><li>Why? &lt;3</li></ul>
}

// A deleted form waits in the trash until the host restores or purges it.
func ExampleService_RestoreForm() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	if err := ann.TrashForm(ctx, form); err != nil {
		log.Fatal(err)
	}
	_, err := ann.Form(ctx, form)
	fmt.Println(errors.Is(err, formsvc.ErrNotFound))
	if err := svc.RestoreForm(ctx, form, formsvc.ID{}); err != nil {
		log.Fatal(err)
	}
	restored, err := ann.Form(ctx, form)
	fmt.Println(restored.Name, err)
	// Output:
	// true
	// Feedback <nil>
}

// branching makes a service with one form of these blocks and variables.
func branching(blocks, variables string) (*formsvc.Service, formsvc.ID) {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Branches", Definition: formsvc.Definition{
		Blocks: json.RawMessage(blocks), Variables: json.RawMessage(variables),
	}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ann.PublishForm(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	if warnings, err := ann.Warnings(ctx, form.ID); err != nil || len(warnings) > 0 {
		log.Fatal(warnings, err)
	}
	return svc, form.ID
}

// showPath prints the way through a form for some answers; required blocks have a star.
func showPath(svc *formsvc.Service, form formsvc.ID, answers string) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(answers), &given); err != nil {
		log.Fatal(err)
	}
	path, err := svc.Path(context.Background(), form, given, nil)
	if err != nil {
		log.Fatal(err)
	}
	var ids []string
	for _, block := range path.Blocks {
		if block.Required {
			block.ID += "*"
		}
		ids = append(ids, block.ID)
	}
	fmt.Println(strings.Join(ids, " "))
}

// Who has no pet passes over the questions about it.
func Example_skipASection() {
	svc, form := branching(`[
		{"id":"pet","type":"yes_no","label":"Do you have a pet?","required":true,"properties":{"rule":{
			"next":[{"if":{"!":{"var":"answers.pet"}},"to":"food"}]}}},
		{"id":"species","type":"short_text","label":"Which one?","required":true},
		{"id":"age","type":"number","label":"How old is it?"},
		{"id":"food","type":"long_text","label":"What do you eat?"},
		{"id":"thanks","type":"ending","label":"Thank you"}]`, `{}`)
	showPath(svc, form, `{"pet":true}`)
	showPath(svc, form, `{"pet":false}`)
	// Output:
	// pet* species* age food thanks
	// pet* food thanks
}

// A survey that wants people between 18 and 30 thanks all others at once. Whoever is asked
// must say where they live.
func Example_quotaQuestion() {
	svc, form := branching(`[
		{"id":"age","type":"number","label":"How old are you?","required":true,"properties":{"rule":{
			"next":[{"if":{"!":{"<=":[18,{"var":"answers.age"},30]}},"to":"full"}]}}},
		{"id":"country","type":"country","label":"Where do you live?","properties":{"rule":{"require":{">=":[{"var":"answers.age"},18]}}}},
		{"id":"done","type":"ending","label":"Thank you"},
		{"id":"full","type":"ending","label":"We have enough answers from your age"}]`, `{}`)
	showPath(svc, form, `{"age":25}`)
	showPath(svc, form, `{"age":55}`)
	// Output:
	// age* country* done
	// age* full
}

// Each right answer counts one; the ending depends on the sum, which is kept with the
// response.
func Example_scoreWithTwoEndings() {
	svc, form := branching(`[
		{"id":"capital","type":"single_choice","label":"What is the capital of Australia?","choices":[{"id":"syd","label":"Sydney"},{"id":"cbr","label":"Canberra"}],
			"properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},{"if":[{"==":[{"var":"answers.capital"},"cbr"]},1,0]}]}}}}},
		{"id":"primes","type":"multiple_choice","label":"Which are prime?","choices":[{"id":"7","label":"7"},{"id":"9","label":"9"},{"id":"11","label":"11"}],
			"properties":{"rule":{
				"set":{"score":{"+":[{"var":"variables.score"},{"if":[{"==":[{"var":"answers.primes"},["7","11"]]},1,0]}]}},
				"next":[{"if":{"==":[{"var":"variables.score"},2]},"to":"won"}]}}},
		{"id":"again","type":"ending","label":"Try again"},
		{"id":"won","type":"ending","label":"All right!"}]`, `{"score":0}`)
	showPath(svc, form, `{"capital":"syd","primes":["7","11"]}`)
	showPath(svc, form, `{"capital":"cbr","primes":["7","11"]}`)

	stored, err := svc.Submit(context.Background(), formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"capital": json.RawMessage(`"cbr"`)}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(stored.Answers))
	// Output:
	// capital primes again
	// capital primes won
	// [{"field":{"id":"capital","type":"single_choice","label":"What is the capital of Australia?"},"value":{"id":"cbr","label":"Canberra"}},{"field":{"id":"score","type":"variable","label":"score"},"value":1}]
}

// The rest of an address is asked for once there is a way to send something.
func Example_showTheRestOfAnAddress() {
	svc, form := branching(`[
		{"id":"delivery","type":"dropdown","label":"How shall we send it?","required":true,"choices":[{"id":"mail","label":"By mail"},{"id":"pickup","label":"I pick it up"}]},
		{"id":"address","type":"address","label":"Where to?","required":true,"properties":{"addressOrContact":{"phone":{"hide":true}},"rule":{"show":{"==":[{"var":"answers.delivery"},"mail"]}}}},
		{"id":"customs","type":"short_text","label":"Customs number","properties":{"rule":{
			"show":{"!":{"in":[{"var":["answers.address.country","NL"]},["NL","BE","DE"]]}},
			"require":true}}}]`, `{}`)
	showPath(svc, form, `{"delivery":"pickup"}`)
	showPath(svc, form, `{"delivery":"mail","address":{"city":"Utrecht","country":"NL"}}`)
	showPath(svc, form, `{"delivery":"mail","address":{"city":"Bern","country":"CH"}}`)
	// Output:
	// delivery*
	// delivery* address*
	// delivery* address* customs*
}

// Who does not agree is not asked anything else.
func Example_endEarly() {
	svc, form := branching(`[
		{"id":"agree","type":"yes_no","label":"May we ask you a few questions?","required":true,"properties":{"rule":{
			"next":[{"if":{"==":[{"var":"answers.agree"},false]},"to":"end"}]}}},
		{"id":"name","type":"short_text","label":"Your name","required":true},
		{"id":"bye","type":"ending","label":"Thank you"}]`, `{}`)
	showPath(svc, form, `{"agree":true}`)
	showPath(svc, form, `{"agree":false}`)
	// Output:
	// agree* name* bye
	// agree* bye
}

// Two people edit a published form in peace, one of them through the API; what both changed is
// decided by the one who publishes.
func ExampleClient_WorkingCopy() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	w := ann.WorkingCopy(form)
	f, err := w.Form(ctx)
	if err != nil {
		log.Fatal(err)
	}
	name := "Feedback 2027"
	if f, err = w.UpdateForm(ctx, formsvc.FormUpdate{Name: &name, IfRevision: f.Revision}); err != nil {
		log.Fatal(err)
	}
	if _, err := w.CreateBlock(ctx, json.RawMessage(`{"id":"email","type":"email","label":"Your address"}`), formsvc.IfRevision(f.Revision)); err != nil {
		log.Fatal(err)
	}
	if _, err := w.UpdateBlock(ctx, "why", json.RawMessage(`{"label":"Why this score?"}`)); err != nil {
		log.Fatal(err)
	}
	block, err := w.Block(ctx, "email")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := w.DeleteBlock(ctx, block.ID, formsvc.IfRevision(block.Revision)); err != nil {
		log.Fatal(err)
	}
	stored, err := w.Blocks(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := w.ReplaceBlocks(ctx, stored.JSON, formsvc.IfRevision(stored.Revision)); err != nil {
		log.Fatal(err)
	}
	warnings, err := w.Warnings(ctx)
	fmt.Println(len(warnings), err)

	unpublished, err := ann.FormsWithWorkingCopy(ctx, form)
	fmt.Println(len(unpublished), err)

	// Meanwhile somebody changed the same block of the form.
	if _, err := ann.UpdateBlock(ctx, form, "why", json.RawMessage(`{"label":"Tell us why"}`)); err != nil {
		log.Fatal(err)
	}
	_, err = w.Publish(ctx, formsvc.PublishOptions{})
	if clash, ok := errors.AsType[*formsvc.ConflictError](err); ok {
		take := map[string]formsvc.Side{}
		for _, conflict := range clash.Conflicts { // ask whoever publishes: conflict.Copy or conflict.Form?
			fmt.Println(conflict.Path)
			take[conflict.Path] = formsvc.CopySide
		}
		f, err = w.Publish(ctx, formsvc.PublishOptions{Resolutions: take, IfRevision: clash.Revision})
	}
	fmt.Println(f.Name, err)
	fmt.Println(w.Discard(ctx)) // what is written from here on would begin anew
	// Output:
	// 0 <nil>
	// 1 <nil>
	// /definition/blocks/why
	// Feedback 2027 <nil>
	// <nil>
}

// A page lists what a form was, shows what would change, and brings a version back.
func ExampleClient_Versions() {
	svc, form := exampleForm(formsvc.WithVersions(20))
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	if _, err := ann.UpdateBlock(ctx, form, "why", json.RawMessage(`{"label":"Tell us why"}`)); err != nil {
		log.Fatal(err)
	}
	now, err := ann.Form(ctx, form)
	if err != nil {
		log.Fatal(err)
	}
	for v, err := range ann.Versions(ctx, form) {
		if err != nil {
			log.Fatal(err)
		}
		if v, err = ann.Version(ctx, form, v.Revision); err != nil { // lists have no content
			log.Fatal(err)
		}
		diff, err := schema.Diff(v.FormContent, now.FormContent)
		if err != nil {
			log.Fatal(err)
		}
		for _, b := range diff.Blocks {
			fmt.Println(b.ID, b.Changed)
		}
		if _, err := ann.RestoreVersion(ctx, form, v.Revision, formsvc.RestoreOptions{IfRevision: now.Revision}); err != nil {
			log.Fatal(err)
		}
		break
	}
	why, err := ann.Block(ctx, form, "why")
	fmt.Println(string(why.JSON), err)
	// Output:
	// why [/label]
	// {"id":"why","type":"long_text","label":"Why?"} <nil>
}
