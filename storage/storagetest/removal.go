package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func removalCases() []Case {
	return []Case{
		{"user", "DeleteUser removes the user's keys, memberships and workspaces with all their forms, immediately for every method.", deletesUser},
		{"user_alone", "DeleteUser does not change the keys, workspaces, forms and trash of other users.", deletesOneUser},
		{"user_trash", "DeleteUser removes forms in the trash, including forms of a workspace that the user has deleted.", deletesUserTrash},
		{"user_unknown", "DeleteUser of an unknown or already deleted user changes nothing, and the zero time is ErrInvalidValue.", deletesNobody},
		{"form", "PurgeForm removes one form in the trash, and returns ErrNotFound for other forms.", purgesForm},
		{"erase", "EraseSubmissions frees the response limit, the idempotency key and the answer of each submission, ends its deliveries, and changes no other submission.", erasesSubmissions},
		{"erase_in_trash", "EraseSubmissions works on a form in the trash, and ignores submissions of other forms.", erasesInTrash},
		{"purge_submissions", "PurgeSubmissions removes submissions of the given forms that are older than Before, and ends their deliveries.", purgesSubmissions},
		{"purge_keeps_place", "A purged submission still counts against the response limit.", purgeKeepsPlaces},
		{"purge_frees_answers", "The answers of a purged submission are free, also for previous fields, unless another submission has the same answer.", purgeFreesAnswers},
		{"counted", "SubmissionsRemoved increases only with each submission that is deleted, erased or purged.", countsRemoved},
		{"purge_in_pieces", "Each call of PurgeSubmissions removes up to Max submissions, and More is true while others may remain.", purgesInPieces},
	}
}

func (b *bundle) deleteUser(user storage.ID) {
	b.Helper()
	b.ok(b.store.DeleteUser(b.Context(), user, b.tick()), "DeleteUser")
}

func deletesUser(b *bundle) {
	w := b.furnish()
	other := b.addWorkspace(w.stranger)
	b.ok(b.store.SetMember(b.Context(), other.ID, w.owner, true), "SetMember")
	member := storage.As(w.member)
	b.deleteUser(w.owner)
	_, _, err := b.store.KeyByHash(b.Context(), w.hash)
	b.is(err, storage.ErrNotFound, "KeyByHash of a deleted user")
	keys, err := b.store.Keys(b.Context(), w.owner)
	b.ok(err, "Keys")
	same(b, keys, nil, "Keys of a deleted user")
	b.members(other.ID)
	for _, actor := range []storage.Actor{storage.As(w.owner), member, storage.AsHost()} {
		for _, id := range []storage.ID{w.workspace.ID, w.second.ID} {
			_, err := b.store.Workspace(b.Context(), actor, id)
			b.is(err, storage.ErrNotFound, "Workspace of a deleted user")
		}
		_, err = b.store.Form(b.Context(), actor, w.form.ID)
		b.is(err, storage.ErrNotFound, "Form of a deleted user")
		_, err = b.store.Submission(b.Context(), actor, w.form.ID, w.first.Submission.ID)
		b.is(err, storage.ErrNotFound, "Submission of a form of a deleted user")
		_, err = b.store.Webhook(b.Context(), actor, w.webhook.ID)
		b.is(err, storage.ErrNotFound, "Webhook of a deleted user")
	}
	b.purged(w.form.ID, w.trashed.ID)
	b.nothingPending("the owner of the form is deleted")
	b.sweep(storage.SweepParams{Now: w.now, Max: 3})
	b.purged(w.form.ID, w.trashed.ID)

	again := b.newWorkspace(b.user())
	b.ok(b.store.CreateWorkspace(b.Context(), again, 0), "CreateWorkspace")
	w.form.WorkspaceID = again.ID
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), w.form), "CreateForm with the id of a form that is removed")
	same(b, b.submissions(w.form.ID), nil, "Submissions of a form with the ID of a removed record")
	b.submit(w.form, withKey(w.first.IdempotencyKey), withAnswer("first"))
}

// purged fails unless the forms are gone for good.
func (b *bundle) purged(forms ...storage.ID) {
	b.Helper()
	for _, f := range b.trash() {
		for _, id := range forms {
			if f.ID == id {
				b.Errorf("Forms in the trash: want no purged form, got %s", id)
			}
		}
	}
	for _, id := range forms {
		b.is(b.store.RestoreForm(b.Context(), id, storage.ID{}, b.tick()), storage.ErrNotFound, "RestoreForm of a form that is purged")
		b.is(b.store.SetLifetimeCounters(b.Context(), id, storage.Counters{Views: 1}), storage.ErrNotFound, "SetLifetimeCounters of a form that is purged")
		b.is(b.store.PurgeForm(b.Context(), id), storage.ErrNotFound, "PurgeForm of a form that is purged")
	}
}

func deletesOneUser(b *bundle) {
	w := b.furnish()
	user := newID() // whose keys no snapshot shows
	deleted := b.addWorkspace(w.stranger)
	b.submit(b.addForm(deleted.ID))
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), deleted.ID, b.tick()), "DeleteWorkspace")
	handed := b.addWorkspace(user) // which belongs to somebody else when the user goes
	b.addForm(handed.ID)
	_, err := b.store.UpdateWorkspace(b.Context(), storage.AsHost(), handed.ID, storage.WorkspaceChange{Owner: &w.stranger, At: b.tick()})
	b.ok(err, "UpdateWorkspace")
	b.ok(b.store.SetMember(b.Context(), handed.ID, user, false), "SetMember")
	b.unchanged("DeleteUser of another user with a workspace that contains a form and a trashed form", func() {
		own := b.addWorkspace(user)
		b.submit(b.addForm(own.ID))
		b.trashForm(b.addForm(own.ID).ID)
		b.ok(b.store.SetMember(b.Context(), own.ID, w.owner, true), "SetMember")
		b.ok(b.store.SetMember(b.Context(), w.workspace.ID, user, true), "SetMember")
		b.deleteUser(user)
		b.sweep(storage.SweepParams{Now: w.now, Max: 5})
	})
}

func deletesUserTrash(b *bundle) {
	user, other := b.user(), b.user()
	gone, there := b.addWorkspace(user), b.addWorkspace(user)
	before, with := b.addForm(gone.ID), b.addForm(gone.ID)
	b.trashForm(before.ID)
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.As(user), gone.ID, b.tick()), "DeleteWorkspace")
	alone := b.addForm(there.ID)
	b.trashForm(alone.ID)
	rescued := b.addForm(b.addWorkspace(user).ID)
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.As(user), rescued.WorkspaceID, b.tick()), "DeleteWorkspace")
	b.ok(b.store.RestoreForm(b.Context(), rescued.ID, b.addWorkspace(other).ID, b.tick()), "RestoreForm")
	b.trashForm(rescued.ID)
	b.sweep(storage.SweepParams{Now: soon(), Max: 100})
	b.deleteUser(user)
	b.purged(before.ID, with.ID, alone.ID)
	b.sweep(storage.SweepParams{Now: soon(), Max: 2})
	b.purged(before.ID, with.ID, alone.ID)
	same(b, only(b, b.trash(), "Forms in the trash").ID, rescued.ID, "the form that was restored into another user's workspace")
}

func deletesNobody(b *bundle) {
	w := b.furnish()
	b.unchanged("DeleteUser of an unknown user", func() { b.deleteUser(newID()) })
	b.unchanged("DeleteUser at the zero time", func() {
		b.is(b.store.DeleteUser(b.Context(), w.owner, time.Time{}), storage.ErrInvalidValue, "DeleteUser at the zero time")
	})
	b.deleteUser(w.owner)
	b.hashes = nil // the user's keys are gone
	b.sweep(storage.SweepParams{Now: w.now, Max: 100})
	b.unchanged("DeleteUser a second time", func() { b.deleteUser(w.owner) })
}

func purgesForm(b *bundle) {
	w := b.furnish()
	b.unchanged("PurgeForm of a form that is not in the trash or does not exist", func() {
		b.is(b.store.PurgeForm(b.Context(), w.form.ID), storage.ErrNotFound, "PurgeForm of a form outside the trash")
		b.is(b.store.PurgeForm(b.Context(), newID()), storage.ErrNotFound, "PurgeForm of an unknown form")
	})
	b.trashForm(w.form.ID)
	b.ok(b.store.PurgeForm(b.Context(), w.form.ID), "PurgeForm")
	b.purged(w.form.ID)
	same(b, only(b, b.trash(), "Forms in the trash").ID, w.trashed.ID, "the form that stays in the trash")
	b.sweep(storage.SweepParams{Now: w.now, Max: 2})
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), w.form), "CreateForm with the id of a purged form")
	same(b, b.submissions(w.form.ID), nil, "Submissions of a form with the ID of a purged record")

	with := b.addForm(b.addWorkspace(b.user()).ID)
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), with.WorkspaceID, b.tick()), "DeleteWorkspace")
	b.ok(b.store.PurgeForm(b.Context(), with.ID), "PurgeForm of a form in the trash with its workspace")
	b.purged(with.ID)
}

func (b *bundle) erase(form storage.ID, want int, ids ...storage.ID) {
	b.Helper()
	n, err := b.store.EraseSubmissions(b.Context(), form, ids)
	b.ok(err, "EraseSubmissions")
	same(b, n, want, "submissions that EraseSubmissions removed")
}

func erasesSubmissions(b *bundle) {
	f := b.anyForm(withLimit(3), withUnique(fieldOne))
	hook := b.addWebhook(f.ID)
	one := b.submit(f, withKey("one"), withAnswer("one"))
	b.finish(ended(b.claimOne(), b.tick()))
	two := b.submit(f, withKey("two"), withAnswer("two"))
	rest := b.submit(f, withKey("rest"), withAnswer("rest"))
	b.full(f, true, "before anything is erased")
	b.erase(f.ID, 2, one.Submission.ID, newID(), two.Submission.ID)
	b.erase(f.ID, 0, one.Submission.ID)
	b.erase(f.ID, 0)
	same(b, only(b, b.submissions(f.ID), "Submissions").ID, rest.Submission.ID, "the submission that stays")
	b.full(f, false, "after two are erased")
	same(b, b.stats().Due, int64(1), "pending deliveries")
	b.is(b.store.Redeliver(b.Context(), hook.ID, b.attempts(hook.ID)[0].ID), storage.ErrNotFound, "Redeliver of an event whose submission is erased")
	b.taken(f.ID, fieldOne, "rest", true, "which another submission has")
	b.submit(f, withKey("one"), withAnswer("one"))
	b.submit(f, withKey("two"), withAnswer("two"))
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "3 of 3 are stored")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Submissions, int64(5), "submissions in the funnel")
}

func countsRemoved(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	removed := func(want int64, what string) {
		b.Helper()
		for form, want := range map[storage.ID]int64{f.ID: want, other.ID: 0} {
			got, err := b.store.SubmissionsRemoved(b.Context(), storage.AsHost(), form)
			b.ok(err, "SubmissionsRemoved")
			same(b, got, want, "SubmissionsRemoved after %s", what)
		}
	}
	removed(0, "nothing")
	foreign := b.submit(other).Submission.ID
	one, two, three := b.submit(f).Submission.ID, b.submit(f).Submission.ID, b.submit(f).Submission.ID
	b.submit(f, longAgo)
	b.submit(f, longAgo)
	removed(0, "submissions")
	b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, one), "DeleteSubmission")
	removed(1, "a deletion")
	b.is(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, one), storage.ErrNotFound, "DeleteSubmission")
	b.erase(f.ID, 0, one, foreign)
	removed(1, "removals of nothing")
	b.erase(f.ID, 2, two, three)
	removed(3, "an erasure")
	b.trashForm(f.ID)
	b.purge(at(-time.Hour), 1, f.ID)
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	removed(5, "a purge in the trash")
}

func erasesInTrash(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	mine, foreign := b.submit(f), b.submit(other)
	b.trashForm(f.ID)
	b.erase(f.ID, 1, mine.Submission.ID, foreign.Submission.ID)
	b.erase(newID(), 0, foreign.Submission.ID)
	same(b, len(b.submissions(other.ID)), 1, "submissions of another form")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, b.submissions(f.ID), nil, "Submissions after they were erased in the trash")
}

// purge purges the submissions of forms until there are none.
func (b *bundle) purge(before time.Time, most int, forms ...storage.ID) (calls, purged int) {
	b.Helper()
	for {
		got, err := b.store.PurgeSubmissions(b.Context(), storage.PurgeSubmissionsParams{Forms: forms, Before: before, Max: most})
		b.ok(err, "PurgeSubmissions")
		if got.Submissions > most {
			b.Errorf("PurgeSubmissions: %d submissions with a Max of %d", got.Submissions, most)
		}
		calls++
		purged += got.Submissions
		if !got.More {
			return calls, purged
		}
		if calls > 1000 {
			b.Fatalf("PurgeSubmissions: More does not end")
		}
	}
}

// longAgo gives a response a time before all others.
func longAgo(n *storage.NewSubmission) { n.Submission.SubmittedAt = at(-1000 * time.Hour) }

func purgesSubmissions(b *bundle) {
	f, g, other := b.anyForm(), b.anyForm(), b.anyForm()
	hook := b.addWebhook(f.ID)
	old := b.submit(f, longAgo, withKey("old"))
	b.finish(ended(b.claimOne(), b.tick()))
	b.submit(g, longAgo)
	exact := b.submit(f, func(n *storage.NewSubmission) { n.Submission.SubmittedAt = at(-time.Hour) })
	b.submit(other, longAgo)
	b.trashForm(g.ID)
	_, purged := b.purge(at(-time.Hour), 100, f.ID, g.ID, newID())
	same(b, purged, 2, "submissions that were purged")
	same(b, only(b, b.submissions(f.ID), "Submissions").ID, exact.Submission.ID, "the submission of exactly Before")
	same(b, len(b.submissions(other.ID)), 1, "submissions of a form that was not named")
	b.ok(b.store.RestoreForm(b.Context(), g.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, b.submissions(g.ID), nil, "Submissions of a form in the trash")
	_, err := b.store.SubmissionByKey(b.Context(), f.ID, "old")
	b.is(err, storage.ErrNotFound, "SubmissionByKey of a purged submission")
	same(b, b.attempts(hook.ID)[0].SubmissionID, old.Submission.ID, "the attempt in the history")
	b.is(b.store.Redeliver(b.Context(), hook.ID, b.attempts(hook.ID)[0].ID), storage.ErrNotFound, "Redeliver of an event whose submission is purged")
	same(b, b.stats().Due, int64(1), "pending deliveries")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Submissions, int64(2), "submissions in the funnel")
	same(b, b.getForm(f.ID).Revision, f.Revision, "Revision")
}

func purgeKeepsPlaces(b *bundle) {
	f := b.anyForm(withLimit(3))
	b.submit(f, longAgo)
	b.submit(f, longAgo)
	b.purge(at(-time.Hour), 1, f.ID)
	n := b.submit(f)
	b.full(f, true, "after 2 of 3 are purged and one is stored")
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "the purged ones keep their places")
	b.deleteSubmission(n)
	b.full(f, false, "after the third is deleted")
	f = b.update(f.ID, storage.FormChange{Acceptance: &storage.AcceptanceRules{}, At: b.tick()})
	b.submit(f)
	f = b.update(f.ID, storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: 4}, At: b.tick()})
	b.full(f, false, "3 of 4, of which 2 are purged")
	b.submit(f)
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "the purged ones count for a limit that is set later")
	b.purge(soon(), 100, f.ID)
	b.full(f, true, "after all are purged")
	same(b, b.submissions(f.ID), nil, "Submissions")
}

func purgesInPieces(b *bundle) {
	f, g := b.anyForm(), b.anyForm()
	for range 5 {
		b.submit(f, longAgo)
		b.submit(g, longAgo)
	}
	none, err := b.store.PurgeSubmissions(b.Context(), storage.PurgeSubmissionsParams{Forms: []storage.ID{f.ID}, Before: soon()})
	b.ok(err, "PurgeSubmissions with a Max of 0")
	same(b, none, storage.PurgedSubmissions{}, "PurgeSubmissions with a Max of 0")
	calls, purged := b.purge(soon(), 3, f.ID, g.ID)
	same(b, purged, 10, "submissions that were purged")
	if calls < 4 {
		b.Errorf("PurgeSubmissions: 10 submissions in %d calls with a Max of 3", calls)
	}
}

func purgeFreesAnswers(b *bundle) {
	f := b.anyForm()
	b.submit(f, longAgo, answered("a"))
	b.submit(f, longAgo, answered("b"))
	other := b.submit(f, answered("a"))
	f = b.setField(f.ID, fieldOne)
	b.enterAll(1)
	b.submit(f, longAgo, unique(fieldOne, "c"))
	b.purge(at(-time.Hour), 1, f.ID)
	b.taken(f.ID, fieldOne, "a", true, "which a submission has that is not purged")
	b.taken(f.ID, fieldOne, "b", false, "whose submission is purged")
	b.taken(f.ID, fieldOne, "c", false, "whose submission is purged")
	b.deleteSubmission(other)
	b.taken(f.ID, fieldOne, "a", false, "whose submissions are purged and deleted")

	f = b.anyForm()
	b.submit(f, longAgo, answered("a"))
	b.submit(f, answered("b"))
	b.setField(f.ID, fieldOne)
	piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10})
	same(b, len(piece.Submissions), 2, "submissions to enter")
	b.purge(at(-time.Hour), 10, f.ID)
	enter(b, b.store, piece)
	b.covered(f.ID, true, "after the batch")
	b.taken(f.ID, fieldOne, "a", false, "whose submission was purged before it was indexed")
	b.taken(f.ID, fieldOne, "b", true, "whose submission exists")

	f = b.anyForm(withUnique(fieldTwo))
	b.submit(f, longAgo, unique(fieldTwo, "a"))
	b.setField(f.ID, fieldOne)
	b.trashForm(f.ID)
	b.purge(at(-time.Hour), 10, f.ID)
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	b.setField(f.ID, fieldTwo)
	b.taken(f.ID, fieldTwo, "a", false, "whose submission was purged in the trash while another field was set")
}
