package storage

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Limits that apply to every store.
const (
	// MaxFinishedResults is the number of results that FinishDeliveries records in one step. This limits how long the
	// rows are locked, and how many results must be repeated after an error.
	MaxFinishedResults = 500
	// MaxFailureGap is the longest time between two failures of the same series. A later failure starts a new series.
	// The gap is longer than the default delays and the longest Retry-After (a day). Only a dispatcher that did not run
	// or that uses longer delays exceeds it.
	MaxFailureGap = 26 * time.Hour
	// ExpiredSummaryInterval is the minimum time between two summaries of expired deliveries of a webhook.
	ExpiredSummaryInterval = time.Hour
)

// Lease is the exclusive right to deliver one event to one webhook until the lease expires. Token is larger than the
// tokens of all earlier leases of the same webhook.
type Lease struct {
	WebhookID ID
	EventID   ID
	Token     int64
}

// Health is the record of successes and failures of a webhook's destination. The zero value is the health of a new
// webhook.
type Health struct {
	Succeeded          bool // whether a request has succeeded since the webhook's URL last changed
	SuccessesUntilFast int  // fast successes that the webhook still needs to count as fast
	Failures           int  // failed requests since the last success
}

// Healthy reports whether the last request succeeded.
func (s Health) Healthy() bool { return s.Succeeded && s.Failures == 0 }

// Fast reports whether the last request succeeded and all recent requests were fast.
func (s Health) Fast() bool { return s.Healthy() && s.SuccessesUntilFast == 0 }

// ClaimedDelivery is a leased delivery: the caller sends Body to URL.
type ClaimedDelivery struct {
	Lease        Lease
	FormID       ID
	WorkspaceID  ID
	SubmissionID ID // zero for a test event
	EventType    string
	Body         []byte // read only, because other deliveries may share it
	URL          string
	// Generation differs after each change of the webhook's URL, even if the webhook returns to an earlier URL. Each
	// change creates a new destination.
	Generation int64
	Host       string // Hostname of URL
	Secret     []byte // as stored with the webhook
	// OldSecret is the secret before Secret. It is nil if there is none, or if it was replaced more than
	// OldSecretLifetime ago.
	OldSecret []byte
	Attempt   int    // number of this attempt, starting at 1
	Health    Health // when the delivery was claimed
	// FailingFor is the time since the first of Health.Failures was recorded. Both times are zero without failures.
	FailingFor time.Duration
	FailedAgo  time.Duration // since the last of these failures was recorded
	Age        time.Duration // since the delivery was queued or redelivered
	PausedFor  time.Duration // remaining time of the webhook's pause; zero without a pause
	// PauseReason is the reason for the last pause, even if that pause is over. It is empty if there was no pause, or
	// if a result without a pause followed.
	PauseReason PauseReason
}

// Pool limits how many deliveries can be claimed for one group of webhooks.
type Pool struct {
	MaxDeliveries int            // limit of the pool; a value below 1 claims nothing
	Hosts         map[string]int // limits of some hostnames; a value below 1 claims nothing for the hostname
	PerHost       int            // limit of every other hostname; a value below 1 means no limit
	// ExcludedWorkspaces are workspaces whose webhooks receive no deliveries, because they have enough in flight.
	ExcludedWorkspaces []ID
}

// ClaimParams are the parameters of ClaimDeliveries.
type ClaimParams struct {
	// Lease is the duration of each lease, measured by the store's clock.
	Lease time.Duration
	// Fast limits deliveries to webhooks whose Health is fast, and Slow to other healthy webhooks. NewOrFailing limits
	// deliveries to webhooks that are new or whose last request failed.
	Fast, Slow, NewOrFailing Pool
	// Webhooks limits the deliveries for each listed webhook. A value below 1 claims nothing for it.
	Webhooks map[ID]int
	// Generations contains the Generation to which a limit in Webhooks applies. If the webhook now has another
	// Generation, the limit is ignored, because requests to the earlier URL must not delay the new one. Without an
	// entry, the limit applies to every Generation.
	Generations map[ID]int64
	// PerWebhook limits the deliveries for every other healthy webhook. A value below 1 means no limit. An unhealthy
	// webhook receives one delivery.
	PerWebhook int
	// MaxBytes limits the total size of the bodies in each pool. One delivery of each pool always fits. A value below 1
	// means no limit.
	MaxBytes int
}

// PauseReason is the reason why a webhook's deliveries are paused.
type PauseReason string

// Reasons for a pause.
const (
	PauseFailures   PauseReason = "failures"    // too many consecutive failures
	PauseRetryAfter PauseReason = "retry_after" // the destination requested it
)

// Result is the result of a claimed delivery.
type Result struct {
	Lease Lease
	// Delivery is added to the webhook's history. The store sets its NextAttemptAt. If nil, nothing was sent and the
	// delivery keeps its attempt number.
	Delivery *Delivery
	// RetryIn is the time until the delivery is due again, measured by the store's clock. A zero value ends the
	// delivery if Delivery is set, and otherwise makes it due immediately. If Redeliver or UpdateWebhook requested the
	// delivery during the lease and the attempt failed, RetryIn is ignored and the delivery is due immediately. It
	// restarts at attempt 1 if RetryIn is zero, and otherwise continues with the next number.
	RetryIn time.Duration
	// Summary is the ID of a summary whose Error is DeliveryExpired. The store adds the summary to the webhook's
	// history if this result ends the delivery. The summary has the CreatedAt of Delivery and the number of the attempt
	// that is not made. It may be missing after an error. A zero value adds no summary.
	Summary ID
	// Health becomes the webhook's Health. PauseFor pauses the webhook. A zero PauseFor or a Health without failures
	// ends an earlier pause. All three are ignored if Delivery is nil, or if the lease is older than the webhook's URL,
	// because the result then belongs to the old destination.
	Health      Health
	PauseFor    time.Duration
	PauseReason PauseReason // defaults to PauseFailures
}

// BlockedResultsError reports that some results were not recorded because another transaction has locked their
// records. All other results were recorded. It wraps ErrUnavailable.
type BlockedResultsError struct {
	Leases []Lease // of the results that must be written again
}

// Error implements error.
func (e *BlockedResultsError) Error() string {
	return fmt.Sprintf("storage: %d results cannot be settled yet because their rows are locked", len(e.Leases))
}

// Unwrap returns ErrUnavailable.
func (e *BlockedResultsError) Unwrap() error { return ErrUnavailable }

// DirectDispatcher sends the deliveries of one submission from the process that stores it, without a claim. Its
// methods do not block and are safe for concurrent use.
type DirectDispatcher interface {
	// Reserve returns the form's webhooks that can each accept one more delivery, and the duration of the leases. A
	// store calls it before each write.
	Reserve(form ID) (webhooks []ID, lease time.Duration)
	// Dispatch must be called once after each call of Reserve, even if the write fails. After the commit it receives
	// the deliveries that were stored under a lease. others reports whether further deliveries were stored, which must
	// be claimed. If a context ends during a write, Submit can return before this call. If Submit panics, the service
	// releases the reservation, and a later call has no effect.
	Dispatch(leased []ClaimedDelivery, others bool)
}

// ExpireParams are the parameters of ExpireDeliveries.
type ExpireParams struct {
	// MaxAge is the age at which deliveries expire, counted from when they were queued or redelivered. Their webhook
	// must also have failed for this long.
	MaxAge time.Duration
	// From is Expired.Next of the previous call. A zero value starts at the first webhook.
	From ID
	// Max limits the deliveries that end in this call. A value below 1 ends none.
	Max int
	// At is the CreatedAt of the summaries, and NewID creates their IDs.
	At    time.Time
	NewID func() ID
}

// Expired is the result of ExpireDeliveries.
type Expired struct {
	Deliveries int
	Summaries  []Delivery // one for each webhook with expired deliveries, if it is due
	// Next is the webhook at which the next call continues. A zero value means that all webhooks were checked.
	Next ID
}

// PausedWebhook is a webhook whose deliveries wait because its destination failed or requested a pause.
type PausedWebhook struct {
	WebhookID    ID
	FormID       ID
	URL          string
	Failures     int       // consecutive failures
	FailingSince time.Time // when the first of these failures was recorded
	PausedUntil  time.Time // if it has passed, a probe is about to be sent
	Reason       PauseReason
}

// QueueStats describes the pending deliveries.
type QueueStats struct {
	Due     int64 // due now, including leased deliveries
	Waiting int64 // due later, or paused
	// OldestDue is when the oldest due delivery was queued. It is zero if no delivery is due.
	OldestDue time.Time
}

// DeliveryStore is the queue of pending deliveries. It contains at most one delivery for each pair of webhook and
// event. The store retains an event's body while the event is pending or in a webhook's history, and removes it with
// its submission. All times are measured by the store's own clock. A new delivery is due immediately. Afterwards it is
// due at the time that its result sets.
type DeliveryStore interface {
	// Enqueue queues an event without a submission; see Event.Single. The event can be claimed even if the webhook is
	// paused. Enqueue MUST return ErrNotFound if the webhook does not exist or its form is in the trash, and
	// ErrConflict if the webhook is disabled.
	Enqueue(ctx context.Context, webhook ID, e Event) error

	// Redeliver queues the event of an earlier delivery again, starting at attempt 1. The event can be claimed even if
	// the webhook is paused. If the event is still pending, it becomes due now and its age restarts. If it is leased,
	// this happens when the lease ends without success. A success under a valid earlier lease ends the delivery.
	// Redeliver MUST return ErrNotFound if the webhook has no such delivery or the event's body is gone, and
	// ErrConflict if the webhook is disabled.
	Redeliver(ctx context.Context, webhook, delivery ID) error

	// RedeliverFailed calls Redeliver if the delivery has ended without success: its attempt failed, the webhook's
	// history contains no later attempt of the event, and the event is not pending. Otherwise it MUST return
	// ErrNotFound, so only one of several concurrent calls for an event queues it.
	RedeliverFailed(ctx context.Context, webhook, delivery ID) error

	// ClaimDeliveries leases due deliveries of enabled webhooks that are not under a valid lease. If a webhook is
	// paused, it leases only deliveries that were requested with Enqueue, Redeliver or UpdateWebhook. No two callers
	// lease the same delivery.
	//
	// Within a pool, the least recently served webhooks come first, so that a backlog of one webhook does not delay
	// others. Within a webhook, requested deliveries come first, and older ones before newer ones. The cost depends on
	// the number of claimed deliveries, and on the waiting webhooks that Webhooks, Hosts or ExcludedWorkspaces exclude.
	// more reports whether another call may immediately return more, because a limit of the store or a limit shared by
	// several webhooks shortened the claim.
	ClaimDeliveries(ctx context.Context, p ClaimParams) (claimed []ClaimedDelivery, more bool, err error)

	// FinishDeliveries records results, up to MaxFinishedResults in one step. It adds each attempt to the history, and
	// reschedules the delivery or removes it from the queue. The history contains the newest MaxHistory attempts. A
	// store never returns older ones and may remove them later. The last of several results for a webhook sets its
	// Health.
	//
	// If the delivery is gone or was claimed again, its result changes nothing and its lease is returned in fenced. An
	// expired lease is still valid if the delivery was not claimed again. Repeating a call with the same results is
	// safe. A store need not wait for records that another transaction has locked. It then returns a
	// BlockedResultsError together with fenced.
	FinishDeliveries(ctx context.Context, done []Result) (fenced []Lease, err error)

	// ExpireDeliveries ends waiting deliveries, at most p.Max in each call. A delivery ends if it was queued MaxAge ago
	// or earlier, and its webhook has failed for at least MaxAge and last failed less than MaxFailureGap ago. A stopped
	// dispatcher therefore does not expire deliveries. Leased and requested deliveries do not expire.
	//
	// The store adds a summary of the oldest expired delivery to the webhook's history, with the Error DeliveryExpired,
	// unless it added a summary less than ExpiredSummaryInterval ago. Up to MaxExpiredSummaries summaries are stored in
	// addition to MaxHistory attempts.
	ExpireDeliveries(ctx context.Context, p ExpireParams) (Expired, error)

	// PausedWebhooks lists the paused webhooks of all accessible forms, newest first by (FailingSince, WebhookID).
	PausedWebhooks(ctx context.Context, actor Actor, page Page) ([]PausedWebhook, error)

	// QueueStats counts all pending deliveries, so call it every few seconds at most.
	QueueStats(ctx context.Context) (QueueStats, error)
}

// Hostname returns the hostname of a webhook's URL in lower case, without port, brackets and trailing dot. If raw is
// not a URL, it returns raw.
func Hostname(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
