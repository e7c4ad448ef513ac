package storage

import (
	"context"
	"time"
)

// Unimplemented implements [Storage] with methods that return [ErrUnimplemented]. Every implementation embeds it.
type Unimplemented struct{}

var _ Storage = Unimplemented{}

func (Unimplemented) embedUnimplemented() {}

// CreateWorkspace returns [ErrUnimplemented].
func (Unimplemented) CreateWorkspace(context.Context, Workspace, int) error { return ErrUnimplemented }

// Workspace returns [ErrUnimplemented].
func (Unimplemented) Workspace(context.Context, Actor, ID) (Workspace, error) {
	return Workspace{}, ErrUnimplemented
}

// Workspaces returns [ErrUnimplemented].
func (Unimplemented) Workspaces(context.Context, Actor, Page) ([]Workspace, error) {
	return nil, ErrUnimplemented
}

// UpdateWorkspace returns [ErrUnimplemented].
func (Unimplemented) UpdateWorkspace(context.Context, Actor, ID, WorkspaceChange) (Workspace, error) {
	return Workspace{}, ErrUnimplemented
}

// DeleteWorkspace returns [ErrUnimplemented].
func (Unimplemented) DeleteWorkspace(context.Context, Actor, ID, time.Time) error {
	return ErrUnimplemented
}

// SetMember returns [ErrUnimplemented].
func (Unimplemented) SetMember(context.Context, ID, ID, bool) error { return ErrUnimplemented }

// Members returns [ErrUnimplemented].
func (Unimplemented) Members(context.Context, ID) ([]ID, error) { return nil, ErrUnimplemented }

// CreateForm returns [ErrUnimplemented].
func (Unimplemented) CreateForm(context.Context, Actor, Form) error { return ErrUnimplemented }

// Form returns [ErrUnimplemented].
func (Unimplemented) Form(context.Context, Actor, ID) (Form, error) { return Form{}, ErrUnimplemented }

// FormByPublicID returns [ErrUnimplemented].
func (Unimplemented) FormByPublicID(context.Context, string) (Form, error) {
	return Form{}, ErrUnimplemented
}

// Forms returns [ErrUnimplemented].
func (Unimplemented) Forms(context.Context, Actor, FormsParams) ([]Form, error) {
	return nil, ErrUnimplemented
}

// UpdateForm returns [ErrUnimplemented].
func (Unimplemented) UpdateForm(context.Context, Actor, ID, FormChange) (Form, error) {
	return Form{}, ErrUnimplemented
}

// TrashForm returns [ErrUnimplemented].
func (Unimplemented) TrashForm(context.Context, Actor, ID, TrashParams) error {
	return ErrUnimplemented
}

// RestoreForm returns [ErrUnimplemented].
func (Unimplemented) RestoreForm(context.Context, ID, ID, time.Time) error { return ErrUnimplemented }

// PutDocument returns [ErrUnimplemented].
func (Unimplemented) PutDocument(context.Context, Actor, ID, DocumentChange) (Document, error) {
	return Document{}, ErrUnimplemented
}

// Document returns [ErrUnimplemented].
func (Unimplemented) Document(context.Context, Actor, ID, string, string) (Document, error) {
	return Document{}, ErrUnimplemented
}

// FormsWithDocument returns [ErrUnimplemented].
func (Unimplemented) FormsWithDocument(context.Context, Actor, string, []ID) ([]ID, error) {
	return nil, ErrUnimplemented
}

// Documents returns [ErrUnimplemented].
func (Unimplemented) Documents(context.Context, Actor, ID, DocumentQuery) ([]Document, bool, error) {
	return nil, false, ErrUnimplemented
}

// Submit returns [ErrUnimplemented].
func (Unimplemented) Submit(context.Context, NewSubmission) (Submission, bool, error) {
	return Submission{}, false, ErrUnimplemented
}

// SubmissionByKey returns [ErrUnimplemented].
func (Unimplemented) SubmissionByKey(context.Context, ID, string) (Submission, error) {
	return Submission{}, ErrUnimplemented
}

// Submission returns [ErrUnimplemented].
func (Unimplemented) Submission(context.Context, Actor, ID, ID) (Submission, error) {
	return Submission{}, ErrUnimplemented
}

// Submissions returns [ErrUnimplemented].
func (Unimplemented) Submissions(context.Context, Actor, ID, SubmissionsParams, func(*Submission) error) (bool, error) {
	return false, ErrUnimplemented
}

// SubmissionsRemoved returns [ErrUnimplemented].
func (Unimplemented) SubmissionsRemoved(context.Context, Actor, ID) (int64, error) {
	return 0, ErrUnimplemented
}

// UpdateSubmission returns [ErrUnimplemented].
func (Unimplemented) UpdateSubmission(context.Context, Actor, SubmissionUpdate) (Submission, error) {
	return Submission{}, ErrUnimplemented
}

// SubmissionHistory returns [ErrUnimplemented].
func (Unimplemented) SubmissionHistory(context.Context, Actor, ID, ID) ([]SubmissionState, error) {
	return nil, ErrUnimplemented
}

// DeleteSubmission returns [ErrUnimplemented].
func (Unimplemented) DeleteSubmission(context.Context, Actor, ID, ID) error { return ErrUnimplemented }

// SavePartial returns [ErrUnimplemented].
func (Unimplemented) SavePartial(context.Context, SavePartialParams) (int64, error) {
	return 0, ErrUnimplemented
}

// Partial returns [ErrUnimplemented].
func (Unimplemented) Partial(context.Context, ID, [32]byte, time.Time) (Partial, error) {
	return Partial{}, ErrUnimplemented
}

// Partials returns [ErrUnimplemented].
func (Unimplemented) Partials(context.Context, Actor, ID, PartialQuery, func(*Partial) error) (bool, error) {
	return false, ErrUnimplemented
}

// DeletePartials returns [ErrUnimplemented].
func (Unimplemented) DeletePartials(context.Context, Actor, ID, DeletePartialsParams) (int, bool, error) {
	return 0, false, ErrUnimplemented
}

// PendingBackfill returns [ErrUnimplemented].
func (Unimplemented) PendingBackfill(context.Context, PendingBackfillParams) (PendingBackfill, error) {
	return PendingBackfill{}, ErrUnimplemented
}

// BackfillAnswers returns [ErrUnimplemented].
func (Unimplemented) BackfillAnswers(context.Context, BackfillCursor, []AnswerDigest) error {
	return ErrUnimplemented
}

// DeleteUser returns [ErrUnimplemented].
func (Unimplemented) DeleteUser(context.Context, ID, time.Time) error { return ErrUnimplemented }

// PurgeForm returns [ErrUnimplemented].
func (Unimplemented) PurgeForm(context.Context, ID) error { return ErrUnimplemented }

// EraseSubmissions returns [ErrUnimplemented].
func (Unimplemented) EraseSubmissions(context.Context, ID, []ID) (int, error) {
	return 0, ErrUnimplemented
}

// PurgeSubmissions returns [ErrUnimplemented].
func (Unimplemented) PurgeSubmissions(context.Context, PurgeSubmissionsParams) (PurgedSubmissions, error) {
	return PurgedSubmissions{}, ErrUnimplemented
}

// RespondentSubmissions returns [ErrUnimplemented].
func (Unimplemented) RespondentSubmissions(context.Context, SubmissionsParams, func(*Submission) error) (bool, error) {
	return false, ErrUnimplemented
}

// EraseRespondent returns [ErrUnimplemented].
func (Unimplemented) EraseRespondent(context.Context, EraseRespondentParams) (ErasedRespondent, error) {
	return ErasedRespondent{}, ErrUnimplemented
}

// CountFunnel returns [ErrUnimplemented].
func (Unimplemented) CountFunnel(context.Context, []FunnelCount) error {
	return ErrUnimplemented
}

// Funnel returns [ErrUnimplemented].
func (Unimplemented) Funnel(context.Context, Actor, ID, Window) (Funnel, error) {
	return Funnel{}, ErrUnimplemented
}

// SubmissionTotals returns [ErrUnimplemented].
func (Unimplemented) SubmissionTotals(context.Context, Actor, []ID) (map[ID]int64, error) {
	return nil, ErrUnimplemented
}

// SetLifetimeCounters returns [ErrUnimplemented].
func (Unimplemented) SetLifetimeCounters(context.Context, ID, Counters) error {
	return ErrUnimplemented
}

// CreateWebhook returns [ErrUnimplemented].
func (Unimplemented) CreateWebhook(context.Context, Actor, NewWebhook) error { return ErrUnimplemented }

// Webhook returns [ErrUnimplemented].
func (Unimplemented) Webhook(context.Context, Actor, ID) (Webhook, error) {
	return Webhook{}, ErrUnimplemented
}

// Webhooks returns [ErrUnimplemented].
func (Unimplemented) Webhooks(context.Context, Actor, Page) ([]Webhook, error) {
	return nil, ErrUnimplemented
}

// FormWebhooks returns [ErrUnimplemented].
func (Unimplemented) FormWebhooks(context.Context, Actor, ID) ([]Webhook, error) {
	return nil, ErrUnimplemented
}

// UpdateWebhook returns [ErrUnimplemented].
func (Unimplemented) UpdateWebhook(context.Context, Actor, ID, WebhookChange) (Webhook, error) {
	return Webhook{}, ErrUnimplemented
}

// Secrets returns [ErrUnimplemented].
func (Unimplemented) Secrets(context.Context, ID, int) ([]StoredSecret, error) {
	return nil, ErrUnimplemented
}

// ReplaceSecrets returns [ErrUnimplemented].
func (Unimplemented) ReplaceSecrets(context.Context, []SecretReplacement) (int, error) {
	return 0, ErrUnimplemented
}

// DeleteWebhook returns [ErrUnimplemented].
func (Unimplemented) DeleteWebhook(context.Context, Actor, ID) error { return ErrUnimplemented }

// Deliveries returns [ErrUnimplemented].
func (Unimplemented) Deliveries(context.Context, Actor, ID, int) ([]Delivery, error) {
	return nil, ErrUnimplemented
}

// Enqueue returns [ErrUnimplemented].
func (Unimplemented) Enqueue(context.Context, ID, Event) error { return ErrUnimplemented }

// Redeliver returns [ErrUnimplemented].
func (Unimplemented) Redeliver(context.Context, ID, ID) error { return ErrUnimplemented }

// RedeliverFailed returns [ErrUnimplemented].
func (Unimplemented) RedeliverFailed(context.Context, ID, ID) error { return ErrUnimplemented }

// ClaimDeliveries returns [ErrUnimplemented].
func (Unimplemented) ClaimDeliveries(context.Context, ClaimParams) ([]ClaimedDelivery, bool, error) {
	return nil, false, ErrUnimplemented
}

// FinishDeliveries returns [ErrUnimplemented].
func (Unimplemented) FinishDeliveries(context.Context, []Result) ([]Lease, error) {
	return nil, ErrUnimplemented
}

// ExpireDeliveries returns [ErrUnimplemented].
func (Unimplemented) ExpireDeliveries(context.Context, ExpireParams) (Expired, error) {
	return Expired{}, ErrUnimplemented
}

// PausedWebhooks returns [ErrUnimplemented].
func (Unimplemented) PausedWebhooks(context.Context, Actor, Page) ([]PausedWebhook, error) {
	return nil, ErrUnimplemented
}

// QueueStats returns [ErrUnimplemented].
func (Unimplemented) QueueStats(context.Context) (QueueStats, error) {
	return QueueStats{}, ErrUnimplemented
}

// CreateKey returns [ErrUnimplemented].
func (Unimplemented) CreateKey(context.Context, NewKey) error { return ErrUnimplemented }

// KeyByHash returns [ErrUnimplemented].
func (Unimplemented) KeyByHash(context.Context, [32]byte) (Key, User, error) {
	return Key{}, User{}, ErrUnimplemented
}

// Keys returns [ErrUnimplemented].
func (Unimplemented) Keys(context.Context, ID) ([]Key, error) { return nil, ErrUnimplemented }

// RevokeKey returns [ErrUnimplemented].
func (Unimplemented) RevokeKey(context.Context, ID, ID, time.Time) error { return ErrUnimplemented }

// FormForKey returns [ErrUnimplemented].
func (Unimplemented) FormForKey(context.Context, FormForKeyParams) (FormForKey, error) {
	return FormForKey{}, ErrUnimplemented
}

// TouchKeys returns [ErrUnimplemented].
func (Unimplemented) TouchKeys(context.Context, map[ID]time.Time) error { return ErrUnimplemented }

// MaintenanceStatus returns [ErrUnimplemented].
func (Unimplemented) MaintenanceStatus(context.Context) (MaintenanceStatus, error) {
	return MaintenanceStatus{}, ErrUnimplemented
}

// Sweep returns [ErrUnimplemented].
func (Unimplemented) Sweep(context.Context, SweepParams) (SweepResult, error) {
	return SweepResult{}, ErrUnimplemented
}
