package conformance_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/storage/memory"
)

// A host's test runs the suite against its own router, with the service in it.
func ExampleRun() {
	testForms := func(t *testing.T, router http.Handler, svc *formsvc.Service) {
		server := httptest.NewServer(router)
		defer server.Close()
		conformance.Run(t, func(*testing.T) conformance.Target {
			return servicetarget.New(svc, server.URL+"/v1")
		})
	}
	_ = testForms // func TestForms(t *testing.T)
}

// Outside of a test the suite reports its results.
func ExampleCheck() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	mux := http.NewServeMux()
	mux.Handle("/v1/", svc)
	server := httptest.NewServer(mux)
	defer server.Close()
	report, err := conformance.Check(context.Background(), servicetarget.New(svc, server.URL+"/v1"), conformance.Only("auth"))
	if err != nil {
		log.Fatal(err)
	}
	for _, failure := range report.Failures() {
		fmt.Println(failure)
	}
	fmt.Println(len(report.Failures()), "promises are not kept")
	// Output: 0 promises are not kept
}

// A host that is not made of this library says itself how its parts are called, and leaves
// out what it does not offer.
func ExampleSkip() {
	testForms := func(t *testing.T, router http.Handler, makeKey func(ctx context.Context, user string, scopes []string) (string, error)) {
		conformance.Run(t, func(*testing.T) conformance.Target {
			return conformance.Target{
				URL: "/v1", Handler: router, CreateKey: makeKey,
				Limits: conformance.Limits{Workspaces: 5, Webhooks: 3},
				Submit: func(ctx context.Context, r conformance.Response) (string, error) {
					return "", fmt.Errorf("the host's own call for form %s", r.Form)
				},
			}
		}, conformance.Skip("analytics", "this product counts elsewhere"))
	}
	_ = testForms // func TestForms(t *testing.T)
}

// What the suite holds a service to, as a table for people.
func ExampleCases() {
	needReceiver := 0
	for _, c := range conformance.Cases() {
		if slices.Contains(c.Needs, conformance.NeedsReceiverURL) {
			needReceiver++
		}
	}
	c := conformance.Cases()[0]
	fmt.Println(c.Name != "", c.Sentence != "", c.Place != "", needReceiver > 0)
	// Output: true true true true
}

// A monitor counts how the promises are kept.
func ExampleReport_Counts() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	target := servicetarget.New(svc, "/v1")
	target.Handler = svc
	report, err := conformance.Check(context.Background(), target, conformance.Only("auth"))
	if err != nil {
		log.Fatal(err)
	}
	counts := report.Counts()
	fmt.Println(counts[conformance.Passed] > 0, counts[conformance.Failed], counts[conformance.Broken])
	// Output: true 0 0
}
