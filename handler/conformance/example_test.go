package conformance_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
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
