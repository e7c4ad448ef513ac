// Package dispatch contains types with which package formsvc creates the dispatcher of package webhooks.
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
	Store   storage.DeliveryStore // required; the dispatcher never closes it
	Secrets *secrets.Encrypter    // decrypts signing secrets; nil if they are stored unencrypted
	// Logger receives failed attempts and errors. If nil, they are discarded. If a receiver sends more than a
	// response, net/http also writes up to 5 kB to the standard logger of package log.
	Logger *slog.Logger
	// Now is the clock for times that receivers and users see. Defaults to [time.Now]. The store's clock decides what
	// is due, and timeouts use neither clock.
	Now func() time.Time
	// Sweep does a batch of maintenance, like [storage.Storage.Sweep]. A running dispatcher calls it about once a
	// minute, one call at a time, and logs its errors and panics. Its ctx ends when the dispatcher stops, and
	// ignoring it delays the end of Run. If nil, there is no sweep.
	Sweep func(ctx context.Context, now time.Time) error
}
