package storage

import (
	"context"
	"time"
)

// Lease is the right to deliver one event to one webhook until it runs out.
// Token is larger than that of every earlier lease of the same webhook.
type Lease struct {
	WebhookID ID
	EventID   ID
	Token     int64
}

// Delivery is one claimed piece of work: send Body to URL.
type Delivery struct {
	Lease        Lease
	SubmissionID ID // zero: a test event
	EventType    string
	Body         []byte // read only; it may be shared with other deliveries of the batch
	URL          string
	Secret       []byte // as stored with the webhook
	Attempt      int    // the number of this attempt, 1 is the first
	Failures     int    // failures of the webhook in a row before this attempt
}

// ClaimParams asks for work.
type ClaimParams struct {
	// Now is compared with due times and pauses.
	Now time.Time
	// Lease is how long the claim holds, on the store's own clock.
	Lease time.Duration
	// Max bounds the whole batch.
	Max int
	// PerWebhook less Held[webhook] bounds the deliveries of one webhook.
	PerWebhook int
	// Held counts what the caller still has in flight, by webhook. A negative count
	// asks for so many more than PerWebhook.
	Held map[ID]int
}

// Result says what became of a claimed delivery.
type Result struct {
	Lease Lease
	// Attempt is kept in the webhook's history. Its NextAttemptAt says when the
	// event is due again; zero ends the delivery. Nil: nothing was sent; the lease
	// is given back and the delivery is due as it was, with the same attempt
	// number.
	Attempt *Attempt
	// Failures and PausedUntil become the webhook's. They are ignored when Attempt is
	// nil, and when the lease is from before the webhook got its URL: how the old
	// destination fared says nothing about the new one. Nothing of a webhook is
	// claimed before PausedUntil.
	Failures    int
	PausedUntil time.Time
}

// QueueStats describes the pending deliveries.
type QueueStats struct {
	Due     int64 // due now, claimed ones included
	Waiting int64 // due later, or held back by a pause
	// OldestDue is the earliest due time among Due. Zero: none is due.
	OldestDue time.Time
}

// DeliveryStore is the queue of pending deliveries: at most one for each pair of
// webhook and event. An event's body lives while the event is pending or stands
// in the kept history of a webhook, and dies with its submission.
type DeliveryStore interface {
	// Enqueue queues an event that belongs to no submission. It MUST return
	// ErrNotFound when there is no such webhook or its form is in the trash, and
	// ErrConflict when the webhook is disabled.
	Enqueue(ctx context.Context, webhook ID, e Event, due time.Time) error

	// Redeliver queues the event of an earlier attempt again, from attempt 1. When
	// it is still pending, it is made due at due instead. It MUST return
	// ErrNotFound when the webhook has no such attempt or the event's body is
	// gone, and ErrConflict when the webhook is disabled.
	Redeliver(ctx context.Context, webhook, attempt ID, due time.Time) error

	// ClaimDeliveries leases deliveries that are due at p.Now, are not under a
	// lease that still holds, and whose webhook is enabled and not paused at
	// p.Now. No delivery is claimed by two callers at once. Webhooks are served
	// least recently served first, within a webhook the earliest due first, so
	// that a backlog of one does not hold back another.
	ClaimDeliveries(ctx context.Context, p ClaimParams) ([]Delivery, error)

	// FinishDeliveries settles claimed deliveries in one step: it records the
	// attempt and cuts the webhook's history to the newest keep, then reschedules
	// the delivery or removes it from the queue. A result whose delivery is gone
	// or has been claimed again since changes nothing and its lease is returned in
	// fenced. A lease that ran out but was not claimed again still counts. Calling
	// it twice with the same results does no harm.
	FinishDeliveries(ctx context.Context, done []Result, keep int) (fenced []Lease, err error)

	// QueueStats describes the queue at now.
	QueueStats(ctx context.Context, now time.Time) (QueueStats, error)
}
