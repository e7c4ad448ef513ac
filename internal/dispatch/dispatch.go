// Package dispatch contains types with which package formsvc creates the dispatcher of package webhooks. Hosts cannot
// use them.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
)

// Params are the parameters of a dispatcher.
type Params struct {
	// Store contains the deliveries. It is required. The dispatcher never closes it.
	Store storage.DeliveryStore
	// Secrets decrypts signing secrets. If nil, secrets are stored unencrypted.
	Secrets *secrets.Encrypter
	// Logger receives failed attempts and errors. If nil, they are discarded. If a receiver sends more than a response,
	// net/http also writes up to 5 kB to the standard logger of package log.
	Logger *slog.Logger
	// Now is the clock for times that receivers and users see. Defaults to [time.Now]. The store's clock decides what
	// is due, and timeouts use neither clock.
	Now func() time.Time
	// Sweep performs a batch of the maintenance, as [storage.Storage.Sweep] does, at the given time. A running
	// dispatcher calls it about once a minute, one call at a time. ctx ends when the dispatcher stops. A call that
	// ignores ctx delays the end of Run. Errors and panics are only logged. If nil, there is no sweep.
	Sweep func(ctx context.Context, now time.Time) error
}
