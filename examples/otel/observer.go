package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

const scope = "github.com/formsvc/formsvc/examples/otel"

// Observer is a [webhooks.Observer] with these instruments:
//
//   - formsvc.webhook.attempts: attempts, by outcome (success, or the class of the
//     failure). The webhook is no attribute: there are too many; the log has it.
//   - formsvc.webhook.duration: seconds that an attempt took, by outcome.
//   - formsvc.webhook.due and formsvc.webhook.waiting: deliveries in the queue.
//   - formsvc.webhook.oldest_due: seconds for which the oldest due delivery waits.
type Observer struct {
	webhooks.NoObserver // pauses are in the log
	attempts            metric.Int64Counter
	duration            metric.Float64Histogram
	queue               atomic.Pointer[storage.QueueStats] // nil: not yet observed
}

var _ webhooks.Observer = (*Observer)(nil)

// NewObserver makes the instruments.
func NewObserver(provider metric.MeterProvider) (*Observer, error) {
	var o Observer
	var errs [6]error
	meter := provider.Meter(scope)
	o.attempts, errs[0] = meter.Int64Counter("formsvc.webhook.attempts",
		metric.WithDescription("Number of delivery attempts."), metric.WithUnit("{attempt}"))
	o.duration, errs[1] = meter.Float64Histogram("formsvc.webhook.duration",
		metric.WithDescription("Duration of delivery attempts."), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15))

	due, err := meter.Int64ObservableGauge("formsvc.webhook.due",
		metric.WithDescription("Number of deliveries that are due now."), metric.WithUnit("{delivery}"))
	errs[2] = err
	waiting, err := meter.Int64ObservableGauge("formsvc.webhook.waiting",
		metric.WithDescription("Number of deliveries that are due later."), metric.WithUnit("{delivery}"))
	errs[3] = err
	oldest, err := meter.Float64ObservableGauge("formsvc.webhook.oldest_due",
		metric.WithDescription("Time that the oldest due delivery has waited."), metric.WithUnit("s"))
	errs[4] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, out metric.Observer) error {
		q := o.queue.Load()
		if q == nil {
			return nil
		}
		out.ObserveInt64(due, q.Due)
		out.ObserveInt64(waiting, q.Waiting)
		age := 0.0
		if !q.OldestDue.IsZero() {
			age = time.Since(q.OldestDue).Seconds()
		}
		out.ObserveFloat64(oldest, age)
		return nil
	}, due, waiting, oldest)
	return &o, err
}

// AttemptFinished implements [webhooks.Observer].
func (o *Observer) AttemptFinished(ctx context.Context, a storage.Delivery) {
	outcome := a.Error
	if a.Success {
		outcome = "success"
	}
	by := metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", outcome)))
	o.attempts.Add(ctx, 1, by)
	o.duration.Record(ctx, a.Duration.Seconds(), by)
}

// QueueObserved implements [webhooks.Observer].
func (o *Observer) QueueObserved(_ context.Context, q storage.QueueStats) { o.queue.Store(&q) }
