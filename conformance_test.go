package formsvc_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// newConformingService makes a service that is closed with the test.
func newConformingService(t *testing.T, store storage.Storage, opts ...formsvc.Option) *formsvc.Service {
	t.Helper()
	svc, err := formsvc.New(append([]formsvc.Option{formsvc.WithStorage(store)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil { // t.Context() has ended by now
			t.Error(err)
		}
	})
	return svc
}

// target serves a service by itself, so that it sees paths as they were sent.
func target(t *testing.T, svc *formsvc.Service) conformance.Target {
	t.Helper()
	srv := httptest.NewServer(svc)
	t.Cleanup(srv.Close)
	target := servicetarget.New(svc, srv.URL+"/v1")
	target.RawPaths = true
	return target
}

// The same cases run on every storage.
func TestTheServiceKeepsThePromisesOfTheAPI(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		testAPI(t, func(*testing.T) storage.Storage { return memory.New() })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testAPI(t, func(t *testing.T) storage.Storage { return postgresStore(t) })
	})
}

func testAPI(t *testing.T, newStore func(t *testing.T) storage.Storage) {
	t.Helper()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		store := newStore(t)
		target := target(t, newConformingService(t, store, formsvc.WithoutRateLimit()))
		yesterday := func() time.Time { return time.Now().Add(-24 * time.Hour) }
		target.ExpiredKey = servicetarget.ExpiredKeys(newConformingService(t, store, formsvc.WithClock(yesterday)), 24*time.Hour)
		return target
	}, conformance.Skip("ratelimit", "the service has no rate limit, see TestTheServiceLimitsTheRateOfAKey"))
}

func TestTheServiceLimitsTheRateOfAKey(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		target := target(t, newConformingService(t, memory.New(), formsvc.WithRateLimit(5, time.Hour)))
		target.RateLimit = 5
		return target
	}, conformance.Only("ratelimit"))
}

func TestEveryAuthenticatedAnswerTellsTheRateLimit(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		target := target(t, newConformingService(t, memory.New(), formsvc.WithRateLimit(100_000, time.Minute)))
		target.RateLimit = 100_000
		return target
	}, conformance.Only("mounting", "me", "webhooks", "submissions"))
}
