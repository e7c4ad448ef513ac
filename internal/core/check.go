package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/schema"
)

// dispatcherGrace is how long deliveries wait without a running dispatcher before Check reports a problem. Restarts
// during deployments take less time. It is also the interval of WarnIfNotDispatched.
const dispatcherGrace = 5 * time.Minute

// maintenanceGrace is the maximum time without maintenance before Check reports a problem. The maintenance for one day
// takes minutes.
const maintenanceGrace = 24 * time.Hour

// checkTimeout limits how much time a check, or writing visits in Metrics, can add to a call. In a host's transaction,
// a check may have to wait for a second connection from the pool.
const checkTimeout = 2 * time.Second

// Check reports problems of the deployment. It counts queued deliveries only if no dispatcher runs.
func (c *Core) Check(ctx context.Context) error {
	u, err := c.Storage.MaintenanceStatus(ctx)
	if err != nil {
		return err
	}
	var unsent, unmaintained error
	if since := laterSecond(u.Since, u.LastDispatch); u.Now.Sub(since) >= dispatcherGrace {
		queue, err := c.Storage.QueueStats(ctx)
		if unsent = err; queue.Due > 0 && u.Now.Sub(queue.OldestDue) >= dispatcherGrace {
			unsent = fmt.Errorf("%w since %s: run Service.Dispatcher in a process (due: %d)", schema.ErrNoDispatcher, since.Format(time.RFC3339), queue.Due)
		}
	}
	if since := laterSecond(u.Since, u.LastMaintenance); u.Now.Sub(since) >= maintenanceGrace {
		unmaintained = fmt.Errorf("%w since %s: run Service.Dispatcher, or call Service.Maintain once a minute", schema.ErrNoMaintenance, since.Format(time.RFC3339))
	}
	return errors.Join(unsent, unmaintained)
}

func laterSecond(a, b time.Time) time.Time { return time.Unix(max(a.Unix(), b.Unix()), 0).UTC() }

// WarnIfNotDispatched logs a warning if no dispatcher is running. Call it after a delivery may have been queued. It
// checks at most every five minutes, and not on the first call, because the dispatcher may still be starting. The check
// uses the service's own storage, because an error would abort a host's transaction.
func (c *Core) WarnIfNotDispatched(ctx context.Context) {
	last, now := c.lastDispatcherCheck.Load(), c.Clock().UnixNano()
	passed := time.Duration(now - last)
	if last != 0 && 0 <= passed && passed < dispatcherGrace || !c.lastDispatcherCheck.CompareAndSwap(last, now) || last == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.original.Check(ctx); errors.Is(err, schema.ErrNoDispatcher) {
		c.Log.WarnContext(ctx, "webhooks are not being delivered", "error", err)
	}
}
