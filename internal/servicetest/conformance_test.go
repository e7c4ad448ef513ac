package servicetest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// noNames is the option of a service that asks no name server.
func noNames() formsvc.Option {
	return formsvc.WithWebhookConfig(webhooks.Config{Resolver: dialguard.Names{}})
}

// named stores each submission as one of the respondent marker.
type named struct{ storage.Storage }

func (s named) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	n.Submission.Respondent = marker
	return s.Storage.Submit(ctx, n)
}

// watched reports responses with the respondent marker.
type watched struct {
	http.ResponseWriter
	t *testing.T
	r *http.Request
}

func (w watched) Write(p []byte) (int, error) {
	expect.That(w.t, !strings.Contains(fmt.Sprint(w.Header(), string(p)), marker), "%s %s has the respondent: %s", w.r.Method, w.r.URL, p)
	return w.ResponseWriter.Write(p)
}

// target serves a service by itself, so that it sees paths as they were sent.
func target(t *testing.T, svc *formsvc.Service) conformance.Target {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { svc.ServeHTTP(watched{w, t, r}, r) }))
	t.Cleanup(srv.Close)
	target := servicetarget.New(svc, srv.URL+"/v1")
	target.RawPaths = true
	return target
}

// onEveryStorage runs a test on every storage.
func onEveryStorage(t *testing.T, run func(t *testing.T, newStore func(t *testing.T) storage.Storage)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		run(t, func(*testing.T) storage.Storage { return memory.New() })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, func(t *testing.T) storage.Storage { return servicetest.PostgresStore(t) })
	})
}

// Why some cases do not run on the service that all others run on.
var (
	withoutRateLimit = conformance.Skip("ratelimit", "the service has no rate limit, see TestTheServiceLimitsTheRateOfAKey")
	withoutClock     = []conformance.Option{
		conformance.Skip("forms/opens-in-time", "the service's clock is not moved, see TestTheServiceKeepsItsPromisesAsTimePasses"),
		conformance.Skip("forms/closes-in-time", "the service's clock is not moved, see TestTheServiceKeepsItsPromisesAsTimePasses"),
		conformance.Skip("analytics/periods", "the service's clock is not moved, see TestTheServiceKeepsItsPromisesAsTimePasses"),
	}
)

// The same cases run on every storage, on a service that delivers, to this machine. No operation returns a respondent to
// any key.
func TestTheServiceKeepsThePromisesOfTheAPI(t *testing.T) {
	t.Parallel()
	onEveryStorage(t, func(t *testing.T, newStore func(t *testing.T) storage.Storage) {
		conformance.Run(t, func(t *testing.T) conformance.Target {
			store := named{newStore(t)}
			t.Cleanup(func() {
				_, err := store.RespondentSubmissions(context.Background(), storage.SubmissionsParams{Respondent: marker, Page: storage.Page{Limit: 1}}, func(*storage.Submission) error { return io.EOF })
				expect.Error(t, "submissions with a respondent", err, io.EOF)
			})
			networks := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			svc := servicetest.New(t, store, formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: networks, Resolver: dialguard.Names{}}))
			servicetest.Dispatch(t, svc)
			target := target(t, svc)
			target.AllowedNetworks = networks
			target.ReceiverURL = func(address string) string { return "http://" + address + "/" }
			yesterday := func() time.Time { return time.Now().Add(-24 * time.Hour) }
			target.ExpiredKey = servicetarget.ExpiredKeys(servicetest.New(t, store, formsvc.WithClock(yesterday)), 24*time.Hour)
			return target
		}, append(withoutClock, withoutRateLimit)...)
	})
}

func TestTheServiceKeepsItsPromisesAsTimePasses(t *testing.T) {
	t.Parallel()
	onEveryStorage(t, func(t *testing.T, newStore func(t *testing.T) storage.Storage) {
		conformance.Run(t, func(t *testing.T) conformance.Target {
			var ahead atomic.Int64
			clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			target := target(t, servicetest.New(t, newStore(t), formsvc.WithoutRateLimit(), formsvc.WithClock(clock)))
			target.Advance = func(_ context.Context, by time.Duration) error {
				ahead.Add(int64(by))
				return nil
			}
			return target
		}, conformance.Only("forms/opens-in-time", "forms/closes-in-time", "analytics/periods"))
	})
}

// A service that sends to public addresses only refuses all others.
func TestTheServiceRefusesAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		return target(t, servicetest.New(t, memory.New(), formsvc.WithoutRateLimit(), noNames()))
	}, conformance.Only("webhooks"))
}

// A host that carries the credential in a cookie passes every case about credentials, except for
// those about the headers that it does not read.
func TestACookieIsAsGoodAsAHeader(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		svc := servicetest.New(t, memory.New(), formsvc.WithoutRateLimit(), noNames(), formsvc.WithCredential(func(r *http.Request) string {
			c, err := r.Cookie("session")
			if err != nil {
				return ""
			}
			return c.Value
		}))
		target := target(t, svc)
		target.Authorize = func(r *http.Request, credential string) {
			r.Header["Cookie"] = []string{"session=" + credential}
		}
		return target
	},
		conformance.Only("auth", "scope", "me", "order", "isolation"),
		conformance.Skip("auth/expired", "see TestTheServiceKeepsThePromisesOfTheAPI"),
		conformance.Skip("auth/bearer", "the credential is a cookie"),
		conformance.Skip("auth/precedence", "the credential is a cookie"),
		conformance.Skip("auth/twice", "the credential is a cookie"),
		conformance.Skip("auth/query", "the credential is a cookie"),
	)
}

func TestTheServiceLimitsTheRateOfAKey(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		target := target(t, servicetest.New(t, memory.New(), formsvc.WithRateLimit(5, time.Hour)))
		target.RateLimit = 5
		return target
	}, conformance.Only("ratelimit"))
}

func TestEveryAuthenticatedAnswerTellsTheRateLimit(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		target := target(t, servicetest.New(t, memory.New(), formsvc.WithRateLimit(100_000, time.Minute), noNames()))
		target.RateLimit = 100_000
		return target
	}, conformance.Only("mounting", "me", "webhooks", "submissions"))
}
