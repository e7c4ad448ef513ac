package apicheck_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/apicheck"
	"github.com/formsvc/formsvc/storage/memory"
)

// A test of a client finds the request that is not as described.
func Example() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	checked, err := apicheck.New(svc, apicheck.Config{Report: func(d apicheck.Difference) {
		fmt.Println(d.Method, d.Path, d.InRequest, d.Reason)
	}})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/forms?limit=all", nil)
	checked.ServeHTTP(httptest.NewRecorder(), r)
	// Output: GET /v1/forms true query parameter limit: "all" is not an integer
}
