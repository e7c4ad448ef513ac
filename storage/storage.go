package storage

import (
	"context"
	"time"
)

// Storage is the complete interface of a store. An implementation must embed [Unimplemented], so that methods added in
// later versions do not break it. Package storagetest reports missing methods.
//
// The following methods write, and all others only read. A decorator that must see every change, such as an audit
// log, wraps these methods:
//
//	CreateWorkspace, UpdateWorkspace, DeleteWorkspace, SetMember,
//	CreateForm, UpdateForm, TrashForm, RestoreForm, PurgeForm, PutDocument,
//	Submit, UpdateSubmission, DeleteSubmission, EraseSubmissions, PurgeSubmissions, EraseRespondent,
//	SavePartial, DeletePartials, PendingBackfill, BackfillAnswers, CountFunnel, SetLifetimeCounters, DeleteUser,
//	CreateWebhook, UpdateWebhook, DeleteWebhook, ReplaceSecrets,
//	Enqueue, Redeliver, RedeliverFailed, ClaimDeliveries, FinishDeliveries, ExpireDeliveries,
//	CreateKey, RevokeKey, TouchKeys, Sweep
//
// A wrapped store does not know its decorator, so its copies for transactions are not wrapped. A host that calls
// svc.WithStorage(store.On(tx)) must wrap the result of On.
type Storage interface {
	WorkspaceStore
	FormStore
	DocumentStore
	SubmissionStore
	SubmissionUpdateStore
	PartialStore
	DuplicateStore
	RemovalStore
	RespondentStore
	MetricsStore
	WebhookStore
	DeliveryStore
	KeyStore

	// Sweep performs one batch of maintenance. It removes expired records, and rows that deletions and purges have left
	// behind, even those of other processes. It sums up funnel counts, and corrects delivery times that are too far in
	// the future. It removes or rewrites about p.Max rows, and returns how many records it removed.
	//
	// Several processes can call Sweep concurrently. The caller repeats it while SweepResult.More is true. After an
	// error, the next call continues with other work, so that one error does not block the rest.
	Sweep(ctx context.Context, p SweepParams) (SweepResult, error)

	// MaintenanceStatus reports when background work was last done. If the store cannot work, for example because
	// tables or privileges are missing, the error says why and how to fix it. Every process can call it each minute or
	// more often.
	MaintenanceStatus(ctx context.Context) (MaintenanceStatus, error)

	embedUnimplemented()
}

// SweepParams are the parameters of Sweep.
type SweepParams struct {
	Now time.Time
	// TrashBefore purges forms that moved to the trash earlier, with all their records. A purged form immediately
	// disappears from every method. This call and later ones remove its rows. Until then, its ID and PublicID can
	// remain taken. A zero value purges no forms.
	TrashBefore time.Time
	KeysBefore  time.Time // removes keys that were revoked or expired earlier; a zero value removes none
	// RemovalsOnly limits the call to purging forms and removing the rows of removed records. If More is then false, no
	// such rows are left. The call can wait for concurrent sweeps and in-flight submissions.
	RemovalsOnly bool
	BeforeDelete BeforeDelete // if not nil, called before submissions of purged forms are removed
	// Max limits the rows that one call removes or rewrites in each table, and the forms, keys and events that it
	// reports. If below 1, Sweep does nothing.
	Max int
}

// SweepResult reports the work of one [Storage.Sweep].
type SweepResult struct {
	Forms   int // purged forms, each counted by only one call
	Keys    int
	Secrets int // webhooks whose old secret was removed after OldSecretLifetime
	Events  int // event bodies to which no queue entry or history refers
	// Rescheduled is the number of deliveries and webhooks whose times were corrected. After the store's clock was set
	// back, these times were further in the future than the longest possible wait.
	Rescheduled int
	More        bool // whether another call with the same parameters may have work to do
}

// MaintenanceStatus reports when any process last did the recurring work. All times come from the store's clock. A
// store records the work at most once a minute. If it fails to record the work, the work itself still succeeds.
type MaintenanceStatus struct {
	Now   time.Time
	Since time.Time // when the store was created and recording started
	// LastDispatch is the time of the last ClaimDeliveries or ExpireDeliveries. A running dispatcher calls
	// ExpireDeliveries about once a minute, even if it cannot accept more deliveries. It is zero before the first call.
	LastDispatch time.Time
	// LastMaintenance is the time of the last Sweep without RemovalsOnly, or zero if there was none.
	LastMaintenance time.Time
}
