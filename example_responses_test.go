package formsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/formsvc/formsvc"
)

// What a page of the host's own knows about where a response came from.
func ExampleMetadata() {
	svc, form := exampleForm()
	submit := func(r *http.Request) (formsvc.Submission, error) {
		query := r.URL.Query()
		return svc.Submit(r.Context(), formsvc.Response{
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
	submission, err := svc.Submit(ctx, formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"score": []byte(`9`)}})
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
