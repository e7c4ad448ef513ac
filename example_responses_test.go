package formsvc_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

// From a public form to a stored response, as a page for respondents does it.
func ExampleService_PublicForm() {
	svc, id := exampleForm()
	ctx := context.Background()
	stored, err := svc.AsHost().Form(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	form, err := svc.PublicForm(ctx, stored.PublicID) // out of the page's address
	if err != nil {
		log.Fatal(err)
	}
	if err := svc.RecordView(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	for _, block := range form.Blocks { // what the page asks, and the respondent answers
		if block.Required {
			answers[block.ID] = json.RawMessage(`8`)
		}
	}
	submission, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form.ID, Answers: answers, IdempotencyKey: "from the page"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(form.Name, form.Closed, submission.FormRevision)
	// Output: Feedback false 2
}

// A page of the host's own finds its way through the form that it has read.
func ExamplePublicForm_Path() {
	svc, id := exampleForm()
	ctx := context.Background()
	stored, err := svc.AsHost().Form(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	form, err := svc.PublicForm(ctx, stored.PublicID)
	if err != nil {
		log.Fatal(err)
	}
	path, err := form.Path(map[string]json.RawMessage{"score": json.RawMessage(`8`)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(path.Blocks), path.Blocks[0].ID, len(path.Violations))
	// Output: 2 score 0
}

// What a page of the host's own knows about where a response came from.
func ExampleMetadata() {
	svc, form := exampleForm()
	submit := func(r *http.Request) (formsvc.Submission, error) {
		query := r.URL.Query()
		return svc.Submit(r.Context(), formsvc.SubmitParams{
			FormID:  form,
			Answers: map[string]json.RawMessage{"score": json.RawMessage(r.FormValue("score"))},
			Metadata: formsvc.Metadata{
				UserAgent: r.UserAgent(),
				Country:   r.Header.Get("X-Country"), // set by the host's proxy
				UTM:       map[string]string{"source": query.Get("utm_source")},
			},
		})
	}
	r := httptest.NewRequest(http.MethodPost, "/feedback?score=9&utm_source=newsletter", nil)
	r.Header.Set("X-Country", "NL")
	submission, err := submit(r)
	fmt.Println(string(submission.Metadata), err)
	// Output: {"country":"NL","utm":{"source":"newsletter"}} <nil>
}

// A page shows one response. The id is out of its address.
func ExampleParseID() {
	svc, form := exampleResponses()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /responses/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := formsvc.ParseID(r.PathValue("id"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		submission, err := svc.As(formsvc.UserIDFrom("ann")).Submission(r.Context(), form, id)
		switch {
		case errors.Is(err, formsvc.ErrNotFound):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, "unavailable", http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, "%s\n", submission.Answers)
		}
	})
	for _, path := range []string{"/responses/1", "/responses/64b7f0c2a1d3e4f5a6b7c8d9"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code)
	}
	// Output:
	// 404
	// 404
}

// The owner of a form removes a response, as somebody who filled it in to try it out.
func ExampleClient_DeleteSubmission() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	submission, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`)}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ann.DeleteSubmission(ctx, form, submission.ID))
	_, err = ann.Submission(ctx, form, submission.ID)
	fmt.Println(errors.Is(err, formsvc.ErrNotFound))
	// Output:
	// <nil>
	// true
}

// A form comes from another product, which counted its views, starts and responses.
func ExampleService_SetLifetimeCounters() {
	svc, form := exampleResponses()
	ctx := context.Background()
	if err := svc.SetLifetimeCounters(ctx, form, formsvc.Counters{Views: 900, Starts: 500, Submissions: 400}); err != nil {
		log.Fatal(err)
	}
	all, err := svc.AsHost().Metrics(ctx, form, "all")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(all.Views, all.Submissions, all.Estimated)
	// Output: 900 403 true
}

// exampleResponses is exampleForm with three responses.
func exampleResponses() (*formsvc.Service, formsvc.ID) {
	svc, form := exampleForm()
	for _, r := range [][2]string{{`10`, `"Quick help"`}, {`7`, `"=1+1"`}, {`2`, `"Slow"`}} {
		if _, err := svc.Submit(context.Background(), formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(r[0]), "why": []byte(r[1])}}); err != nil {
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

// The host mounts exports at any path, next to the API.
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

// Detractors who mention a word. A page takes at most about the given time.
func ExampleClient_SubmissionPage() {
	svc, form := exampleResponses()
	query := formsvc.SubmissionQuery{Where: schema.When("score").AtMost(6), Text: "slow"}
	for {
		page, err := svc.AsHost().SubmissionPage(context.Background(), form, query, time.Second)
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range page.Submissions {
			answers, err := formsvc.DecodeAnswers(s)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(answers[1])
		}
		if page.Next == nil {
			break
		}
		query.After = page.Next
	}
	// Output: Slow
}

// Old answers move to another form. The import can run again, because it stores each line once.
func ExampleClient_Import() {
	svc, form := exampleResponses()
	var file bytes.Buffer
	if err := svc.AsHost().Export(context.Background(), &file, form, formsvc.Export{Format: formsvc.NDJSON}); err != nil {
		log.Fatal(err)
	}
	svc, other := exampleResponses()
	report, err := svc.AsHost().Import(context.Background(), other, &file, formsvc.Import{})
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range report.Refused {
		fmt.Println(line.Line, line.Err)
	}
	fmt.Println(report.Imported, "imported")
	// Output: 3 imported
}

// A handler of the host's own imports what only the host may give, such as respondents. The host's
// sign-in protects it.
func ExampleClient_Import_handler() {
	svc, form := exampleResponses()
	migrate := func(w http.ResponseWriter, r *http.Request) {
		id, _ := formsvc.ParseID(r.PathValue("form")) // the zero ID is not found
		report, err := svc.AsHost().Import(r.Context(), id, r.Body, formsvc.Import{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, report.Imported, "imported,", len(report.Refused), "refused")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /migrate/{form}", migrate)
	w := httptest.NewRecorder()
	lines := strings.NewReader(`{"id": "old-1", "submitted_at": "2026-01-02T10:00:00Z", "respondent": "user 42", "answers": [{"field": {"id": "score", "type": "nps", "label": ""}, "value": 9}]}`)
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/migrate/"+form.String(), lines))
	fmt.Print(w.Body)
	// Output: 1 imported, 0 refused
}

// The host mounts imports at any path, next to the API.
func ExampleService_ImportHandler() {
	svc, form := exampleResponses()
	defer svc.Close(context.Background())
	key, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "moving", Scopes: []formsvc.Scope{formsvc.ScopeFormsWrite, formsvc.ScopeSubmissionsWrite},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/imports/", svc.ImportHandler())
	server := httptest.NewServer(mux)
	defer server.Close()

	lines := strings.NewReader(`{"id": "old-1", "submitted_at": "2026-01-02T10:00:00Z", "answers": [{"field": {"id": "score", "type": "nps", "label": ""}, "value": 9}]}`)
	r, err := http.NewRequest(http.MethodPost, server.URL+"/imports/"+form.String(), lines)
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("X-API-Key", key.Secret)
	r.Header.Set("Content-Type", "application/x-ndjson")
	response, err := server.Client().Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(string(body)))
	// Output: {"imported":1,"repeated":0,"refused":[]}
}

func ExampleClient_Summary() {
	svc, form := exampleResponses()
	summary, err := svc.AsHost().Summary(context.Background(), form, formsvc.SubmissionQuery{})
	if err != nil {
		log.Fatal(err)
	}
	score := summary.Blocks[0]
	fmt.Println(summary.Submissions, "responses,", score.Skipped, "without a score")
	fmt.Printf("median %.0f, %d promoters, %d detractors, score %.0f\n", score.Numbers.Median, score.NPS.Promoters, score.NPS.Detractors, score.NPS.Score)
	// Output:
	// 3 responses, 0 without a score
	// median 7, 1 promoters, 1 detractors, score 0
}

// A dashboard shows how many responses each form has, and what came in today at the owner's place. It
// shows what is counted within a fifth of a second, and goes on.
func ExampleClient_SummaryWithin() {
	svc, form := exampleResponses()
	ctx, host := context.Background(), svc.AsHost()
	fmt.Println(must(host.SubmissionTotals(ctx, form))[form], "responses")
	today := must(svc.PeriodQuery(formsvc.PeriodToday))
	for unfinished := true; unfinished; {
		summary := must(host.SummaryWithin(ctx, form, today, 200*time.Millisecond))
		fmt.Println(summary.Submissions, "today, newest text:", summary.Blocks[1].Texts[0].Text)
		unfinished = summary.Incomplete
	}
	// Output:
	// 3 responses
	// 3 today, newest text: Slow
}

func ExampleClient_Metrics() {
	svc, form := exampleForm()
	ctx := context.Background()
	for range 4 {
		if err := svc.RecordStart(ctx, form); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`)}}); err != nil {
		log.Fatal(err)
	}
	metrics, err := svc.As(formsvc.UserIDFrom("ann")).Metrics(ctx, form, "7d")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(metrics.Starts, metrics.Submissions, metrics.CompletionRate)
	// Output: 4 1 25
}

// A program polls without losing submissions that become visible late: it reads the last ten
// minutes again each time and drops the ids that it knows.
func Example_polling() {
	svc, form := exampleForm()
	ctx := context.Background()
	const overlap = 10 * time.Minute // longer than any transaction that stores submissions
	var newest time.Time             // both are stored by the program
	known := map[formsvc.ID]time.Time{}
	poll := func() {
		fresh := 0
		since := newest.Add(-overlap)
		for s, err := range svc.AsHost().Submissions(ctx, form, formsvc.SubmissionQuery{Since: since}) {
			if err != nil {
				log.Fatal(err)
			}
			if _, seen := known[s.ID]; seen {
				continue
			}
			known[s.ID] = s.SubmittedAt
			fresh++
			if s.SubmittedAt.After(newest) {
				newest = s.SubmittedAt
			}
		}
		for id, at := range known {
			if at.Before(newest.Add(-overlap)) {
				delete(known, id) // it is not read again
			}
		}
		fmt.Println("new submissions:", fresh)
	}

	submit := func(at time.Time) {
		_, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`)}, SubmittedAt: at})
		if err != nil {
			log.Fatal(err)
		}
	}
	submit(time.Time{})
	poll()
	submit(time.Now().Add(-2 * time.Minute)) // made earlier, and visible only now
	poll()
	poll()
	// Output:
	// new submissions: 1
	// new submissions: 1
	// new submissions: 0
}

// The host removes what it stores next to submissions before they are removed.
func ExampleWithBeforeDelete() {
	_, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBeforeDelete(func(_ context.Context, form formsvc.ID, submissions []formsvc.ID) error {
		fmt.Println("remove the notes on", len(submissions), "submissions to the form", form)
		return nil // with an error the submissions stay
	}))
	fmt.Println(err)
	// Output: <nil>
}

// Answers are Go values, for a type switch or as text.
func ExampleDecodeAnswers() {
	svc, form := exampleForm()
	ctx := context.Background()
	if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`), "why": []byte(`"Quick help"`)}}); err != nil {
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

// contactForm makes a service and a published form with a field for an e-mail address.
func contactForm(ctx context.Context) (svc *formsvc.Service, owner, form formsvc.ID, err error) {
	if svc, err = formsvc.New(formsvc.WithStorage(memory.New())); err != nil {
		return nil, owner, form, err
	}
	owner = formsvc.UserIDFrom("owner")
	w, err := svc.CreateWorkspace(ctx, owner, "Workspace")
	if err != nil {
		return nil, owner, form, err
	}
	f, err := svc.As(owner).CreateForm(ctx, formsvc.FormCreate{Workspace: w.ID, Name: "Contact", Definition: formsvc.Definition{
		Blocks:   []byte(`[{"id":"mail","type":"email"},{"id":"g","type":"group","children":[{"id":"contact","type":"contact_info"}]}]`),
		Settings: []byte(`{"duplicateField":"mail"}`),
	}})
	if err != nil {
		return nil, owner, form, err
	}
	_, err = svc.As(owner).PublishForm(ctx, f.ID)
	return svc, owner, f.ID, err
}

// A person asks to be forgotten. Their address is looked for in all forms of a workspace, in
// every question that takes one. Whoever got their responses by webhook is not told: that is for
// the host to do.
func ExampleService_EraseRespondent() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for block, answer := range map[string]string{"mail": `"Ann@Example.com"`, "contact": `{"firstName":"Ann","email":"ann@example.com"}`} {
		if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{block: json.RawMessage(answer)}}); err != nil {
			log.Fatal(err)
		}
	}

	// The names of answers that may be an e-mail address, also of blocks in groups. A hidden
	// field may be one as well: the host knows which.
	var names func(blocks []schema.Block) []string
	names = func(blocks []schema.Block) (found []string) {
		for _, b := range blocks {
			switch b.Type {
			case schema.TypeEmail:
				found = append(found, b.ID)
			case schema.TypeContactInfo, schema.TypeAddress:
				found = append(found, b.ID+"/email")
			}
			found = append(found, names(b.Children)...)
		}
		return found
	}
	mine, erased := svc.As(owner), 0
	for listed, err := range mine.Forms(ctx, formsvc.FormQuery{}) { // or those of one workspace
		if err != nil {
			log.Fatal(err)
		}
		f, err := mine.Form(ctx, listed.ID) // a list has no definitions
		if err != nil {
			log.Fatal(err)
		}
		content, err := formsvc.DecodeForm(f)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range names(content.Blocks) {
			n, err := svc.EraseRespondent(ctx, f.ID, map[string]string{name: "ann@example.com"})
			if err != nil {
				log.Fatal(err)
			}
			erased += n
		}
	}
	fmt.Println(erased) // 0 may also mean that the address is misspelled
	// Output: 2
}

// A person asks for a copy of their answers, and then to be forgotten. The copy has exactly what is
// erased, however the address is spelled.
func ExampleService_FindRespondent() {
	ctx := context.Background()
	svc, _, form, err := contactForm(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"mail": json.RawMessage(`"Ann@Example.com"`)}}); err != nil {
		log.Fatal(err)
	}
	wanted := map[string]string{"mail": "ann@example.com"}
	for s, err := range svc.FindRespondent(ctx, form, wanted) {
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range must(formsvc.DecodeAnswers(s)) {
			fmt.Println(a.ID, a)
		}
		states := must(svc.AsHost().SubmissionHistory(ctx, form, s.ID)) // what was changed later
		fmt.Println(len(states), "earlier states")
	}
	fmt.Println(svc.EraseRespondent(ctx, form, wanted))
	// Output:
	// mail Ann@example.com
	// 0 earlier states
	// 1 <nil>
}

// Responses are brought from elsewhere with their dates, and those that are older than
// the host may keep them are purged once a day.
func ExampleService_PurgeSubmissions() {
	ctx := context.Background()
	svc, _, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for mail, years := range map[string]int{`"ann@example.com"`: 1, `"bob@example.com"`: 3} {
		r := formsvc.SubmitParams{
			FormID: form, Answers: map[string]json.RawMessage{"mail": json.RawMessage(mail)}, SubmittedAt: time.Now().AddDate(-years, 0, 0),
			IdempotencyKey: "import of " + mail, // a repeated import changes nothing
		}
		if _, err := svc.Submit(ctx, r); err != nil {
			fmt.Println(err)
			return
		}
	}
	n, err := svc.PurgeSubmissions(ctx, time.Now().AddDate(-2, 0, 0), form)
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// An account of the product is closed.
func ExampleService_DeleteUser() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.DeleteUser(ctx, owner))
	_, err = svc.AsHost().Form(ctx, form)
	fmt.Println(err)
	// Output:
	// <nil>
	// storage: not found
}

// bucket is a host's place for files, such as an object store.
type bucket map[string]string

// RemoveFiles removes files; those that are not there are removed already.
func (b bucket) RemoveFiles(_ context.Context, ids []string) error {
	for _, id := range ids {
		delete(b, id)
	}
	return nil
}

// The files that respondents sent go with their responses.
func ExampleWithFiles() {
	ctx, files := context.Background(), bucket{"file-1": "content", "file-2": "of somebody else"}
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithFiles(files))
	if err != nil {
		log.Fatal(err)
	}
	ann := formsvc.UserIDFrom("ann")
	workspace, err := svc.CreateWorkspace(ctx, ann, "Ann's")
	if err != nil {
		log.Fatal(err)
	}
	form, err := svc.As(ann).CreateForm(ctx, formsvc.FormCreate{
		Workspace: workspace.ID, Name: "Jobs",
		Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"cv","type":"file_upload"}]`)},
	})
	if err != nil {
		log.Fatal(err)
	}
	published := "published"
	if _, err := svc.As(ann).UpdateForm(ctx, form.ID, formsvc.FormUpdate{Status: &published}); err != nil {
		log.Fatal(err)
	}
	submission, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form.ID, HostAnswers: map[string]json.RawMessage{
		"cv": json.RawMessage(`[{"id":"file-1","name":"cv.pdf","url":"https://files.example/file-1","mime_type":"application/pdf","size":7}]`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(svc.As(ann).DeleteSubmission(ctx, form.ID, submission.ID))
	fmt.Println(files)
	// Output:
	// <nil>
	// map[file-2:of somebody else]
}

// A form in the trash is removed before its time.
func ExampleService_PurgeForm() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.PurgeForm(ctx, form)) // it is not in the trash yet
	fmt.Println(svc.As(owner).TrashForm(ctx, form), svc.PurgeForm(ctx, form))
	// Output:
	// storage: not found
	// <nil> <nil>
}

// Once a day the host empties the trash of what is in it for 30 days, and removes responses
// that are older than it may keep any.
func ExampleService_PurgeTrash() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := svc.As(owner).Form(ctx, form)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.As(owner).TrashForm(ctx, form))
	trashed, err := svc.TrashedForms(ctx, stored.WorkspaceID)
	fmt.Println(len(trashed), err)

	forms, err := svc.PurgeTrash(ctx, time.Now().AddDate(0, 0, -30))
	fmt.Println(forms, err) // it went there just now
	responses, err := svc.PurgeAllSubmissions(ctx, time.Now().AddDate(-10, 0, 0))
	fmt.Println(responses, err)
	// Output:
	// <nil>
	// 1 <nil>
	// 0 <nil>
	// 0 <nil>
}

// A host's own page shows the stored answers of a submission, and the questions that they lead to.
func ExampleClient_SubmissionForm() {
	svc, id := exampleForm()
	ctx := context.Background()
	s, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: id, Answers: map[string]json.RawMessage{"score": json.RawMessage(`1`)}})
	if err != nil {
		log.Fatal(err)
	}
	form, s, err := svc.AsHost().SubmissionForm(ctx, id, s.ID)
	if err != nil {
		log.Fatal(err)
	}
	stored, err := form.StoredAnswers(s)
	if err != nil {
		log.Fatal(err)
	}
	path, err := form.Path(stored.Answers, stored.Hidden)
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range path.Blocks {
		fmt.Println(b.ID, string(stored.Answers[b.ID]))
	}
	// Output:
	// score 1
	// why
}

// A support team corrects an answer. If someone else has changed the submission since it was read, nothing changes.
func ExampleClient_UpdateSubmission() {
	svc, form := exampleForm()
	ctx := context.Background()
	s, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{
		"score": json.RawMessage(`1`), "why": json.RawMessage(`"Quick help"`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	correction := formsvc.SubmissionChange{Answers: map[string]json.RawMessage{"score": json.RawMessage(`10`)}}
	s, err = svc.AsHost().UpdateSubmission(ctx, form, s.ID, correction, formsvc.IfRevision(s.Revision))
	if err != nil {
		log.Fatal(err)
	}
	answers, err := formsvc.DecodeAnswers(s)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("revision", s.Revision)
	for _, a := range answers {
		fmt.Println(a.ID, a)
	}
	states, err := svc.AsHost().SubmissionHistory(ctx, form, s.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("earlier states:", len(states))
	// Output:
	// revision 2
	// score 10
	// why Quick help
	// earlier states: 1
}
