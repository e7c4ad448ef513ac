package storagetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// hollow is a store that keeps nothing and succeeds at everything.
type hollow struct {
	storage.Unimplemented
	stop   func() // called when a case goes on asking for work
	claims atomic.Int64
}

func (*hollow) CreateWorkspace(context.Context, storage.Workspace, int) error { return nil }
func (*hollow) Workspace(context.Context, storage.Actor, storage.ID) (storage.Workspace, error) {
	return storage.Workspace{}, nil
}
func (*hollow) Workspaces(context.Context, storage.Actor, storage.Page) ([]storage.Workspace, error) {
	return nil, nil
}
func (*hollow) UpdateWorkspace(context.Context, storage.Actor, storage.ID, storage.WorkspaceChange) (storage.Workspace, error) {
	return storage.Workspace{}, nil
}
func (*hollow) DeleteWorkspace(context.Context, storage.Actor, storage.ID, time.Time) error {
	return nil
}
func (*hollow) SetMember(context.Context, storage.ID, storage.ID, bool) error { return nil }
func (*hollow) Members(context.Context, storage.ID) ([]storage.ID, error)     { return nil, nil }
func (*hollow) CreateForm(context.Context, storage.Actor, storage.Form) error { return nil }
func (*hollow) Form(context.Context, storage.Actor, storage.ID) (storage.Form, error) {
	return storage.Form{}, nil
}
func (*hollow) FormByPublicID(context.Context, string) (storage.Form, error) {
	return storage.Form{}, nil
}
func (*hollow) Forms(context.Context, storage.Actor, storage.FormsParams) ([]storage.Form, error) {
	return nil, nil
}
func (*hollow) UpdateForm(context.Context, storage.Actor, storage.ID, storage.FormChange) (storage.Form, error) {
	return storage.Form{}, nil
}
func (*hollow) TrashForm(context.Context, storage.Actor, storage.ID, storage.TrashParams) error {
	return nil
}
func (*hollow) RestoreForm(context.Context, storage.ID, storage.ID, time.Time) error { return nil }
func (*hollow) PutDocument(context.Context, storage.Actor, storage.ID, storage.DocumentChange) (storage.Document, error) {
	return storage.Document{}, nil
}
func (*hollow) Document(context.Context, storage.Actor, storage.ID, string, string) (storage.Document, error) {
	return storage.Document{}, nil
}
func (*hollow) Documents(context.Context, storage.Actor, storage.ID, storage.DocumentQuery) ([]storage.Document, bool, error) {
	return nil, false, nil
}
func (*hollow) Submit(context.Context, storage.NewSubmission) (storage.Submission, bool, error) {
	return storage.Submission{}, false, nil
}
func (*hollow) SubmissionByKey(context.Context, storage.ID, string) (storage.Submission, error) {
	return storage.Submission{}, nil
}
func (*hollow) Submission(context.Context, storage.Actor, storage.ID, storage.ID) (storage.Submission, error) {
	return storage.Submission{}, nil
}
func (*hollow) Submissions(context.Context, storage.Actor, storage.ID, storage.SubmissionsParams, func(*storage.Submission) error) (bool, error) {
	return false, nil
}
func (*hollow) DeleteSubmission(context.Context, storage.Actor, storage.ID, storage.ID) error {
	return nil
}
func (*hollow) SavePartial(context.Context, storage.SavePartialParams) (int64, error) { return 0, nil }
func (*hollow) Partial(context.Context, storage.ID, [32]byte, time.Time) (storage.Partial, error) {
	return storage.Partial{}, nil
}
func (*hollow) Partials(context.Context, storage.Actor, storage.ID, storage.PartialQuery, func(*storage.Partial) error) (bool, error) {
	return false, nil
}
func (*hollow) DeletePartials(context.Context, storage.Actor, storage.ID, storage.DeletePartialsParams) (int, bool, error) {
	return 0, false, nil
}
func (*hollow) NotEntered(context.Context, storage.NotEnteredParams) (storage.NotEntered, error) {
	return storage.NotEntered{}, nil
}
func (*hollow) EnterAnswers(context.Context, storage.EntryPlace, []storage.EnteredAnswer) error {
	return nil
}
func (*hollow) DeleteUser(context.Context, storage.ID, time.Time) error { return nil }
func (*hollow) PurgeForm(context.Context, storage.ID) error             { return nil }
func (*hollow) EraseSubmissions(context.Context, storage.ID, []storage.ID) (int, error) {
	return 0, nil
}
func (*hollow) PurgeSubmissions(context.Context, storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	return storage.PurgedSubmissions{}, nil
}
func (*hollow) CountFunnel(context.Context, []storage.FunnelCount) error { return nil }
func (*hollow) Funnel(context.Context, storage.Actor, storage.ID, storage.Window) (storage.Funnel, error) {
	return storage.Funnel{}, nil
}
func (*hollow) SetLifetimeCounters(context.Context, storage.ID, storage.Counters) error { return nil }
func (*hollow) CreateWebhook(context.Context, storage.Actor, storage.NewWebhook) error  { return nil }
func (*hollow) Webhook(context.Context, storage.Actor, storage.ID) (storage.Webhook, error) {
	return storage.Webhook{}, nil
}
func (*hollow) Webhooks(context.Context, storage.Actor, storage.Page) ([]storage.Webhook, error) {
	return nil, nil
}
func (*hollow) UpdateWebhook(context.Context, storage.Actor, storage.ID, storage.WebhookChange) (storage.Webhook, error) {
	return storage.Webhook{}, nil
}
func (*hollow) Secrets(context.Context, storage.ID, int) ([]storage.StoredSecret, error) {
	return nil, nil
}
func (*hollow) ReplaceSecrets(context.Context, []storage.SecretReplacement) (int, error) {
	return 0, nil
}
func (*hollow) DeleteWebhook(context.Context, storage.Actor, storage.ID) error { return nil }
func (*hollow) Deliveries(context.Context, storage.Actor, storage.ID, int) ([]storage.Delivery, error) {
	return nil, nil
}
func (*hollow) Enqueue(context.Context, storage.ID, storage.Event) error { return nil }
func (*hollow) Redeliver(context.Context, storage.ID, storage.ID) error  { return nil }
func (*hollow) RedeliverFailed(context.Context, storage.ID, storage.ID) error {
	return nil
}
func (h *hollow) ClaimDeliveries(context.Context, storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	if h.claims.Add(1) > 100 {
		h.stop()
	}
	return nil, false, nil
}
func (*hollow) FinishDeliveries(context.Context, []storage.Result) ([]storage.Lease, error) {
	return nil, nil
}
func (*hollow) ExpireDeliveries(context.Context, storage.ExpireParams) (storage.Expired, error) {
	return storage.Expired{}, nil
}
func (*hollow) PausedWebhooks(context.Context, storage.Actor, storage.Page) ([]storage.PausedWebhook, error) {
	return nil, nil
}
func (*hollow) QueueStats(context.Context) (storage.QueueStats, error) {
	return storage.QueueStats{}, nil
}
func (*hollow) Upkeep(context.Context) (storage.Upkeep, error)  { return storage.Upkeep{}, nil }
func (*hollow) CreateKey(context.Context, storage.NewKey) error { return nil }
func (*hollow) KeyByHash(context.Context, [32]byte) (storage.Key, storage.User, error) {
	return storage.Key{}, storage.User{}, nil
}
func (*hollow) Keys(context.Context, storage.ID) ([]storage.Key, error)            { return nil, nil }
func (*hollow) RevokeKey(context.Context, storage.ID, storage.ID, time.Time) error { return nil }
func (*hollow) FormForKey(context.Context, storage.FormForKeyParams) (storage.FormForKey, error) {
	return storage.FormForKey{}, nil
}
func (*hollow) TouchKeys(context.Context, map[storage.ID]time.Time) error { return nil }
func (*hollow) Sweep(context.Context, storage.SweepParams) (storage.Swept, error) {
	return storage.Swept{}, nil
}
