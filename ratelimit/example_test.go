package ratelimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc/ratelimit"
)

// A handler of the host's own tells its callers as the service does.
func ExampleLimiter_Take() {
	limit, err := ratelimit.New(2, time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	defer limit.Close(context.Background())
	search := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := limit.Take(r.Context(), r.Header.Get("X-API-Key"))
		if err != nil { // of the store: it says nothing about the caller
			log.Println(err)
			return
		}
		w.Header().Set("RateLimit-Policy", result.Policy())
		w.Header().Set("RateLimit", result.Header())
		if !result.Allowed {
			w.Header().Set("Retry-After", result.RetryAfter())
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/search", nil)
		r.Header.Set("X-API-Key", "key of ann")
		w := httptest.NewRecorder()
		search.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"), w.Header().Get("Retry-After") != "")
	}
	// Output:
	// 200 "key";q=2;w=3600 false
	// 200 "key";q=2;w=3600 false
	// 429 "key";q=2;w=3600 true
}

// Processes that share a store share the limit.
func ExampleNewWithStore() {
	ctx := context.Background()
	store, err := memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Hour}) // or one on Redis
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)
	for _, process := range []*ratelimit.Limiter{ratelimit.NewWithStore(store), ratelimit.NewWithStore(store)} {
		result, err := process.Take(ctx, "key of ann")
		fmt.Println(result.Allowed, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}
