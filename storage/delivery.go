package storage

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Numbers that every store has in common.
const (
	// MaxFinishedResults is how many results FinishDeliveries settles in one step. It bounds how
	// long a step holds its rows, and how many results are to be given again when a step
	// fails.
	MaxFinishedResults = 500
	// MaxFailureGap ends a row of failures: a failure that comes later than this after
	// the one before begins a new row. It is longer than the default
	// delays and the longest Retry-After (a day), so only a dispatcher that did not run,
	// or that has longer delays, causes it.
	MaxFailureGap = 26 * time.Hour
	// ExpiredSummaryInterval is how long a webhook gets no other summary of expired deliveries
	// after it got one.
	ExpiredSummaryInterval = time.Hour
)

// Lease is the right to deliver one event to one webhook until it runs out.
// Token is larger than that of every earlier lease of the same webhook.
type Lease struct {
	WebhookID ID
	EventID   ID
	Token     int64
}

// Health is what is known of a webhook's destination. The zero value is the
// standing of a new one.
type Health struct {
	// Succeeded says that a request succeeded since the webhook got its URL.
	Succeeded bool
	// SuccessesUntilFast is how many quick successes it takes until the webhook counts as
	// quick.
	SuccessesUntilFast int
	// Failures counts the failed requests since the last success.
	Failures int
}

// Good reports whether the last request succeeded.
func (s Health) Healthy() bool { return s.Succeeded && s.Failures == 0 }

// Quick reports whether the last request succeeded and none took long lately.
func (s Health) Fast() bool { return s.Healthy() && s.SuccessesUntilFast == 0 }

// ClaimedDelivery is one claimed piece of work: send Body to URL.
type ClaimedDelivery struct {
	Lease        Lease
	FormID       ID
	WorkspaceID  ID // the form's
	SubmissionID ID // zero: a test event
	EventType    string
	Body         []byte // read only; it may be shared with other deliveries
	URL          string
	// Generation is another one after the webhook got another URL, also when it has its
	// earlier URL again: that is a new destination.
	Generation int64
	Host       string // Hostname of URL
	Secret     []byte // as stored with the webhook
	// OldSecret is the secret before Secret. It is nil if there is none, or if it was replaced
	// longer ago than OldSecretLifetime.
	OldSecret []byte
	Attempt   int    // the number of this attempt, 1 is the first
	Health    Health // of the webhook when the delivery was claimed
	// FailingFor is how long ago the first of Standing.Failures was recorded. 0: there
	// are none.
	FailingFor time.Duration
	// FailedAgo is how long ago the last of them was. 0: there are none.
	FailedAgo time.Duration
	// Age is how long ago the delivery was queued or redelivered.
	Age time.Duration
	// PausedFor is the rest of the webhook's pause. 0: it is over, or there was none.
	PausedFor time.Duration
	// PauseReason is that of the last pause, also when it is over. Empty: there was none, or
	// a result without a pause came after it.
	PauseReason PauseReason
}

// Pool says how many deliveries may be claimed of one kind of webhooks.
type Pool struct {
	// MaxDeliveries bounds the deliveries of the pool. Below 1: none.
	MaxDeliveries int
	// Hosts bounds those to each host name in it. Below 1: none.
	Hosts map[string]int
	// PerHost bounds those to every other host name. Below 1: no bound.
	PerHost int
	// ExcludedWorkspaces are workspaces whose webhooks get none: they have enough under way.
	ExcludedWorkspaces []ID
}

// ClaimParams asks for work.
type ClaimParams struct {
	// Lease is how long the claim holds, on the store's own clock.
	Lease time.Duration
	// Fast is for deliveries of webhooks with a quick Standing, Slow for others with a good
	// one, and Others for webhooks that are new or failed last.
	Fast, Slow, NewOrFailing Pool
	// Webhooks bounds the deliveries of each webhook in it. Below 1: none.
	Webhooks map[ID]int
	// Generations has the Generation that a bound of Webhooks is meant for. A webhook that has
	// another one by now is claimed as if Webhooks did not have it: what is under way to its
	// earlier URL does not hold back its new one. A webhook that is only in Webhooks has the
	// bound whatever its Generation is.
	Generations map[ID]int64
	// PerWebhook bounds those of every other webhook with a good Standing. One that
	// is not good gets one. Below 1: none.
	PerWebhook int
	// MaxBytes bounds the bodies of the deliveries of each pool together, but one
	// delivery of each pool always fits. Below 1: no bound.
	MaxBytes int
}

// PauseReason says why deliveries of a webhook wait.
type PauseReason string

// The reasons for a pause.
const (
	PauseFailures   PauseReason = "failures"    // too many failures in a row
	PauseRetryAfter PauseReason = "retry_after" // the destination asked for it
)

// Result says what became of a claimed delivery.
type Result struct {
	Lease Lease
	// Delivery is kept in the webhook's history, with a NextAttemptAt that the store
	// fills in. Nil: nothing was sent, and the delivery keeps its attempt number.
	Delivery *Delivery
	// RetryIn makes the delivery due again after that time on the store's clock. 0
	// with a Delivery ends the delivery, and without one makes it due at once. It is
	// ignored when somebody asked for the delivery, with Redeliver or UpdateWebhook, since
	// it was claimed and the attempt failed: then it is due at once, as attempt 1 with
	// RetryIn 0 and else as the next.
	RetryIn time.Duration
	// Summary is the id of a summary with the Error DeliveryExpired, as ExpireDeliveries leaves
	// it, that the webhook gets when a Delivery with RetryIn 0 ends the delivery. It has the
	// CreatedAt of that Delivery and the number of the attempt that does not follow. It may
	// be missing after a fault. Zero: none.
	Summary ID
	// Health becomes the Standing of the webhook. PauseFor pauses it; 0 ends an
	// earlier pause, and so does a Standing without failures. All are ignored when
	// Delivery is nil, and when the lease is from before the webhook got its URL: how
	// the old destination fared says nothing about the new one.
	Health      Health
	PauseFor    time.Duration
	PauseReason PauseReason // empty: PauseFailures
}

// BlockedResultsError says that some results could not be settled yet, because somebody else
// holds their deliveries, or what else they change. All other results were settled. It
// wraps ErrUnavailable.
type BlockedResultsError struct {
	Leases []Lease // of the results to give again
}

// Error implements error.
func (e *BlockedResultsError) Error() string {
	return fmt.Sprintf("storage: %d results cannot be settled yet because their rows are locked", len(e.Leases))
}

// Unwrap returns ErrUnavailable.
func (e *BlockedResultsError) Unwrap() error { return ErrUnavailable }

// HandOver lets the process that stores a response send its deliveries without
// claiming them. It serves one response. Its methods do not wait, and are safe in
// any goroutine.
type DirectDispatcher interface {
	// Reserve returns the webhooks of the form that have room for one more delivery
	// each, and how long such a delivery is to be leased. A store calls it before it
	// writes, and again when it has to write again.
	Reserve(form ID) (webhooks []ID, lease time.Duration)
	// HandOver follows every call of Reserve once, whatever became of the write. It
	// gets what was stored under a lease, after the commit, and others says whether
	// deliveries were stored that somebody has to claim. It may follow after Submit has
	// returned, when a caller leaves while the store still writes. Only if Submit panics,
	// the service gives back what is reserved; a call after that is harmless.
	Dispatch(leased []ClaimedDelivery, others bool)
}

// ExpireParams says which deliveries end because their webhook has failed for so
// long.
type ExpireParams struct {
	// MaxAge is how old a delivery gets at least, counted from when it was queued or
	// redelivered, and how long its webhook has failed.
	MaxAge time.Duration
	// From is Expired.Next of the call before. Zero: the first webhook.
	From ID
	// Max bounds the deliveries that end in this call. Below 1: none.
	Max int
	// At is CreatedAt of the summaries, and NewID makes their ids.
	At    time.Time
	NewID func() ID
}

// Expired tells what a call of ExpireDeliveries did.
type Expired struct {
	Deliveries int
	Summaries  []Delivery // those that were added, for all that ended of a webhook together
	// Next is the webhook where another call goes on. Zero: all were looked at.
	Next ID
}

// PausedWebhook is a webhook whose deliveries wait because its destination failed.
type PausedWebhook struct {
	WebhookID    ID
	FormID       ID
	URL          string
	Failures     int       // in a row
	FailingSince time.Time // when the first of them was recorded
	PausedUntil  time.Time // it may have passed: then a request is about to be tried
	Reason       PauseReason
}

// QueueStats describes the pending deliveries.
type QueueStats struct {
	Due     int64 // due now, claimed ones included
	Waiting int64 // due later, or held back by a pause
	// OldestDue is when the oldest of Due was queued. Zero: none is due.
	OldestDue time.Time
}

// DeliveryStore is the queue of pending deliveries: at most one for each pair of
// webhook and event. An event's body lives while the event is pending or stands
// in the history of a webhook, and dies with its submission.
//
// All times are those of the store's own clock. A delivery is due as soon as it
// is queued; later it is due when its result said so.
type DeliveryStore interface {
	// Enqueue queues an event that belongs to no submission, see Event.Single. It is claimed even
	// though the webhook is paused. It MUST return ErrNotFound when there is no such
	// webhook or its form is in the trash, and ErrConflict when the webhook is
	// disabled.
	Enqueue(ctx context.Context, webhook ID, e Event) error

	// Redeliver queues the event of an earlier delivery again, from attempt 1. It is
	// claimed even though the webhook is paused. When the event is still pending, it
	// becomes due now and as young as a new one; when it is under a lease, that
	// happens when the lease ends without success. A success under an earlier lease that
	// still counts ends it. It MUST return ErrNotFound when the webhook has no such delivery
	// or the event's body is gone, and ErrConflict when the webhook is disabled.
	Redeliver(ctx context.Context, webhook, delivery ID) error

	// RedeliverFailed does what Redeliver does when the delivery has ended without success:
	// the attempt failed, the webhook's history has no later attempt of its event, and the
	// event is not pending for the webhook. Otherwise it MUST return ErrNotFound. So of
	// several calls at once for deliveries of one event, one queues it.
	RedeliverFailed(ctx context.Context, webhook, delivery ID) error

	// ClaimDeliveries leases deliveries that are due, are not under a lease that
	// still holds, and whose webhook is enabled. While the webhook is paused it
	// leases only those that somebody asked for: with Enqueue, Redeliver or
	// UpdateWebhook. No delivery is claimed by two callers at once. Within each pool
	// webhooks are served least recently served first, so that a backlog of one does
	// not hold back another. Within a webhook, deliveries that somebody asked for
	// come first, and of those and of the others the oldest. What it costs depends on
	// what it claims, and on how many webhooks wait that Webhooks, Hosts or Without give nothing.
	//
	// more says that another call may bring more at once: a bound of the store itself cut
	// the claim short, or one that several webhooks share.
	ClaimDeliveries(ctx context.Context, p ClaimParams) (claimed []ClaimedDelivery, more bool, err error)

	// FinishDeliveries settles claimed deliveries, MaxFinishedResults of them in one step: it
	// records the attempt, and reschedules the delivery or removes it from the queue. The
	// webhook's history is its newest MaxHistory attempts: nobody is shown an older one,
	// which a store may remove later. Of several results of
	// one webhook the last one says its Standing. A result whose delivery is gone or
	// has been claimed again since changes nothing and its lease is returned in
	// fenced. A lease that ran out but was not claimed again still counts. Calling
	// it twice with the same results does no harm. It need not wait for a delivery
	// that somebody else holds, or for what else a result changes: then it returns a
	// BlockedResultsError beside fenced.
	FinishDeliveries(ctx context.Context, done []Result) (fenced []Lease, err error)

	// ExpireDeliveries ends deliveries that wait, in one bounded piece. It ends a
	// delivery that was queued MaxAge ago or earlier when its webhook has failed for
	// that long, and failed less than MaxFailureGap ago. So a dispatcher that does not run
	// ends nothing. A delivery under a lease does not end, and neither does a delivery
	// that waits for an attempt of its own. The oldest one that ends leaves a summary
	// in the webhook's history with the Error DeliveryExpired, unless the webhook got
	// one less than ExpiredSummaryInterval ago. These summaries do not push out others:
	// MaxExpiredSummaries of them are kept beside MaxHistory.
	ExpireDeliveries(ctx context.Context, p ExpireParams) (Expired, error)

	// PausedWebhooks lists the webhooks that are paused, newest first by
	// (FailingSince, WebhookID): to a user those that Webhooks lists.
	PausedWebhooks(ctx context.Context, actor Actor, page Page) ([]PausedWebhook, error)

	// QueueStats describes the queue. It counts what is pending, so it takes longer
	// the more that is: call it every few seconds at most.
	QueueStats(ctx context.Context) (QueueStats, error)
}

// Hostname returns the host name of a webhook's URL in lower case, without port,
// brackets and trailing dot. What is not a URL is its own name.
func Hostname(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
