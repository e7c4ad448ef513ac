package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// noRespondents says that a store ignores respondents, if that is so.
func noRespondents(ctx context.Context, s storage.Storage) string {
	_, listed := s.RespondentSubmissions(ctx, storage.SubmissionsParams{}, nil)
	_, erased := s.EraseRespondent(ctx, storage.EraseRespondentParams{})
	if !errors.Is(listed, storage.ErrUnimplemented) || !errors.Is(erased, storage.ErrUnimplemented) {
		return ""
	}
	return "RespondentSubmissions and EraseRespondent return ErrUnimplemented: the store ignores respondents"
}

func respondentCases() []Case {
	cases := []Case{
		{"stored", "A submission is returned with its respondent by every method that reads it.", storesRespondent},
		{"list", "Submissions with a Respondent passes only the submissions whose respondent has the same bytes, within the other limits.", listsRespondent},
		{"list_isolation", "Submissions with a Respondent requires access to the form.", listsRespondentForActor},
		{"list_all", "RespondentSubmissions passes the respondent's submissions to all forms outside the trash, newest first, page by page.", listsRespondentInAllForms},
		{"list_nothing", "RespondentSubmissions without a respondent or without a limit passes nothing.", listsNoRespondent},
		{"list_refused", "RespondentSubmissions returns the error of the function that it calls.", listRespondentRefused},
		{"one", "With OnePerRespondent, Submit returns an *AnsweredError with the time of the respondent's first submission to the form.", oneRespondent},
		{"one_order", "Submit checks OnePerRespondent after the idempotency key, revision and status, and before the limit and the unique answer.", oneRespondentOrder},
		{"one_freed", "A deleted, erased or purged submission of a respondent no longer counts for OnePerRespondent.", oneRespondentFreed},
		{"concurrent_one", "Of concurrent submissions with OnePerRespondent, exactly one for each form and respondent is stored.", oneRespondentConcurrent},
		{"erase", "EraseRespondent removes the respondent's submissions to all forms, also in the trash, as DeleteSubmission does, and no others.", erasesRespondent},
		{"erase_in_batches", "Each call of EraseRespondent removes up to Max submissions, and More is true while others may remain.", erasesRespondentInBatches},
		{"erase_before_delete", "EraseRespondent passes the submissions to BeforeDelete first, and removes none of them if it returns an error.", erasesRespondentBeforeDelete},
		{"invalid_values", "A respondent that is not valid text is ErrInvalidValue, and nothing changes.", invalidRespondent},
	}
	for _, op := range respondentOperations() {
		cases = append(cases, contextCase("ended_context_"+op.name, op))
	}
	return cases
}

// respondentPartialCases are unsupported where a store ignores respondents or has no half responses.
func respondentPartialCases() []Case {
	return []Case{
		{"stored", "A partial submission has the respondent of its first save.", storesRespondentOfPartial},
		{"erase", "EraseRespondent removes the respondent's open, submitted and expired partial submissions, and no others.", erasesRespondentPartials},
		{"begin_again", "A new partial submission with a respondent replaces a submitted or expired one with the same token, but not an open one.", respondentBeginsAgain},
		{"concurrent_begin", "Of concurrent new partial submissions with a respondent and the token of a submitted one, exactly one is stored.", respondentBeginsConcurrently},
		{"invalid_values", "A partial submission whose respondent is not valid text is ErrInvalidValue, and nothing changes.", invalidRespondentOfPartial},
	}
}

// respondentOperations stand apart because a store need not have the methods.
func respondentOperations() []operation {
	return []operation{
		{"RespondentSubmissions", "list", func(ctx context.Context, s storage.Storage, _ *world, _ storage.Actor) error {
			_, err := listRespondent(ctx, s, storage.SubmissionsParams{Respondent: "ann", Page: storage.Page{Limit: 1}})
			return err
		}},
		{"EraseRespondent", "erase", func(ctx context.Context, s storage.Storage, _ *world, _ storage.Actor) error {
			_, err := s.EraseRespondent(ctx, storage.EraseRespondentParams{Respondent: "ann", Max: 1})
			return err
		}},
	}
}

// lookalikes are different respondents.
var lookalikes = []string{"ann", "Ann", "an", "anna", "ann ", " ann", "añn", "an\u0303n", "ann%", "a_n", "ＡＮＮ", `{"id":"ann"}`, "'; --"}

// listRespondent returns copies of a page of a respondent's submissions.
func listRespondent(ctx context.Context, s storage.Storage, q storage.SubmissionsParams) (page storage.SubmissionPage, err error) {
	page.More, err = s.RespondentSubmissions(ctx, q, func(lent *storage.Submission) error {
		sub := *lent
		sub.Answers, sub.Metadata, sub.Hidden = slices.Clone(sub.Answers), slices.Clone(sub.Metadata), slices.Clone(sub.Hidden)
		page.Submissions = append(page.Submissions, sub)
		return nil
	})
	return page, err
}

func byRespondent(respondent string) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) { n.Submission.Respondent = respondent }
}

func onePerRespondent(respondent string) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) {
		n.Submission.Respondent, n.OnePerRespondent = respondent, true
	}
}

func respondentOfPartial(respondent string) func(*storage.SavePartialParams) {
	return func(p *storage.SavePartialParams) { p.Partial.Respondent = respondent }
}

// submissionsOf lists all submissions of a respondent, in pages of the given size.
func (b *bundle) submissionsOf(respondent string, size int) (all []storage.Submission) {
	b.Helper()
	q := storage.SubmissionsParams{Respondent: respondent, Page: storage.Page{Limit: size}}
	for {
		page, err := listRespondent(b.Context(), b.store, q)
		b.ok(err, "RespondentSubmissions")
		all = append(all, page.Submissions...)
		if !page.More {
			return all
		}
		last := page.Submissions[len(page.Submissions)-1]
		q.Page.After = &storage.Position{Time: last.SubmittedAt, ID: last.ID}
	}
}

func storesRespondent(b *bundle) {
	f := b.anyForm()
	for i, respondent := range []string{"", "user 42", "é\u0301 \u202e", string(slices.Repeat([]byte("x"), 200))} {
		key := fmt.Sprint("key ", i)
		n := b.newSubmission(f)
		n.Submission.Respondent, n.IdempotencyKey = respondent, key
		got, _, err := b.store.Submit(b.Context(), n)
		b.ok(err, "Submit")
		same(b, got, n.Submission, "what Submit returns")
		got, err = b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
		b.ok(err, "Submission")
		same(b, got, n.Submission, "Submission")
		got, err = b.store.SubmissionByKey(b.Context(), f.ID, key)
		b.ok(err, "SubmissionByKey")
		same(b, got, n.Submission, "SubmissionByKey")
		b.replays(n, n.Submission, "the same call again")
		same(b, only(b, b.submissions(f.ID), "Submissions"), n.Submission, "Submissions")
		b.erase(f.ID, 1, n.Submission.ID)
	}
}

func storesRespondentOfPartial(b *bundle) {
	f := b.anyForm()
	p := b.addPartial(f.ID, respondentOfPartial("ann"))
	b.isThere(p, "with a respondent")
	same(b, only(b, b.partials(f.ID, soon()), "Partials").Respondent, "ann", "the respondent in Partials")
	change := again(p)
	change.Partial.Respondent = "bob"
	b.save(change)
	same(b, b.partial(p, change.Partial.SavedAt).Respondent, "ann", "the respondent after a change")
	b.isThere(b.addPartial(f.ID), "without a respondent")
}

func listsRespondent(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	byName := map[string][]storage.Submission{}
	for range 3 {
		for _, name := range append(lookalikes, "") {
			byName[name] = slices.Insert(byName[name], 0, b.submit(f, byRespondent(name)).Submission)
			b.submit(other, byRespondent(name))
		}
	}
	for _, name := range lookalikes {
		same(b, b.page(f.ID, storage.SubmissionsParams{Respondent: name, Page: storage.Page{Limit: everyRecord}}),
			storage.SubmissionPage{Submissions: byName[name]}, "the submissions of %q", name)
	}
	all := byName["ann"]
	position := func(s storage.Submission) *storage.Position {
		return &storage.Position{Time: s.SubmittedAt, ID: s.ID}
	}
	for what, c := range map[string]struct {
		q    storage.SubmissionsParams
		want []storage.Submission
		more bool
	}{
		"a first page":      {storage.SubmissionsParams{Page: storage.Page{Limit: 2}}, all[:2], true},
		"a last page":       {storage.SubmissionsParams{Page: storage.Page{Limit: 2, After: position(all[1])}}, all[2:], false},
		"a full last page":  {storage.SubmissionsParams{Page: storage.Page{Limit: 1, After: position(all[1])}}, all[2:], false},
		"a limit of zero":   {storage.SubmissionsParams{}, nil, false},
		"since":             {storage.SubmissionsParams{Since: all[1].SubmittedAt, Page: storage.Page{Limit: 9}}, all[:2], false},
		"until":             {storage.SubmissionsParams{Until: all[1].SubmittedAt, Page: storage.Page{Limit: 9}}, all[1:], false},
		"a limit of bytes":  {storage.SubmissionsParams{MaxBytes: 1, Page: storage.Page{Limit: 9}}, all[:1], true},
		"two within bytes":  {storage.SubmissionsParams{MaxBytes: 2*jsonBytes(all[0]) + 1, Page: storage.Page{Limit: 9}}, all[:2], true},
		"the rest in bytes": {storage.SubmissionsParams{MaxBytes: 2*jsonBytes(all[0]) + 1, Page: storage.Page{Limit: 9, After: position(all[0])}}, all[1:], false},
	} {
		c.q.Respondent = "ann"
		same(b, b.page(f.ID, c.q), storage.SubmissionPage{Submissions: c.want, More: c.more}, "Submissions: %s", what)
	}
	same(b, b.page(f.ID, storage.SubmissionsParams{Respondent: "nobody", Page: storage.Page{Limit: 9}}), storage.SubmissionPage{}, "the submissions of an unknown respondent")
	same(b, len(b.submissions(f.ID)), 3*(len(lookalikes)+1), "submissions of all respondents")
}

func jsonBytes(s storage.Submission) int { return len(s.Answers) + len(s.Metadata) + len(s.Hidden) }

func listsRespondentForActor(b *bundle) {
	w := b.furnish()
	b.submit(w.form, byRespondent("ann"))
	q := storage.SubmissionsParams{Respondent: "ann", Page: storage.Page{Limit: 9}}
	for _, actor := range []storage.Actor{{}, storage.As(w.stranger), storage.As(newID())} {
		_, err := storage.ListSubmissions(b.Context(), b.store, actor, w.form.ID, q)
		b.is(err, storage.ErrNotFound, "Submissions of a respondent without access")
	}
	for _, actor := range []storage.Actor{storage.AsHost(), storage.As(w.owner), storage.As(w.member)} {
		page, err := storage.ListSubmissions(b.Context(), b.store, actor, w.form.ID, q)
		b.ok(err, "Submissions of a respondent")
		same(b, len(page.Submissions), 1, "submissions of a respondent")
	}
	q.Respondent = "nobody"
	_, err := storage.ListSubmissions(b.Context(), b.store, storage.As(w.stranger), w.form.ID, q)
	b.is(err, storage.ErrNotFound, "Submissions of an unknown respondent without access")
	_, err = storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), storage.ID{}, q)
	b.is(err, storage.ErrNotFound, "Submissions of a respondent to the zero form")
}

func listsRespondentInAllForms(b *bundle) {
	one, two, trashed, gone := b.anyForm(), b.anyForm(), b.anyForm(), b.anyForm()
	var want []storage.Submission
	for i := range 7 {
		for _, name := range lookalikes[1:] {
			b.submit(two, byRespondent(name))
		}
		b.submit(one)
		b.submit(trashed, byRespondent("ann"))
		b.submit(gone, byRespondent("ann"))
		f := []storage.Form{one, two}[i%2]
		want = slices.Insert(want, 0, b.submit(f, byRespondent("ann")).Submission)
	}
	b.trashForm(trashed.ID)
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), gone.WorkspaceID, b.tick()), "DeleteWorkspace")
	for size := range 8 {
		same(b, b.submissionsOf("ann", size+1), want, "submissions of a respondent in pages of %d", size+1)
	}
	page, err := listRespondent(b.Context(), b.store, storage.SubmissionsParams{
		Respondent: "ann", Since: want[4].SubmittedAt, Until: want[2].SubmittedAt, MaxBytes: 1, Page: storage.Page{Limit: 9},
	})
	b.ok(err, "RespondentSubmissions")
	same(b, page, storage.SubmissionPage{Submissions: want[2:3], More: true}, "a page within a period and one byte")
	b.ok(b.store.RestoreForm(b.Context(), trashed.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, len(b.submissionsOf("ann", 3)), 14, "submissions of a respondent after a form was restored")
}

func listsNoRespondent(b *bundle) {
	f := b.anyForm()
	b.submit(f)
	b.submit(f, byRespondent("ann"))
	for _, q := range []storage.SubmissionsParams{{Page: storage.Page{Limit: 9}}, {Respondent: "ann"}, {Respondent: "ann", Page: storage.Page{Limit: -1}}, {}} {
		more, err := b.store.RespondentSubmissions(b.Context(), q, func(*storage.Submission) error { return errNothing })
		b.ok(err, "RespondentSubmissions")
		same(b, more, false, "more")
	}
	same(b, len(b.submissionsOf("ann", 9)), 1, "submissions of a respondent")
}

func listRespondentRefused(b *bundle) {
	b.submitMany(b.anyForm(), 3, byRespondent("ann"))
	b.refusesLoan(func(each func(*storage.Submission) error) error {
		_, err := b.store.RespondentSubmissions(b.Context(), storage.SubmissionsParams{Respondent: "ann", Page: storage.Page{Limit: 9}}, each)
		return err
	})
}

// refusesRespondent submits a response whose respondent has submitted first.
func (b *bundle) refusesRespondent(n storage.NewSubmission, first storage.NewSubmission, what string) {
	b.Helper()
	_, _, err := b.store.Submit(b.Context(), n)
	b.is(err, storage.ErrDuplicate, "Submit: %s", what)
	var answered *storage.AnsweredError
	if !errors.As(err, &answered) {
		b.Errorf("Submit: %s: want an *AnsweredError, got %T", what, err)
		return
	}
	same(b, answered.SubmittedAt, first.Submission.SubmittedAt, "AnsweredError.SubmittedAt: %s", what)
}

func (b *bundle) newSubmissionOf(f storage.Form, edit ...func(*storage.NewSubmission)) storage.NewSubmission {
	n := b.newSubmission(f)
	for _, e := range edit {
		e(&n)
	}
	return n
}

func oneRespondent(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	b.addWebhook(f.ID)
	first := b.submit(f, byRespondent("ann")) // before the form has the setting
	b.submit(f, byRespondent("ann"))
	b.unchanged("Submit for a respondent who has submitted", func() {
		b.refusesRespondent(b.newSubmissionOf(f, onePerRespondent("ann")), first, "two submissions are stored")
	})
	for _, name := range lookalikes[1:] {
		n := b.submit(f, onePerRespondent(name))
		b.refusesRespondent(b.newSubmissionOf(f, onePerRespondent(name)), n, name)
	}
	n := b.submit(other, onePerRespondent("ann"))
	b.refusesRespondent(b.newSubmissionOf(other, onePerRespondent("ann")), n, "the other form")
	b.submit(f)
	b.submit(f, onePerRespondent(""))
	b.submit(f, onePerRespondent(""))
	b.submit(f, byRespondent("ann"))
	old := b.submit(f, byRespondent("ann"), longAgo)
	b.refusesRespondent(b.newSubmissionOf(f, onePerRespondent("ann")), old, "an imported submission is the first")
}

func oneRespondentOrder(b *bundle) {
	f := b.anyForm(withLimit(1), withUnique(fieldOne))
	first := b.submit(f, onePerRespondent("ann"), withKey("first"), withAnswer("one"))
	b.replays(first, first.Submission, "the same call again")
	second := func() storage.NewSubmission {
		return b.newSubmissionOf(f, onePerRespondent("ann"), withKey("second"), withAnswer("one"))
	}
	b.refusesRespondent(second(), first, "the form is full, and has the answer")
	b.refuse(b.newSubmissionOf(f, onePerRespondent("bob"), withAnswer("one")), storage.ErrLimitReached, "another respondent")
	stale := second()
	stale.FormRevision++
	b.refuse(stale, storage.ErrRevisionMismatch, "another revision")
	f = b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: b.tick()})
	b.refuse(second(), storage.ErrNotFound, "a draft")
}

func oneRespondentFreed(b *bundle) {
	f := b.anyForm()
	for what, remove := range map[string]func(id storage.ID){
		"DeleteSubmission": func(id storage.ID) {
			b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, id), "DeleteSubmission")
		},
		"EraseSubmissions": func(id storage.ID) { b.erase(f.ID, 1, id) },
		"PurgeSubmissions": func(storage.ID) { b.purge(soon(), 10, f.ID) },
		"EraseRespondent": func(storage.ID) {
			_, err := b.store.EraseRespondent(b.Context(), storage.EraseRespondentParams{Respondent: "ann", Max: 10})
			b.ok(err, "EraseRespondent")
		},
	} {
		n := b.submit(f, onePerRespondent("ann"))
		b.refusesRespondent(b.newSubmissionOf(f, onePerRespondent("ann")), n, "before "+what)
		remove(n.Submission.ID)
		n = b.submit(f, onePerRespondent("ann"))
		b.refusesRespondent(b.newSubmissionOf(f, onePerRespondent("ann")), n, "after "+what)
		b.erase(f.ID, 1, n.Submission.ID)
	}
}

func oneRespondentConcurrent(b *bundle) {
	forms := []storage.Form{b.anyForm(), b.anyForm(), b.anyForm(withLimit(1000))}
	people := lookalikes[:8]
	const tries = 6
	b.addWebhook(forms[0].ID)
	errs := together(len(forms)*len(people)*tries, func(i int) error {
		n := submissionAt(forms[i%len(forms)], at(time.Duration(i)*time.Second))
		onePerRespondent(people[i/len(forms)%len(people)])(&n)
		if i%5 == 0 {
			n.IdempotencyKey = newID().String()
		}
		_, _, err := b.eitherHandle(i).Submit(b.Context(), n)
		return err
	})
	same(b, b.outcome(errs, storage.ErrDuplicate, "Submit"), len(forms)*len(people), "submissions that were accepted")
	for _, f := range forms {
		seen := map[string]int{}
		for _, s := range b.submissions(f.ID) {
			seen[s.Respondent]++
		}
		want := map[string]int{}
		for _, name := range people {
			want[name] = 1
		}
		same(b, seen, want, "stored submissions by respondent")
	}
}

// eraseRespondent erases everything of a respondent.
func (b *bundle) eraseRespondent(respondent string, most int) (calls int, total storage.ErasedRespondent) {
	b.Helper()
	for {
		got, err := b.store.EraseRespondent(b.Context(), storage.EraseRespondentParams{Respondent: respondent, Max: most})
		b.ok(err, "EraseRespondent")
		if got.Submissions > most || got.Partials > most {
			b.Errorf("EraseRespondent: removed %+v with a Max of %d", got, most)
		}
		calls++
		total.Submissions, total.Partials = total.Submissions+got.Submissions, total.Partials+got.Partials
		if !got.More {
			return calls, total
		}
		if calls > 1000 {
			b.Fatalf("EraseRespondent: More does not end")
		}
	}
}

func erasesRespondent(b *bundle) {
	f, other := b.anyForm(withLimit(3), withUnique(fieldOne)), b.anyForm()
	hook := b.addWebhook(f.ID)
	b.submit(f, byRespondent("ann"), withKey("one"), withAnswer("one"))
	b.finish(ended(b.claimOne(), b.tick()))
	b.submit(f, byRespondent("ann"), withKey("two"), withAnswer("two"))
	rest := b.submit(f, byRespondent("bob"), withKey("rest"), withAnswer("rest"))
	trashed := b.submit(other, byRespondent("ann"))
	kept := b.submit(other)
	for _, name := range lookalikes[1:] {
		b.submit(other, byRespondent(name))
	}
	b.trashForm(other.ID)
	b.unchanged("EraseRespondent of no one", func() {
		for _, p := range []storage.EraseRespondentParams{{Max: 9}, {Respondent: "ann"}, {Respondent: "ann", Max: -1}, {Respondent: "nobody", Max: 9}} {
			got, err := b.store.EraseRespondent(b.Context(), p)
			b.ok(err, "EraseRespondent")
			same(b, got, storage.ErasedRespondent{}, "EraseRespondent of no one")
		}
	})
	_, erased := b.eraseRespondent("ann", 100)
	same(b, erased, storage.ErasedRespondent{Submissions: 3}, "records that were erased")
	b.eraseRespondent("ann", 100)
	same(b, only(b, b.submissions(f.ID), "Submissions").ID, rest.Submission.ID, "the submission that stays")
	b.full(f, false, "after two are erased")
	removed, err := b.store.SubmissionsRemoved(b.Context(), storage.AsHost(), f.ID)
	b.ok(err, "SubmissionsRemoved")
	same(b, removed, int64(2), "SubmissionsRemoved")
	same(b, b.stats().Due, int64(1), "pending deliveries")
	b.is(b.store.Redeliver(b.Context(), hook.ID, b.attempts(hook.ID)[0].ID), storage.ErrNotFound, "Redeliver of an event whose submission is erased")
	b.submit(f, byRespondent("ann"), withKey("one"), withAnswer("one"))
	b.submit(f, withKey("two"), withAnswer("two"))
	b.ok(b.store.RestoreForm(b.Context(), other.ID, storage.ID{}, b.tick()), "RestoreForm")
	stored := b.submissions(other.ID)
	same(b, len(stored), len(lookalikes), "submissions of other respondents")
	if ids := idsOf(stored, func(s storage.Submission) storage.ID { return s.ID }); slices.Contains(ids, trashed.Submission.ID) || !slices.Contains(ids, kept.Submission.ID) {
		b.Errorf("EraseRespondent removed another submission in the trash")
	}
}

func erasesRespondentInBatches(b *bundle) {
	for range 4 {
		b.submitMany(b.anyForm(), 5, byRespondent("ann"))
	}
	f := b.anyForm()
	b.submitMany(f, 3)
	calls, erased := b.eraseRespondent("ann", 2)
	same(b, erased.Submissions, 20, "submissions that were erased")
	if calls < 10 {
		b.Errorf("EraseRespondent: 20 submissions in %d calls with a Max of 2", calls)
	}
	same(b, b.submissionsOf("ann", 9), nil, "submissions of an erased respondent")
	same(b, len(b.submissions(f.ID)), 3, "submissions of others")
}

func erasesRespondentBeforeDelete(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	mine := append(b.submitMany(f, 3, byRespondent("ann")), b.submitMany(other, 2, byRespondent("ann"))...)
	b.submitMany(f, 2, byRespondent("bob"))
	b.trashForm(other.ID)
	p := storage.EraseRespondentParams{Respondent: "ann", Max: 100, BeforeDelete: func(context.Context, []storage.Submission) error { return errNothing }}
	_, err := b.store.EraseRespondent(b.Context(), p)
	b.is(err, errNothing, "EraseRespondent when BeforeDelete fails")
	same(b, len(b.submissions(f.ID)), 5, "submissions after BeforeDelete failed")
	var leaving told
	p.BeforeDelete = func(ctx context.Context, subs []storage.Submission) error {
		for _, s := range subs {
			if s.FormID == f.ID {
				_, err := b.store.Submission(ctx, storage.AsHost(), f.ID, s.ID)
				b.ok(err, "Submission in BeforeDelete")
			}
		}
		return leaving.beforeDelete(ctx, subs)
	}
	for more := true; more; {
		got, err := b.store.EraseRespondent(b.Context(), p)
		b.ok(err, "EraseRespondent")
		more = got.More
	}
	leaving.are(b, mine, "what BeforeDelete received")
	same(b, len(b.submissions(f.ID)), 2, "submissions of others")
}

func erasesRespondentPartials(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	open := b.addPartial(f.ID, respondentOfPartial("ann"))
	sent := b.addPartial(other.ID, respondentOfPartial("ann"))
	b.submit(other, withPartial(sent))
	expired := b.addPartial(b.anyForm().ID, respondentOfPartial("ann"), endingAt(at(time.Minute)))
	trashed := b.anyForm()
	hidden := b.addPartial(trashed.ID, respondentOfPartial("ann"))
	b.trashForm(trashed.ID)
	kept, anonymous := b.addPartial(f.ID, respondentOfPartial("Ann")), b.addPartial(f.ID)
	_, erased := b.eraseRespondent("ann", 2)
	same(b, erased, storage.ErasedRespondent{Partials: 4}, "records that were erased")
	b.ok(b.store.RestoreForm(b.Context(), trashed.ID, storage.ID{}, b.tick()), "RestoreForm")
	for _, p := range []storage.SavePartialParams{open, sent, expired, hidden} {
		b.isGone(p, "a partial submission of an erased respondent")
	}
	b.isThere(kept, "a partial submission of another respondent")
	b.isThere(anonymous, "a partial submission without a respondent")
}

func respondentBeginsAgain(b *bundle) {
	f := b.anyForm()
	p := b.addPartial(f.ID, respondentOfPartial("ann"), endingAt(at(10*time.Hour)))
	same(b, b.save(again(p)), 2, "the revision after a change")
	next := b.newPartial(f.ID, respondentOfPartial("ann"))
	next.Token, next.Partial.Answers = p.Token, json.RawMessage(`{"q1":"next"}`)
	b.refusesSave(next, storage.ErrConflict, "a new partial submission while one is open")
	b.submit(f, byRespondent("ann"), withPartial(p))
	same(b, b.save(next), 1, "the revision of a new partial submission after the submission")
	b.isThere(next, "after the one before was submitted")

	late := next
	late.Partial.ID, late.Partial.SavedAt = newID(), next.Partial.EndsAt
	late.Partial.CreatedAt, late.Partial.EndsAt = late.Partial.SavedAt, late.Partial.SavedAt.Add(time.Hour)
	same(b, b.save(late), 1, "the revision of a new partial submission after the end of the one before")
	b.isThere(late, "after the one before expired")

	plain := b.addPartial(f.ID)
	b.submit(f, withPartial(plain))
	second := b.newPartial(f.ID)
	second.Token = plain.Token
	b.refusesSave(second, storage.ErrConflict, "the token of a submitted partial submission, without a respondent")
}

func respondentBeginsConcurrently(b *bundle) {
	f := b.anyForm()
	sent := b.addPartial(f.ID, respondentOfPartial("bob"))
	b.submit(f, withPartial(sent))
	errs := together(8, func(i int) error {
		n := partialAt(f.ID, at(0))
		n.Token, n.Partial.Respondent = sent.Token, "bob"
		_, err := b.eitherHandle(i).SavePartial(b.Context(), n)
		return err
	})
	same(b, b.outcome(errs, storage.ErrConflict, "SavePartial"), 1, "partial submissions that were created concurrently with one token")
}

func invalidRespondent(b *bundle) {
	w := b.furnish()
	ctx := b.Context()
	for _, s := range invalidTexts {
		n := b.newSubmissionOf(w.form, onePerRespondent(s))
		q := storage.SubmissionsParams{Respondent: s, Page: storage.Page{Limit: 1}}
		b.refuseAll(calls{
			"Submit, Respondent": func() error {
				_, _, err := b.store.Submit(ctx, n)
				return err
			},
			"Submissions, Respondent": func() error {
				_, err := storage.ListSubmissions(ctx, b.store, storage.AsHost(), w.form.ID, q)
				return err
			},
			"RespondentSubmissions, Respondent": func() error {
				_, err := listRespondent(ctx, b.store, q)
				return err
			},
			"EraseRespondent, Respondent": func() error {
				_, err := b.store.EraseRespondent(ctx, storage.EraseRespondentParams{Respondent: s, Max: 1})
				return err
			},
		})
	}
}

func invalidRespondentOfPartial(b *bundle) {
	f := b.anyForm()
	for _, s := range invalidTexts {
		p := b.newPartial(f.ID, respondentOfPartial(s))
		b.refuseAll(calls{"SavePartial, Respondent": func() error {
			_, err := b.store.SavePartial(b.Context(), p)
			return err
		}})
	}
}
