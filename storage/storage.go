package storage

import (
	"context"
	"time"
)

// Storage is everything that the service asks of a store. An implementation
// embeds [Unimplemented], so that a method that is added later breaks no host;
// package storagetest tells which ones are missing.
//
// These methods write; all others only read. A decorator that is to see each change, such
// as an audit, has them all:
//
//	CreateWorkspace, UpdateWorkspace, DeleteWorkspace, SetMember,
//	CreateForm, UpdateForm, TrashForm, RestoreForm, PurgeForm, PutDocument,
//	Submit, DeleteSubmission, EraseSubmissions, PurgeSubmissions,
//	SavePartial, DeletePartials, PendingBackfill, BackfillAnswers, CountFunnel, SetLifetimeCounters, DeleteUser,
//	CreateWebhook, UpdateWebhook, DeleteWebhook, ReplaceSecrets,
//	Enqueue, Redeliver, RedeliverFailed, ClaimDeliveries, FinishDeliveries, ExpireDeliveries,
//	CreateKey, RevokeKey, TouchKeys, Sweep
//
// A store that a decorator holds, and a store on a transaction, do not know of the decorator:
// a host that calls svc.WithStorage(store.On(tx)) wraps what On returns.
type Storage interface {
	WorkspaceStore
	FormStore
	DocumentStore
	SubmissionStore
	PartialStore
	DuplicateStore
	RemovalStore
	MetricsStore
	WebhookStore
	DeliveryStore
	KeyStore

	// Sweep does one bounded piece of the maintenance. It removes records that have
	// served their time, tidies up after deletions and purges, also those of other
	// processes, sums up funnel counts, and brings back times of deliveries that lie
	// too far ahead. It removes or rewrites about p.Max rows and reports the removed
	// records. It may run in every process at once. The caller repeats it while
	// Swept.More holds. After an error the next call goes on with
	// other work, so that one fault does not hold up the rest.
	Sweep(ctx context.Context, p SweepParams) (SweepResult, error)

	// MaintenanceStatus tells whether somebody does the work that no call of a user does. An error says
	// what keeps the store from working, such as tables and rights that are missing, and
	// what to do about it. It may run in every process, once a minute or more often.
	MaintenanceStatus(ctx context.Context) (MaintenanceStatus, error)

	embedUnimplemented()
}

// SweepParams says what to remove.
type SweepParams struct {
	Now time.Time
	// TrashBefore purges forms that went to the trash before it, with their
	// submissions, webhooks, funnel and everything else of theirs. A purged form is
	// gone at once for every method; its rows are removed by this call and later
	// ones, and until then its ID and PublicID may stay taken. Zero: none.
	TrashBefore time.Time
	// KeysBefore removes keys that were revoked or expired before it. Zero: none.
	KeysBefore time.Time
	// RemovalsOnly leaves all other work undone: forms are purged, and the rows of removed
	// records are removed. When More does not hold after such a call, none of those is
	// left, whatever other sweeps do at the same time, nor is one added by a response
	// that was on its way. For that a call may wait for both.
	RemovalsOnly bool
	// BeforeDelete is called before submissions of purged forms are removed. If nil, nothing is
	// called.
	BeforeDelete BeforeDelete
	// Max bounds the rows that one call removes or rewrites in each of its tables,
	// and the forms, keys and events that it reports. Below 1: nothing is done.
	Max int
}

// SweepResult reports the work of one [Storage.Sweep].
type SweepResult struct {
	Forms   int // purged; each is counted once, by the call that made it disappear
	Keys    int
	Secrets int // webhooks with secrets that others replaced OldSecretLifetime ago
	Events  int // bodies that neither the queue nor a history refers to
	// Rescheduled counts deliveries and webhooks with times that lay farther ahead than any
	// wait, because the store's clock was set back: they wait for no longer than they should.
	Rescheduled int
	// More says that another call with the same parameters may have work to do.
	More bool
}

// MaintenanceStatus tells when some process last did the work that is to be done again and again. All
// times are those of the store's own clock. A store notes the work once a minute, and a note
// that fails is no fault of the call.
type MaintenanceStatus struct {
	Now   time.Time
	Since time.Time // when the store was made: nothing is noted from before
	// LastDispatch is when ClaimDeliveries or ExpireDeliveries was called last. A running
	// dispatcher calls the second once a minute, also without room for more deliveries.
	// Zero: never.
	LastDispatch time.Time
	// LastMaintenance is when Sweep was called last, without Removals. Zero: never.
	LastMaintenance time.Time
}
