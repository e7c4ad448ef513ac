// Package dispatch defines the parameters that package formsvc uses to create the dispatcher in package webhooks.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
)

// Params holds the parameters for a dispatcher.
type Params struct {
	Store   storage.DeliveryStore // required; the dispatcher never closes it
	Secrets *secrets.Encrypter    // decrypts signing secrets; nil if they are stored unencrypted
	// Logger receives failed attempts and errors. If nil, they are discarded. If a receiver sends data after its response,
	// net/http also writes up to 5 kB to package log's standard logger.
	Logger *slog.Logger
	// Now returns the time for timestamps that receivers and users see. It defaults to [time.Now]. The store's clock
	// decides which deliveries are due, and timeouts use neither clock.
	Now func() time.Time
	// Sweep does a batch of maintenance, like [storage.Storage.Sweep]. A running dispatcher calls it about once a minute,
	// one call at a time, and logs its errors and panics. ctx is canceled when the dispatcher stops. If Sweep ignores the
	// cancellation, Run returns only after Sweep. If nil, there is no sweep.
	Sweep func(ctx context.Context, now time.Time) error
}
