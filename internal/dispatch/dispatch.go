// Package dispatch contains types with which package formsvc creates the dispatcher of package webhooks.
// Hosts cannot use them.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
)

// Params are the parts of a dispatcher.
type Params struct {
	// Store holds the deliveries. Required. The dispatcher never closes it.
	Store storage.DeliveryStore
	// Secrets opens signing secrets. Nil: they are stored as they are.
	Secrets *secrets.Encrypter
	// Logger gets failed attempts and faults. Nil: discards. The standard logger of package
	// log gets a line of up to 5 kB from net/http when a receiver sends more than an answer.
	Logger *slog.Logger
	// Now is the clock of the times that receivers and owners see. Nil: [time.Now].
	// What is due is judged by the store's clock; time-outs use neither.
	Now func() time.Time
	// Sweep does a piece of the maintenance, as [storage.Storage.Sweep] does, at the
	// time that Now returns. While a dispatcher runs it is called about once a minute,
	// beside the deliveries and one call at a time; ctx ends when the dispatcher stops,
	// and a call that does not return then delays the end of Run. Errors and panics are
	// logged and have no other effect. Nil: nothing is swept.
	Sweep func(ctx context.Context, now time.Time) error
}
