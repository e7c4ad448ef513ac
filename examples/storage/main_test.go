package main

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/storagetest"
	"github.com/formsvc/formsvc/webhooks"
)

// open opens a file and closes the store with the test.
func open(t *testing.T, file string) *Store {
	t.Helper()
	store, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// file remembers which file a store of the suite has, for a second handle.
type file struct {
	*Store
	name string
}

// The store keeps the contract of package storage, also for two handles on one file.
func TestStorage(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) storage.Storage {
		name := filepath.Join(t.TempDir(), "formsvc.sqlite")
		return file{open(t, name), name}
	}, storagetest.SecondHandle(func(t *testing.T, first storage.Storage) storage.Storage {
		return open(t, first.(file).name)
	}), storagetest.Skip("submissions_for_key", "the database is in this process: one call gains nothing over two"))
}

// The service keeps the promises of the API on this store.
func TestService(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		store := open(t, filepath.Join(t.TempDir(), "formsvc.sqlite"))
		networks := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		service := newService(t, store, formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: networks, Resolver: dialguard.Names{}}))
		dispatch(t, service)
		target := serve(t, service)
		target.AllowedNetworks = networks
		target.ReceiverURL = func(address string) string { return "http://" + address + "/" }
		yesterday := func() time.Time { return time.Now().Add(-24 * time.Hour) }
		target.ExpiredKey = servicetarget.ExpiredKeys(newService(t, store, formsvc.WithClock(yesterday)), 24*time.Hour)
		return target
	},
		conformance.Skip("ratelimit", "the service has no rate limit, see TestServiceWithARateLimit"),
		conformance.Skip("forms/closes-in-time", "the clock is not moved, see TestServiceAsTimePasses"),
		conformance.Skip("analytics/periods", "the clock is not moved, see TestServiceAsTimePasses"),
	)
}

func TestServiceAsTimePasses(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		store := open(t, filepath.Join(t.TempDir(), "formsvc.sqlite"))
		target := serve(t, newService(t, store, formsvc.WithoutRateLimit(), formsvc.WithClock(clock)))
		target.Advance = func(_ context.Context, by time.Duration) error {
			ahead.Add(int64(by))
			return nil
		}
		return target
	}, conformance.Only("forms/closes-in-time", "analytics/periods"))
}

func TestServiceWithARateLimit(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		store := open(t, filepath.Join(t.TempDir(), "formsvc.sqlite"))
		target := serve(t, newService(t, store, formsvc.WithRateLimit(5, time.Hour)))
		target.RateLimit = 5
		return target
	}, conformance.Only("ratelimit"))
}

func serve(t *testing.T, service *formsvc.Service) conformance.Target {
	t.Helper()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	target := servicetarget.New(service, server.URL+"/v1")
	target.RawPaths = true
	return target
}

func newService(t *testing.T, store storage.Storage, opts ...formsvc.Option) *formsvc.Service {
	t.Helper()
	service, err := formsvc.New(append([]formsvc.Option{formsvc.WithStorage(store)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(context.Background()); err != nil { // t.Context() has ended by now
			t.Error(err)
		}
	})
	return service
}

// dispatch runs the service's dispatcher until the test ends.
func dispatch(t *testing.T, service *formsvc.Service) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background()) // t.Context() ends before the cleanups
	ended := make(chan error, 1)
	go func() { ended <- service.Dispatcher().Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
