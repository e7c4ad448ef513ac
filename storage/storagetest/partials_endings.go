package storagetest

import (
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func partialEndingCases() []Case {
	return []Case{
		{"submit", "Submit with a token clears the partial submission, which then has a SubmissionID until it expires and accepts no more saves.", submitPartial},
		{"submit_any_token", "A token that is unknown, of another form, expired at SubmittedAt or already submitted rejects no submission and changes nothing.", submitAnyToken},
		{"submit_refused", "A submission that is rejected or a replay does not change the partial submission.", submitRefusedPartial},
		{"delete", "DeletePartials removes exactly the partial submissions that an ID, the token or the time of the last save selects.", deletePartials},
		{"delete_in_pieces", "Each call of DeletePartials removes up to Max, returns more while others remain, and does nothing if Max is below 1.", deletePartialsInPieces},
		{"delete_in_trash", "DeletePartials works on a form in the trash only for the host.", deletePartialsInTrash},
		{"trash", "The partial submissions of a form in the trash are ErrNotFound, and are accessible again after the form is restored.", trashPartials},
		{"purge", "A form that is purged, alone or with its owner, loses its partial submissions.", purgePartials},
		{"sweep", "Sweep removes exactly the partial submissions that have expired at Now, including submitted ones, in batches, and none with RemovalsOnly.", sweepPartials},
	}
}

func withPartial(p storage.SavePartialParams) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) { n.Partial = p.Token }
}

// emptied checks what is left of a half response that was submitted. SubmissionID and Revision
// are not looked at.
func (b *bundle) emptied(got storage.Partial, p storage.SavePartialParams) {
	b.Helper()
	want := p.Partial
	want.Answers, want.Hidden, want.Metadata, want.Block, want.Seconds = nil, nil, nil, "", 0
	want.SubmissionID, want.Revision, want.SavedAt = got.SubmissionID, got.Revision, got.SavedAt
	same(b, got, want, "Partial after it was submitted")
}

func submitPartial(b *bundle) {
	f := b.anyForm()
	p, other := b.addPartial(f.ID), b.addPartial(f.ID)
	b.submit(f)
	b.isThere(p, "after a submission without a token")
	n := b.submit(f, withPartial(p))
	got := b.partial(p, p.Partial.EndsAt.Add(-time.Microsecond))
	same(b, got.SubmissionID, n.Submission.ID, "SubmissionID")
	same(b, got.SavedAt, p.Partial.SavedAt, "SavedAt")
	b.emptied(got, p)
	b.refusesSave(again(p), storage.ErrConflict, "after it was submitted")
	b.emptied(b.partial(p, soon()), p)
	same(b, idsOf(b.partials(f.ID, soon()), partialID), []storage.ID{other.Partial.ID}, "Partials")
	_, err := b.store.Partial(b.Context(), f.ID, p.Token, p.Partial.EndsAt)
	b.is(err, storage.ErrNotFound, "Partial at its end, after it was submitted")
	stored, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
	b.ok(err, "Submission")
	same(b, stored, n.Submission, "submission that completes a partial submission")
	b.deleteSubmission(n)
	same(b, b.partial(p, soon()).SubmissionID, n.Submission.ID, "SubmissionID after the submission was deleted")
}

func submitAnyToken(b *bundle) {
	f := b.anyForm()
	other := b.addForm(f.WorkspaceID)
	foreign, spent := b.addPartial(other.ID), b.addPartial(f.ID)
	over := b.addPartial(f.ID, endingAt(at(time.Hour)))
	first := b.submit(f, withPartial(spent))
	b.submit(f, withPartial(spent))
	b.submit(f, withPartial(foreign))
	b.submit(f, withPartial(b.newPartial(f.ID)))
	b.submit(f, withPartial(over), func(n *storage.NewSubmission) { n.Submission.SubmittedAt = at(time.Hour) })
	same(b, len(b.submissions(f.ID)), 5, "number of submissions")
	same(b, b.partial(spent, soon()).SubmissionID, first.Submission.ID, "SubmissionID after another submission with the token")
	b.isThere(foreign, "after a submission to another form with its token")
	b.isThere(over, "by a clock that is behind, after a submission with its token")
}

func submitRefusedPartial(b *bundle) {
	f := b.anyForm(withLimit(2))
	b.submit(f, withKey("once"), withAnswer("a"))
	p := b.addPartial(f.ID)
	refused := func(want error, what string, edit func(*storage.NewSubmission)) {
		b.Helper()
		n := b.newSubmission(f)
		n.Partial = p.Token
		edit(&n)
		b.refuse(n, want, what)
		b.isThere(p, "after a submission was rejected: %s", what)
	}
	refused(storage.ErrRevisionMismatch, "of another revision", func(n *storage.NewSubmission) { n.FormRevision = 99 })
	refused(storage.ErrDuplicate, "with an existing answer", withAnswer("a"))
	n := b.newSubmission(f)
	n.Partial, n.IdempotencyKey = p.Token, "once"
	_, replayed, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit, replayed")
	same(b, replayed, true, "replayed")
	b.isThere(p, "after a replay")
	b.submit(f)
	refused(storage.ErrLimitReached, "at the limit", func(*storage.NewSubmission) {})
}

// deletesPartials calls DeletePartials until there is no more to do. Max is 2 unless it is set.
func (b *bundle) deletesPartials(form storage.ID, want int, p storage.DeletePartialsParams) (calls int) {
	b.Helper()
	if p.Max == 0 {
		p.Max = 2
	}
	sum := 0
	for more := true; more; {
		var n int
		var err error
		n, more, err = b.store.DeletePartials(b.Context(), storage.AsHost(), form, p)
		b.ok(err, "DeletePartials")
		if n > p.Max {
			b.Errorf("DeletePartials: removed %d with a Max of %d", n, p.Max)
		}
		sum += n
		if calls++; calls > 1000 {
			b.Fatalf("DeletePartials: more does not end")
		}
	}
	same(b, sum, want, "partial submissions that DeletePartials removed")
	return calls
}

func deletePartials(b *bundle) {
	f := b.anyForm()
	other := b.addForm(f.WorkspaceID)
	foreign := b.addPartial(other.ID, savedAt(at(-time.Hour)))
	limit := at(time.Hour)
	all := map[string]storage.SavePartialParams{}
	for i, name := range []string{"by id", "by id, submitted", "by token", "before", "before, submitted", "exact", "after"} {
		all[name] = b.addPartial(f.ID, savedAt(limit.Add(time.Duration(i-5)*time.Microsecond)))
	}
	old := again(all["after"]) // made before, and saved after
	b.save(old)
	for _, name := range []string{"by id, submitted", "before, submitted"} {
		b.submit(f, withPartial(all[name]))
	}
	id := func(name string) storage.ID { return all[name].Partial.ID }
	gone := func(names ...string) {
		b.Helper()
		for _, name := range names {
			b.isGone(all[name], "%s", name)
			b.refusesSave(again(all[name]), storage.ErrNotFound, "%s, after it was deleted", name)
			delete(all, name)
		}
		for name, p := range all {
			same(b, b.partial(p, soon()).ID, p.Partial.ID, "ID of the remaining partial submission: %s", name)
		}
	}
	b.deletesPartials(f.ID, 0, storage.DeletePartialsParams{})
	gone()
	b.deletesPartials(f.ID, 2, storage.DeletePartialsParams{IDs: []storage.ID{id("by id"), newID(), foreign.Partial.ID, id("by id, submitted"), id("by id")}})
	gone("by id", "by id, submitted")
	b.deletesPartials(f.ID, 0, storage.DeletePartialsParams{Token: foreign.Token})
	b.deletesPartials(f.ID, 1, storage.DeletePartialsParams{Token: all["by token"].Token})
	gone("by token")
	b.deletesPartials(f.ID, 3, storage.DeletePartialsParams{IDs: []storage.ID{id("after")}, SavedBefore: limit})
	gone("before", "before, submitted", "after")
	b.isThere(foreign, "of another form")
	_, _, err := b.store.DeletePartials(b.Context(), storage.AsHost(), newID(), storage.DeletePartialsParams{SavedBefore: soon(), Max: 1})
	b.is(err, storage.ErrNotFound, "DeletePartials of an unknown form")
}

func deletePartialsInPieces(b *bundle) {
	f := b.anyForm()
	for range 7 {
		b.addPartial(f.ID)
	}
	for _, most := range []int{0, -1} {
		n, more, err := b.store.DeletePartials(b.Context(), storage.AsHost(), f.ID, storage.DeletePartialsParams{SavedBefore: soon(), Max: most})
		b.ok(err, "DeletePartials")
		same(b, fmt.Sprint(n, more), "0 false", "DeletePartials with a Max of %d", most)
	}
	if calls := b.deletesPartials(f.ID, 7, storage.DeletePartialsParams{SavedBefore: soon(), Max: 3}); calls < 3 {
		b.Errorf("DeletePartials: 7 partial submissions were removed in %d calls with a Max of 3, want 3 calls", calls)
	}
	same(b, b.partials(f.ID, soon()), nil, "Partials")
}

func deletePartialsInTrash(b *bundle) {
	w := b.furnish()
	b.trashForm(w.form.ID)
	_, _, err := b.store.DeletePartials(b.Context(), storage.As(w.owner), w.form.ID, storage.DeletePartialsParams{Token: w.partial.Token, Max: 1})
	b.is(err, storage.ErrNotFound, "DeletePartials of a form in the trash, by its owner")
	b.deletesPartials(w.form.ID, 1, storage.DeletePartialsParams{Token: w.partial.Token})
	b.ok(b.store.RestoreForm(b.Context(), w.form.ID, storage.ID{}, b.tick()), "RestoreForm")
	b.isGone(w.partial, "which was deleted in the trash")
}

func trashPartials(b *bundle) {
	f := b.anyForm()
	p, sent := b.addPartial(f.ID), b.addPartial(f.ID)
	n := b.submit(f, withPartial(sent))
	b.trashForm(f.ID)
	b.isGone(p, "of a form in the trash")
	b.isGone(sent, "which was submitted, of a form in the trash")
	_, _, err := listPartials(b.Context(), b.store, storage.AsHost(), f.ID, storage.PartialQuery{Now: soon(), Page: storage.Page{Limit: 1}})
	b.is(err, storage.ErrNotFound, "Partials of a form in the trash")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	b.isThere(p, "of a form that was restored")
	same(b, b.partial(sent, soon()).SubmissionID, n.Submission.ID, "SubmissionID of a form that was restored")
}

func purgePartials(b *bundle) {
	owner := b.user()
	f := b.addForm(b.addWorkspace(owner).ID)
	alone := b.anyForm()
	p, sent, q := b.addPartial(f.ID), b.addPartial(f.ID), b.addPartial(alone.ID)
	b.submit(f, withPartial(sent))
	stays := b.addPartial(b.anyForm().ID)
	b.trashForm(alone.ID)
	b.ok(b.store.PurgeForm(b.Context(), alone.ID), "PurgeForm")
	b.deleteUser(owner)
	gone := func(when string) {
		b.Helper()
		for _, p := range []storage.SavePartialParams{p, sent, q} {
			b.isGone(p, "of a purged form, %s", when)
			b.refusesSave(again(p), storage.ErrNotFound, "of a purged form, %s", when)
			_, _, err := b.store.DeletePartials(b.Context(), storage.AsHost(), p.Partial.FormID, storage.DeletePartialsParams{SavedBefore: soon(), Max: 1})
			b.is(err, storage.ErrNotFound, "DeletePartials of a purged form, %s", when)
		}
	}
	gone("at once")
	b.sweep(storage.SweepParams{Now: soon(), RemovalsOnly: true, Max: 2})
	f.WorkspaceID = alone.WorkspaceID
	for _, form := range []storage.Form{f, alone} {
		b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), form), "CreateForm with the id of a purged form")
		same(b, b.partials(form.ID, at(0)), nil, "Partials of a form with the ID of a purged record")
	}
	for _, p := range []storage.SavePartialParams{p, sent, q} {
		b.isGone(p, "of a form with the ID of a purged record")
		same(b, b.save(p), 1, "the revision of a new partial submission with the token of a purged one")
	}
	b.isThere(stays, "of another form")
}

func sweepPartials(b *bundle) {
	f := b.anyForm()
	end := at(time.Hour)
	var over []storage.SavePartialParams
	for range 5 {
		over = append(over, b.addPartial(f.ID, endingAt(end)))
	}
	b.submit(f, withPartial(over[0]))
	stays, sent := b.addPartial(f.ID, endingAt(end.Add(time.Microsecond))), b.addPartial(f.ID)
	b.submit(f, withPartial(sent))
	b.sweep(storage.SweepParams{Now: end.Add(-time.Microsecond), Max: 100})
	b.sweep(storage.SweepParams{Now: end, RemovalsOnly: true, Max: 100})
	b.sweepOnce(storage.SweepParams{Now: end, Max: 0})
	left := func() (n int) {
		for _, p := range over {
			if _, err := b.store.Partial(b.Context(), f.ID, p.Token, p.Partial.SavedAt); err == nil {
				n++
			}
		}
		return n
	}
	same(b, left(), 5, "partial submissions that have not expired")
	once := b.sweepOnce(storage.SweepParams{Now: end, Max: 2})
	same(b, once.More, true, "More after a batch")
	if n := left(); n < 3 || n > 4 {
		b.Errorf("partial submissions after a batch of 2: want 3 or 4 of 5 left, got %d", n)
	}
	b.sweep(storage.SweepParams{Now: end, Max: 2})
	same(b, left(), 0, "expired partial submissions after Sweep")
	b.isThere(stays, "which is not over")
	b.partial(sent, soon())
}
