package formsvc_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

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

// Answers are Go values, for a type switch or as text.
func ExampleDecodeAnswers() {
	svc, form := exampleForm()
	ctx := context.Background()
	if _, err := svc.Submit(ctx, formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`), "why": []byte(`"Quick help"`)}}); err != nil {
		log.Fatal(err)
	}
	for submission, err := range svc.As(formsvc.UserIDFrom("ann")).Submissions(ctx, form, formsvc.SubmissionQuery{Limit: 10}) {
		if err != nil {
			log.Fatal(err)
		}
		answers, err := formsvc.DecodeAnswers(submission)
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range answers {
			switch v := a.Value.(type) {
			case schema.Number:
				fmt.Println(a.Label, float64(v) >= 9)
			default:
				fmt.Println(a.Label, v)
			}
		}
	}
	// Output:
	// Would you recommend us? true
	// Why? Quick help
}

// An admin page lists forms and responses with Go calls only.
func Example_adminPage() {
	svc, form := exampleForm()
	if _, err := svc.Submit(context.Background(), formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`), "why": []byte(`"<3"`)}}); err != nil {
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

// exampleResponses is exampleForm with three responses.
func exampleResponses() (*formsvc.Service, formsvc.ID) {
	svc, form := exampleForm()
	for score, why := range map[string]string{`10`: `"Quick help"`, `7`: `"=1+1"`, `2`: `"Slow"`} {
		if _, err := svc.Submit(context.Background(), formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(score), "why": []byte(why)}}); err != nil {
			log.Fatal(err)
		}
	}
	return svc, form
}

func ExampleClient_Export() {
	svc, form := exampleResponses()
	var file bytes.Buffer // or a file, or the body of a response
	err := svc.As(formsvc.UserIDFrom("ann")).Export(context.Background(), &file, form, formsvc.Export{Labels: true, Since: time.Now().AddDate(0, -1, 0)})
	if err != nil {
		log.Fatal(err) // without an error the file is whole
	}
	lines, err := csv.NewReader(&file).ReadAll()
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range lines {
		fmt.Println(strings.Join(line[2:4], " | "))
	}
	// Unordered output:
	// Would you recommend us? | Why?
	// 10 | Quick help
	// 7 | '=1+1
	// 2 | Slow
}

// Every line is a response as the API lists it.
func ExampleClient_Export_ndjson() {
	svc, form := exampleResponses()
	var file bytes.Buffer
	if err := svc.AsHost().Export(context.Background(), &file, form, formsvc.Export{Format: formsvc.NDJSON}); err != nil {
		log.Fatal(err)
	}
	for d := json.NewDecoder(&file); d.More(); {
		var response struct {
			Answers []struct{ Value any }
		}
		if err := d.Decode(&response); err != nil {
			log.Fatal(err)
		}
		fmt.Println(response.Answers[1].Value)
	}
	// Unordered output:
	// Quick help
	// =1+1
	// Slow
}

// The host mounts exports where it likes, beside the API.
func ExampleService_ExportHandler() {
	svc, form := exampleResponses()
	defer svc.Close(context.Background())
	key, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "reports", Scopes: []formsvc.Scope{formsvc.ScopeSubmissionsRead},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", svc)
	mux.Handle("/exports/", svc.ExportHandler())
	server := httptest.NewServer(mux)
	defer server.Close()

	r, err := http.NewRequest(http.MethodGet, server.URL+"/exports/"+form.String()+".csv?choices=ids&bom=true", nil)
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("X-API-Key", key.Secret)
	response, err := server.Client().Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	fmt.Println(response.StatusCode, response.Header.Get("Content-Type"))
	// Output: 200 text/csv; charset=utf-8; header=present
}

func ExampleClient_Summary() {
	svc, form := exampleResponses()
	summary, err := svc.AsHost().Summary(context.Background(), form, formsvc.SubmissionQuery{})
	if err != nil {
		log.Fatal(err)
	}
	score := summary.Blocks[0]
	fmt.Println(summary.Responses, "responses,", score.Skipped, "without a score")
	fmt.Printf("median %.0f, %d promoters, %d detractors, score %.0f\n", score.Numbers.Median, score.NPS.Promoters, score.NPS.Detractors, score.NPS.Score)
	// Output:
	// 3 responses, 0 without a score
	// median 7, 1 promoters, 1 detractors, score 0
}

func ExampleClient_Metrics() {
	svc, form := exampleForm()
	ctx := context.Background()
	for range 4 {
		if err := svc.RecordStart(ctx, form); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := svc.Submit(ctx, formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`)}}); err != nil {
		log.Fatal(err)
	}
	metrics, err := svc.As(formsvc.UserIDFrom("ann")).Metrics(ctx, form, "7d")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(metrics.Starts, metrics.Submissions, metrics.CompletionRate)
	// Output: 4 1 25
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
