package formsvc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

// keyFor makes an API key.
func keyFor(svc *formsvc.Service, user string, scopes ...formsvc.Scope) string {
	issued, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom(user)}, Name: "example", Scopes: scopes})
	if err != nil {
		log.Fatal(err)
	}
	return issued.Secret
}

// Each customer has an address of its own. The host looks it up rather than trusting the
// request.
func ExampleWithBaseURLFunc() {
	customers := map[string]string{"forms.acme.example": "https://forms.acme.example", "forms.corp.example": "https://forms.corp.example"}
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBaseURLFunc(func(r *http.Request) string {
		return customers[r.Host] // "" is a path without a host
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	key := keyFor(svc, "ann", formsvc.ScopeWorkspacesWrite)
	for _, host := range []string{"forms.acme.example", "evil.example"} {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+"/v1/workspaces", strings.NewReader(`{"name":"Customers"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimRight(w.Header().Get("Location"), "0123456789abcdef")) // without the id
	}
	// Output:
	// 201 https://forms.acme.example/v1/workspaces/
	// 201 /v1/workspaces/
}

// A test of the host's own moves the clock.
func ExampleWithClock() {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	svc, err := formsvc.New(formsvc.WithStorage(memory.New(memory.WithClock(clock))), formsvc.WithClock(clock))
	if err != nil {
		log.Fatal(err)
	}
	ctx, tomorrow := context.Background(), now.Add(24*time.Hour)
	key, err := svc.CreateKey(ctx, formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "for a day", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}, ExpiresAt: &tomorrow,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = svc.ResolveKey(ctx, key.Secret)
	fmt.Println(err)
	now = tomorrow.Add(time.Second)
	_, err = svc.ResolveKey(ctx, key.Secret)
	fmt.Println(errors.Is(err, formsvc.ErrInvalidKey))
	// Output:
	// <nil>
	// true
}

// Bounds of dates are days of the zone in which the product's owners live.
func ExampleWithTimeZone() {
	zone := time.FixedZone("Amsterdam", 3600) // or time.LoadLocation("Europe/Amsterdam")
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithTimeZone(zone))
	if err != nil {
		log.Fatal(err)
	}
	lastDay := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC) // of a block's beforeDate
	fmt.Println(lastDay.In(svc.TimeZone()).Format(time.DateOnly))
	// Output: 2026-12-01
}

// The service logs with what the host logs with.
func ExampleWithLogger() {
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("component", "forms")
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLogger(logger))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
}

// Each key may make two calls an hour.
func ExampleWithRateLimit() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithRateLimit(2, time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	key := keyFor(svc, "ann", formsvc.ScopeFormsRead)
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/v1/forms", nil)
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// A gateway in front of the service limits calls already.
func ExampleWithoutRateLimit() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithoutRateLimit())
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
	r.Header.Set("X-API-Key", keyFor(svc, "ann", formsvc.ScopeFormsRead))
	w := httptest.NewRecorder()
	svc.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("RateLimit-Policy") == "")
	// Output: 200 true
}

// The host's own upload handler takes files as large as answers may name.
func ExampleService_Limits() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLimits(formsvc.Limits{FileSize: 1 << 20}))
	if err != nil {
		log.Fatal(err)
	}
	upload := http.MaxBytesHandler(http.NotFoundHandler(), svc.Limits().FileSize)
	_ = upload // mux.Handle("POST /uploads", upload)
	fmt.Println(svc.Limits().FileSize, svc.Limits().Webhooks)
	// Output: 1048576 20
}
