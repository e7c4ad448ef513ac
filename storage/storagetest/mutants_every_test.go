package storagetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// every is a store each of whose calls goes through three functions, so that one mistake is made
// in all of them.
type every struct {
	storage.Storage
	in  func(context.Context) context.Context
	as  func(storage.Actor) storage.Actor
	out func(error) error
}

func everyCall(s storage.Storage) every {
	return every{
		Storage: s,
		in:      func(ctx context.Context) context.Context { return ctx },
		as:      func(actor storage.Actor) storage.Actor { return actor },
		out:     func(err error) error { return err },
	}
}

// blind does for anybody what it does for the host.
func blind(s storage.Storage) storage.Storage {
	all := everyCall(s)
	all.as = func(storage.Actor) storage.Actor { return storage.AsHost() }
	return all
}

// detached looks at no context.
func detached(s storage.Storage) storage.Storage {
	all := everyCall(s)
	all.in = context.WithoutCancel
	return all
}

// hollow is a store that keeps nothing and succeeds at everything.
type hollow struct {
	every
	stop   func() // called when a case goes on asking for work
	claims atomic.Int64
}

func newHollow(stop func()) *hollow {
	all := everyCall(storage.Unimplemented{})
	all.out = func(error) error { return nil }
	return &hollow{every: all, stop: stop}
}

func (h *hollow) ClaimDeliveries(context.Context, storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	if h.claims.Add(1) > 100 {
		h.stop()
	}
	return nil, false, nil
}

func (m every) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return m.out(m.Storage.CreateWorkspace(m.in(ctx), w, limit))
}

func (m every) Workspace(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Workspace, error) {
	v, err := m.Storage.Workspace(m.in(ctx), m.as(actor), id)
	return v, m.out(err)
}

func (m every) Workspaces(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	v, err := m.Storage.Workspaces(m.in(ctx), m.as(actor), page)
	return v, m.out(err)
}

func (m every) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	v, err := m.Storage.UpdateWorkspace(m.in(ctx), m.as(actor), id, c)
	return v, m.out(err)
}

func (m every) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, at time.Time) error {
	return m.out(m.Storage.DeleteWorkspace(m.in(ctx), m.as(actor), id, at))
}

func (m every) SetMember(ctx context.Context, workspace storage.ID, user storage.ID, member bool) error {
	return m.out(m.Storage.SetMember(m.in(ctx), workspace, user, member))
}

func (m every) Members(ctx context.Context, workspace storage.ID) ([]storage.ID, error) {
	v, err := m.Storage.Members(m.in(ctx), workspace)
	return v, m.out(err)
}

func (m every) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	return m.out(m.Storage.CreateForm(m.in(ctx), m.as(actor), f))
}

func (m every) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	v, err := m.Storage.Form(m.in(ctx), m.as(actor), id)
	return v, m.out(err)
}

func (m every) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	v, err := m.Storage.FormByPublicID(m.in(ctx), publicID)
	return v, m.out(err)
}

func (m every) Forms(ctx context.Context, actor storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	v, err := m.Storage.Forms(m.in(ctx), m.as(actor), q)
	return v, m.out(err)
}

func (m every) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	v, err := m.Storage.UpdateForm(m.in(ctx), m.as(actor), id, c)
	return v, m.out(err)
}

func (m every) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	return m.out(m.Storage.TrashForm(m.in(ctx), m.as(actor), id, p))
}

func (m every) RestoreForm(ctx context.Context, id storage.ID, workspace storage.ID, at time.Time) error {
	return m.out(m.Storage.RestoreForm(m.in(ctx), id, workspace, at))
}

func (m every) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	v, err := m.Storage.PutDocument(m.in(ctx), m.as(actor), form, c)
	return v, m.out(err)
}

func (m every) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	v, err := m.Storage.Document(m.in(ctx), m.as(actor), form, kind, key)
	return v, m.out(err)
}

func (m every) FormsWithDocument(ctx context.Context, actor storage.Actor, kind string, forms []storage.ID) ([]storage.ID, error) {
	v, err := m.Storage.FormsWithDocument(m.in(ctx), m.as(actor), kind, forms)
	return v, m.out(err)
}

func (m every) Documents(ctx context.Context, actor storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	v, more, err := m.Storage.Documents(m.in(ctx), m.as(actor), form, q)
	return v, more, m.out(err)
}

func (m every) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	v, more, err := m.Storage.Submit(m.in(ctx), n)
	return v, more, m.out(err)
}

func (m every) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (storage.Submission, error) {
	v, err := m.Storage.SubmissionByKey(m.in(ctx), form, idempotencyKey)
	return v, m.out(err)
}

func (m every) Submission(ctx context.Context, actor storage.Actor, form storage.ID, id storage.ID) (storage.Submission, error) {
	v, err := m.Storage.Submission(m.in(ctx), m.as(actor), form, id)
	return v, m.out(err)
}

func (m every) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	v, err := m.Storage.Submissions(m.in(ctx), m.as(actor), form, q, each)
	return v, m.out(err)
}

func (m every) DeleteSubmission(ctx context.Context, actor storage.Actor, form storage.ID, id storage.ID) error {
	return m.out(m.Storage.DeleteSubmission(m.in(ctx), m.as(actor), form, id))
}

func (m every) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	v, err := m.Storage.SavePartial(m.in(ctx), p)
	return v, m.out(err)
}

func (m every) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	v, err := m.Storage.Partial(m.in(ctx), form, token, now)
	return v, m.out(err)
}

func (m every) Partials(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	v, err := m.Storage.Partials(m.in(ctx), m.as(actor), form, q, each)
	return v, m.out(err)
}

func (m every) DeletePartials(ctx context.Context, actor storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	v, more, err := m.Storage.DeletePartials(m.in(ctx), m.as(actor), form, p)
	return v, more, m.out(err)
}

func (m every) PendingBackfill(ctx context.Context, p storage.PendingBackfillParams) (storage.PendingBackfill, error) {
	v, err := m.Storage.PendingBackfill(m.in(ctx), p)
	return v, m.out(err)
}

func (m every) BackfillAnswers(ctx context.Context, at storage.BackfillCursor, entered []storage.AnswerDigest) error {
	return m.out(m.Storage.BackfillAnswers(m.in(ctx), at, entered))
}

func (m every) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	return m.out(m.Storage.DeleteUser(m.in(ctx), user, at))
}

func (m every) PurgeForm(ctx context.Context, id storage.ID) error {
	return m.out(m.Storage.PurgeForm(m.in(ctx), id))
}

func (m every) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	v, err := m.Storage.EraseSubmissions(m.in(ctx), form, ids)
	return v, m.out(err)
}

func (m every) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	v, err := m.Storage.PurgeSubmissions(m.in(ctx), p)
	return v, m.out(err)
}

func (m every) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	return m.out(m.Storage.CountFunnel(m.in(ctx), counts))
}

func (m every) SubmissionsRemoved(ctx context.Context, actor storage.Actor, form storage.ID) (int64, error) {
	v, err := m.Storage.SubmissionsRemoved(m.in(ctx), m.as(actor), form)
	return v, m.out(err)
}

func (m every) SubmissionTotals(ctx context.Context, actor storage.Actor, forms []storage.ID) (map[storage.ID]int64, error) {
	v, err := m.Storage.SubmissionTotals(m.in(ctx), m.as(actor), forms)
	return v, m.out(err)
}

func (m every) FormWebhooks(ctx context.Context, actor storage.Actor, form storage.ID) ([]storage.Webhook, error) {
	v, err := m.Storage.FormWebhooks(m.in(ctx), m.as(actor), form)
	return v, m.out(err)
}

func (m every) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	v, err := m.Storage.Funnel(m.in(ctx), m.as(actor), form, w)
	return v, m.out(err)
}

func (m every) SetLifetimeCounters(ctx context.Context, form storage.ID, c storage.Counters) error {
	return m.out(m.Storage.SetLifetimeCounters(m.in(ctx), form, c))
}

func (m every) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	return m.out(m.Storage.CreateWebhook(m.in(ctx), m.as(actor), n))
}

func (m every) Webhook(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Webhook, error) {
	v, err := m.Storage.Webhook(m.in(ctx), m.as(actor), id)
	return v, m.out(err)
}

func (m every) Webhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	v, err := m.Storage.Webhooks(m.in(ctx), m.as(actor), page)
	return v, m.out(err)
}

func (m every) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	v, err := m.Storage.UpdateWebhook(m.in(ctx), m.as(actor), id, c)
	return v, m.out(err)
}

func (m every) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	v, err := m.Storage.Secrets(m.in(ctx), after, limit)
	return v, m.out(err)
}

func (m every) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	v, err := m.Storage.ReplaceSecrets(m.in(ctx), replacements)
	return v, m.out(err)
}

func (m every) DeleteWebhook(ctx context.Context, actor storage.Actor, id storage.ID) error {
	return m.out(m.Storage.DeleteWebhook(m.in(ctx), m.as(actor), id))
}

func (m every) Deliveries(ctx context.Context, actor storage.Actor, webhook storage.ID, limit int) ([]storage.Delivery, error) {
	v, err := m.Storage.Deliveries(m.in(ctx), m.as(actor), webhook, limit)
	return v, m.out(err)
}

func (m every) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	return m.out(m.Storage.Enqueue(m.in(ctx), webhook, e))
}

func (m every) RedeliverFailed(ctx context.Context, webhook storage.ID, attempt storage.ID) error {
	return m.out(m.Storage.RedeliverFailed(m.in(ctx), webhook, attempt))
}

func (m every) Redeliver(ctx context.Context, webhook storage.ID, attempt storage.ID) error {
	return m.out(m.Storage.Redeliver(m.in(ctx), webhook, attempt))
}

func (m every) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	v, more, err := m.Storage.ClaimDeliveries(m.in(ctx), p)
	return v, more, m.out(err)
}

func (m every) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	v, err := m.Storage.FinishDeliveries(m.in(ctx), done)
	return v, m.out(err)
}

func (m every) RespondentSubmissions(ctx context.Context, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	more, err := m.Storage.RespondentSubmissions(m.in(ctx), q, each)
	return more, m.out(err)
}

func (m every) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	v, err := m.Storage.EraseRespondent(m.in(ctx), p)
	return v, m.out(err)
}

func (m every) UpdateSubmission(ctx context.Context, actor storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	v, err := m.Storage.UpdateSubmission(m.in(ctx), m.as(actor), u)
	return v, m.out(err)
}

func (m every) SubmissionHistory(ctx context.Context, actor storage.Actor, form, id storage.ID) ([]storage.SubmissionState, error) {
	v, err := m.Storage.SubmissionHistory(m.in(ctx), m.as(actor), form, id)
	return v, m.out(err)
}

func (m every) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (storage.Expired, error) {
	v, err := m.Storage.ExpireDeliveries(m.in(ctx), p)
	return v, m.out(err)
}

func (m every) PausedWebhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.PausedWebhook, error) {
	v, err := m.Storage.PausedWebhooks(m.in(ctx), m.as(actor), page)
	return v, m.out(err)
}

func (m every) MaintenanceStatus(ctx context.Context) (storage.MaintenanceStatus, error) {
	v, err := m.Storage.MaintenanceStatus(m.in(ctx))
	return v, m.out(err)
}

func (m every) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	v, err := m.Storage.QueueStats(m.in(ctx))
	return v, m.out(err)
}

func (m every) CreateKey(ctx context.Context, k storage.NewKey) error {
	return m.out(m.Storage.CreateKey(m.in(ctx), k))
}

func (m every) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	v, more, err := m.Storage.KeyByHash(m.in(ctx), hash)
	return v, more, m.out(err)
}

func (m every) Keys(ctx context.Context, user storage.ID) ([]storage.Key, error) {
	v, err := m.Storage.Keys(m.in(ctx), user)
	return v, m.out(err)
}

func (m every) RevokeKey(ctx context.Context, user storage.ID, key storage.ID, at time.Time) error {
	return m.out(m.Storage.RevokeKey(m.in(ctx), user, key, at))
}

func (m every) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	v, err := m.Storage.FormForKey(m.in(ctx), p)
	return v, m.out(err)
}

func (m every) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	return m.out(m.Storage.TouchKeys(m.in(ctx), used))
}

func (m every) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	v, err := m.Storage.Sweep(m.in(ctx), p)
	return v, m.out(err)
}
