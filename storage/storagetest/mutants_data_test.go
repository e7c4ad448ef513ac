package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func dataMutants() []mutant {
	return []mutant{
		{"replaces secrets that changed meanwhile", []string{"webhooks/replace_secrets"}, wrap[replacesAnySecret]},
		{"forgets the secrets of forms in the trash", []string{"webhooks/secrets"}, wrap[visibleSecrets]},
		{"hands out its own slice", []string{"values/copies_out_submission"},
			func(s storage.Storage) storage.Storage { return &ownSlice{Storage: s} }},
		{"overwrites the definition that it handed out", []string{"values/copies_out_form"},
			func(s storage.Storage) storage.Storage { return &reusesBytes{Storage: s} }},
		{"overwrites what FormForKey handed out", []string{"form_for_key/key_and_form"},
			func(s storage.Storage) storage.Storage { return &reusesForm{Storage: s} }},
		{"keeps the caller's slice", []string{"values/copies_webhook"},
			func(s storage.Storage) storage.Storage { return &keepsSlice{Storage: s} }},
		{"cuts times to the second", []string{"values/times", "workspaces/create_and_read"},
			wrap[wrongTimes]},
		{"decodes and encodes definitions", []string{"values/json_definition"}, wrap[reencodes]},
		{"does not look at IfRevision", []string{"forms/if_revision_mismatch", "concurrency/update_form_if_revision"},
			wrap[noRevisionCheck]},
		{"does not tell the current revision", []string{"forms/if_revision_mismatch", "submissions/revision"}, wrap[bareMismatch]},
		{"reads a form and writes all of it back", []string{"concurrency/update_form_sections"},
			func(s storage.Storage) storage.Storage { return lostUpdate{s, newRendezvous(6)} }},
		{"pages by offset", []string{"paging/submissions_stable", "paging/submissions_any_position"}, wrap[offsetPages]},
		{"leaves records of the same time unordered", []string{"paging/submissions_order"}, wrap[unorderedTies]},
		{"pages by time only", []string{"paging/webhooks_order", "paging/webhooks_any_position"}, wrap[timeOnly]},
		{"returns one record more than was asked for", []string{"paging/workspaces_order", "paging/workspaces_no_limit"},
			wrap[oneRecordMore]},
		{"pages each workspace apart", []string{"paging/forms_merged_order"}, wrap[unmerged]},
		{"takes Until as exclusive", []string{"submissions/since_until"}, wrap[exclusiveUntil]},
		{"lists forms with their definitions", []string{"forms/list_without_definition"}, wrap[fullLists]},
		{"shows a form in the trash by its public id", []string{"trash/hides_form"},
			func(s storage.Storage) storage.Storage { return &visibleTrash{Storage: s} }},
		{"restores into a workspace that is gone", []string{"trash/restore_into_gone"}, wrap[restoresAnywhere]},
		{"raises the revision of every restored form", []string{"trash/restore"}, wrap[restoreRaises]},
		{"purges forms that went to the trash too late", []string{"sweep/forms"},
			func(s storage.Storage) storage.Storage { return sweepsMore{s, time.Microsecond, 1} }},
		{"removes keys that ended too late", []string{"sweep/keys"},
			func(s storage.Storage) storage.Storage { return sweepsMore{s, time.Microsecond, 1} }},
		{"sweeps more than Max", []string{"sweep/max"},
			func(s storage.Storage) storage.Storage { return sweepsMore{s, 0, 10} }},
	}
}

// ownSlice keeps submissions and hands them out as they are.
type ownSlice struct {
	storage.Storage
	kept sync.Map
}

func (m *ownSlice) Submission(ctx context.Context, actor storage.Actor, form, id storage.ID) (storage.Submission, error) {
	if s, ok := m.kept.Load(id); ok {
		return s.(storage.Submission), nil
	}
	s, err := m.Storage.Submission(ctx, actor, form, id)
	if err == nil {
		m.kept.Store(id, s)
	}
	return s, err
}

// reusesBytes reads every form into the same memory.
type reusesBytes struct {
	storage.Storage
	blocks []byte
}

func (m *reusesBytes) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, actor, id)
	m.blocks = append(m.blocks[:0], f.Definition.Blocks...)
	f.Definition.Blocks = m.blocks
	return f, err
}

// reusesForm overwrites the theme that FormForKey handed out when it is called again.
type reusesForm struct {
	storage.Storage
	theme []byte
}

func (m *reusesForm) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	got, err := m.Storage.FormForKey(ctx, p)
	if got.Form != nil {
		spoil(m.theme)
		m.theme = slices.Clone(got.Form.Definition.Theme)
		got.Form.Definition.Theme = m.theme
	}
	return got, err
}

// keepsSlice keeps the secret that it was given, not a copy.
type keepsSlice struct {
	storage.Storage
	secret []byte
}

func (m *keepsSlice) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	m.secret = n.Secret
	return m.Storage.CreateWebhook(ctx, actor, n)
}

func (m *keepsSlice) Secrets(ctx context.Context, after storage.ID, most int) ([]storage.StoredSecret, error) {
	list, err := m.Storage.Secrets(ctx, after, most)
	for i := range list {
		list[i].Secret = slices.Clone(m.secret)
	}
	return list, err
}

func wholeSeconds(t time.Time) time.Time { return t.Truncate(time.Second) }

type wrongTimes struct{ storage.Storage }

func (m wrongTimes) Workspace(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Workspace, error) {
	w, err := m.Storage.Workspace(ctx, actor, id)
	w.CreatedAt = wholeSeconds(w.CreatedAt)
	return w, err
}

type reencodes struct{ storage.Storage }

func (m reencodes) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, actor, id)
	var v any
	if err == nil {
		err = json.Unmarshal(f.Definition.Settings, &v)
	}
	if err == nil {
		f.Definition.Settings, err = json.Marshal(v)
	}
	return f, err
}

type noRevisionCheck struct{ storage.Storage }

func (m noRevisionCheck) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	c.IfRevision = nil
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

type bareMismatch struct{ storage.Storage }

func bare(err error) error {
	if err != nil {
		return storage.ErrRevisionMismatch
	}
	return nil
}

func (m bareMismatch) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := m.Storage.UpdateForm(ctx, actor, id, c)
	return f, bare(err)
}

func (m bareMismatch) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s, replayed, err := m.Storage.Submit(ctx, n)
	return s, replayed, bare(err)
}

type lostUpdate struct {
	storage.Storage
	callers *rendezvous
}

func (m lostUpdate) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := m.Form(ctx, actor, id)
	m.callers.meet()
	if err != nil {
		return f, err
	}
	keep := func(change *json.RawMessage, was json.RawMessage) {
		if *change == nil {
			*change = was
		}
	}
	keep(&c.Definition.Blocks, f.Definition.Blocks)
	keep(&c.Definition.Settings, f.Definition.Settings)
	keep(&c.Definition.Theme, f.Definition.Theme)
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

// offsetPages takes a position for that of a record and begins again when the
// record is gone.
type offsetPages struct{ storage.Storage }

func (m offsetPages) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	page := q.Page
	q.Page = storage.Page{Limit: everyRecord}
	got, err := storage.ListSubmissions(ctx, m.Storage, actor, form, q)
	all := got.Submissions
	if page.After != nil {
		at := slices.IndexFunc(all, func(s storage.Submission) bool { return s.ID == page.After.ID })
		all = all[at+1:]
	}
	n := min(max(page.Limit, 0), len(all))
	return lend(storage.SubmissionPage{Submissions: all[:n], More: n < len(all)}, err, each)
}

// lend hands out what a mutant has made of a page.
func lend(page storage.SubmissionPage, err error, each func(*storage.Submission) error) (more bool, _ error) {
	for i := range page.Submissions {
		if err == nil {
			err = each(&page.Submissions[i])
		}
	}
	return page.More, err
}

type unorderedTies struct{ storage.Storage }

func (m unorderedTies) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	all, err := storage.ListSubmissions(ctx, m.Storage, actor, form, q)
	slices.SortStableFunc(all.Submissions, func(a, b storage.Submission) int {
		if c := b.SubmittedAt.Compare(a.SubmittedAt); c != 0 {
			return c
		}
		return compareIDs(a.ID, b.ID)
	})
	return lend(all, err, each)
}

type timeOnly struct{ storage.Storage }

func (m timeOnly) Webhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	if page.After != nil {
		page.After = &storage.Position{Time: page.After.Time}
	}
	return m.Storage.Webhooks(ctx, actor, page)
}

type oneRecordMore struct{ storage.Storage }

func (m oneRecordMore) Workspaces(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	page.Limit++
	return m.Storage.Workspaces(ctx, actor, page)
}

// unmerged puts the forms of each workspace together.
type unmerged struct{ storage.Storage }

func (m unmerged) Forms(ctx context.Context, actor storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	all, err := m.Storage.Forms(ctx, actor, q)
	slices.SortStableFunc(all, func(a, b storage.Form) int { return compareIDs(a.WorkspaceID, b.WorkspaceID) })
	return all, err
}

type exclusiveUntil struct{ storage.Storage }

func (m exclusiveUntil) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	if !q.Until.IsZero() {
		q.Until = q.Until.Add(-time.Microsecond)
	}
	return m.Storage.Submissions(ctx, actor, form, q, each)
}

type fullLists struct{ storage.Storage }

func (m fullLists) Forms(ctx context.Context, actor storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	all, err := m.Storage.Forms(ctx, actor, q)
	for i := range all {
		all[i].Definition.Theme = json.RawMessage(`{}`)
	}
	return all, err
}

type visibleTrash struct {
	storage.Storage
	forms sync.Map
}

func (m *visibleTrash) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	m.forms.Store(f.PublicID, f)
	return m.Storage.CreateForm(ctx, actor, f)
}

func (m *visibleTrash) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	if f, ok := m.forms.Load(publicID); ok {
		return f.(storage.Form), nil
	}
	return m.Storage.FormByPublicID(ctx, publicID)
}

type restoresAnywhere struct{ storage.Storage }

func (m restoresAnywhere) RestoreForm(ctx context.Context, id, workspace storage.ID, when time.Time) error {
	if workspaces, err := m.Workspaces(ctx, storage.AsHost(), storage.Page{Limit: 1}); err != nil || len(workspaces) > 0 {
		return m.Storage.RestoreForm(ctx, id, workspace, when)
	}
	return nil
}

type restoreRaises struct{ storage.Storage }

func (m restoreRaises) RestoreForm(ctx context.Context, id, workspace storage.ID, when time.Time) error {
	if err := m.Storage.RestoreForm(ctx, id, workspace, when); err != nil {
		return err
	}
	_, err := m.UpdateForm(ctx, storage.AsHost(), id, storage.FormChange{Name: ptr(text("Renamed")), At: when})
	return err
}

type sweepsMore struct {
	storage.Storage
	later time.Duration
	times int
}

func (m sweepsMore) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	if !p.TrashBefore.IsZero() {
		p.TrashBefore = p.TrashBefore.Add(m.later)
	}
	if !p.KeysBefore.IsZero() {
		p.KeysBefore = p.KeysBefore.Add(m.later)
	}
	p.Max *= m.times
	return m.Storage.Sweep(ctx, p)
}

type replacesAnySecret struct{ storage.Storage }

func (m replacesAnySecret) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	replaced := 0
	for _, r := range replacements {
		w, err := m.Webhook(ctx, storage.AsHost(), r.WebhookID)
		if err != nil {
			continue
		}
		_, err = m.UpdateWebhook(ctx, storage.AsHost(), w.ID, storage.WebhookChange{Secret: &r.To, At: w.UpdatedAt})
		if err != nil {
			return replaced, err
		}
		replaced++
	}
	return replaced, nil
}

type visibleSecrets struct{ storage.Storage }

func (m visibleSecrets) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	found, err := m.Storage.Secrets(ctx, after, limit)
	return slices.DeleteFunc(found, func(s storage.StoredSecret) bool {
		_, err := m.Webhook(ctx, storage.AsHost(), s.WebhookID)
		return err != nil
	}), err
}

func removalMutants() []mutant {
	return []mutant{
		{"deletes no user", []string{"removal/user", "removal/user_trash"}, wrap[keepsUsers]},
		{"empties the whole trash with a user", []string{"removal/user_alone", "removal/user_trash"}, wrap[emptiesTrash]},
		{"purges forms outside the trash", []string{"removal/form"}, wrap[purgesLive]},
		{"takes erasing for purging", []string{"removal/erase"}, wrap[erasesByAge]},
		{"erases nothing of a form in the trash", []string{"removal/erase_in_trash"}, wrap[erasesVisible]},
		{"erases old submissions instead of purging them", []string{"removal/purge_keeps_place"}, wrap[purgesByErasing]},
		{"purges submissions of exactly Before", []string{"removal/purge_submissions"},
			purges(func(p *storage.PurgeSubmissionsParams) { p.Before = p.Before.Add(time.Microsecond) })},
		{"does all its work when only removals are wanted", []string{"sweep/removals"}, wrap[sweepsEverything]},
		{"leaves the rows of what is gone", []string{"concurrency/removals"},
			func(s storage.Storage) storage.Storage { return keepsRows{s, &sync.Map{}} }},
		{"frees the answers of purged submissions that others have", []string{"removal/purge_frees_answers"},
			func(s storage.Storage) storage.Storage { return remembersPurged{s, &sync.Map{}} }},
		{"tells nobody", []string{"removal/leaving_purge", "removal/leaving_purge_fault", "removal/leaving_sweep", "removal/leaving_sweep_fault"},
			func(s storage.Storage) storage.Storage {
				return editsSweep{editsPurge{s, leavesSilently}, sweepsSilently}
			}},
		{"tells after it has removed", []string{"removal/leaving_purge", "removal/leaving_purge_fault"}, wrap[tellsLate]},
		{"takes no notice of a fault", []string{"removal/leaving_purge_fault", "removal/leaving_sweep_fault"}, wrap[goesOn]},
		{"removes what it did not tell of", []string{"removal/leaving_purge_later"}, wrap[removesMore]},
		{"counts no purged submissions as removed", []string{"removal/counted"},
			func(s storage.Storage) storage.Storage { return forgetsPurged{s, new(int64)} }},
		{"purges more submissions than Max", []string{"removal/purge_in_pieces"},
			purges(func(p *storage.PurgeSubmissionsParams) { p.Max = everyRecord })},
	}
}

type forgetsPurged struct {
	storage.Storage
	purged *int64
}

func (m forgetsPurged) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	got, err := m.Storage.PurgeSubmissions(ctx, p)
	*m.purged += int64(got.Submissions)
	return got, err
}

func (m forgetsPurged) SubmissionsRemoved(ctx context.Context, actor storage.Actor, form storage.ID) (int64, error) {
	removed, err := m.Storage.SubmissionsRemoved(ctx, actor, form)
	return max(removed-*m.purged, 0), err
}

type keepsUsers struct{ storage.Storage }

func (m keepsUsers) DeleteUser(context.Context, storage.ID, time.Time) error { return nil }

type emptiesTrash struct{ storage.Storage }

func (m emptiesTrash) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	if err := m.Storage.DeleteUser(ctx, user, at); err != nil {
		return err
	}
	_, err := m.Sweep(ctx, storage.SweepParams{Now: soon(), TrashBefore: soon(), Max: everyRecord})
	return err
}

type purgesLive struct{ storage.Storage }

func (m purgesLive) PurgeForm(ctx context.Context, id storage.ID) error {
	_ = m.TrashForm(ctx, storage.AsHost(), id, storage.TrashParams{At: at0})
	return m.Storage.PurgeForm(ctx, id)
}

type erasesByAge struct{ storage.Storage }

func (m erasesByAge) EraseSubmissions(ctx context.Context, form storage.ID, _ []storage.ID) (int, error) {
	got, err := m.PurgeSubmissions(ctx, storage.PurgeSubmissionsParams{Forms: []storage.ID{form}, Before: soon(), Max: 2})
	return got.Submissions, err
}

type erasesVisible struct{ storage.Storage }

func (m erasesVisible) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	if _, err := m.Form(ctx, storage.AsHost(), form); errors.Is(err, storage.ErrNotFound) {
		return 0, nil
	}
	return m.Storage.EraseSubmissions(ctx, form, ids)
}

type purgesByErasing struct{ storage.Storage }

func (m purgesByErasing) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	page, err := storage.ListSubmissions(ctx, m, storage.AsHost(), p.Forms[0], storage.SubmissionsParams{
		Until: p.Before.Add(-time.Microsecond), Page: storage.Page{Limit: p.Max},
	})
	if err != nil || len(page.Submissions) == 0 {
		return storage.PurgedSubmissions{}, err
	}
	var ids []storage.ID
	for _, s := range page.Submissions {
		ids = append(ids, s.ID)
	}
	n, err := m.EraseSubmissions(ctx, p.Forms[0], ids)
	return storage.PurgedSubmissions{Submissions: n, More: true}, err
}

// keepsRows never frees the id of a form.
type keepsRows struct {
	storage.Storage
	taken *sync.Map
}

func (m keepsRows) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	if _, taken := m.taken.LoadOrStore(f.ID, true); taken {
		return storage.ErrConflict
	}
	return m.Storage.CreateForm(ctx, actor, f)
}

// remembersPurged stores answers that a purged submission of the form had, whoever has them.
type remembersPurged struct {
	storage.Storage
	purged *sync.Map
}

type purgedAnswer struct {
	form   storage.ID
	answer string
}

func (m remembersPurged) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	page, err := storage.ListSubmissions(ctx, m, storage.AsHost(), p.Forms[0], storage.SubmissionsParams{
		Until: p.Before.Add(-time.Microsecond), Page: storage.Page{Limit: everyRecord},
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) { // it is in the trash
		return storage.PurgedSubmissions{}, err
	}
	for _, s := range page.Submissions {
		m.purged.Store(purgedAnswer{p.Forms[0], answerIn(s.Answers)}, true)
	}
	return m.Storage.PurgeSubmissions(ctx, p)
}

func (m remembersPurged) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if _, purged := m.purged.Load(purgedAnswer{n.Submission.FormID, string(n.UniqueAnswer)}); purged && n.UniqueAnswer != nil {
		n.UniqueAnswer = nil
	}
	return m.Storage.Submit(ctx, n)
}

type sweepsEverything struct{ storage.Storage }

func (m sweepsEverything) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	p.RemovalsOnly = false
	return m.Storage.Sweep(ctx, p)
}

type editsPurge struct {
	storage.Storage
	edit func(*storage.PurgeSubmissionsParams)
}

func purges(edit func(*storage.PurgeSubmissionsParams)) wrapper {
	return func(s storage.Storage) storage.Storage { return editsPurge{s, edit} }
}

func (m editsPurge) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	m.edit(&p)
	return m.Storage.PurgeSubmissions(ctx, p)
}

func leavesSilently(p *storage.PurgeSubmissionsParams) { p.BeforeDelete = nil }

func sweepsSilently(p *storage.SweepParams) { p.BeforeDelete = nil }

// editsSweep changes what a Sweep is asked for.
type editsSweep struct {
	storage.Storage
	edit func(*storage.SweepParams)
}

func (m editsSweep) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	m.edit(&p)
	return m.Storage.Sweep(ctx, p)
}

// tellsLate notes what leaves, and tells of it when it is gone.
type tellsLate struct{ storage.Storage }

func (m tellsLate) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	tell := p.BeforeDelete
	if tell == nil {
		return m.Storage.PurgeSubmissions(ctx, p)
	}
	var late []storage.Submission
	p.BeforeDelete = func(_ context.Context, leaving []storage.Submission) error {
		late = append(late, leaving...)
		return nil
	}
	out, err := m.Storage.PurgeSubmissions(ctx, p)
	if err == nil && len(late) > 0 {
		err = tell(ctx, late)
	}
	return out, err
}

// goesOn drops the errors and panics of BeforeDelete.
type goesOn struct{ storage.Storage }

func (goesOn) careless(tell storage.BeforeDelete) storage.BeforeDelete {
	if tell == nil {
		return nil
	}
	return func(ctx context.Context, leaving []storage.Submission) error {
		defer func() { _ = recover() }()
		_ = tell(ctx, leaving)
		return nil
	}
}

func (m goesOn) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	p.BeforeDelete = m.careless(p.BeforeDelete)
	return m.Storage.PurgeSubmissions(ctx, p)
}

func (m goesOn) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	p.BeforeDelete = m.careless(p.BeforeDelete)
	return m.Storage.Sweep(ctx, p)
}

// removesMore tells of what there is, and then removes what there is by then.
type removesMore struct{ storage.Storage }

func (m removesMore) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	if tell := p.BeforeDelete; tell != nil {
		stop := errors.New("told")
		p.BeforeDelete = func(ctx context.Context, leaving []storage.Submission) error {
			return errors.Join(stop, tell(ctx, leaving))
		}
		if _, err := m.Storage.PurgeSubmissions(ctx, p); err != nil && err.Error() != stop.Error() {
			return storage.PurgedSubmissions{}, err
		}
		p.BeforeDelete = nil
	}
	return m.Storage.PurgeSubmissions(ctx, p)
}
