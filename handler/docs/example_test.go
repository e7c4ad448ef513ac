package docs_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/docs"
	"github.com/formsvc/formsvc/storage/memory"
)

// The page stands beside the service.
func ExampleHandler() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", svc)
	mux.Handle("GET /docs", docs.Handler(svc, "/v1/openapi.json", docs.Options{Title: "Forms of Acme", HomeURL: "https://acme.example"}))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "Forms of Acme"))
	// Output: 200 true
}
