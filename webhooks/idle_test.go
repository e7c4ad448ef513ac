package webhooks

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// counting counts the calls of a store.
type counting struct {
	storage.DeliveryStore
	claims, others atomic.Int32
	claimed        atomic.Int32 // deliveries
}

func (c *counting) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	c.claims.Add(1)
	list, more, err := c.DeliveryStore.ClaimDeliveries(ctx, p)
	c.claimed.Add(int32(len(list)))
	return list, more, err
}

func (c *counting) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	c.others.Add(1)
	return c.DeliveryStore.FinishDeliveries(ctx, done)
}

func (c *counting) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	c.others.Add(1)
	return c.DeliveryStore.QueueStats(ctx)
}

func TestAnIdleDispatcherMakesOneCallAPoll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		c := &counting{DeliveryStore: b.store}
		b.d.store = c
		b.d.config.Observer = nil
		b.run()
		time.Sleep(100 * time.Second)
		// A poll every 100 to 250 ms.
		if got := c.claims.Load(); got < 400 || got > 1001 {
			t.Errorf("%d claims in 100 s, want 400 to 1001", got)
		}
		if got := c.others.Load(); got != 0 {
			t.Errorf("%d other calls", got)
		}
	})
}

func TestSweepIsCalledAboutOnceAMinute(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var calls, running atomic.Int32
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		b.d.sweep = func(ctx context.Context, now time.Time) error {
			if running.Add(1) != 1 {
				t.Error("two sweeps at a time")
			}
			defer running.Add(-1)
			if now.IsZero() || ctx.Err() != nil {
				t.Errorf("swept at %s with %v", now, ctx.Err())
			}
			switch calls.Add(1) {
			case 1:
				return errors.New("cannot sweep today")
			case 2:
				panic("broom")
			case 3:
				time.Sleep(5 * time.Minute)
			}
			return nil
		}
		stop := b.run()
		time.Sleep(2 * time.Hour)
		stop()
		if got := calls.Load(); got < 90 || got > 160 {
			t.Errorf("%d sweeps in two hours", got)
		}
		for _, want := range []string{"cannot sweep today", "broom"} {
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("the log lacks %q", want)
			}
		}
	})
}

func TestASweepDelaysNoDeliveryAndEndsWithTheRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		began := make(chan struct{})
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		b.d.sweep = func(ctx context.Context, _ time.Time) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}
		id := b.webhook(hook, nil)
		stop := b.run()
		<-began
		b.event(id, "x")
		started := time.Now()
		b.d.Wake()
		b.seen.wait(t, 1)
		// A claim may have begun just before, and they keep their distance.
		if took, most := time.Since(started), scheduler.Default(1, 1, 1, time.Second).Gather; took > most {
			t.Errorf("a delivery took %s, want at most %s", took, most)
		}
		stop()
		if strings.Contains(b.log.String(), "sweep failed") {
			t.Error("a sweep that was stopped is logged as failed")
		}
	})
}
