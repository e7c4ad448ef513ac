package storagetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func leavingCases() []Case {
	return []Case{
		{"leaving_purge", "PurgeSubmissions passes exactly the submissions that it removes to BeforeDelete, before it removes them and without a lock.", leavingPurge},
		{"leaving_purge_later", "PurgeSubmissions does not remove submissions that were stored after the call of BeforeDelete.", leavingPurgeLater},
		{"leaving_purge_fault", "If BeforeDelete returns an error, PurgeSubmissions removes nothing and passes the submissions again later.", leavingPurgeFault},
		{"leaving_sweep", "Sweep passes exactly the submissions of purged forms to BeforeDelete, including those of a deleted user.", leavingSweep},
		{"leaving_sweep_fault", "If BeforeDelete returns an error or panics, Sweep passes the same submissions again later.", leavingSweepFault},
	}
}

// told collects the answers that a BeforeDelete gets.
type told struct {
	mu   sync.Mutex
	seen []string
}

func (l *told) beforeDelete(_ context.Context, leaving []storage.Submission) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sub := range leaving {
		l.seen = append(l.seen, sub.FormID.String()+sub.ID.String()+string(sub.Answers))
	}
	return nil
}

// are holds what was told against the answers of submissions, whatever their order and how often.
func (l *told) are(b *bundle, want []storage.NewSubmission, what string) {
	b.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var answers []string
	for _, n := range want {
		answers = append(answers, n.Submission.FormID.String()+n.Submission.ID.String()+string(n.Submission.Answers))
	}
	slices.Sort(answers)
	slices.Sort(l.seen)
	same(b, slices.Compact(l.seen), answers, "%s", what)
	l.seen = nil
}

func (b *bundle) submitMany(f storage.Form, n int, edit ...func(*storage.NewSubmission)) (list []storage.NewSubmission) {
	b.Helper()
	for range n {
		list = append(list, b.submit(f, edit...))
	}
	return list
}

func leavingPurge(b *bundle) {
	f, g, other := b.anyForm(), b.anyForm(), b.anyForm()
	want := append(b.submitMany(f, 5, longAgo), b.submitMany(g, 3, longAgo)...)
	b.submit(f)
	b.submit(other, longAgo)
	var l told
	purged := 0
	for range 100 {
		got, err := b.store.PurgeSubmissions(b.Context(), storage.PurgeSubmissionsParams{
			Forms: []storage.ID{f.ID, g.ID}, Before: at(-time.Hour), Max: 2,
			BeforeDelete: func(ctx context.Context, leaving []storage.Submission) error {
				there := b.submissions(f.ID)
				there = append(there, b.submissions(g.ID)...)
				for _, a := range leaving {
					if !slices.ContainsFunc(there, func(s storage.Submission) bool { return s.ID == a.ID }) {
						b.Errorf("PurgeSubmissions: BeforeDelete received the submission %s, which was already removed", a.ID)
					}
				}
				return l.beforeDelete(ctx, leaving)
			},
		})
		b.ok(err, "PurgeSubmissions")
		if purged += got.Submissions; !got.More {
			break
		}
	}
	same(b, purged, len(want), "submissions that were purged")
	l.are(b, want, "answers that BeforeDelete received")
	same(b, len(b.submissions(f.ID)), 1, "submissions that are not old")
	same(b, len(b.submissions(other.ID)), 1, "submissions of a form that was not named")
}

func leavingPurgeLater(b *bundle) {
	f := b.anyForm()
	want := b.submitMany(f, 2, longAgo)
	var l told
	var later storage.NewSubmission
	got, err := b.store.PurgeSubmissions(b.Context(), storage.PurgeSubmissionsParams{
		Forms: []storage.ID{f.ID}, Before: at(-time.Hour), Max: 100,
		BeforeDelete: func(ctx context.Context, leaving []storage.Submission) error {
			later = b.submit(f, longAgo)
			return l.beforeDelete(ctx, leaving)
		},
	})
	b.ok(err, "PurgeSubmissions")
	l.are(b, want, "answers that BeforeDelete received")
	same(b, got.Submissions, len(want), "submissions that were purged")
	same(b, only(b, b.submissions(f.ID), "Submissions").ID, later.Submission.ID, "the submission that was stored after the call of BeforeDelete")
}

var errLeaving = errors.New("a file cannot be removed")

func leavingPurgeFault(b *bundle) {
	f := b.anyForm()
	want := b.submitMany(f, 2, longAgo)
	var l told
	p := storage.PurgeSubmissionsParams{Forms: []storage.ID{f.ID}, Before: at(-time.Hour), Max: 100}
	p.BeforeDelete = func(ctx context.Context, leaving []storage.Submission) error {
		return errors.Join(l.beforeDelete(ctx, leaving), errLeaving)
	}
	b.unchanged("PurgeSubmissions with an error of BeforeDelete", func() {
		got, err := b.store.PurgeSubmissions(b.Context(), p)
		b.is(err, errLeaving, "PurgeSubmissions")
		same(b, got.Submissions, 0, "submissions that were purged")
	})
	l.are(b, want, "answers that BeforeDelete received")
	p.BeforeDelete = l.beforeDelete
	_, err := b.store.PurgeSubmissions(b.Context(), p)
	b.ok(err, "PurgeSubmissions, again")
	l.are(b, want, "answers that BeforeDelete received again")
	same(b, b.submissions(f.ID), nil, "Submissions")
}

func leavingSweep(b *bundle) {
	live, single, trashed := b.anyForm(), b.anyForm(), b.anyForm()
	b.submitMany(live, 2)
	owner := b.user()
	owned := b.addForm(b.addWorkspace(owner).ID)
	want := b.submitMany(single, 5)
	want = append(want, b.submitMany(trashed, 2)...)
	want = append(want, b.submitMany(owned, 2)...)
	b.trashForm(single.ID)
	b.trashForm(trashed.ID)
	var l told
	p := storage.SweepParams{Now: soon(), Max: 2, BeforeDelete: l.beforeDelete}
	b.sweep(p)
	l.are(b, nil, "answers of forms in the trash")
	b.ok(b.store.PurgeForm(b.Context(), single.ID), "PurgeForm")
	b.deleteUser(owner)
	p.TrashBefore, p.RemovalsOnly = soon(), true
	b.sweep(p)
	l.are(b, want, "answers of purged forms")
	b.sweep(p)
	l.are(b, nil, "answers of forms that no longer exist")
	same(b, len(b.submissions(live.ID)), 2, "submissions of another form")
}

func leavingSweepFault(b *bundle) {
	f := b.anyForm()
	want := b.submitMany(f, 3)
	b.trashForm(f.ID)
	b.ok(b.store.PurgeForm(b.Context(), f.ID), "PurgeForm")
	var l told
	p := storage.SweepParams{Now: soon(), Max: 100, RemovalsOnly: true}
	for _, end := range []func() error{func() error { return errLeaving }, func() error { panic(errLeaving) }} {
		p.BeforeDelete = func(ctx context.Context, leaving []storage.Submission) error {
			_ = l.beforeDelete(ctx, leaving)
			return end()
		}
		for range 10 { // the work of a sweep may be cut into several calls
			var err error
			func() {
				defer func() {
					if cause, is := recover().(error); is {
						err = cause
					}
				}()
				_, err = b.store.Sweep(b.Context(), p)
			}()
			if err != nil {
				b.is(err, errLeaving, "Sweep")
				break
			}
		}
		l.are(b, want, "answers that BeforeDelete received")
	}
	p.BeforeDelete = l.beforeDelete
	b.sweep(p)
	l.are(b, want, "answers that BeforeDelete received again")
}

func leavingAtOnce(b *bundle) {
	f, g := b.anyForm(), b.anyForm()
	want, old := b.submitMany(f, 30), b.submitMany(g, 30, longAgo)
	b.trashForm(f.ID)
	b.ok(b.store.PurgeForm(b.Context(), f.ID), "PurgeForm")
	var l told
	var purged [4]int
	for _, err := range together(8, func(i int) error {
		for range 1000 {
			var more bool
			if i%2 == 0 {
				got, err := b.store.Sweep(b.Context(), storage.SweepParams{Now: at(0), Max: 3 + i, RemovalsOnly: true, BeforeDelete: l.beforeDelete})
				if err != nil {
					return err
				}
				more = got.More
			} else {
				got, err := b.store.PurgeSubmissions(b.Context(), storage.PurgeSubmissionsParams{
					Forms: []storage.ID{g.ID}, Before: at(-time.Hour), Max: 3 + i, BeforeDelete: l.beforeDelete,
				})
				if err != nil {
					return err
				}
				purged[i/2] += got.Submissions
				more = got.More
			}
			if !more {
				return nil
			}
		}
		return errors.New("there is always more of it: More does not end")
	}) {
		b.ok(err, "Sweep and PurgeSubmissions concurrently")
	}
	same(b, purged[0]+purged[1]+purged[2]+purged[3], len(old), "submissions that were purged")
	l.are(b, append(want, old...), "answers that BeforeDelete received")
}
