package storagetest

import (
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// contractMutants return the wrong one of several errors, or keep what no store
// keeps.
func contractMutants() []mutant {
	return []mutant{
		{"lets a member move a form", []string{"forms/move_takes_owner", "forms/update_order_of_errors"},
			func(s storage.Storage) storage.Storage { return membersMove{s} }},
		{"makes a revision of every change", []string{"forms/update_same_values"},
			func(s storage.Storage) storage.Storage { return alwaysRaises{s} }},
		{"looks at IfRevision before access when a form goes to the trash", []string{"trash/if_revision"},
			func(s storage.Storage) storage.Storage { return revisionBeforeAccess{s} }},
		{"keeps a key for the user whatever the key names", []string{"keys/create_for_another", "values/invalid_first"},
			func(s storage.Storage) storage.Storage { return userTakesKey{s} }},
		{"says that there is more when a page is full", []string{"submissions/more", "submissions/max_bytes"},
			func(s storage.Storage) storage.Storage { return fullMeansMore{s} }},
		{"forgets the revision of a submission", []string{"submissions/form_revision"},
			func(s storage.Storage) storage.Storage { return forgetsRevision{s} }},
		{"takes text that is not valid", []string{"values/invalid_text", "values/invalid_first"},
			func(s storage.Storage) storage.Storage { return anyText{s} }},
		{"looks for text that is not valid", []string{"values/invalid_text_found"},
			func(s storage.Storage) storage.Storage { return looksForAnyText{s} }},
		{"takes a time that is not valid in a position", []string{"values/invalid_times"},
			func(s storage.Storage) storage.Storage { return endlessPositions{s} }},
		{"lets a form of a deleted workspace take responses", []string{"workspaces/delete_at_once"},
			func(s storage.Storage) storage.Storage { return &outlivesWorkspace{Storage: s} }},
		{"shows a purged form until its rows are gone", []string{"sweep/purge_at_once"},
			func(s storage.Storage) storage.Storage { return &countsEarly{Storage: s} }},
		{"makes minutes old by a count from the future", []string{"metrics/counts_from_the_future"},
			func(s storage.Storage) storage.Storage { return &newestCounts{Storage: s} }},
	}
}

type membersMove struct{ storage.Storage }

func (m membersMove) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := m.Storage.UpdateForm(ctx, who, id, c)
	if errors.Is(err, storage.ErrNotOwner) {
		return m.Storage.UpdateForm(ctx, storage.AsHost(), id, c)
	}
	return f, err
}

type alwaysRaises struct{ storage.Storage }

func (m alwaysRaises) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	before, _ := m.Form(ctx, storage.AsHost(), id)
	f, err := m.Storage.UpdateForm(ctx, who, id, c)
	if err == nil && f.Revision == before.Revision {
		f.Revision++
	}
	return f, err
}

type revisionBeforeAccess struct{ storage.Storage }

func (m revisionBeforeAccess) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, p storage.TrashParams) error {
	if f, err := m.Form(ctx, storage.AsHost(), id); err == nil && len(p.IfRevision) > 0 && f.Revision != p.IfRevision[0] {
		return &storage.RevisionError{Current: f.Revision}
	}
	return m.Storage.TrashForm(ctx, who, id, p)
}

type userTakesKey struct{ storage.Storage }

func (m userTakesKey) CreateKey(ctx context.Context, k storage.NewKey) error {
	k.Key.UserID = k.User.ID
	return m.Storage.CreateKey(ctx, k)
}

type fullMeansMore struct{ storage.Storage }

func (m fullMeansMore) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	page, err := storage.ListSubmissions(ctx, m.Storage, who, form, q)
	page.More = len(page.Submissions) == q.Page.Limit
	return lend(page, err, each)
}

type forgetsRevision struct{ storage.Storage }

func (m forgetsRevision) Submission(ctx context.Context, who storage.Actor, form, id storage.ID) (storage.Submission, error) {
	s, err := m.Storage.Submission(ctx, who, form, id)
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

func (m anyText) UpdateWorkspace(ctx context.Context, who storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	if c.Name != nil && !storage.ValidText(*c.Name) {
		c.Name = ptr("changed")
	}
	return m.Storage.UpdateWorkspace(ctx, who, id, c)
}

type looksForAnyText struct{ storage.Storage }

func (m looksForAnyText) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	if !storage.ValidText(publicID) {
		return storage.Form{}, storage.ErrInvalidValue
	}
	return m.Storage.FormByPublicID(ctx, publicID)
}

type endlessPositions struct{ storage.Storage }

func (m endlessPositions) Webhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	if page.After != nil && !storage.ValidTime(page.After.Time) {
		page.After = nil
	}
	return m.Storage.Webhooks(ctx, who, page)
}

// outlivesWorkspace takes responses to the last form that it knows of.
type outlivesWorkspace struct {
	storage.Storage
	gone bool
}

func (m *outlivesWorkspace) DeleteWorkspace(ctx context.Context, who storage.Actor, id storage.ID, at time.Time) error {
	m.gone = true
	return m.Storage.DeleteWorkspace(ctx, who, id, at)
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

func (m *countsEarly) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
	if !m.counted {
		m.counted = true
		return storage.Swept{Forms: 2, More: true}, ctx.Err()
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

func (m *newestCounts) Funnel(ctx context.Context, who storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	if from := m.newest.Add(-48 * time.Hour); w.From.Before(from) && !w.From.IsZero() {
		w.From = from
	}
	return m.Storage.Funnel(ctx, who, form, w)
}
