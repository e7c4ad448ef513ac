package storage

import (
	"context"
	"time"
)

// Storage is everything that the service asks of a store. An implementation
// embeds [Unimplemented], so that a method that is added later breaks no host;
// package storagetest tells which ones are missing.
type Storage interface {
	WorkspaceStore
	FormStore
	SubmissionStore
	MetricsStore
	WebhookStore
	DeliveryStore
	KeyStore

	// Sweep removes what has served its time, at most p.Max records a call, and
	// tells what it removed. It may run in every process at once.
	Sweep(ctx context.Context, p SweepParams) (Swept, error)

	embedUnimplemented()
}

// SweepParams says what to remove.
type SweepParams struct {
	Now time.Time
	// TrashBefore purges forms that went to the trash before it, with their
	// submissions, webhooks, funnel and everything else of theirs. Zero: none.
	TrashBefore time.Time
	// KeysBefore removes keys that were revoked or expired before it. Zero: none.
	KeysBefore time.Time
	// Max bounds the records of each kind. Below 1: nothing is removed.
	Max int
}

// Swept counts what a [Storage.Sweep] removed. More is there when a count
// reached SweepParams.Max.
type Swept struct {
	Forms  int
	Keys   int
	Events int // bodies that neither the queue nor a history refers to
}
