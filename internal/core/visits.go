package core

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/storage"
)

// CountVisit counts a view or a start of a form, if there is such a form. Visits are gathered,
// because there are more of them than of anything else, and no page is to wait for them.
func (c *Core) CountVisit(ctx context.Context, form storage.ID, n storage.Counters) error {
	visit := storage.FunnelCount{Form: form, At: c.Clock().UTC(), Counters: n}
	if ctx.Err() == nil && c.visits != nil && c.visits.Add(visit) {
		return nil
	}
	return c.writeVisits(ctx, []storage.FunnelCount{visit})
}

// writeVisits counts visits in the storage.
func (c *Core) writeVisits(ctx context.Context, visits []storage.FunnelCount) error {
	if err := c.Storage.CountFunnel(ctx, visits); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil // of unknown forms nothing is counted
}

// Close writes the visits that wait. Later ones are written one by one.
func (c *Core) Close(ctx context.Context) error { return c.visits.Close(ctx) }
