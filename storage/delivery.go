package storage

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// These limits apply to every store.
const (
	// MaxFinishedResults is the maximum number of results that FinishDeliveries records in one step. It limits how long
	// rows stay locked and how many results must be written again after an error.
	MaxFinishedResults = 500
	// MaxFailureGap is the longest gap between two failures in the same series. A failure after a longer gap starts a
	// new series. MaxFailureGap exceeds the default retry delays and the longest Retry-After (a day), so gaps exceed it
	// only if the dispatcher was stopped or uses longer delays.
	MaxFailureGap = 26 * time.Hour
	// ExpiredSummaryInterval is the minimum time between two summaries of a webhook's expired deliveries.
	ExpiredSummaryInterval = time.Hour
)

// Lease is the exclusive right to deliver one event to one webhook until the lease expires. Token is larger than the
// tokens of all earlier leases for the same webhook.
type Lease struct {
	WebhookID ID
	EventID   ID
	Token     int64
}

// Health records the successes and failures of a webhook's destination. A new webhook has the zero Health.
type Health struct {
	Succeeded          bool // whether a request has succeeded since the webhook's URL last changed
	SuccessesUntilFast int  // number of fast successes that the webhook needs before it counts as fast
	Failures           int  // failed requests since the last success
}

// Healthy reports whether the last request succeeded.
func (s Health) Healthy() bool { return s.Succeeded && s.Failures == 0 }

// Fast reports whether the last request succeeded and all recent requests were fast.
func (s Health) Fast() bool { return s.Healthy() && s.SuccessesUntilFast == 0 }

// ClaimedDelivery is a leased delivery. The caller sends Body to URL.
type ClaimedDelivery struct {
	Lease        Lease
	FormID       ID
	WorkspaceID  ID
	SubmissionID ID // zero for a test event
	EventType    string
	Body         []byte // read only, because other deliveries can share it
	URL          string
	// Generation changes whenever the webhook's URL changes, even back to an earlier URL, because each change makes a
	// new destination.
	Generation int64
	Host       string // URL's hostname, as the function Hostname returns it
	Secret     []byte // the webhook's signing secret in its stored form
	// OldSecret is the secret that Secret replaced. It is nil if there was none, or if it was replaced more than
	// OldSecretLifetime ago.
	OldSecret []byte
	Attempt   int    // number of this attempt, starting at 1
	Health    Health // the webhook's health when the delivery was claimed
	// FailingFor is the time since the first of Health.Failures was recorded. Without failures, FailingFor and
	// FailedAgo are zero.
	FailingFor time.Duration
	FailedAgo  time.Duration // time since the webhook's last failure was recorded
	Age        time.Duration // time since the delivery was queued or redelivered
	PausedFor  time.Duration // time until the webhook's pause ends; zero if the webhook is not paused
	// PauseReason is the reason for the webhook's last pause, even if that pause has ended. It is empty if the webhook
	// was never paused, or if a result recorded after the pause did not pause it again.
	PauseReason PauseReason
}

// Pool limits how many deliveries ClaimDeliveries leases for one group of webhooks.
type Pool struct {
	MaxDeliveries int            // limit for the whole pool; if below 1, nothing is claimed
	Hosts         map[string]int // limits by hostname; if a limit is below 1, nothing is claimed for its hostname
	PerHost       int            // limit for each hostname that is not in Hosts; a value below 1 means no limit
	// ExcludedWorkspaces lists workspaces with enough deliveries in flight, for which nothing is claimed.
	ExcludedWorkspaces []ID
}

// ClaimParams are the parameters of ClaimDeliveries.
type ClaimParams struct {
	// Lease is the duration of each lease, measured by the store's clock.
	Lease time.Duration
	// Fast applies to webhooks whose Health is fast, Slow to other healthy webhooks, and NewOrFailing to webhooks that
	// are new or whose last request failed.
	Fast, Slow, NewOrFailing Pool
	// Webhooks maps webhooks to their limits. If a webhook's limit is below 1, nothing is claimed for it.
	Webhooks map[ID]int
	// Generations maps webhooks to the Generation to which their limit in Webhooks applies. If a webhook now has a
	// different Generation, its limit is ignored, because requests to the old URL must not delay deliveries to the new
	// one. The limit of a webhook without an entry in Generations always applies.
	Generations map[ID]int64
	// PerWebhook limits the deliveries for each healthy webhook that is not listed in Webhooks. If it is below 1,
	// nothing is claimed for them. An unhealthy webhook gets at most one delivery.
	PerWebhook int
	// Local lists the URLs of the local webhooks that the caller serves. Deliveries to other local webhooks are not
	// claimed.
	Local []string
	// MaxBytes limits the total size of the bodies in each pool. One delivery is always allowed. A value below 1 means
	// no limit.
	MaxBytes int
}

// PauseReason says why a webhook's deliveries are paused.
type PauseReason string

// Reasons for a pause.
const (
	PauseFailures   PauseReason = "failures"    // too many consecutive failures
	PauseRetryAfter PauseReason = "retry_after" // the destination requested the pause with Retry-After
)

// Result is the outcome of a claimed delivery.
type Result struct {
	Lease Lease
	// Delivery is added to the webhook's history. The store sets Delivery.NextAttemptAt. A nil Delivery means that
	// nothing was sent, so the attempt number does not change.
	Delivery *Delivery
	// RetryIn is the time until the delivery is due again, measured by the store's clock. A zero RetryIn ends the
	// delivery if Delivery is set, and otherwise makes the delivery due immediately. If the attempt failed, and
	// Redeliver or UpdateWebhook requested the delivery during the lease, the delivery is due immediately even if
	// RetryIn is set. It then restarts at attempt 1 if RetryIn is zero, and otherwise continues with the next attempt.
	RetryIn time.Duration
	// Summary is the ID of a history entry whose Error is DeliveryExpired. If this result ends the delivery, the store
	// adds the entry to the webhook's history, with Delivery's CreatedAt and the number of the attempt that will not be
	// made. If an error occurs, the entry can be missing. If Summary is zero, the store adds no entry.
	Summary ID
	// Health becomes the webhook's Health. PauseFor is how long to pause the webhook. If PauseFor is zero or Health has
	// no failures, an earlier pause ends. Health, PauseFor and PauseReason are ignored if Delivery is nil. They are
	// also ignored if the lease is older than the webhook's URL, because the result is for the old destination.
	Health      Health
	PauseFor    time.Duration
	PauseReason PauseReason // defaults to PauseFailures
}

// BlockedResultsError reports that some results were not recorded because another transaction has locked their
// records. All other results were recorded. It wraps ErrUnavailable.
type BlockedResultsError struct {
	Leases []Lease // leases of the results that the caller must pass to FinishDeliveries again
}

// Error implements error.
func (e *BlockedResultsError) Error() string {
	return fmt.Sprintf("storage: %d results cannot be recorded yet because their rows are locked", len(e.Leases))
}

// Unwrap returns ErrUnavailable.
func (e *BlockedResultsError) Unwrap() error { return ErrUnavailable }

// DirectDispatcher sends a submission's deliveries from the process that stores the submission, without
// ClaimDeliveries. Its methods do not block and are safe for concurrent use.
type DirectDispatcher interface {
	// Reserve returns the form's webhooks to which one more delivery can be sent immediately, and how long to lease
	// these deliveries. A store calls Reserve before it writes a submission.
	Reserve(form ID) (webhooks []ID, lease time.Duration)
	// Dispatch must be called once after each call to Reserve, even if the write fails. The parameter leased contains
	// the committed deliveries that the store has leased. The parameter others reports whether the write also stored
	// deliveries that must be claimed. If Submit's context ends during the write, Submit can return before the store
	// calls Dispatch. If Submit panics, the service releases the reservation. A later Dispatch has no effect.
	Dispatch(leased []ClaimedDelivery, others bool)
}

// ExpireParams are the parameters of ExpireDeliveries.
type ExpireParams struct {
	// MaxAge is the age at which deliveries expire, counted from when they were queued or redelivered. A delivery
	// expires only if its webhook has also been failing for at least MaxAge.
	MaxAge time.Duration
	// From is Expired.Next from the previous call. If zero, the call starts at the first webhook.
	From ID
	// Max limits how many deliveries one call ends. If Max is below 1, the call ends none.
	Max int
	// At becomes the CreatedAt of the summaries, and NewID creates their IDs.
	At    time.Time
	NewID func() ID
}

// Expired is the result of ExpireDeliveries.
type Expired struct {
	Deliveries int
	Summaries  []Delivery // the summaries that the call added, one per webhook; see ExpiredSummaryInterval
	// Next is the webhook at which the next call continues. It is zero if all webhooks were checked.
	Next ID
}

// PausedWebhook is a webhook whose deliveries wait because its destination failed or requested a pause.
type PausedWebhook struct {
	WebhookID    ID
	FormID       ID
	URL          string
	Failures     int       // consecutive failures
	FailingSince time.Time // when the first of these failures was recorded
	PausedUntil  time.Time // end of the pause; if it has passed, a probe will be sent soon
	Reason       PauseReason
}

// QueueStats describes the pending deliveries.
type QueueStats struct {
	Due     int64 // due now, including leased deliveries
	Waiting int64 // due later, or paused
	// OldestDue is when the oldest due delivery was queued. It is zero if no delivery is due.
	OldestDue time.Time
}

// DeliveryStore is the queue of pending deliveries. It contains at most one delivery per webhook and event. The store
// retains an event's body while the event is pending or in a webhook's history, and removes the body when it removes
// the event's submission. All times are measured by the store's own clock. A new delivery is due immediately. After an
// attempt, the result determines when it is due again.
type DeliveryStore interface {
	// Enqueue queues an event that has no submission; see Event.Single. The event can be claimed even if the webhook is
	// paused. Enqueue MUST return ErrNotFound if the webhook does not exist or its form is in the trash, and
	// ErrConflict if the webhook is disabled.
	Enqueue(ctx context.Context, webhook ID, e Event) error

	// Redeliver queues the event of an earlier delivery again, starting at attempt 1. The event can be claimed even if
	// the webhook is paused. If the event is still pending, it becomes due immediately and its age restarts at zero. A
	// leased event becomes due again when its lease ends without success. If an attempt under a valid earlier lease
	// succeeds, the delivery ends. Redeliver MUST return ErrNotFound if the webhook has no such delivery or the event's
	// body is gone, and ErrConflict if the webhook is disabled.
	Redeliver(ctx context.Context, webhook, delivery ID) error

	// RedeliverFailed is like Redeliver, but applies only to a delivery that has ended without success: its attempt
	// failed, the webhook's history contains no later attempt of the event, and the event is not pending. For any other
	// delivery, it MUST return ErrNotFound, so that only one of several concurrent calls queues the event.
	RedeliverFailed(ctx context.Context, webhook, delivery ID) error

	// ClaimDeliveries leases the due deliveries of enabled webhooks, except for deliveries under a valid lease. For a
	// paused webhook, it leases only deliveries that were requested with Enqueue, Redeliver or UpdateWebhook. No two
	// callers lease the same delivery.
	//
	// Within a pool, the least recently served webhooks come first, so that a backlog of one webhook does not delay
	// others. For each webhook, requested deliveries come first, followed by the rest; both are ordered oldest first.
	// The cost depends on the number of claimed deliveries, and on the number of waiting webhooks that p's Webhooks,
	// Hosts or ExcludedWorkspaces exclude. The result more reports whether another call could immediately return more
	// deliveries, because this claim reached one of the store's own limits or a limit shared by several webhooks.
	ClaimDeliveries(ctx context.Context, p ClaimParams) (claimed []ClaimedDelivery, more bool, err error)

	// FinishDeliveries records results, up to MaxFinishedResults in one step. It adds each attempt to the history, and
	// reschedules the delivery or removes it from the queue. The history contains the newest MaxHistory attempts. A
	// store never returns older attempts, but can remove them later. If several results belong to one webhook, the last
	// one sets the webhook's Health.
	//
	// If the delivery is gone or was claimed again, its result changes nothing and its lease is returned in fenced. An
	// expired lease is still valid if the delivery was not claimed again. Repeating a call with the same results is
	// safe. A store need not wait for records that another transaction has locked. Instead, it can return a
	// *BlockedResultsError along with fenced.
	FinishDeliveries(ctx context.Context, done []Result) (fenced []Lease, err error)

	// ExpireDeliveries ends old waiting deliveries, at most p.Max per call. A delivery expires if it was queued at
	// least p.MaxAge ago, and its webhook has been failing for at least p.MaxAge and last failed less than
	// MaxFailureGap ago. Deliveries therefore do not expire just because the dispatcher was stopped. Leased and
	// requested deliveries do not expire.
	//
	// The store adds a summary of the oldest expired delivery to the webhook's history, with the Error DeliveryExpired,
	// unless it added a summary less than ExpiredSummaryInterval ago. Up to MaxExpiredSummaries summaries are stored in
	// addition to MaxHistory attempts.
	ExpireDeliveries(ctx context.Context, p ExpireParams) (Expired, error)

	// PausedWebhooks lists the paused webhooks of all accessible forms, newest first by (FailingSince, WebhookID).
	PausedWebhooks(ctx context.Context, actor Actor, page Page) ([]PausedWebhook, error)

	// QueueStats counts the pending deliveries. It reads all of them, so call it at most once every few seconds.
	QueueStats(ctx context.Context) (QueueStats, error)
}

// Hostname returns the hostname of a webhook's URL in lower case, without a port, brackets or a trailing dot. If raw is
// not a URL, Hostname returns it unchanged.
func Hostname(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
