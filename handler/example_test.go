package handler_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/formsvc/formsvc/handler"
	"github.com/formsvc/formsvc/storage"
)

// A host takes the key where the service would, and a cookie of its own after that. The
// function is for formsvc.WithCredential.
func ExampleCredential() {
	credential := func(r *http.Request) string {
		if key := handler.Credential(r); key != "" {
			return key
		}
		if cookie, err := r.Cookie("session"); err == nil {
			return cookie.Value
		}
		return ""
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
	r.AddCookie(&http.Cookie{Name: "session", Value: "of Ann"})
	fmt.Println(credential(r))
	r.Header.Set("Authorization", "Bearer fs_live_key")
	fmt.Println(credential(r))
	// Output:
	// of Ann
	// fs_live_key
}

// A route of the host's own asks for a scope, as the API's routes do.
func ExamplePrincipal_Has() {
	ann := handler.Principal{KeyID: "k1", UserID: storage.ID{1}, Scopes: []storage.Scope{storage.ScopeFormsRead}}
	fmt.Println(ann.Has(storage.ScopeFormsRead), ann.Has(storage.ScopeFormsWrite))
	// Output: true false
}
