package webhooks_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// metrics has the instruments that a host would make with its metrics library:
// a counter with attributes, a histogram, two gauges and a counter of seconds.
type metrics struct {
	webhooks.NoObserver // pauses are in the log

	mu       sync.Mutex
	attempts map[string]int64 // counter formsvc.webhook.attempts, by outcome
	bounds   []time.Duration  // histogram formsvc.webhook.duration
	buckets  []int64
	due      int64         // gauge formsvc.webhook.due
	oldest   time.Duration // gauge formsvc.webhook.oldest_due
	full     time.Duration // counter formsvc.webhook.slow_full
	now      func() time.Time
}

var _ webhooks.Observer = (*metrics)(nil)

// AttemptFinished implements [webhooks.Observer]. The webhook is no attribute of
// a metric: there are too many of them. It is in the log.
func (m *metrics) AttemptFinished(_ context.Context, a storage.Delivery) {
	outcome := a.Error
	if a.Success {
		outcome = "success"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts[outcome]++
	i := 0
	for i < len(m.bounds) && a.Duration > m.bounds[i] {
		i++
	}
	m.buckets[i]++
}

// QueueObserved implements [webhooks.Observer].
func (m *metrics) QueueObserved(_ context.Context, q storage.QueueStats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due, m.oldest = q.Due, 0
	if !q.OldestDue.IsZero() {
		m.oldest = m.now().Sub(q.OldestDue)
	}
}

// InFlightObserved implements [webhooks.Observer].
func (m *metrics) InFlightObserved(_ context.Context, i webhooks.InFlight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = i.SlowFullFor
}

// An Observer feeds whatever metrics a host has.
func ExampleObserver() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m := &metrics{
		attempts: map[string]int64{},
		bounds:   []time.Duration{100 * time.Millisecond, time.Second},
		buckets:  make([]int64, 3),
		now:      func() time.Time { return noon },
	}
	_ = webhooks.Config{Observer: m} // for formsvc.WithWebhookConfig

	// What a dispatcher calls:
	ctx := context.Background()
	m.AttemptFinished(ctx, storage.Delivery{Status: 200, Success: true, Duration: 40 * time.Millisecond})
	m.AttemptFinished(ctx, storage.Delivery{Status: 500, Error: webhooks.ClassStatus, Duration: 300 * time.Millisecond})
	m.AttemptFinished(ctx, storage.Delivery{Error: webhooks.ClassTimeout, Duration: 15 * time.Second})
	m.QueueObserved(ctx, storage.QueueStats{Due: 2, OldestDue: noon.Add(-5 * time.Second)})

	fmt.Println(m.attempts)
	fmt.Println(m.buckets)
	fmt.Println(m.due, m.oldest)
	if m.InFlightObserved(ctx, webhooks.InFlight{Fast: 3, Slow: 4096, SlowFullFor: 2 * time.Second}); m.full > 0 {
		fmt.Println("InFlightSlow is too small")
	}
	// Output:
	// map[status:1 success:1 timeout:1]
	// [1 1 1]
	// 2 5s
	// InFlightSlow is too small
}

// mails tells operators which webhooks are paused.
type mails struct {
	webhooks.NoObserver
	send func(subject string)
}

// WebhookPaused implements [webhooks.Observer]. It comes again with each probe that fails.
func (m mails) WebhookPaused(_ context.Context, p storage.PausedWebhook) {
	m.send(fmt.Sprintf("webhook %s waits until %s (%s)", p.WebhookID, p.PausedUntil.Format(time.TimeOnly), p.Reason))
}

// WebhookResumed implements [webhooks.Observer].
func (m mails) WebhookResumed(_ context.Context, webhook storage.ID) {
	m.send(fmt.Sprintf("webhook %s gets deliveries again", webhook))
}

// Pauses, for an alarm.
func ExampleObserver_pauses() {
	var alarm webhooks.Observer = mails{send: func(subject string) { fmt.Println(subject) }}
	_ = webhooks.Config{Observer: alarm} // for formsvc.WithWebhookConfig

	// What a dispatcher calls:
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ctx, webhook := context.Background(), storage.ID{1}
	alarm.WebhookPaused(ctx, storage.PausedWebhook{
		WebhookID: webhook, Failures: 10, FailingSince: noon.Add(-time.Hour), PausedUntil: noon.Add(time.Minute), Reason: storage.PauseFailures,
	})
	alarm.WebhookResumed(ctx, webhook)
	// Output:
	// webhook 010000000000000000000000 waits until 12:01:00 (failures)
	// webhook 010000000000000000000000 gets deliveries again
}
