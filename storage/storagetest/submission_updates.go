package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// noSubmissionUpdates says that a store cannot change submissions, if that is so.
func noSubmissionUpdates(ctx context.Context, s storage.Storage) string {
	_, updated := s.UpdateSubmission(ctx, storage.AsHost(), storage.SubmissionUpdate{At: at(0)})
	_, listed := s.SubmissionHistory(ctx, storage.AsHost(), storage.ID{}, storage.ID{})
	if !errors.Is(updated, storage.ErrUnimplemented) || !errors.Is(listed, storage.ErrUnimplemented) {
		return ""
	}
	return "UpdateSubmission and SubmissionHistory return ErrUnimplemented: submissions do not change"
}

func submissionUpdateCases() []Case {
	cases := []Case{
		{"stored", "UpdateSubmission replaces answers, hidden fields and the form revision, and every method that reads the submission returns the change.", storesUpdate},
		{"order", "UpdateSubmission checks the submission, its revision, the form's revision and the unique answer in this order, and a refused call changes nothing.", updateOrder},
		{"history", "SubmissionHistory returns the earlier states, newest first, and at most 20.", keepsHistory},
		{"unique", "UpdateSubmission frees the old unique answer, takes the new one, and accepts an unchanged one.", updatesUnique},
		{"unique_of_several", "An unchanged answer that an old submission also has is accepted, and stays taken.", updatesSharedUnique},
		{"earlier_field", "UpdateSubmission removes the entries for earlier unique fields, so that the backfill reads the new answers.", updatesEarlierField},
		{"backfill", "A submission that changes between PendingBackfill and BackfillAnswers is indexed with its new answer.", updatesDuringBackfill},
		{"other_rules", "An update with other rules than the form restarts the backfill with the newer rules.", updatesByOtherRules},
		{"nothing_else", "UpdateSubmission does not change the limit, the funnel, the deliveries, or another submission, whatever the form's status and limit.", updatesNothingElse},
		{"event", "UpdateSubmission queues its event for the enabled webhooks of the form that have Updates at this time, and only if the change is stored.", queuesUpdateEvent},
		{"event_removal", "Every method that removes a submission also removes the events of its updates, whether they are pending, delivered or redelivered.", removesUpdateEvents},
		{"removed", "Each update increments SubmissionsRemoved by one.", countsUpdate},
		{"removal", "Every method that removes a submission removes its earlier states.", removesHistory},
		{"trash", "A submission to a form in the trash cannot change, and has its earlier states after the form is restored.", updatesInTrash},
		{"isolation", "Without access to the form, both methods return ErrNotFound, also through another form.", updateIsolation},
		{"invalid_values", "Text and times that are not valid are ErrInvalidValue, and nothing changes.", invalidUpdate},
		{"concurrent_updates", "Of concurrent updates at one revision, exactly one is stored.", concurrentSubmissionUpdates},
		{"concurrent_unique", "Of concurrent updates and submissions with the same unique answer, exactly one is stored.", concurrentUniqueUpdates},
		{"concurrent_removal", "A submission that is updated and removed concurrently leaves no earlier state and no unique answer.", concurrentUpdateAndRemoval},
	}
	for _, op := range submissionUpdateOperations() {
		cases = append(cases, contextCase("ended_context_"+op.name, op))
	}
	return cases
}

// submissionUpdateOperations stand apart because a store need not have the methods.
func submissionUpdateOperations() []operation {
	return []operation{
		{"UpdateSubmission", "update", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			u := updateOf(w.form, w.first.Submission, "changed")
			u.At = w.now
			_, err := s.UpdateSubmission(ctx, actor, u)
			return err
		}},
		{"SubmissionHistory", "history", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.SubmissionHistory(ctx, actor, w.form.ID, w.first.Submission.ID)
			return err
		}},
	}
}

// updateOf changes a submission's answer. Its unique answer is the same text.
func updateOf(f storage.Form, s storage.Submission, answer string) storage.SubmissionUpdate {
	return storage.SubmissionUpdate{
		FormID: f.ID, ID: s.ID, IfRevision: s.Revision, FormRevision: f.Revision, At: s.SubmittedAt.Add(time.Hour), By: newID(),
		Answers:     jsonText(fmt.Sprintf(`[{"field":{"id":"q1"}, "value":%q}]`, answer)),
		Hidden:      jsonText(fmt.Sprintf(`{"ref" :%q}`, answer)),
		UniqueField: f.Acceptance.Unique, UniqueAnswer: []byte(answer), Ending: "corrected",
	}
}

// withUpdateEvent gives the update an event.
func withUpdateEvent(u storage.SubmissionUpdate) storage.SubmissionUpdate {
	u.Event = newEvent()
	u.Event.Type = "form.response.updated"
	return u
}

func withUpdates(w *storage.Webhook) { w.Updates = true }

// changed is the submission after the update.
func changed(s storage.Submission, u storage.SubmissionUpdate) storage.Submission {
	s.Answers, s.Hidden, s.FormRevision, s.Revision, s.ChangedAt = u.Answers, u.Hidden, u.FormRevision, u.IfRevision+1, u.At
	s.Ending = u.Ending
	return s
}

// stateBefore is what the history has of the submission after the update.
func stateBefore(s storage.Submission, u storage.SubmissionUpdate) storage.SubmissionState {
	return storage.SubmissionState{
		Revision: s.Revision, FormRevision: s.FormRevision, Answers: s.Answers, Hidden: s.Hidden, ReplacedAt: u.At, ReplacedBy: u.By,
		ReplacedByRespondent: u.ByRespondent,
	}
}

func (b *bundle) updateSubmission(u storage.SubmissionUpdate) storage.Submission {
	b.Helper()
	got, err := b.store.UpdateSubmission(b.Context(), storage.AsHost(), u)
	b.ok(err, "UpdateSubmission")
	return got
}

func (b *bundle) refusesUpdate(u storage.SubmissionUpdate, want error, what string) {
	b.Helper()
	_, err := b.store.UpdateSubmission(b.Context(), storage.AsHost(), u)
	b.is(err, want, "UpdateSubmission: %s", what)
}

func (b *bundle) history(form, id storage.ID) []storage.SubmissionState {
	b.Helper()
	states, err := b.store.SubmissionHistory(b.Context(), storage.AsHost(), form, id)
	b.ok(err, "SubmissionHistory")
	return states
}

func storesUpdate(b *bundle) {
	f := b.anyForm()
	n := b.submit(f, withKey("one"), byRespondent(respondentIfStored(b)))
	same(b, b.history(f.ID, n.Submission.ID), nil, "the history of a new submission")
	f = b.update(f.ID, storage.FormChange{Name: ptr("Renamed"), At: b.tick()})
	u := updateOf(f, n.Submission, "  é\u0301 <&> \u2028")
	want := changed(n.Submission, u)
	same(b, b.updateSubmission(u), want, "what UpdateSubmission returns")
	got, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, want.ID)
	b.ok(err, "Submission")
	same(b, got, want, "Submission")
	got, err = b.store.SubmissionByKey(b.Context(), f.ID, "one")
	b.ok(err, "SubmissionByKey")
	same(b, got, want, "SubmissionByKey")
	b.replays(n, want, "the first call again")
	same(b, b.submissions(f.ID), []storage.Submission{want}, "Submissions")
	size := len(want.Answers) + len(want.Metadata) + len(want.Hidden)
	b.submit(f, longAgo)
	for _, most := range []int{size - 1, size} { // the size of a record changes with its answers
		page := b.page(f.ID, storage.SubmissionsParams{MaxBytes: most, Page: storage.Page{Limit: 5}})
		same(b, page.Submissions, []storage.Submission{want}, "Submissions within %d bytes", most)
	}
	if want.Respondent != "" {
		same(b, b.submissionsOf(want.Respondent, 5), []storage.Submission{want}, "RespondentSubmissions")
	}
	page := b.page(f.ID, storage.SubmissionsParams{SummaryOnly: true, Page: storage.Page{Limit: 1}})
	same(b, only(b, page.Submissions, "Submissions for a summary").Answers, want.Answers, "the answers for a summary")
}

// respondentIfStored is empty for a store without respondents.
func respondentIfStored(b *bundle) string {
	if noRespondents(b.Context(), b.store) != "" {
		return ""
	}
	return "ann"
}

func updateOrder(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.addWebhook(f.ID)
	taken := b.submit(f, unique(fieldOne, "taken"))
	n := b.submit(f, unique(fieldOne, "mine"))
	wrong := func(edit func(*storage.SubmissionUpdate)) storage.SubmissionUpdate {
		u := updateOf(f, n.Submission, "taken")
		u.FormRevision++
		u.IfRevision++
		edit(&u)
		return u
	}
	b.unchanged("UpdateSubmission that is refused", func() {
		b.refusesUpdate(wrong(func(u *storage.SubmissionUpdate) { u.FormID = newID() }), storage.ErrNotFound, "no form")
		b.refusesUpdate(wrong(func(u *storage.SubmissionUpdate) { u.ID = newID() }), storage.ErrNotFound, "no submission")
		_, err := b.store.UpdateSubmission(b.Context(), storage.AsHost(), wrong(func(*storage.SubmissionUpdate) {}))
		b.isDocumentRevision(err, "submission", 1, "UpdateSubmission at another revision")
		_, err = b.store.UpdateSubmission(b.Context(), storage.AsHost(), wrong(func(u *storage.SubmissionUpdate) { u.IfRevision = 1 }))
		b.isDocumentRevision(err, "", f.Revision, "UpdateSubmission at another revision of the form")
		b.refusesUpdate(updateOf(f, n.Submission, "taken"), storage.ErrDuplicate, "an answer of another submission")
		same(b, b.history(f.ID, n.Submission.ID), nil, "the history")
		same(b, b.history(f.ID, taken.Submission.ID), nil, "the history of the other submission")
	})
	got := b.updateSubmission(updateOf(f, n.Submission, "free"))
	_, err := b.store.UpdateSubmission(b.Context(), storage.AsHost(), updateOf(f, n.Submission, "stale"))
	b.isDocumentRevision(err, "submission", got.Revision, "UpdateSubmission at the first revision again")
}

func keepsHistory(b *bundle) {
	f := b.anyForm()
	current := b.submit(f).Submission
	other := b.submit(f).Submission
	var want []storage.SubmissionState
	for i := range storage.MaxSubmissionStates + 5 {
		u := updateOf(f, current, fmt.Sprint("answer ", i))
		u.At = u.At.Add(time.Duration(i) * time.Minute)
		if i%2 == 0 {
			u.By, u.ByRespondent = storage.ID{}, i%4 == 0
		}
		want = slices.Insert(want, 0, stateBefore(current, u))
		current = b.updateSubmission(u)
		same(b, b.history(f.ID, current.ID), want[:min(len(want), storage.MaxSubmissionStates)], "SubmissionHistory after %d updates", i+1)
	}
	same(b, current.Revision, int64(storage.MaxSubmissionStates+6), "Revision")
	same(b, b.history(f.ID, other.ID), nil, "SubmissionHistory of another submission")
}

func updatesUnique(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	s := b.submit(f, unique(fieldOne, "a")).Submission
	b.submit(f, unique(fieldOne, "x"))
	s = b.updateSubmission(updateOf(f, s, "b"))
	b.taken(f.ID, fieldOne, "b", true, "after the update")
	b.refusesUpdate(updateOf(f, s, "x"), storage.ErrDuplicate, "the answer of another submission")
	s = b.updateSubmission(updateOf(f, s, "b"))
	b.taken(f.ID, fieldOne, "b", true, "after an update with the same answer")
	b.taken(f.ID, fieldOne, "a", false, "which was replaced")
	none := updateOf(f, s, "")
	none.UniqueAnswer = nil
	b.updateSubmission(none)
	b.taken(f.ID, fieldOne, "b", false, "which was removed")
}

func updatesSharedUnique(b *bundle) {
	f := b.anyForm()
	first, second := b.submit(f, answered("a")).Submission, b.submit(f, answered("a")).Submission
	f = b.setField(f.ID, fieldOne)
	b.enterAll(1)
	second = b.updateSubmission(updateOf(f, second, "a"))
	first = b.updateSubmission(updateOf(f, first, "a"))
	b.updateSubmission(updateOf(f, first, "b"))
	b.taken(f.ID, fieldOne, "a", true, "which the second submission still has")
	b.updateSubmission(updateOf(f, second, "c"))
	b.taken(f.ID, fieldOne, "a", false, "which no submission has")
	b.covered(f.ID, true, "after updates")
}

func updatesEarlierField(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	s := b.submit(f, unique(fieldOne, "old")).Submission
	f = b.setField(f.ID, storage.UniqueField{})
	u := updateOf(f, s, "new")
	u.UniqueAnswer = nil
	b.updateSubmission(u)
	b.setField(f.ID, fieldOne)
	b.enterAll(1)
	b.taken(f.ID, fieldOne, "new", true, "of the submission")
	b.taken(f.ID, fieldOne, "old", false, "which was replaced while the form had no unique field")
}

func updatesDuringBackfill(b *bundle) {
	f := b.anyForm()
	first, second := b.submit(f, answered("a")).Submission, b.submit(f, answered("b")).Submission
	f = b.setField(f.ID, fieldOne)
	piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10})
	b.updateSubmission(updateOf(f, first, "c"))
	none := updateOf(f, second, "")
	none.UniqueAnswer = nil
	b.updateSubmission(none)
	enter(b, b.store, piece)
	b.enterAll(1)
	b.covered(f.ID, true, "after the backfill")
	b.taken(f.ID, fieldOne, "c", true, "of the update")
	for _, old := range []string{"a", "b"} {
		b.taken(f.ID, fieldOne, old, false, "which was replaced during the backfill")
	}
}

func updatesByOtherRules(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	s := b.submit(f, unique(fieldOne, "a")).Submission
	b.submit(f, unique(fieldOne, "b"))
	u := updateOf(f, s, "c")
	u.UniqueField.Rules = 2
	b.updateSubmission(u)
	b.covered(f.ID, false, "after an update with newer rules")
	b.enterAll(2)
	b.covered(f.ID, true, "after the backfill")
	for _, answer := range []string{"b", "c"} {
		b.taken(f.ID, u.UniqueField, answer, true, "with the newer rules")
	}
	b.taken(f.ID, u.UniqueField, "a", false, "which was replaced")
}

func updatesNothingElse(b *bundle) {
	f := b.anyForm(withLimit(2))
	hook := b.addWebhook(f.ID)
	first, second := b.submit(f), b.submit(f)
	b.full(f, true, "after two submissions")
	f = b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), Acceptance: &storage.AcceptanceRules{ResponseLimit: 2, Closed: true}, At: b.tick()})
	funnel := b.funnel(f.ID, time.Time{}, time.Time{})
	u := updateOf(f, first.Submission, "changed")
	b.updateSubmission(u)
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}), funnel, "the funnel")
	same(b, b.submissions(f.ID), []storage.Submission{second.Submission, changed(first.Submission, u)}, "Submissions")
	b.full(f, true, "after an update")
	same(b, b.stats().Due, int64(2), "pending deliveries")
	var bodies []string
	for _, d := range b.claimAll() {
		same(b, d.Lease.WebhookID, hook.ID, "the webhook of a delivery")
		bodies = append(bodies, string(d.Body))
	}
	slices.Sort(bodies)
	want := []string{string(first.Event.Body), string(second.Event.Body)}
	slices.Sort(want)
	same(b, bodies, want, "the events")
}

func queuesUpdateEvent(b *bundle) {
	f := b.anyForm()
	asking, detailed, later := b.addWebhook(f.ID, withUpdates), b.addWebhook(f.ID, withUpdates, withFormDetails), b.addWebhook(f.ID)
	b.addWebhook(f.ID, withUpdates, asDisabled)
	b.addWebhook(b.anyForm().ID, withUpdates)
	s := b.submit(f).Submission
	for _, d := range b.claimSome(3) {
		b.finish(succeeded(d, b.tick()))
	}
	s = b.updateSubmission(updateOf(f, s, "without an event"))
	stale := withUpdateEvent(updateOf(f, s, "stale"))
	stale.IfRevision++
	b.refusesUpdate(stale, storage.ErrRevisionMismatch, "at another revision")
	b.nothingPending("no change has an event")

	first := withUpdateEvent(updateOf(f, s, "first"))
	first.Event.Body, first.Event.Details = []byte(`{"id":"1","response":{"formId":"2"}}`), []byte(`,"formName":"F"}}`)
	s = b.updateSubmission(first)
	b.updateWebhook(asking.ID, storage.WebhookChange{Updates: ptr(false)})
	b.updateWebhook(later.ID, storage.WebhookChange{Updates: ptr(true)})
	second := withUpdateEvent(updateOf(f, s, "second"))
	b.updateSubmission(second)
	want := map[string]bool{
		asking.ID.String() + string(first.Event.Body): true, detailed.ID.String() + `{"id":"1","response":{"formId":"2","formName":"F"}}`: true,
		later.ID.String() + string(second.Event.Body): true, detailed.ID.String() + string(second.Event.Body): true,
	}
	got := map[string]bool{}
	for _, d := range b.claimSome(len(want)) {
		got[d.Lease.WebhookID.String()+string(d.Body)] = true
		same(b, d.EventType, first.Event.Type, "the type of the event")
		same(b, d.SubmissionID, s.ID, "the submission of the event")
	}
	same(b, got, want, "the events for the webhooks")
}

func removesUpdateEvents(b *bundle) {
	removals := map[string]func(f storage.Form, id storage.ID){
		"DeleteSubmission": func(f storage.Form, id storage.ID) {
			b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, id), "DeleteSubmission")
		},
		"EraseSubmissions": func(f storage.Form, id storage.ID) { b.erase(f.ID, 1, id) },
		"PurgeSubmissions": func(f storage.Form, _ storage.ID) { b.purge(soon(), 10, f.ID) },
	}
	respondent := respondentIfStored(b)
	if respondent != "" {
		removals["EraseRespondent"] = func(storage.Form, storage.ID) { b.eraseRespondent(respondent, 10) }
	}
	for name, remove := range removals {
		f := b.anyForm()
		hook := b.addWebhook(f.ID, withUpdates)
		s := b.submit(f, byRespondent(respondent)).Submission
		b.finish(succeeded(b.claimOne(), b.tick()))
		update := func() {
			s = b.updateSubmission(withUpdateEvent(updateOf(f, s, "changed")))
		}
		for range 2 {
			update()
			b.finish(succeeded(b.claimOne(), b.tick()))
		}
		b.ok(b.store.Redeliver(b.Context(), hook.ID, b.newestAttempt(hook.ID).ID), "Redeliver")
		update()
		same(b, b.stats().Due, int64(2), "pending deliveries before %s", name)
		other := b.submit(f).Submission // of nobody
		if name == "PurgeSubmissions" {
			b.erase(f.ID, 1, other.ID)
		} else {
			b.updateSubmission(withUpdateEvent(updateOf(f, other, "other")))
		}
		remove(f, s.ID)
		for _, a := range b.attempts(hook.ID) {
			b.is(b.store.Redeliver(b.Context(), hook.ID, a.ID), storage.ErrNotFound, "Redeliver after %s", name)
		}
		for _, d := range b.claimAll() {
			same(b, d.SubmissionID, other.ID, "the submission of an event that is pending after %s", name)
			b.finish(succeeded(d, b.tick()))
		}
		if name != "PurgeSubmissions" {
			same(b, len(b.attempts(hook.ID)), 5, "attempts after the events of the other submission, with %s", name)
		}
	}
}

func countsUpdate(b *bundle) {
	f := b.anyForm()
	s := b.submit(f).Submission
	removed := func(want int64, when string) {
		got, err := b.store.SubmissionsRemoved(b.Context(), storage.AsHost(), f.ID)
		b.ok(err, "SubmissionsRemoved")
		same(b, got, want, "SubmissionsRemoved %s", when)
	}
	s = b.updateSubmission(updateOf(f, s, "a"))
	removed(1, "after an update")
	s = b.updateSubmission(updateOf(f, s, "b"))
	removed(2, "after two updates")
	b.erase(f.ID, 1, s.ID)
	removed(3, "after two updates and a removal")
}

func removesHistory(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	removals := map[string]func(id storage.ID){
		"DeleteSubmission": func(id storage.ID) {
			b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, id), "DeleteSubmission")
		},
		"EraseSubmissions": func(id storage.ID) { b.erase(f.ID, 1, id) },
		"PurgeSubmissions": func(storage.ID) { b.purge(soon(), 10, f.ID) },
	}
	respondent := respondentIfStored(b)
	if respondent != "" {
		removals["EraseRespondent"] = func(storage.ID) { b.eraseRespondent(respondent, 10) }
	}
	n := b.newSubmissionOf(f, byRespondent(respondent), unique(fieldOne, "a"))
	for name, remove := range removals {
		_, _, err := b.store.Submit(b.Context(), n) // with the same ID again
		b.ok(err, "Submit")
		b.updateSubmission(updateOf(f, n.Submission, "b"))
		same(b, len(b.history(f.ID, n.Submission.ID)), 1, "earlier states before %s", name)
		remove(n.Submission.ID)
		_, err = b.store.SubmissionHistory(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
		b.is(err, storage.ErrNotFound, "SubmissionHistory after %s", name)
		b.refusesUpdate(updateOf(f, n.Submission, "c"), storage.ErrNotFound, "after "+name)
		b.taken(f.ID, fieldOne, "b", false, "after "+name)
		_, _, err = b.store.Submit(b.Context(), n)
		b.ok(err, "Submit")
		same(b, b.history(f.ID, n.Submission.ID), nil, "the history of a new submission with the same ID, after %s", name)
		b.erase(f.ID, 1, n.Submission.ID)
	}
	_, _, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit")
	b.updateSubmission(updateOf(f, n.Submission, "b"))
	b.trashForm(f.ID)
	b.ok(b.store.PurgeForm(b.Context(), f.ID), "PurgeForm")
	b.sweep(storage.SweepParams{Now: soon(), RemovalsOnly: true, Max: 10})
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm with the ID of a purged form")
	_, _, err = b.store.Submit(b.Context(), n)
	b.ok(err, "Submit")
	same(b, b.history(f.ID, n.Submission.ID), nil, "the history after a purge of the form")
}

func updatesInTrash(b *bundle) {
	f := b.anyForm()
	s := b.submit(f).Submission
	u := updateOf(f, s, "a")
	want := []storage.SubmissionState{stateBefore(s, u)}
	s = b.updateSubmission(u)
	b.trashForm(f.ID)
	b.refusesUpdate(updateOf(f, s, "b"), storage.ErrNotFound, "a form in the trash")
	_, err := b.store.SubmissionHistory(b.Context(), storage.AsHost(), f.ID, s.ID)
	b.is(err, storage.ErrNotFound, "SubmissionHistory of a form in the trash")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, b.history(f.ID, s.ID), want, "the history after the form was restored")
	b.updateSubmission(updateOf(b.getForm(f.ID), s, "b"))
}

func updateIsolation(b *bundle) {
	w := b.furnish()
	own := b.addForm(w.foreign.ID)
	b.unchanged("UpdateSubmission without access", func() {
		for _, op := range submissionUpdateOperations() {
			b.is(op.call(b.Context(), b.store, w, storage.As(w.stranger)), storage.ErrNotFound, "%s by a stranger", op.method)
			b.is(op.call(b.Context(), b.store, w, storage.Actor{}), storage.ErrNotFound, "%s by the zero actor", op.method)
		}
		u := updateOf(own, w.first.Submission, "changed")
		_, err := b.store.UpdateSubmission(b.Context(), storage.As(w.stranger), u)
		b.is(err, storage.ErrNotFound, "UpdateSubmission through another form")
		_, err = b.store.SubmissionHistory(b.Context(), storage.As(w.stranger), own.ID, u.ID)
		b.is(err, storage.ErrNotFound, "SubmissionHistory through another form")
	})
	for _, user := range []storage.ID{w.owner, w.member} {
		s, err := b.store.Submission(b.Context(), storage.As(user), w.form.ID, w.first.Submission.ID)
		b.ok(err, "Submission")
		_, err = b.store.UpdateSubmission(b.Context(), storage.As(user), updateOf(w.form, s, "changed"))
		b.ok(err, "UpdateSubmission by a member")
		states, err := b.store.SubmissionHistory(b.Context(), storage.As(user), w.form.ID, s.ID)
		b.ok(err, "SubmissionHistory by a member")
		same(b, len(states), int(s.Revision), "earlier states")
	}
}

func invalidUpdate(b *bundle) {
	w := b.furnish()
	all := calls{}
	add := func(what string, edit func(*storage.SubmissionUpdate)) {
		u := updateOf(w.form, w.first.Submission, "changed")
		edit(&u)
		all["UpdateSubmission, "+what] = func() error {
			_, err := b.store.UpdateSubmission(b.Context(), storage.AsHost(), u)
			return err
		}
	}
	add("no time", func(u *storage.SubmissionUpdate) { u.At = time.Time{} })
	for i, t := range invalidTimes {
		add(fmt.Sprint("time ", i), func(u *storage.SubmissionUpdate) { u.At = t })
	}
	for i, s := range invalidTexts {
		add(fmt.Sprint("answers ", i), func(u *storage.SubmissionUpdate) { u.Answers = jsonText(`["` + s + `"]`) })
		add(fmt.Sprint("hidden ", i), func(u *storage.SubmissionUpdate) { u.Hidden = jsonText(`{"ref":"` + s + `"}`) })
		add(fmt.Sprint("field ", i), func(u *storage.SubmissionUpdate) { u.UniqueField.Block = s })
	}
	b.refuseAll(all)
}

func concurrentSubmissionUpdates(b *bundle) {
	f := b.anyForm()
	s := b.submit(f).Submission
	const rounds, calls = 5, 8
	for i := range rounds {
		errs := together(calls, func(k int) error {
			_, err := b.eitherHandle(k).UpdateSubmission(b.Context(), storage.AsHost(), updateOf(f, s, fmt.Sprint(i, k)))
			return err
		})
		same(b, b.outcome(errs, storage.ErrRevisionMismatch, "UpdateSubmission"), 1, "updates at one revision")
		s = only(b, b.submissions(f.ID), "Submissions")
		same(b, s.Revision, int64(i+2), "Revision")
	}
	same(b, len(b.history(f.ID, s.ID)), rounds, "earlier states")
}

func concurrentUniqueUpdates(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	const n = 12
	var subs []storage.Submission
	for i := range n {
		subs = append(subs, b.submit(f, unique(fieldOne, fmt.Sprint("old ", i))).Submission)
	}
	errs := together(2*n, func(i int) error {
		if i%2 == 0 {
			_, err := b.eitherHandle(i/2).UpdateSubmission(b.Context(), storage.AsHost(), updateOf(f, subs[i/2], "same"))
			return err
		}
		s := submissionAt(f, at(time.Duration(i)*time.Minute))
		unique(fieldOne, "same")(&s)
		_, _, err := b.eitherHandle(i/2).Submit(b.Context(), s)
		return err
	})
	same(b, b.outcome(errs, storage.ErrDuplicate, "UpdateSubmission and Submit"), 1, "calls that took the answer")
	found := 0
	for _, s := range b.submissions(f.ID) {
		if answerIn(s.Answers) == "same" {
			found++
		}
	}
	same(b, found, 1, "submissions with the answer")
}

func concurrentUpdateAndRemoval(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.addWebhook(f.ID, withUpdates)
	n := b.newSubmissionOf(f, unique(fieldOne, "old"), byRespondent("ann"))
	for i := range 16 {
		_, _, err := b.store.Submit(b.Context(), n)
		b.ok(err, "Submit")
		removals := []func(storage.Storage) error{
			func(s storage.Storage) error {
				_, err := s.EraseSubmissions(b.Context(), f.ID, []storage.ID{n.Submission.ID})
				return err
			},
			func(s storage.Storage) error {
				return s.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
			},
			func(s storage.Storage) error {
				_, err := s.PurgeSubmissions(b.Context(), storage.PurgeSubmissionsParams{Forms: []storage.ID{f.ID}, Before: soon(), Max: 10})
				return err
			},
			func(s storage.Storage) error {
				_, err := s.EraseRespondent(b.Context(), storage.EraseRespondentParams{Respondent: "ann", Max: 10})
				return err
			},
		}
		if noRespondents(b.Context(), b.store) != "" {
			removals = removals[:3]
		}
		errs := together(2, func(k int) error {
			if k == 0 {
				return removals[i%len(removals)](b.eitherHandle(i))
			}
			_, err := b.eitherHandle(i+1).UpdateSubmission(b.Context(), storage.AsHost(), withUpdateEvent(updateOf(f, n.Submission, "new")))
			return err
		})
		b.ok(errs[0], "the removal")
		if errs[1] != nil {
			b.is(errs[1], storage.ErrNotFound, "UpdateSubmission of a submission that is removed concurrently")
		}
		b.taken(f.ID, fieldOne, "new", false, "of a submission that is removed")
		b.nothingPending("the submission is removed")
		_, _, err = b.store.Submit(b.Context(), n)
		b.ok(err, "Submit with the ID of a removed submission")
		same(b, b.history(f.ID, n.Submission.ID), nil, "the history of a new submission with the same ID")
		b.erase(f.ID, 1, n.Submission.ID)
	}
}
