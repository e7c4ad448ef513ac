package storagetest

import (
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func submitCases() []Case {
	return []Case{
		{"store_and_read", "Submit stores a submission, which is returned as it was stored.", storeSubmission},
		{"idempotency_replay", "Submit with a known idempotency key returns the first submission with replayed true, whatever the content, and changes nothing.", replaySubmission},
		{"idempotency_before_checks", "Submit checks the idempotency key before revision, status, limit and unique answer.", replayBeforeChecks},
		{"idempotency_by_form", "Each form has its own idempotency keys, and an empty key has no effect.", keysByForm},
		{"unknown_form", "Submit returns ErrNotFound for an unknown form.", submitUnknownForm},
		{"revision", "Submit returns a *RevisionError if the form is not at FormRevision.", submitRevision},
		{"draft", "Submit returns ErrNotFound if the form is not published.", submitDraft},
		{"limit", "Submit returns ErrLimitReached if as many submissions are stored as the response limit allows.", submitLimit},
		{"closed_is_the_callers", "Of the acceptance rules, Submit checks only the response limit.", submitClosed},
		{"unique_answer", "Submit returns ErrDuplicate if a stored submission of the form has the same unique answer.", submitUnique},
		{"unique_answer_by_form", "Unique answers are checked within each form, and a nil answer is not checked.", uniqueByForm},
		{"order_of_checks", "Submit checks revision, status, limit and unique answer in this order.", submitOrder},
		{"refused_changes_nothing", "A rejected submission leaves no row, funnel count, event, idempotency key or unique answer.", submitRefused},
		{"queues_for_enabled", "Submit queues one delivery for each enabled webhook of the form, with the event's bytes.", submitQueues},
		{"no_webhook_no_event", "Without an enabled webhook, the event is not stored and never delivered.", submitWithoutWebhook},
	}
}

// refuse submits a response that has to be refused.
func (b *bundle) refuse(n storage.NewSubmission, want error, what string) {
	b.Helper()
	_, replayed, err := b.store.Submit(b.Context(), n)
	b.is(err, want, "Submit: %s", what)
	if replayed {
		b.Errorf("Submit: %s: replayed is true, though nothing was replayed", what)
	}
}

// replays submits a response that has to be answered with an earlier one.
func (b *bundle) replays(n storage.NewSubmission, want storage.Submission, what string) {
	b.Helper()
	got, replayed, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit: %s", what)
	if !replayed {
		b.Errorf("Submit: %s: want replayed true, got false", what)
	}
	same(b, got, want, "what Submit returns: %s", what)
}

func storeSubmission(b *bundle) {
	f := b.anyForm()
	n := b.newSubmission(f)
	n.IdempotencyKey = "once"
	got, replayed, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit")
	same(b, replayed, false, "replayed")
	same(b, got, n.Submission, "what Submit returns")
	got, err = b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
	b.ok(err, "Submission")
	same(b, got, n.Submission, "Submission")
	got, err = b.store.SubmissionByKey(b.Context(), f.ID, "once")
	b.ok(err, "SubmissionByKey")
	same(b, got, n.Submission, "SubmissionByKey")
	same(b, b.submissions(f.ID), []storage.Submission{n.Submission}, "Submissions")
}

func replaySubmission(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	first := b.submit(f, withKey("once"))
	b.unchanged("Submit with a key that the form has", func() {
		again := b.newSubmission(f)
		again.IdempotencyKey = "once"
		b.replays(again, first.Submission, "other content under the same key")
		b.replays(first, first.Submission, "the same call again")
	})
	if s := b.stats(); s.Due != 1 {
		b.Errorf("QueueStats: want one delivery after a replay, got %d", s.Due)
	}
}

func replayBeforeChecks(b *bundle) {
	f := b.anyForm(withLimit(1))
	first := b.submit(f, withKey("once"), withAnswer("a"))
	again := b.newSubmission(f)
	again.IdempotencyKey, again.UniqueField, again.UniqueAnswer = "once", fieldOne, []byte("a")
	b.replays(again, first.Submission, "the limit is reached and the answer is taken")
	b.update(f.ID, storage.FormChange{Name: ptr("x"), At: b.tick()})
	b.replays(again, first.Submission, "the form is at another revision")
	b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: b.tick()})
	b.replays(again, first.Submission, "the form is a draft")
}

func keysByForm(b *bundle) {
	one, two := b.anyForm(), b.anyForm()
	first := b.submit(one, withKey("once"))
	second := b.submit(two, withKey("once")) // of another form: stored
	b.submit(one, withKey("Once"))
	b.submit(one, withKey("once "))
	b.submit(one, withKey(""))
	b.submit(one, withKey(""))
	for _, n := range []storage.NewSubmission{first, second} {
		got, err := b.store.SubmissionByKey(b.Context(), n.Submission.FormID, "once")
		b.ok(err, "SubmissionByKey")
		same(b, got.ID, n.Submission.ID, "SubmissionByKey of one of two forms with the same key")
	}
	for _, key := range []string{"", "twice", "ONCE"} {
		_, err := b.store.SubmissionByKey(b.Context(), one.ID, key)
		b.is(err, storage.ErrNotFound, "SubmissionByKey(%q)", key)
	}
	_, err := b.store.SubmissionByKey(b.Context(), newID(), "once")
	b.is(err, storage.ErrNotFound, "SubmissionByKey of an unknown form")
}

func submitUnknownForm(b *bundle) {
	f := b.anyForm()
	n := b.newSubmission(f)
	n.Submission.FormID = newID()
	b.refuse(n, storage.ErrNotFound, "a form that does not exist")
}

func submitRevision(b *bundle) {
	f := b.anyForm()
	b.update(f.ID, storage.FormChange{Name: ptr("x"), At: b.tick()})
	for _, checked := range []int64{1, 3, 0} {
		n := b.newSubmission(f)
		n.FormRevision = checked
		_, _, err := b.store.Submit(b.Context(), n)
		b.isRevision(err, 2, "Submit with another revision")
	}
	same(b, b.submissions(f.ID), nil, "Submissions")
}

func submitDraft(b *bundle) {
	f := b.anyForm(asDraft)
	b.refuse(b.newSubmission(f), storage.ErrNotFound, "the form is a draft")
	b.submit(b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusPublished), At: b.tick()}))
	f = b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: b.tick()})
	b.refuse(b.newSubmission(f), storage.ErrNotFound, "the form is a draft again")
}

func submitLimit(b *bundle) {
	f := b.anyForm(withLimit(2))
	b.submit(f)
	n := b.submit(f)
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "2 of 2 are stored")
	b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID), "DeleteSubmission")
	b.submit(f)
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "2 of 2 are stored again")
	f = b.update(f.ID, storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: 3}, At: b.tick()})
	b.submit(f)
	b.refuse(b.newSubmission(f), storage.ErrLimitReached, "3 of 3 are stored")
	f = b.update(f.ID, storage.FormChange{Acceptance: &storage.AcceptanceRules{}, At: b.tick()})
	b.submit(f)
}

func submitClosed(b *bundle) {
	for _, gate := range []storage.AcceptanceRules{{Closed: true}, {OpenAt: at(time.Hour)}, {CloseAt: at(-time.Hour)}} {
		f := b.anyForm(func(f *storage.Form) { f.Acceptance = gate })
		b.submit(f)
		same(b, len(b.submissions(f.ID)), 1, "number of submissions")
	}
}

func submitUnique(b *bundle) {
	f := b.anyForm()
	b.submit(f, withAnswer("a"))
	b.submit(f, withAnswer("b"))
	for _, answer := range []string{"a", "b"} {
		n := b.newSubmission(f)
		n.UniqueField, n.UniqueAnswer = fieldOne, []byte(answer)
		b.refuse(n, storage.ErrDuplicate, "the answer is taken")
	}
}

func uniqueByForm(b *bundle) {
	one, two := b.anyForm(), b.anyForm()
	b.submit(one, withAnswer("a"))
	b.submit(two, withAnswer("a"))
	b.submit(one)
	b.submit(one)
	b.submit(one, withAnswer("a\x00"))
	b.submit(one, withAnswer("\xff\xfe"))
	same(b, len(b.submissions(one.ID)), 5, "number of submissions")
}

func submitOrder(b *bundle) {
	// All of the later checks would fail too, each time.
	f := b.anyForm(withLimit(1))
	b.submit(f, withAnswer("a"))
	n := b.newSubmission(f)
	n.UniqueField, n.UniqueAnswer = fieldOne, []byte("a")
	b.refuse(n, storage.ErrLimitReached, "the limit is reached and the answer is taken")
	f = b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: b.tick()})
	_, _, err := b.store.Submit(b.Context(), n)
	b.isRevision(err, f.Revision, "Submit with an old revision of a draft that is full")
	n.FormRevision = f.Revision
	b.refuse(n, storage.ErrNotFound, "the form is a draft and full")
}

func submitRefused(b *bundle) {
	full := b.anyForm(withLimit(1))
	b.addWebhook(full.ID)
	b.submit(full)
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f, withAnswer("a"))
	draft := b.anyForm(asDraft)
	b.addWebhook(draft.ID)

	duplicate, stale, over, early := b.newSubmission(f), b.newSubmission(f), b.newSubmission(full), b.newSubmission(draft)
	duplicate.UniqueAnswer, duplicate.IdempotencyKey = []byte("a"), "duplicate"
	duplicate.UniqueField = fieldOne
	stale.UniqueAnswer, stale.IdempotencyKey, stale.FormRevision = []byte("stale"), "stale", 2
	over.UniqueAnswer, over.IdempotencyKey = []byte("over"), "over"
	early.UniqueAnswer, early.IdempotencyKey = []byte("early"), "early"
	b.unchanged("Submit that is rejected", func() {
		b.refuse(duplicate, storage.ErrDuplicate, "the answer is taken")
		b.refuse(stale, storage.ErrRevisionMismatch, "another revision")
		b.refuse(over, storage.ErrLimitReached, "the limit is reached")
		b.refuse(early, storage.ErrNotFound, "the form is a draft")
	})
	for _, n := range []storage.NewSubmission{duplicate, stale, over, early} {
		_, err := b.store.SubmissionByKey(b.Context(), n.Submission.FormID, n.IdempotencyKey)
		b.is(err, storage.ErrNotFound, "SubmissionByKey of a submission that was rejected")
	}
	stale.FormRevision = 1
	b.submit(f, func(n *storage.NewSubmission) { *n = stale })
}

func submitQueues(b *bundle) {
	f := b.anyForm()
	one, two := b.addWebhook(f.ID), b.addWebhook(f.ID, func(w *storage.Webhook) { w.HasSecret = false })
	b.addWebhook(f.ID, asDisabled)
	b.addWebhook(b.addForm(f.WorkspaceID).ID) // of another form
	n := b.submit(f)
	got := map[storage.ID]storage.ClaimedDelivery{}
	for _, d := range b.claimAll() {
		got[d.Lease.WebhookID] = d
	}
	if len(got) != 2 {
		b.Fatalf("ClaimDeliveries: want one delivery for each of 2 enabled webhooks, got %d", len(got))
	}
	for _, w := range []storage.Webhook{one, two} {
		d := got[w.ID]
		same(b, d, storage.ClaimedDelivery{
			Lease:  storage.Lease{WebhookID: w.ID, EventID: n.Event.ID, Token: d.Lease.Token},
			FormID: f.ID, WorkspaceID: f.WorkspaceID, SubmissionID: n.Submission.ID, EventType: n.Event.Type, Body: n.Event.Body,
			URL: w.URL, Host: storage.Hostname(w.URL), Secret: secretOf(w), Attempt: 1, Age: d.Age,
		}, "Delivery")
	}
}

func submitWithoutWebhook(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID, asDisabled)
	b.submit(f)
	same(b, len(b.submissions(f.ID)), 1, "number of submissions")
	b.nothingPending("no webhook was enabled")
	got, err := b.store.Sweep(b.Context(), storage.SweepParams{Now: soon(), Max: 100})
	b.ok(err, "Sweep")
	same(b, got.Events, 0, "Events of Sweep: want 0, because no event body without references may exist")
	b.addWebhook(f.ID)
	_, err = b.store.UpdateWebhook(b.Context(), storage.AsHost(), w.ID, storage.WebhookChange{Enabled: ptr(true), At: b.tick()})
	b.ok(err, "UpdateWebhook")
	b.claimNone("no webhook was enabled when the submission was stored")
}

func submitWithoutEvent(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.addWebhook(f.ID)
	errs := together(20, func(i int) error {
		n := submissionAt(f, at(-1000*time.Hour))
		if i%2 == 0 {
			n.Event = storage.Event{}
		}
		if i%4 > 1 {
			unique(fieldOne, fmt.Sprint(i))(&n)
		}
		_, _, err := b.store.Submit(b.Context(), n)
		return err
	})
	for _, err := range errs {
		b.ok(err, "concurrent calls of Submit with and without an event")
	}
	same(b, len(b.submissions(f.ID)), 20, "number of submissions")
	same(b, b.stats().Due, int64(10), "pending deliveries")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Submissions, int64(20), "submissions in the funnel")
}
