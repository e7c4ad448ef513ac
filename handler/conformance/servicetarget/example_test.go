package servicetarget_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/storage"
)

// A host's test runs all cases, also those about keys that have expired: these come from a
// service on the same storage whose clock is a day behind.
func ExampleExpiredKeys() {
	testForms := func(t *testing.T, router http.Handler, svc *formsvc.Service, store storage.Storage) {
		yesterday := func() time.Time { return time.Now().Add(-24 * time.Hour) }
		issuer, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithClock(yesterday))
		if err != nil {
			t.Fatal(err)
		}
		target := servicetarget.New(svc, "/v1")
		target.Handler = router
		target.ExpiredKey = servicetarget.ExpiredKeys(issuer, 24*time.Hour)
		conformance.Run(t, func(*testing.T) conformance.Target { return target })
	}
	_ = testForms // func TestForms(t *testing.T)
}
