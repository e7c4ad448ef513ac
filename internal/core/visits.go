package core

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/storage"
)

// CountVisit counts a view or start of a form. Visits are written in batches, because they are frequent and pages must
// not wait for the writes.
func (c *Core) CountVisit(ctx context.Context, form storage.ID, n storage.Counters) error {
	visit := storage.FunnelCount{Form: form, At: c.Clock().UTC(), Counters: n}
	if ctx.Err() == nil && c.visits != nil && c.visits.Add(visit) {
		return nil
	}
	return c.writeVisits(ctx, []storage.FunnelCount{visit})
}

func (c *Core) writeVisits(ctx context.Context, visits []storage.FunnelCount) error {
	if err := c.Storage.CountFunnel(ctx, visits); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil // unknown forms are not counted
}

// Close writes the collected visits. Later visits are written immediately.
func (c *Core) Close(ctx context.Context) error { return c.visits.Close(ctx) }
