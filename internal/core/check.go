package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/schema"
)

// dispatcherGrace is how long deliveries wait, and no dispatcher runs, before that is reported: a
// deployment that restarts takes less. A process that queues deliveries looks as often, from
// its first one on.
const dispatcherGrace = 5 * time.Minute

// maintenanceGrace is how long maintenance may be missing: what a day has left undone is
// caught up with in minutes.
const maintenanceGrace = 24 * time.Hour

// checkTimeout bounds what a look, or the write before Metrics, adds to a call. In a host's
// transaction a look may have to wait for a second connection of the pool.
const checkTimeout = 2 * time.Second

// Check reports what the deployment lacks. The queue is counted only when no dispatcher runs.
func (c *Core) Check(ctx context.Context) error {
	u, err := c.Storage.MaintenanceStatus(ctx)
	if err != nil {
		return err
	}
	var unsent, unmaintained error
	if since := laterTime(u.Since, u.LastDispatch); u.Now.Sub(since) >= dispatcherGrace {
		queue, err := c.Storage.QueueStats(ctx)
		if unsent = err; queue.Due > 0 && u.Now.Sub(queue.OldestDue) >= dispatcherGrace {
			unsent = fmt.Errorf("%w since %s: run Service.Dispatcher in a process (due: %d)", schema.ErrNoDispatcher, since.Format(time.RFC3339), queue.Due)
		}
	}
	if since := laterTime(u.Since, u.LastMaintenance); u.Now.Sub(since) >= maintenanceGrace {
		unmaintained = fmt.Errorf("%w since %s: run Service.Dispatcher, or call Service.Maintain once a minute", schema.ErrNoMaintenance, since.Format(time.RFC3339))
	}
	return errors.Join(unsent, unmaintained)
}

func laterTime(a, b time.Time) time.Time { return time.Unix(max(a.Unix(), b.Unix()), 0).UTC() }

// Queued is called when a delivery may have been queued. One call in five minutes looks
// whether somebody sends them, and tells the log when nobody does. The first call does not:
// the dispatcher may be about to start. It looks at the service's own storage, not in a
// host's transaction, which an error would end.
func (c *Core) WarnIfNotDispatched(ctx context.Context) {
	last, now := c.lastDispatcherCheck.Load(), c.Clock().UnixNano()
	passed := time.Duration(now - last)
	if last != 0 && 0 <= passed && passed < dispatcherGrace || !c.lastDispatcherCheck.CompareAndSwap(last, now) || last == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.original.Check(ctx); errors.Is(err, schema.ErrNoDispatcher) {
		c.Log.WarnContext(ctx, "webhooks are not sent", "error", err)
	}
}
