package storagetest

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// blind does for anybody what it does for the host.
type blind struct{ storage.Storage }

func (m blind) Workspace(ctx context.Context, _ storage.Actor, id storage.ID) (storage.Workspace, error) {
	return m.Storage.Workspace(ctx, storage.AsHost(), id)
}

func (m blind) Workspaces(ctx context.Context, _ storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	return m.Storage.Workspaces(ctx, storage.AsHost(), page)
}

func (m blind) UpdateWorkspace(ctx context.Context, _ storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	return m.Storage.UpdateWorkspace(ctx, storage.AsHost(), id, c)
}

func (m blind) DeleteWorkspace(ctx context.Context, _ storage.Actor, id storage.ID, at time.Time) error {
	return m.Storage.DeleteWorkspace(ctx, storage.AsHost(), id, at)
}

func (m blind) CreateForm(ctx context.Context, _ storage.Actor, f storage.Form) error {
	return m.Storage.CreateForm(ctx, storage.AsHost(), f)
}

func (m blind) Form(ctx context.Context, _ storage.Actor, id storage.ID) (storage.Form, error) {
	return m.Storage.Form(ctx, storage.AsHost(), id)
}

func (m blind) Forms(ctx context.Context, _ storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	return m.Storage.Forms(ctx, storage.AsHost(), q)
}

func (m blind) UpdateForm(ctx context.Context, _ storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	return m.Storage.UpdateForm(ctx, storage.AsHost(), id, c)
}

func (m blind) TrashForm(ctx context.Context, _ storage.Actor, id storage.ID, p storage.TrashParams) error {
	return m.Storage.TrashForm(ctx, storage.AsHost(), id, p)
}

func (m blind) Submission(ctx context.Context, _ storage.Actor, form storage.ID, id storage.ID) (storage.Submission, error) {
	return m.Storage.Submission(ctx, storage.AsHost(), form, id)
}

func (m blind) Submissions(ctx context.Context, _ storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return m.Storage.Submissions(ctx, storage.AsHost(), form, q, each)
}

func (m blind) DeleteSubmission(ctx context.Context, _ storage.Actor, form storage.ID, id storage.ID) error {
	return m.Storage.DeleteSubmission(ctx, storage.AsHost(), form, id)
}

func (m blind) PutDocument(ctx context.Context, _ storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	return m.Storage.PutDocument(ctx, storage.AsHost(), form, c)
}

func (m blind) Document(ctx context.Context, _ storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	return m.Storage.Document(ctx, storage.AsHost(), form, kind, key)
}

func (m blind) Documents(ctx context.Context, _ storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	return m.Storage.Documents(ctx, storage.AsHost(), form, q)
}

func (m blind) Partials(ctx context.Context, _ storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	return m.Storage.Partials(ctx, storage.AsHost(), form, q, each)
}

func (m blind) DeletePartials(ctx context.Context, _ storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	return m.Storage.DeletePartials(ctx, storage.AsHost(), form, p)
}

func (m blind) Funnel(ctx context.Context, _ storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	return m.Storage.Funnel(ctx, storage.AsHost(), form, w)
}

func (m blind) PausedWebhooks(ctx context.Context, _ storage.Actor, page storage.Page) ([]storage.PausedWebhook, error) {
	return m.Storage.PausedWebhooks(ctx, storage.AsHost(), page)
}

func (m blind) CreateWebhook(ctx context.Context, _ storage.Actor, n storage.NewWebhook) error {
	return m.Storage.CreateWebhook(ctx, storage.AsHost(), n)
}

func (m blind) Webhook(ctx context.Context, _ storage.Actor, id storage.ID) (storage.Webhook, error) {
	return m.Storage.Webhook(ctx, storage.AsHost(), id)
}

func (m blind) Webhooks(ctx context.Context, _ storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	return m.Storage.Webhooks(ctx, storage.AsHost(), page)
}

func (m blind) UpdateWebhook(ctx context.Context, _ storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	return m.Storage.UpdateWebhook(ctx, storage.AsHost(), id, c)
}

func (m blind) DeleteWebhook(ctx context.Context, _ storage.Actor, id storage.ID) error {
	return m.Storage.DeleteWebhook(ctx, storage.AsHost(), id)
}

func (m blind) Deliveries(ctx context.Context, _ storage.Actor, webhook storage.ID, limit int) ([]storage.Delivery, error) {
	return m.Storage.Deliveries(ctx, storage.AsHost(), webhook, limit)
}

// detached looks at no context.
type detached struct{ storage.Storage }

func (m detached) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return m.Storage.CreateWorkspace(context.WithoutCancel(ctx), w, limit)
}

func (m detached) Workspace(ctx context.Context, who storage.Actor, id storage.ID) (storage.Workspace, error) {
	return m.Storage.Workspace(context.WithoutCancel(ctx), who, id)
}

func (m detached) Workspaces(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	return m.Storage.Workspaces(context.WithoutCancel(ctx), who, page)
}

func (m detached) UpdateWorkspace(ctx context.Context, who storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	return m.Storage.UpdateWorkspace(context.WithoutCancel(ctx), who, id, c)
}

func (m detached) DeleteWorkspace(ctx context.Context, who storage.Actor, id storage.ID, at time.Time) error {
	return m.Storage.DeleteWorkspace(context.WithoutCancel(ctx), who, id, at)
}

func (m detached) SetMember(ctx context.Context, workspace storage.ID, user storage.ID, member bool) error {
	return m.Storage.SetMember(context.WithoutCancel(ctx), workspace, user, member)
}

func (m detached) Members(ctx context.Context, workspace storage.ID) ([]storage.ID, error) {
	return m.Storage.Members(context.WithoutCancel(ctx), workspace)
}

func (m detached) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	return m.Storage.CreateForm(context.WithoutCancel(ctx), who, f)
}

func (m detached) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	return m.Storage.Form(context.WithoutCancel(ctx), who, id)
}

func (m detached) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	return m.Storage.FormByPublicID(context.WithoutCancel(ctx), publicID)
}

func (m detached) Forms(ctx context.Context, who storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	return m.Storage.Forms(context.WithoutCancel(ctx), who, q)
}

func (m detached) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	return m.Storage.UpdateForm(context.WithoutCancel(ctx), who, id, c)
}

func (m detached) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, p storage.TrashParams) error {
	return m.Storage.TrashForm(context.WithoutCancel(ctx), who, id, p)
}

func (m detached) RestoreForm(ctx context.Context, id storage.ID, workspace storage.ID, at time.Time) error {
	return m.Storage.RestoreForm(context.WithoutCancel(ctx), id, workspace, at)
}

func (m detached) PutDocument(ctx context.Context, who storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	return m.Storage.PutDocument(context.WithoutCancel(ctx), who, form, c)
}

func (m detached) Document(ctx context.Context, who storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	return m.Storage.Document(context.WithoutCancel(ctx), who, form, kind, key)
}

func (m detached) Documents(ctx context.Context, who storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	return m.Storage.Documents(context.WithoutCancel(ctx), who, form, q)
}

func (m detached) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	return m.Storage.Submit(context.WithoutCancel(ctx), n)
}

func (m detached) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (storage.Submission, error) {
	return m.Storage.SubmissionByKey(context.WithoutCancel(ctx), form, idempotencyKey)
}

func (m detached) Submission(ctx context.Context, who storage.Actor, form storage.ID, id storage.ID) (storage.Submission, error) {
	return m.Storage.Submission(context.WithoutCancel(ctx), who, form, id)
}

func (m detached) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return m.Storage.Submissions(context.WithoutCancel(ctx), who, form, q, each)
}

func (m detached) DeleteSubmission(ctx context.Context, who storage.Actor, form storage.ID, id storage.ID) error {
	return m.Storage.DeleteSubmission(context.WithoutCancel(ctx), who, form, id)
}

func (m detached) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	return m.Storage.SavePartial(context.WithoutCancel(ctx), p)
}

func (m detached) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	return m.Storage.Partial(context.WithoutCancel(ctx), form, token, now)
}

func (m detached) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	return m.Storage.Partials(context.WithoutCancel(ctx), who, form, q, each)
}

func (m detached) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	return m.Storage.DeletePartials(context.WithoutCancel(ctx), who, form, p)
}

func (m detached) NotEntered(ctx context.Context, p storage.NotEnteredParams) (storage.NotEntered, error) {
	return m.Storage.NotEntered(context.WithoutCancel(ctx), p)
}

func (m detached) EnterAnswers(ctx context.Context, at storage.EntryPlace, entered []storage.EnteredAnswer) error {
	return m.Storage.EnterAnswers(context.WithoutCancel(ctx), at, entered)
}

func (m detached) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	return m.Storage.DeleteUser(context.WithoutCancel(ctx), user, at)
}

func (m detached) PurgeForm(ctx context.Context, id storage.ID) error {
	return m.Storage.PurgeForm(context.WithoutCancel(ctx), id)
}

func (m detached) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	return m.Storage.EraseSubmissions(context.WithoutCancel(ctx), form, ids)
}

func (m detached) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	return m.Storage.PurgeSubmissions(context.WithoutCancel(ctx), p)
}

func (m detached) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	return m.Storage.CountFunnel(context.WithoutCancel(ctx), counts)
}

func (m detached) Funnel(ctx context.Context, who storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	return m.Storage.Funnel(context.WithoutCancel(ctx), who, form, w)
}

func (m detached) SetLifetimeCounters(ctx context.Context, form storage.ID, c storage.Counters) error {
	return m.Storage.SetLifetimeCounters(context.WithoutCancel(ctx), form, c)
}

func (m detached) CreateWebhook(ctx context.Context, who storage.Actor, n storage.NewWebhook) error {
	return m.Storage.CreateWebhook(context.WithoutCancel(ctx), who, n)
}

func (m detached) Webhook(ctx context.Context, who storage.Actor, id storage.ID) (storage.Webhook, error) {
	return m.Storage.Webhook(context.WithoutCancel(ctx), who, id)
}

func (m detached) Webhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	return m.Storage.Webhooks(context.WithoutCancel(ctx), who, page)
}

func (m detached) UpdateWebhook(ctx context.Context, who storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	return m.Storage.UpdateWebhook(context.WithoutCancel(ctx), who, id, c)
}

func (m detached) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	return m.Storage.Secrets(context.WithoutCancel(ctx), after, limit)
}

func (m detached) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	return m.Storage.ReplaceSecrets(context.WithoutCancel(ctx), replacements)
}

func (m detached) DeleteWebhook(ctx context.Context, who storage.Actor, id storage.ID) error {
	return m.Storage.DeleteWebhook(context.WithoutCancel(ctx), who, id)
}

func (m detached) Deliveries(ctx context.Context, who storage.Actor, webhook storage.ID, limit int) ([]storage.Delivery, error) {
	return m.Storage.Deliveries(context.WithoutCancel(ctx), who, webhook, limit)
}

func (m detached) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	return m.Storage.Enqueue(context.WithoutCancel(ctx), webhook, e)
}

func (m detached) RedeliverFailed(ctx context.Context, webhook storage.ID, attempt storage.ID) error {
	return m.Storage.RedeliverFailed(context.WithoutCancel(ctx), webhook, attempt)
}

func (m detached) Redeliver(ctx context.Context, webhook storage.ID, attempt storage.ID) error {
	return m.Storage.Redeliver(context.WithoutCancel(ctx), webhook, attempt)
}

func (m detached) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	return m.Storage.ClaimDeliveries(context.WithoutCancel(ctx), p)
}

func (m detached) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	return m.Storage.FinishDeliveries(context.WithoutCancel(ctx), done)
}

func (m detached) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (storage.Expired, error) {
	return m.Storage.ExpireDeliveries(context.WithoutCancel(ctx), p)
}

func (m detached) PausedWebhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.PausedWebhook, error) {
	return m.Storage.PausedWebhooks(context.WithoutCancel(ctx), who, page)
}

func (m detached) Upkeep(ctx context.Context) (storage.Upkeep, error) {
	return m.Storage.Upkeep(context.WithoutCancel(ctx))
}

func (m detached) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	return m.Storage.QueueStats(context.WithoutCancel(ctx))
}

func (m detached) CreateKey(ctx context.Context, k storage.NewKey) error {
	return m.Storage.CreateKey(context.WithoutCancel(ctx), k)
}

func (m detached) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	return m.Storage.KeyByHash(context.WithoutCancel(ctx), hash)
}

func (m detached) Keys(ctx context.Context, user storage.ID) ([]storage.Key, error) {
	return m.Storage.Keys(context.WithoutCancel(ctx), user)
}

func (m detached) RevokeKey(ctx context.Context, user storage.ID, key storage.ID, at time.Time) error {
	return m.Storage.RevokeKey(context.WithoutCancel(ctx), user, key, at)
}

func (m detached) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	return m.Storage.FormForKey(context.WithoutCancel(ctx), p)
}

func (m detached) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	return m.Storage.TouchKeys(context.WithoutCancel(ctx), used)
}

func (m detached) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
	return m.Storage.Sweep(context.WithoutCancel(ctx), p)
}
