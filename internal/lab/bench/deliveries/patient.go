package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

const (
	patientCount = 200 // webhooks of one owner, each on a host of its own
	patientTakes = 14 * time.Second
	honestCount  = 20  // webhooks of as many others
	honestEvents = 300 // of each, which wait from the start
	honestAtOnce = 4   // requests to a webhook
	honestFor    = 40 * time.Second
)

// patient measures receivers that take 0.9 to 2 s beside many of one owner that take nearly as
// long as they may: what they get, of what so many requests at once can do.
func patient(ctx context.Context, o options) error {
	return inCompany(ctx, o, func(c *company, storedIn string) error {
		answered := &answers{by: map[storage.ID]int{}}
		var err error
		c.dispatcher, c.startDispatch, err = webhooks.NewDispatcher(reachable(answered), dispatch.Params{Store: c.store, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		owner, err := c.workspace(ctx)
		if err != nil {
			return err
		}
		running, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- c.dispatcher.Run(running) }()
		for i := range patientCount {
			form, _, err := c.webhook(ctx, owner, fmt.Sprintf("http://127.3.0.%d:%s/%s/%s/%d", 1+i, c.port, takes, patientTakes, i))
			if err != nil {
				return err
			}
			c.feed(running, form, false, patientTakes/honestAtOnce, 0)
		}
		sleep(ctx, 2*patientTakes) // until they have all that they get

		took := map[storage.ID]time.Duration{}
		for i := range honestCount {
			workspace, err := c.workspace(ctx)
			if err != nil {
				return err
			}
			each := 900*time.Millisecond + time.Duration(i)*1100*time.Millisecond/(honestCount-1)
			form, hook, err := c.webhook(ctx, workspace, fmt.Sprintf("http://127.1.0.%d:%s/%s/%s/%d", 1+i, c.port, takes, each, i))
			if err != nil {
				return err
			}
			took[hook] = each
			for range honestEvents {
				if err := c.submit(ctx, form, true); err != nil {
					return err
				}
			}
		}
		sleep(ctx, 5*time.Second) // they are known to work
		before := answered.since(nil)
		sleep(ctx, honestFor)
		got := answered.since(before)
		least, whose := 1.0, time.Duration(0)
		for hook, each := range took {
			if share := float64(got[hook]) / (honestAtOnce * float64(honestFor) / float64(each)); share < least {
				least, whose = share, each
			}
		}
		stop()
		c.workers.Wait()
		if err := errors.Join(<-ended, ctx.Err()); err != nil {
			return err
		}
		fmt.Printf("%s: %d of one owner take %s; of %d others the one that gets least, and takes %s, gets %.2f of what %d at once can do\n",
			storedIn, patientCount, patientTakes, honestCount, whose, least, honestAtOnce)
		if least < 0.9 {
			return errors.New("that is less than 0.9")
		}
		return nil
	})
}

// answers counts what was answered, by webhook.
type answers struct {
	webhooks.NoObserver
	mu sync.Mutex
	by map[storage.ID]int
}

// AttemptFinished implements [webhooks.Observer].
func (a *answers) AttemptFinished(_ context.Context, d storage.Delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.Success {
		a.by[d.WebhookID]++
	}
}

// since returns the counts without those of before.
func (a *answers) since(before map[storage.ID]int) map[storage.ID]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := maps.Clone(a.by)
	for hook, n := range before {
		now[hook] -= n
	}
	return now
}
