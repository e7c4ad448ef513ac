package storagetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func accessMutants() []mutant {
	var isolation, contexts []string
	for _, op := range actorOperations() {
		isolation = append(isolation, "isolation/"+op.name)
		contexts = append(contexts, "contexts/"+op.name)
	}
	for _, op := range hostOperations() {
		contexts = append(contexts, "contexts/"+op.name)
	}
	isolation = append(isolation, "isolation/lists_hold_own", "isolation/former_member", "isolation/former_owner",
		"isolation/moved_form", "isolation/move_into_foreign", "isolation/own_revision_of_foreign", "members/access", "deliveries/paused_list_of_user")
	contexts = append(contexts, "form_for_key/ended_context")
	for _, op := range documentOperations() {
		isolation = append(isolation, "documents/isolation_"+op.name)
		contexts = append(contexts, "documents/ended_context_"+op.name)
	}
	for _, op := range partialOperations() {
		contexts = append(contexts, "partials/ended_context_"+op.name)
		if op.withActor {
			isolation = append(isolation, "partials/isolation_"+op.name)
		}
	}
	return []mutant{
		{"does for anybody what it does for the host", isolation, blind},
		{"ignores a canceled context", contexts, detached},
		{"reports a canceled context after the work is done", []string{"contexts/submit", "contexts/finish_deliveries"},
			wrap[lateContext]},
		{"takes the lease and then reports the canceled context", []string{"contexts/claim_deliveries"}, wrap[lateContext]},
		{"answers its own error for a canceled context", []string{"contexts/form"}, wrap[ownContextError]},
		{"shows a foreign webhook", []string{"isolation/webhook"}, wrap[foreignWebhook]},
		{"takes the zero actor for the host", []string{"isolation/forms", "isolation/lists_hold_own"}, wrap[zeroIsHost]},
		{"lets a member act as the owner", []string{"workspaces/member_is_not_owner", "isolation/update_workspace"}, wrap[memberIsOwner]},
		{"lets anybody revoke a key", []string{"isolation/foreign_key", "keys/revoke_unknown"},
			func(s storage.Storage) storage.Storage { return &anybodyRevokes{Storage: s} }},
		{"forgets to make the previous owner a member", []string{"workspaces/hand_over"}, wrap[dropsOwner]},
		{"finds a submission through any form", []string{"submissions/unknown", "isolation/submission_through_own_form"},
			func(s storage.Storage) storage.Storage { return &anyForm{Storage: s} }},
		{"creates workspaces one beyond the limit", []string{"workspaces/create_limit", "concurrency/create_workspace_limit"},
			wrap[oneMore]},
		{"creates webhooks one beyond the limit", []string{"webhooks/create_limit", "concurrency/create_webhook_limit"}, wrap[oneMore]},
		{"creates keys one beyond the limit", []string{"keys/create_limit", "keys/limit_counts_active", "concurrency/create_key_limit"},
			wrap[oneMore]},
		{"counts keys before it adds one, in two steps", []string{"concurrency/create_key_limit"},
			func(s storage.Storage) storage.Storage { return twoSteps{s, newRendezvous(50)} }},
		{"reads a form for a key without the scope", []string{"form_for_key/scope"}, wrap[anyScope]},
		{"swallows that a record was refused", []string{"submissions/refused"}, wrap[swallowsRefusal]},
		{"leaves the answers out of a brief page", []string{"submissions/brief"}, wrap[briefWithoutAnswers]},
		{"reads a form for a key that has ended", []string{"form_for_key/inactive_key"}, wrap[endedKeys]},
		{"lists members in the order in which they came", []string{"members/list"}, wrap[descendingMembers]},
	}
}

// lateContext looks at the context when it is too late.
type lateContext struct{ storage.Storage }

func (m lateContext) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s, replayed, err := m.Storage.Submit(context.WithoutCancel(ctx), n)
	return s, replayed, errors.Join(err, ctx.Err())
}

func (m lateContext) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	fenced, err := m.Storage.FinishDeliveries(context.WithoutCancel(ctx), done)
	return fenced, errors.Join(err, ctx.Err())
}

func (m lateContext) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(context.WithoutCancel(ctx), p)
	return got, more, errors.Join(err, ctx.Err())
}

type ownContextError struct{ storage.Storage }

func (m ownContextError) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	if ctx.Err() != nil {
		return storage.Form{}, storage.ErrUnavailable
	}
	return m.Storage.Form(ctx, actor, id)
}

type foreignWebhook struct{ storage.Storage }

func (m foreignWebhook) Webhook(ctx context.Context, _ storage.Actor, id storage.ID) (storage.Webhook, error) {
	return m.Storage.Webhook(ctx, storage.AsHost(), id)
}

type zeroIsHost struct{ storage.Storage }

func (m zeroIsHost) Forms(ctx context.Context, actor storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	if actor == (storage.Actor{}) {
		actor = storage.AsHost()
	}
	return m.Storage.Forms(ctx, actor, q)
}

type memberIsOwner struct{ storage.Storage }

func (m memberIsOwner) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	if _, err := m.Workspace(ctx, actor, id); err != nil {
		return storage.Workspace{}, err
	}
	return m.Storage.UpdateWorkspace(ctx, storage.AsHost(), id, c)
}

// anybodyRevokes finds the key's user by itself.
type anybodyRevokes struct {
	storage.Storage
	users sync.Map
}

func (m *anybodyRevokes) CreateKey(ctx context.Context, k storage.NewKey) error {
	m.users.Store(k.Key.ID, k.User.ID)
	return m.Storage.CreateKey(ctx, k)
}

func (m *anybodyRevokes) RevokeKey(ctx context.Context, user, key storage.ID, when time.Time) error {
	if u, ok := m.users.Load(key); ok {
		user = u.(storage.ID)
	}
	return m.Storage.RevokeKey(ctx, user, key, when)
}

type dropsOwner struct{ storage.Storage }

func (m dropsOwner) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	before, _ := m.Workspace(ctx, actor, id)
	got, err := m.Storage.UpdateWorkspace(ctx, actor, id, c)
	if err == nil && before.OwnerID != got.OwnerID {
		err = m.SetMember(ctx, id, before.OwnerID, false)
	}
	return got, err
}

// anyForm finds the form of a submission by itself.
type anyForm struct {
	storage.Storage
	forms sync.Map
}

func (m *anyForm) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	m.forms.Store(n.Submission.ID, n.Submission.FormID)
	return m.Storage.Submit(ctx, n)
}

func (m *anyForm) Submission(ctx context.Context, actor storage.Actor, form, id storage.ID) (storage.Submission, error) {
	if _, err := m.Form(ctx, actor, form); err != nil {
		return storage.Submission{}, err
	}
	if f, ok := m.forms.Load(id); ok {
		return m.Storage.Submission(ctx, storage.AsHost(), f.(storage.ID), id)
	}
	return m.Storage.Submission(ctx, actor, form, id)
}

// oneMore lets every limit be passed by one.
type oneMore struct{ storage.Storage }

func more(limit int) int {
	if limit < 1 {
		return limit
	}
	return limit + 1
}

func (m oneMore) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return m.Storage.CreateWorkspace(ctx, w, more(limit))
}

func (m oneMore) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	n.Max = more(n.Max)
	return m.Storage.CreateWebhook(ctx, actor, n)
}

func (m oneMore) CreateKey(ctx context.Context, k storage.NewKey) error {
	k.Max = more(k.Max)
	return m.Storage.CreateKey(ctx, k)
}

// twoSteps counts the keys, and by the time it adds one, others have too.
type twoSteps struct {
	storage.Storage
	callers *rendezvous
}

func (m twoSteps) CreateKey(ctx context.Context, k storage.NewKey) error {
	keys, err := m.Keys(ctx, k.User.ID)
	if err != nil {
		return err
	}
	m.callers.meet()
	if len(keys) >= k.Max {
		return storage.ErrLimitReached
	}
	k.Max = 0
	return m.Storage.CreateKey(ctx, k)
}

type descendingMembers struct{ storage.Storage }

func (m descendingMembers) Members(ctx context.Context, workspace storage.ID) ([]storage.ID, error) {
	got, err := m.Storage.Members(ctx, workspace)
	slices.Reverse(got)
	return got, err
}

type anyScope struct{ storage.Storage }

func (m anyScope) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	p.Scope = ""
	return m.Storage.FormForKey(ctx, p)
}

type swallowsRefusal struct{ storage.Storage }

func (m swallowsRefusal) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return m.Storage.Submissions(ctx, actor, form, q, func(s *storage.Submission) error { _ = each(s); return nil })
}

type briefWithoutAnswers struct{ storage.Storage }

func (m briefWithoutAnswers) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return m.Storage.Submissions(ctx, actor, form, q, func(s *storage.Submission) error {
		lent := *s
		if q.SummaryOnly {
			lent.Answers = nil
		}
		return each(&lent)
	})
}

type endedKeys struct{ storage.Storage }

func (m endedKeys) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	got, err := m.Storage.FormForKey(ctx, p)
	if err == nil && got.Form == nil {
		if f, err := m.Form(ctx, storage.As(got.User.ID), p.Form); err == nil {
			got.Form = &f
		}
	}
	return got, err
}

// contractMutants return the wrong one of several errors, or keep what no store
// keeps.
func contractMutants() []mutant {
	return []mutant{
		{"lets a member move a form", []string{"forms/move_takes_owner", "forms/update_order_of_errors"}, wrap[membersMove]},
		{"makes a revision of every change", []string{"forms/update_same_values"}, wrap[alwaysRaises]},
		{"looks at IfRevision before access when a form goes to the trash", []string{"trash/if_revision"}, wrap[revisionBeforeAccess]},
		{"keeps a key for the user whatever the key names", []string{"keys/create_for_another", "values/invalid_first"},
			wrap[userTakesKey]},
		{"says that there is more when a page is full", []string{"submissions/more", "submissions/max_bytes"}, wrap[fullMeansMore]},
		{"forgets the revision of a submission", []string{"submissions/form_revision"}, wrap[forgetsRevision]},
		{"takes text that is not valid", []string{"values/invalid_text", "values/invalid_first"}, wrap[anyText]},
		{"looks for text that is not valid", []string{"values/invalid_text_found"}, wrap[looksForAnyText]},
		{"takes a time that is not valid in a position", []string{"values/invalid_times"}, wrap[endlessPositions]},
		{"lets a form of a deleted workspace take responses", []string{"workspaces/delete_at_once"},
			func(s storage.Storage) storage.Storage { return &outlivesWorkspace{Storage: s} }},
		{"shows a purged form until its rows are gone", []string{"sweep/purge_at_once"},
			func(s storage.Storage) storage.Storage { return &countsEarly{Storage: s} }},
		{"makes minutes old by a count from the future", []string{"metrics/counts_from_the_future"},
			func(s storage.Storage) storage.Storage { return &newestCounts{Storage: s} }},
	}
}

type membersMove struct{ storage.Storage }

func (m membersMove) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := m.Storage.UpdateForm(ctx, actor, id, c)
	if errors.Is(err, storage.ErrNotOwner) {
		return m.Storage.UpdateForm(ctx, storage.AsHost(), id, c)
	}
	return f, err
}

type alwaysRaises struct{ storage.Storage }

func (m alwaysRaises) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	before, _ := m.Form(ctx, storage.AsHost(), id)
	f, err := m.Storage.UpdateForm(ctx, actor, id, c)
	if err == nil && f.Revision == before.Revision {
		f.Revision++
	}
	return f, err
}

type revisionBeforeAccess struct{ storage.Storage }

func (m revisionBeforeAccess) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	if f, err := m.Form(ctx, storage.AsHost(), id); err == nil && len(p.IfRevision) > 0 && f.Revision != p.IfRevision[0] {
		return &storage.RevisionError{Current: f.Revision}
	}
	return m.Storage.TrashForm(ctx, actor, id, p)
}

type userTakesKey struct{ storage.Storage }

func (m userTakesKey) CreateKey(ctx context.Context, k storage.NewKey) error {
	k.Key.UserID = k.User.ID
	return m.Storage.CreateKey(ctx, k)
}

type fullMeansMore struct{ storage.Storage }

func (m fullMeansMore) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	page, err := storage.ListSubmissions(ctx, m.Storage, actor, form, q)
	page.More = len(page.Submissions) == q.Page.Limit
	return lend(page, err, each)
}

type forgetsRevision struct{ storage.Storage }

func (m forgetsRevision) Submission(ctx context.Context, actor storage.Actor, form, id storage.ID) (storage.Submission, error) {
	s, err := m.Storage.Submission(ctx, actor, form, id)
	s.FormRevision = 0
	return s, err
}

type anyText struct{ storage.Storage }

func (m anyText) CreateKey(ctx context.Context, k storage.NewKey) error {
	if !storage.ValidText(k.User.Name) {
		k.User.Name = "changed"
	}
	return m.Storage.CreateKey(ctx, k)
}

func (m anyText) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	if c.Name != nil && !storage.ValidText(*c.Name) {
		c.Name = ptr("changed")
	}
	return m.Storage.UpdateWorkspace(ctx, actor, id, c)
}

type looksForAnyText struct{ storage.Storage }

func (m looksForAnyText) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	if !storage.ValidText(publicID) {
		return storage.Form{}, storage.ErrInvalidValue
	}
	return m.Storage.FormByPublicID(ctx, publicID)
}

type endlessPositions struct{ storage.Storage }

func (m endlessPositions) Webhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	if page.After != nil && !storage.ValidTime(page.After.Time) {
		page.After = nil
	}
	return m.Storage.Webhooks(ctx, actor, page)
}

// outlivesWorkspace takes responses to the last form that it knows of.
type outlivesWorkspace struct {
	storage.Storage
	gone bool
}

func (m *outlivesWorkspace) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, at time.Time) error {
	m.gone = true
	return m.Storage.DeleteWorkspace(ctx, actor, id, at)
}

func (m *outlivesWorkspace) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if m.gone {
		return n.Submission, false, nil
	}
	return m.Storage.Submit(ctx, n)
}

// countsEarly reports forms as purged one call before it purges them.
type countsEarly struct {
	storage.Storage
	counted bool
}

func (m *countsEarly) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	if !m.counted {
		m.counted = true
		return storage.SweepResult{Forms: 2, More: true}, ctx.Err()
	}
	swept, err := m.Storage.Sweep(ctx, p)
	swept.Forms = 0
	return swept, err
}

// newestCounts forgets the minutes before the newest count.
type newestCounts struct {
	storage.Storage
	newest time.Time
}

func (m *newestCounts) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	for _, c := range counts {
		if c.At.After(m.newest) {
			m.newest = c.At
		}
	}
	return m.Storage.CountFunnel(ctx, counts)
}

func (m *newestCounts) Funnel(ctx context.Context, actor storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	if from := m.newest.Add(-48 * time.Hour); w.From.Before(from) && !w.From.IsZero() {
		w.From = from
	}
	return m.Storage.Funnel(ctx, actor, form, w)
}
