package storage

import (
	"context"
	"time"
)

// Storage is the complete interface of a store. An implementation embeds [Unimplemented], so that methods of later
// versions do not break it. Package storagetest reports the missing methods.
//
// The following methods write, and all others only read. A decorator that must see every change, such as an audit
// log, wraps these methods:
//
//	CreateWorkspace, UpdateWorkspace, DeleteWorkspace, SetMember,
//	CreateForm, UpdateForm, TrashForm, RestoreForm, PurgeForm, PutDocument,
//	Submit, DeleteSubmission, EraseSubmissions, PurgeSubmissions,
//	SavePartial, DeletePartials, PendingBackfill, BackfillAnswers, CountFunnel, SetLifetimeCounters, DeleteUser,
//	CreateWebhook, UpdateWebhook, DeleteWebhook, ReplaceSecrets,
//	Enqueue, Redeliver, RedeliverFailed, ClaimDeliveries, FinishDeliveries, ExpireDeliveries,
//	CreateKey, RevokeKey, TouchKeys, Sweep
//
// A wrapped store, and a store on a transaction, do not know the decorator. A host that calls
// svc.WithStorage(store.On(tx)) must wrap the result of On.
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

	// Sweep performs one batch of the maintenance. It removes expired records and the remains of deletions and purges,
	// also those of other processes. It sums up funnel counts, and corrects delivery times that are too far in the
	// future. It removes or rewrites about p.Max rows and returns the numbers of removed records.
	//
	// Several processes can call Sweep concurrently. The caller repeats it while SweepResult.More is true. After an
	// error, the next call continues with other work, so that one error does not block the rest.
	Sweep(ctx context.Context, p SweepParams) (SweepResult, error)

	// MaintenanceStatus reports when background work was last done. An error describes why the store cannot work, such
	// as missing tables or rights, and how to fix it. Every process can call it once a minute or more often.
	MaintenanceStatus(ctx context.Context) (MaintenanceStatus, error)

	embedUnimplemented()
}

// SweepParams are the parameters of Sweep.
type SweepParams struct {
	Now time.Time
	// TrashBefore purges forms that moved to the trash earlier, with all their records. For every method, a purged form
	// is gone immediately. This call and later ones remove its rows, and its ID and PublicID may remain taken until
	// then. A zero value purges no forms.
	TrashBefore time.Time
	KeysBefore  time.Time // removes keys that were revoked or expired earlier; a zero value removes none
	// RemovalsOnly limits the call to purging forms and removing the rows of removed records. If More is false
	// afterwards, no such rows are left, even with concurrent sweeps and in-flight submissions. The call may wait for
	// both.
	RemovalsOnly bool
	BeforeDelete BeforeDelete // if not nil, called before submissions of purged forms are removed
	// Max limits the rows that one call removes or rewrites in each table, and the reported forms, keys and events. A
	// value below 1 does nothing.
	Max int
}

// SweepResult reports the work of one [Storage.Sweep].
type SweepResult struct {
	Forms   int // purged forms, each counted by one call
	Keys    int
	Secrets int // webhooks whose old secret was replaced OldSecretLifetime ago
	Events  int // event bodies without references from the queue or a history
	// Rescheduled is the number of deliveries and webhooks whose times were farther in the future than any wait,
	// because the store's clock was set back. Their times were corrected.
	Rescheduled int
	More        bool // another call with the same parameters may have work to do
}

// MaintenanceStatus reports when any process last did the recurring work. All times are from the store's clock. A
// store records the work once a minute. If this fails, the call does not return an error.
type MaintenanceStatus struct {
	Now   time.Time
	Since time.Time // when the store was created and recording started
	// LastDispatch is the time of the last ClaimDeliveries or ExpireDeliveries. A running dispatcher calls
	// ExpireDeliveries about once a minute, even if it cannot accept more deliveries. It is zero before the first call.
	LastDispatch time.Time
	// LastMaintenance is the time of the last Sweep without RemovalsOnly, and zero before the first.
	LastMaintenance time.Time
}
