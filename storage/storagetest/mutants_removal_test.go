package storagetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func removalMutants() []mutant {
	return []mutant{
		{"deletes no user", []string{"removal/user", "removal/user_trash"},
			func(s storage.Storage) storage.Storage { return keepsUsers{s} }},
		{"empties the whole trash with a user", []string{"removal/user_alone", "removal/user_trash"},
			func(s storage.Storage) storage.Storage { return emptiesTrash{s} }},
		{"purges forms outside the trash", []string{"removal/form"},
			func(s storage.Storage) storage.Storage { return purgesLive{s} }},
		{"takes erasing for purging", []string{"removal/erase"},
			func(s storage.Storage) storage.Storage { return erasesByAge{s} }},
		{"erases nothing of a form in the trash", []string{"removal/erase_in_trash"},
			func(s storage.Storage) storage.Storage { return erasesVisible{s} }},
		{"erases old submissions instead of purging them", []string{"removal/purge_keeps_place"},
			func(s storage.Storage) storage.Storage { return purgesByErasing{s} }},
		{"purges submissions of exactly Before", []string{"removal/purge_submissions"},
			func(s storage.Storage) storage.Storage {
				return editsPurge{s, func(p *storage.PurgeSubmissionsParams) { p.Before = p.Before.Add(time.Microsecond) }}
			}},
		{"does all its work when only removals are wanted", []string{"sweep/removals"},
			func(s storage.Storage) storage.Storage { return sweepsEverything{s} }},
		{"leaves the rows of what is gone", []string{"concurrency/removals"},
			func(s storage.Storage) storage.Storage { return keepsRows{s, &sync.Map{}} }},
		{"frees the answers of purged submissions that others have", []string{"removal/purge_frees_answers"},
			func(s storage.Storage) storage.Storage { return remembersPurged{s, &sync.Map{}, false} }},
		{"tells nobody", []string{"removal/leaving_purge", "removal/leaving_purge_fault", "removal/leaving_sweep", "removal/leaving_sweep_fault"},
			func(s storage.Storage) storage.Storage {
				return editsSweep{editsPurge{s, leavesSilently}, sweepsSilently}
			}},
		{"tells after it has removed", []string{"removal/leaving_purge", "removal/leaving_purge_fault"},
			func(s storage.Storage) storage.Storage { return tellsLate{s} }},
		{"takes no notice of a fault", []string{"removal/leaving_purge_fault", "removal/leaving_sweep_fault"},
			func(s storage.Storage) storage.Storage { return goesOn{s} }},
		{"removes what it did not tell of", []string{"removal/leaving_purge_later"},
			func(s storage.Storage) storage.Storage { return removesMore{s} }},
		{"purges more submissions than Max", []string{"removal/purge_in_pieces"},
			func(s storage.Storage) storage.Storage {
				return editsPurge{s, func(p *storage.PurgeSubmissionsParams) { p.Max = everyRecord }}
			}},
	}
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

func (m keepsRows) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	if _, taken := m.taken.LoadOrStore(f.ID, true); taken {
		return storage.ErrConflict
	}
	return m.Storage.CreateForm(ctx, who, f)
}

// remembersPurged refuses answers that a purged submission of the form had, or stores them
// whoever has them.
type remembersPurged struct {
	storage.Storage
	purged *sync.Map
	refuse bool
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
		if m.refuse {
			return storage.Submission{}, false, storage.ErrDuplicate
		}
		n.UniqueAnswer = nil
	}
	return m.Storage.Submit(ctx, n)
}

type sweepsEverything struct{ storage.Storage }

func (m sweepsEverything) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
	p.Removals = false
	return m.Storage.Sweep(ctx, p)
}

type editsPurge struct {
	storage.Storage
	edit func(*storage.PurgeSubmissionsParams)
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

func (m editsSweep) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
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

func (m goesOn) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
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
