package webhooks

import (
	"context"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
)

// Params are all that a dispatcher is made of.
type Params struct {
	Store   storage.DeliveryStore
	Config  Config
	Secrets *secrets.Sealer
	Logger  *slog.Logger
	Now     func() time.Time
	Sweep   func(ctx context.Context, now time.Time) error
}

func New(p Params) (*Dispatcher, func() (storage.HandOver, func()), error) {
	return NewDispatcher(p.Config, dispatch.Params{Store: p.Store, Secrets: p.Secrets, Logger: p.Logger, Now: p.Now, Sweep: p.Sweep})
}
