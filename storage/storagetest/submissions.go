package storagetest

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func submissionCases() []Case {
	return []Case{
		{"unknown", "A submission that does not exist, or belongs to another form, is ErrNotFound.", unknownSubmission},
		{"since_until", "Submissions between Since and Until are listed, both inclusive to the microsecond.", sinceUntil},
		{"since_until_pages", "A position can be combined with Since and Until.", sinceUntilPages},
		{"form_revision", "A submission contains the form's revision against which it was checked.", submissionRevision},
		{"max_bytes", "A page of submissions ends before a record that would exceed MaxBytes, contains at least one record, and More reports whether the list continues.", submissionMaxBytes},
		{"refused", "Submissions returns the error of the function that it calls, and does not call it again.", submissionsRefused},
		{"brief", "A page with SummaryOnly has the same submissions, except for FormRevision, Hidden, Respondent, Revision and ChangedAt.", submissionsBrief},
		{"more", "More is true exactly if the list continues after the page.", submissionMore},
		{"delete", "DeleteSubmission permanently removes one submission, and no other.", deleteSubmission},
		{"delete_frees", "DeleteSubmission frees the idempotency key, the unique answer and the response limit.", deleteFrees},
		{"delete_keeps_funnel", "DeleteSubmission does not change the funnel.", deleteKeepsFunnel},
		{"delete_ends_deliveries", "DeleteSubmission ends the pending deliveries of the submission, including leased deliveries.", deleteEndsDeliveries},
		{"delete_drops_bodies", "DeleteSubmission removes the event's body, so that Redeliver of its attempts returns ErrNotFound.", deleteDropsBodies},
	}
}

func (b *bundle) deleteSubmission(n storage.NewSubmission) {
	b.Helper()
	b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), n.Submission.FormID, n.Submission.ID), "DeleteSubmission")
}

func unknownSubmission(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	n := b.submit(f)
	host := storage.AsHost()
	b.unchanged("calls for submissions that do not exist", func() {
		for what, place := range map[string][2]storage.ID{
			"an unknown id": {f.ID, newID()}, "another form's": {other.ID, n.Submission.ID}, "an unknown form": {newID(), n.Submission.ID},
		} {
			_, err := b.store.Submission(b.Context(), host, place[0], place[1])
			b.is(err, storage.ErrNotFound, "Submission, %s", what)
			b.is(b.store.DeleteSubmission(b.Context(), host, place[0], place[1]), storage.ErrNotFound, "DeleteSubmission, %s", what)
		}
		_, err := storage.ListSubmissions(b.Context(), b.store, host, newID(), storage.SubmissionsParams{Page: storage.Page{Limit: 10}})
		b.is(err, storage.ErrNotFound, "Submissions of an unknown form")
	})
}

// submitEvery stores n submissions, one an hour from at(0), and returns their
// ids, newest first.
func (b *bundle) submitEvery(f storage.Form, n int) []storage.ID {
	b.Helper()
	ids := make([]storage.ID, n)
	for i := range n {
		when := at(time.Duration(i) * time.Hour)
		ids[n-1-i] = b.submit(f, func(n *storage.NewSubmission) { n.Submission.SubmittedAt = when }).Submission.ID
	}
	return ids
}

func sinceUntil(b *bundle) {
	f := b.anyForm()
	ids := b.submitEvery(f, 5) // ids[4] at 0 h … ids[0] at 4 h
	const h, us = time.Hour, time.Microsecond
	none := time.Time{}
	for _, c := range []struct {
		name         string
		since, until time.Time
		want         []storage.ID
	}{
		{"no bound", none, none, ids},
		{"since a submission", at(2 * h), none, ids[:3]},
		{"since just after one", at(2*h + us), none, ids[:2]},
		{"until a submission", none, at(2 * h), ids[2:]},
		{"until just before one", none, at(2*h - us), ids[3:]},
		{"both at the same one", at(h), at(h), ids[3:4]},
		{"both around some", at(h), at(3 * h), ids[1:4]},
		{"after all", at(5 * h), none, nil},
		{"before all", none, at(-us), nil},
		{"since later than until", at(3 * h), at(h), nil},
	} {
		got, err := storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), f.ID,
			storage.SubmissionsParams{Since: c.since, Until: c.until, Page: storage.Page{Limit: 10}})
		b.ok(err, "Submissions, %s", c.name)
		same(b, idsOf(got.Submissions, submissionID), c.want, "Submissions, %s", c.name)
	}
}

func sinceUntilPages(b *bundle) {
	f := b.anyForm()
	ids := b.submitEvery(f, 8)
	q := storage.SubmissionsParams{Since: at(time.Hour), Until: at(6 * time.Hour), Page: storage.Page{Limit: 2}}
	var got []storage.ID
	for range 4 {
		page, err := storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), f.ID, q)
		b.ok(err, "Submissions")
		for _, s := range page.Submissions {
			got = append(got, s.ID)
			q.Page.After = &storage.Position{Time: s.SubmittedAt, ID: s.ID}
		}
	}
	same(b, got, ids[1:7], "Submissions between Since and Until, page by page")
	// A position that is newer than Until must not bring back what Until excludes.
	q.Page = storage.Page{After: &storage.Position{Time: at(100 * time.Hour)}, Limit: 1}
	page, err := storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), f.ID, q)
	b.ok(err, "Submissions")
	same(b, idsOf(page.Submissions, submissionID), ids[1:2], "Submissions after a position that is newer than Until")
}

func submissionRevision(b *bundle) {
	f := b.anyForm()
	first := b.submit(f)
	f = b.update(f.ID, storage.FormChange{Name: ptr("Renamed"), At: b.tick()})
	second := b.submit(f, withKey("once"), func(n *storage.NewSubmission) { n.Submission.FormRevision = 77 })
	for id, want := range map[storage.ID]int64{first.Submission.ID: 1, second.Submission.ID: 2} {
		got, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, id)
		b.ok(err, "Submission")
		same(b, got.FormRevision, want, "FormRevision")
	}
	again, replayed, err := b.store.Submit(b.Context(), second)
	b.ok(err, "Submit, replayed")
	same(b, replayed, true, "replayed")
	same(b, again.FormRevision, int64(2), "FormRevision of a submission that is replayed")
	for i, s := range b.submissions(f.ID) {
		same(b, s.FormRevision, int64(2-i), "FormRevision in the list")
	}
}

// page reads a page of submissions as the host.
func (b *bundle) page(form storage.ID, q storage.SubmissionsParams) storage.SubmissionPage {
	b.Helper()
	got, err := storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), form, q)
	b.ok(err, "Submissions")
	return got
}

func submissionMaxBytes(b *bundle) {
	f := b.anyForm()
	sizes := []int{100, 2000, 50, 50, 50, 3000, 100} // of the answers, newest first
	const rest = 4                                   // metadata and hidden
	ids := make([]storage.ID, len(sizes))
	for i := range sizes {
		n := b.submit(f, func(n *storage.NewSubmission) {
			n.Submission.SubmittedAt = at(-time.Duration(i) * time.Hour)
			n.Submission.Answers = json.RawMessage(`["` + strings.Repeat("a", sizes[i]-4) + `"]`)
			n.Submission.Metadata, n.Submission.Hidden = json.RawMessage(`{}`), json.RawMessage(`{}`)
		})
		ids[i] = n.Submission.ID
	}
	for _, c := range []struct {
		name     string
		from     int
		maxBytes int
		limit    int
		want     int
	}{
		{"no bound", 0, 0, 10, 7},
		{"a bound below 1", 0, -1, 10, 7},
		{"one record that is larger than the bound", 1, 1, 10, 1},
		{"exactly as many bytes as two records have", 0, 100 + 2000 + 2*rest, 10, 2},
		{"one byte less", 0, 100 + 2000 + 2*rest - 1, 10, 1},
		{"three small ones before a large one", 2, 3 * (50 + rest), 10, 3},
		{"more bytes than there are", 0, 1 << 30, 10, 7},
		{"the limit comes first", 2, 1 << 30, 2, 2},
		{"the last record", 6, 1, 10, 1},
	} {
		q := storage.SubmissionsParams{MaxBytes: c.maxBytes, Page: storage.Page{Limit: c.limit}}
		if c.from > 0 {
			q.Page.After = &storage.Position{Time: at(-time.Duration(c.from-1) * time.Hour), ID: ids[c.from-1]}
		}
		got := b.page(f.ID, q)
		same(b, idsOf(got.Submissions, submissionID), ids[c.from:c.from+c.want], "Submissions, %s", c.name)
		same(b, got.More, c.from+c.want < len(ids), "More, %s", c.name)
	}
	// Page by page nothing is left out.
	var walked []storage.ID
	q := storage.SubmissionsParams{MaxBytes: 2100, Page: storage.Page{Limit: 10}}
	for range ids {
		got := b.page(f.ID, q)
		walked = append(walked, idsOf(got.Submissions, submissionID)...)
		if !got.More || len(got.Submissions) == 0 {
			break
		}
		last := got.Submissions[len(got.Submissions)-1]
		q.Page.After = &storage.Position{Time: last.SubmittedAt, ID: last.ID}
	}
	same(b, walked, ids, "Submissions page by page")
}

func submissionsRefused(b *bundle) {
	w := b.furnish()
	b.refusesLoan(func(each func(*storage.Submission) error) error {
		_, err := b.store.Submissions(b.Context(), storage.As(w.owner), w.form.ID, everySubmission, each)
		return err
	})
}

// refusesLoan checks that a call passes on the error of a function that takes one record
// and refuses the next. There are more than two.
func (b *bundle) refusesLoan(call func(each func(*storage.Submission) error) error) {
	b.Helper()
	for _, wanted := range []error{errNothing, storage.ErrUnavailable, context.Canceled} {
		lent := 0
		err := call(func(*storage.Submission) error {
			if lent++; lent == 2 {
				return wanted
			}
			return nil
		})
		same(b, err, wanted, "the error of a call whose callback failed at the second record")
		same(b, lent, 2, "records that were lent")
	}
}

func submissionsBrief(b *bundle) {
	f := b.anyForm()
	b.submitEvery(f, 3)
	q := everySubmission
	want := b.page(f.ID, q)
	q.SummaryOnly = true
	got := b.page(f.ID, q)
	for _, page := range []storage.SubmissionPage{want, got} {
		for i := range page.Submissions {
			s := &page.Submissions[i]
			s.FormRevision, s.Hidden, s.Respondent, s.Revision, s.ChangedAt = 0, nil, "", 0, time.Time{}
		}
	}
	same(b, got, want, "a brief page")
	same(b, len(got.Submissions), 3, "records of a brief page")
}

func submissionMore(b *bundle) {
	f := b.anyForm()
	same(b, b.page(f.ID, storage.SubmissionsParams{Page: storage.Page{Limit: 1}}).More, false, "More without submissions")
	ids := b.submitEvery(f, 3)
	for limit, want := range map[int]bool{1: true, 2: true, 3: false, 4: false} {
		got := b.page(f.ID, storage.SubmissionsParams{Page: storage.Page{Limit: limit}})
		same(b, got.More, want, "More of a page of %d of 3", limit)
		same(b, len(got.Submissions), min(limit, len(ids)), "number of submissions on a page of %d", limit)
	}
	got := b.page(f.ID, storage.SubmissionsParams{Since: at(time.Hour), Until: at(time.Hour), Page: storage.Page{Limit: 1}})
	same(b, got.More, false, "More when Since leaves out the rest")
}

func deleteSubmission(b *bundle) {
	f := b.anyForm()
	gone, stays := b.submit(f), b.submit(f)
	b.deleteSubmission(gone)
	_, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, gone.Submission.ID)
	b.is(err, storage.ErrNotFound, "Submission after DeleteSubmission")
	err = b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, gone.Submission.ID)
	b.is(err, storage.ErrNotFound, "DeleteSubmission, again")
	same(b, b.submissions(f.ID), []storage.Submission{stays.Submission}, "Submissions after DeleteSubmission")
}

func deleteFrees(b *bundle) {
	f := b.anyForm(withLimit(1))
	n := b.submit(f, withKey("once"), withAnswer("a"))
	b.deleteSubmission(n)
	_, err := b.store.SubmissionByKey(b.Context(), f.ID, "once")
	b.is(err, storage.ErrNotFound, "SubmissionByKey after DeleteSubmission")
	again := b.submit(f, withKey("once"), withAnswer("a"))
	same(b, b.submissions(f.ID), []storage.Submission{again.Submission}, "Submissions")
}

func deleteKeepsFunnel(b *bundle) {
	f := b.anyForm()
	n := b.submit(f)
	b.deleteSubmission(n)
	b.sums(f.ID, time.Time{}, time.Time{}, 0, 0, 1, "after DeleteSubmission")
}

func deleteEndsDeliveries(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	leased := b.submit(f)
	claimed := b.claimOne()
	due, stays := b.submit(f), b.submit(f)
	b.deleteSubmission(leased)
	b.deleteSubmission(due)
	b.fenced(retried(claimed, soon(), atOnce), "its submission was deleted")
	same(b, b.attempts(w.ID), nil, "Deliveries: a fenced result is not recorded")
	same(b, b.claimOne().SubmissionID, stays.Submission.ID, "the delivery that is left")
}

func deleteDropsBodies(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	n := b.submit(f)
	sent := ended(b.claimOne(), b.tick())
	b.finish(sent)
	b.ok(b.store.Redeliver(b.Context(), w.ID, sent.Delivery.ID), "Redeliver before DeleteSubmission")
	b.deleteSubmission(n)
	b.nothingPending("its submission was deleted")
	b.is(b.store.Redeliver(b.Context(), w.ID, sent.Delivery.ID), storage.ErrNotFound, "Redeliver after DeleteSubmission")
	b.claimNone("the body is gone")
}

var everySubmission = storage.SubmissionsParams{Page: storage.Page{Limit: 100}}
