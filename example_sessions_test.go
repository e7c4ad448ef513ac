package formsvc_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

// sessionMark begins what came out of the cookie. No API key begins like this.
const sessionMark = "session:"

// credentialOf takes an API key out of the usual headers. Only without one it takes the
// session out of the product's cookie, so that an old cookie does not stand in a key's way.
func credentialOf(r *http.Request) string {
	if key := formsvc.Credential(r); key != "" {
		return key
	}
	if cookie, err := r.Cookie("session"); err == nil {
		return sessionMark + cookie.Value
	}
	return ""
}

// resolver knows the product's sessions, and passes everything else on to the service.
type resolver struct {
	users map[string]string // the product's table: ids of users by the digest of their cookie
	svc   *formsvc.Service
}

// ResolveKey implements [formsvc.KeyResolver].
func (k *resolver) ResolveKey(ctx context.Context, credential string) (formsvc.Principal, error) {
	cookie, ok := strings.CutPrefix(credential, sessionMark)
	if !ok {
		return k.svc.ResolveKey(ctx, credential)
	}
	digest := digestOf(cookie)
	user, ok := k.users[digest]
	if !ok {
		return formsvc.Principal{}, formsvc.ErrInvalidKey // 401; any other error is 503
	}
	// KeyID stands in the limiter's store: the digest may be read there, the cookie may not.
	return formsvc.Principal{KeyID: "session " + digest, UserID: formsvc.UserIDFrom(user), Scopes: formsvc.Scopes()}, nil
}

func digestOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// The API takes the sessions that a product has, and API keys. Browsers send the cookie along
// with requests that other sites cause: the standard library's protection stands in front.
func ExampleWithKeyResolver() {
	keys := &resolver{users: map[string]string{digestOf("cookie of ann"): "42"}}
	svc, err := formsvc.New(
		formsvc.WithStorage(memory.New()),
		formsvc.WithKeyResolver(keys),
		formsvc.WithCredential(credentialOf),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	keys.svc = svc // New calls no resolver: there is a service before the first request
	api := http.NewCrossOriginProtection().Handler(svc)

	key, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("42")}, Name: "script", Scopes: formsvc.Scopes(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, header := range []http.Header{
		{"Cookie": {"session=cookie of ann"}},
		{"Cookie": {"session=an old one"}},
		{"X-Api-Key": {key.Secret}},
		{"X-Api-Key": {key.Secret}, "Cookie": {"session=an old one"}},
		{"X-Api-Key": {"nonsense"}, "Cookie": {"session=cookie of ann"}},
		{"Sec-Fetch-Site": {"cross-site"}, "Cookie": {"session=cookie of ann"}},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/workspaces", strings.NewReader(`{"name":"Customers"}`))
		r.Header = header
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 201
	// 401
	// 201
	// 201
	// 401
	// 403
}
