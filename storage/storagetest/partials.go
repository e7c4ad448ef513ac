package storagetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// noPartials says that a store has none, if that is so.
func noPartials(ctx context.Context, s storage.Storage) string {
	_, saved := s.SavePartial(ctx, storage.SavePartialParams{Partial: storage.Partial{FormID: newID(), SavedAt: at(0), EndsAt: at(0)}})
	_, read := s.Partial(ctx, newID(), [32]byte{1}, at(0))
	_, listed := s.Partials(ctx, storage.AsHost(), newID(), storage.PartialQuery{Now: at(0), Page: storage.Page{Limit: 1}}, func(*storage.Partial) error { return nil })
	_, _, deleted := s.DeletePartials(ctx, storage.AsHost(), newID(), storage.DeletePartialsParams{Max: 1})
	for _, err := range []error{saved, read, listed, deleted} {
		if !errors.Is(err, storage.ErrUnimplemented) {
			return ""
		}
	}
	return "SavePartial, Partial, Partials and DeletePartials return ErrUnimplemented: the store keeps no half responses"
}

// partialCases are a group of their own: it is unsupported where a store has no half responses.
func partialCases() []Case {
	cases := []Case{
		{"save_and_read", "SavePartial creates a partial submission at revision 1, and Partial returns it with the fields that the store sets.", savePartial},
		{"change", "SavePartial replaces an existing partial submission, increases its revision by one, and retains its ID and CreatedAt.", changePartial},
		{"published", "SavePartial returns ErrNotFound if the form is unknown, in the trash or not published, and checks nothing else of the form.", partialNeedsPublished},
		{"token", "An unknown token, or a token of another form, is ErrNotFound for a change and for Partial, and changes nothing.", partialToken},
		{"token_taken", "SavePartial returns ErrConflict for a new partial submission whose token is taken.", partialTokenTaken},
		{"if_revision", "SavePartial returns a *RevisionError with the Kind partial if IfRevision does not match, and 0 means no condition.", partialIfRevision},
		{"order_of_errors", "SavePartial checks the form, the token, a submission and the revision in this order.", partialOrder},
		{"over", "From its EndsAt by the caller's time, a partial submission is ErrNotFound and not listed, and a save changes EndsAt.", partialOver},
		{"max", "Above Max, a new partial submission replaces the newest one at revision 1 without LinkIssued, or otherwise the one with the oldest save.", partialMax},
		{"max_counts", "Max does not count partial submissions that expired, were submitted or belong to another form, submitted ones are not replaced, and changes replace none.", partialMaxCounts},
		{"not_counted", "Partial submissions do not count in the funnel or against the response limit, queue nothing and do not change the form.", partialNotCounted},
		{"list", "Partials passes the partial submissions that are neither submitted nor expired, and reports whether the list continues.", partialList},
		{"verified", "Verified and LinkIssued stay true after a save has set them, and a query with Verified omits the other partial submissions.", partialVerified},
		{"list_refused", "Partials returns the error of the function that it calls.", partialListRefused},
		{"copies_in", "A store retains no slice of a partial submission from the caller.", copiesInPartial},
		{"copies_out", "A store returns no slice of a partial submission that it retains.", copiesOutPartial},
		{"invalid_values", "Text and times that the contract does not allow are ErrInvalidValue, before all other errors, and nothing changes.", invalidPartial},
		{"concurrent_max", "Of 40 concurrently created partial submissions with a Max of 10, exactly 10 remain, and there are never more.", parallelPartials},
		{"concurrent_revision", "Of 20 concurrent changes with the same IfRevision, one succeeds, and the others return a *RevisionError.", parallelRevision},
		{"concurrent_changes", "Concurrent changes without a condition each increase the revision by one.", parallelChanges},
		{"concurrent_submit", "If a save and two submissions with one token run concurrently, both submissions are stored, SubmissionID is one of them, and no answers remain.", parallelPartialSubmit},
	}
	for _, op := range partialOperations() {
		cases = append(cases, contextCase("ended_context_"+op.name, op.operation))
		if op.withActor {
			cases = append(cases, Case{"isolation_" + op.name, op.method + " requires access to the form.", func(b *bundle) { actorSees(b, op.operation) }})
		}
	}
	for _, c := range pagingChecks() {
		cases = append(cases, Case{"list_" + c.name, c.about, func(b *bundle) { c.run(b, pagedPartials(b)) }})
	}
	return append(cases, partialEndingCases()...)
}

// ofPartials is an operation, and whether it has an actor.
type ofPartials struct {
	operation
	withActor bool
}

// partialOperations stand apart because a store need not have the methods.
func partialOperations() []ofPartials {
	return []ofPartials{
		{operation{"SavePartial", "save", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			p := w.partial
			p.New = false
			_, err := s.SavePartial(ctx, p)
			return err
		}}, false},
		{operation{"Partial", "partial", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.Partial(ctx, w.form.ID, w.partial.Token, w.now)
			return err
		}}, false},
		{operation{"Partials", "partials", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, _, err := listPartials(ctx, s, actor, w.form.ID, storage.PartialQuery{Now: w.now, Page: storage.Page{Limit: 10}})
			if errors.Is(contains(list, partialID, w.partial.Partial.ID, err), errNothing) {
				return errors.New("listing partials returned an empty list; want ErrNotFound or a partial submission")
			}
			return err
		}}, true},
		{operation{"DeletePartials", "delete", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			n, _, err := s.DeletePartials(ctx, actor, w.form.ID, storage.DeletePartialsParams{Token: w.partial.Token, Max: 1})
			if err == nil && n != 1 {
				return errors.New("the partial submission was not deleted")
			}
			return err
		}}, true},
	}
}

func partialID(p storage.Partial) storage.ID { return p.ID }

// newPartial returns what makes a new half response.
func (b *bundle) newPartial(form storage.ID, edit ...func(*storage.SavePartialParams)) storage.SavePartialParams {
	p := partialAt(form, b.tick())
	for _, e := range edit {
		e(&p)
	}
	return p
}

// partialAt is newPartial for any goroutine.
func partialAt(form storage.ID, now time.Time) storage.SavePartialParams {
	id := newID()
	p := storage.SavePartialParams{New: true, Partial: storage.Partial{
		ID: id, FormID: form, Revision: 1, Block: "q2", Seconds: 12.5, Shared: true,
		Answers: json.RawMessage(fmt.Sprintf(`{"q1": %q, "n": 1.50}`, id)), Hidden: json.RawMessage(`{"ref":"mail"}`),
		Metadata:  json.RawMessage(`{"country":"NL"}`),
		CreatedAt: now, SavedAt: now, EndsAt: now.Add(30 * 24 * time.Hour),
	}}
	rand.Read(p.Token[:]) // never fails, says its documentation
	return p
}

func savedAt(when time.Time) func(*storage.SavePartialParams) {
	return func(p *storage.SavePartialParams) { p.Partial.SavedAt, p.Partial.CreatedAt = when, when }
}

func endingAt(when time.Time) func(*storage.SavePartialParams) {
	return func(p *storage.SavePartialParams) { p.Partial.EndsAt = when }
}

func atMost(n int) func(*storage.SavePartialParams) {
	return func(p *storage.SavePartialParams) { p.Max = n }
}

// save saves what has to be accepted.
func (b *bundle) save(p storage.SavePartialParams) int64 {
	b.Helper()
	revision, err := b.store.SavePartial(b.Context(), p)
	b.ok(err, "SavePartial")
	return revision
}

func (b *bundle) addPartial(form storage.ID, edit ...func(*storage.SavePartialParams)) storage.SavePartialParams {
	b.Helper()
	p := b.newPartial(form, edit...)
	same(b, b.save(p), 1, "the revision of a new partial submission")
	return p
}

// again returns a change of a half response, an hour after its last save.
func again(p storage.SavePartialParams) storage.SavePartialParams {
	p.New = false
	p.Partial.SavedAt = p.Partial.SavedAt.Add(time.Hour)
	return p
}

func (b *bundle) refusesSave(p storage.SavePartialParams, want error, what string, args ...any) {
	b.Helper()
	_, err := b.store.SavePartial(b.Context(), p)
	b.is(err, want, "SavePartial: "+what, args...)
}

// partial reads a half response at a time.
func (b *bundle) partial(p storage.SavePartialParams, now time.Time) storage.Partial {
	b.Helper()
	got, err := b.store.Partial(b.Context(), p.Partial.FormID, p.Token, now)
	b.ok(err, "Partial")
	return got
}

// isThere checks that a half response is as p made it.
func (b *bundle) isThere(p storage.SavePartialParams, what string, args ...any) {
	b.Helper()
	got, err := b.store.Partial(b.Context(), p.Partial.FormID, p.Token, p.Partial.SavedAt)
	b.ok(err, "Partial: "+what, args...)
	same(b, got, p.Partial, "Partial: "+what, args...)
}

func (b *bundle) isGone(p storage.SavePartialParams, what string, args ...any) {
	b.Helper()
	_, err := b.store.Partial(b.Context(), p.Partial.FormID, p.Token, p.Partial.SavedAt)
	b.is(err, storage.ErrNotFound, "Partial: "+what, args...)
}

// partials lists all half responses of a form as the host.
func (b *bundle) partials(form storage.ID, now time.Time) []storage.Partial {
	b.Helper()
	list, more, err := listPartials(b.Context(), b.store, storage.AsHost(), form, storage.PartialQuery{Now: now, Page: storage.Page{Limit: everyRecord}})
	b.ok(err, "Partials")
	same(b, more, false, "more of a page that is longer than the list")
	return list
}

func listPartials(ctx context.Context, s storage.Storage, actor storage.Actor, form storage.ID, q storage.PartialQuery) (list []storage.Partial, more bool, err error) {
	more, err = s.Partials(ctx, actor, form, q, func(lent *storage.Partial) error {
		p := *lent
		p.Answers, p.Hidden, p.Metadata = slices.Clone(p.Answers), slices.Clone(p.Hidden), slices.Clone(p.Metadata)
		list = append(list, p)
		return nil
	})
	return list, more, err
}

func savePartial(b *bundle) {
	f := b.anyForm()
	p := b.newPartial(f.ID)
	given := p
	given.Partial.Revision, given.Partial.SubmissionID, given.Partial.CreatedAt = 9, newID(), soon()
	given.IfRevision = 0
	same(b, b.save(given), 1, "the revision of a new partial submission")
	b.isThere(p, "after it was created")
	same(b, b.partials(f.ID, soon()), []storage.Partial{p.Partial}, "Partials")

	bare := b.newPartial(f.ID)
	bare.Partial.Block, bare.Partial.Seconds, bare.Partial.Shared = "", 0, false
	bare.Partial.Answers, bare.Partial.Hidden, bare.Partial.Metadata = json.RawMessage(`{}`), json.RawMessage(`{}`), json.RawMessage(`{}`)
	b.save(bare)
	b.isThere(bare, "with nothing in it")
	b.isThere(p, "after another partial submission was created")
}

func changePartial(b *bundle) {
	f := b.anyForm()
	p, other := b.addPartial(f.ID), b.addPartial(f.ID)
	for revision := int64(2); revision < 5; revision++ {
		change := again(p)
		change.Partial.Answers, change.Partial.Hidden = json.RawMessage(fmt.Sprintf(`{"q2":%d}`, revision)), json.RawMessage(`{}`)
		change.Partial.Metadata, change.Partial.Block = json.RawMessage(`{"device":"phone"}`), "q3"
		change.Partial.Seconds, change.Partial.Shared = float64(revision), revision%2 == 0
		change.Partial.EndsAt = p.Partial.EndsAt.Add(24 * time.Hour)
		given := change
		given.Partial.ID, given.Partial.CreatedAt, given.Partial.SubmissionID, given.Partial.Revision = newID(), soon(), newID(), 9
		same(b, b.save(given), revision, "the revision after a change")
		p, p.Partial.Revision = change, revision
		b.isThere(p, "after change %d", revision-1)
	}
	b.isThere(other, "after another partial submission was changed")
	same(b, idsOf(b.partials(f.ID, soon()), partialID), []storage.ID{p.Partial.ID, other.Partial.ID}, "Partials, by the last save")
}

func partialNeedsPublished(b *bundle) {
	f := b.anyForm(func(f *storage.Form) { f.Acceptance.CloseAt, f.Acceptance.ResponseLimit = at(-time.Hour), 1 })
	b.submit(f)
	p := b.addPartial(f.ID) // closed and full: that is the caller's business
	b.refusesSave(b.newPartial(newID()), storage.ErrNotFound, "a new partial submission of an unknown form")

	f = b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: b.tick()})
	fresh := b.newPartial(f.ID)
	b.refusesSave(fresh, storage.ErrNotFound, "a new partial submission of a draft")
	b.refusesSave(again(p), storage.ErrNotFound, "a change, when the form is a draft")
	b.isGone(fresh, "after a save was rejected")
	b.isThere(p, "when the form is a draft")
	same(b, b.partials(f.ID, soon()), []storage.Partial{p.Partial}, "Partials of a draft")

	b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusPublished), At: b.tick()})
	b.trashForm(f.ID)
	b.refusesSave(fresh, storage.ErrNotFound, "a new partial submission of a form in the trash")
	b.refusesSave(again(p), storage.ErrNotFound, "a change, when the form is in the trash")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, b.save(again(p)), 2, "the revision after the form was restored")
}

func partialToken(b *bundle) {
	f := b.anyForm()
	other := b.addForm(f.WorkspaceID)
	p, foreign := b.addPartial(f.ID), b.addPartial(other.ID)
	unknown := b.newPartial(f.ID)
	through := again(foreign)
	through.Partial.FormID = f.ID
	zero := b.newPartial(f.ID)
	zero.Token = [32]byte{}
	for what, c := range map[string]storage.SavePartialParams{"an unknown token": unknown, "a token of another form": through, "the zero token": zero} {
		b.refusesSave(again(c), storage.ErrNotFound, "%s", what)
		b.isGone(c, "%s", what)
	}
	b.isThere(p, "after changes that were rejected")
	b.isThere(foreign, "after a change through another form")
	same(b, len(b.partials(f.ID, soon())), 1, "partial submissions after changes that were rejected")
}

func partialTokenTaken(b *bundle) {
	f := b.anyForm()
	p := b.addPartial(f.ID)
	second := b.newPartial(f.ID)
	second.Token = p.Token
	b.refusesSave(second, storage.ErrConflict, "a new partial submission with an existing token")
	b.isThere(p, "after a new partial submission with the same token was rejected")
	same(b, len(b.partials(f.ID, soon())), 1, "partial submissions")
}

func (b *bundle) isPartialRevision(err error, current int64, what string) {
	b.Helper()
	b.isRevision(err, current, what)
	var mismatch *storage.RevisionError
	if errors.As(err, &mismatch) {
		same(b, mismatch.Kind, "partial", "RevisionError.Kind: %s", what)
	}
}

func partialIfRevision(b *bundle) {
	f := b.anyForm()
	p := b.addPartial(f.ID)
	for _, wrong := range []int64{2, 99, -1} {
		change := again(p)
		change.IfRevision = wrong
		_, err := b.store.SavePartial(b.Context(), change)
		b.isPartialRevision(err, 1, "SavePartial with a wrong revision")
	}
	b.isThere(p, "after changes with a wrong revision")
	change := again(p)
	change.IfRevision = 1
	same(b, b.save(change), 2, "the revision after a conditional change")
	_, err := b.store.SavePartial(b.Context(), change)
	b.isPartialRevision(err, 2, "SavePartial with the revision before")
	same(b, b.save(again(p)), 3, "the revision after a change without a condition")
}

func partialOrder(b *bundle) {
	f := b.anyForm()
	p := b.addPartial(f.ID)
	unknown := again(b.newPartial(f.ID))
	unknown.IfRevision = 9
	b.refusesSave(unknown, storage.ErrNotFound, "an unknown token, and the wrong revision")
	stale := again(p)
	stale.IfRevision = 9
	b.submit(f, withPartial(p))
	b.refusesSave(stale, storage.ErrConflict, "a submitted partial submission, and the wrong revision")
	stale.Partial.SavedAt = p.Partial.EndsAt
	b.refusesSave(stale, storage.ErrNotFound, "a submitted partial submission that has expired")
	taken := p
	taken.Partial.ID = newID()
	b.refusesSave(taken, storage.ErrConflict, "a new partial submission with the token of a submitted partial submission")
	b.update(f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: b.tick()})
	b.refusesSave(again(p), storage.ErrNotFound, "a submitted partial submission of a draft")
	b.refusesSave(taken, storage.ErrNotFound, "a new partial submission with an existing token, of a draft")
}

func partialOver(b *bundle) {
	f := b.anyForm()
	end := at(time.Hour)
	p := b.addPartial(f.ID, endingAt(end))
	later := b.addPartial(f.ID, endingAt(end.Add(time.Microsecond)))
	last := end.Add(-time.Microsecond)
	same(b, b.partial(p, last), p.Partial, "Partial just before its end")
	same(b, len(b.partials(f.ID, last)), 2, "partial submissions just before one expires")
	_, err := b.store.Partial(b.Context(), f.ID, p.Token, end)
	b.is(err, storage.ErrNotFound, "Partial at its end")
	same(b, b.partials(f.ID, end), []storage.Partial{later.Partial}, "Partials at the EndsAt of a partial submission")
	change := again(p)
	change.Partial.SavedAt, change.Partial.EndsAt = end, soon()
	b.refusesSave(change, storage.ErrNotFound, "at its end")
	b.isThere(p, "by a clock that is behind")
	change.Partial.SavedAt = last
	b.save(change)
	change.Partial.Revision = 2
	same(b, b.partial(change, end), change.Partial, "Partial after a save moved its end")
}

func partialMax(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	elsewhere := b.addPartial(other.ID, savedAt(at(-time.Hour)))
	first, second, third := b.addPartial(f.ID, atMost(3)), b.addPartial(f.ID, atMost(3)), b.addPartial(f.ID, atMost(3))
	change := again(first)
	change.Max, change.Partial.SavedAt = 3, b.tick()
	b.save(change)
	fourth := b.addPartial(f.ID, atMost(3))
	b.isGone(third, "the newest that was saved once")
	b.refusesSave(again(third), storage.ErrNotFound, "the one that was replaced")
	for _, p := range []storage.SavePartialParams{first, second, fourth, elsewhere} {
		b.partial(p, soon())
	}
	link := again(fourth)
	link.Partial.LinkIssued, link.Partial.SavedAt = true, b.tick()
	b.save(link)
	linked := b.addPartial(f.ID, atMost(3), func(p *storage.SavePartialParams) { p.Partial.LinkIssued = true })
	b.isGone(second, "the newest partial submission at revision 1")
	next := b.addPartial(f.ID, atMost(3))
	b.isGone(first, "the one that was saved longest ago")
	last := b.addPartial(f.ID, atMost(3))
	b.isGone(next, "the one that was saved once, although it is the newest")
	for _, p := range []storage.SavePartialParams{fourth, linked, last, elsewhere} {
		b.partial(p, soon())
	}
	b.addPartial(f.ID)
	b.addPartial(f.ID, atMost(-1))
	same(b, len(b.partials(f.ID, soon())), 5, "partial submissions after two saves without a limit")
}

func partialMaxCounts(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	b.addPartial(f.ID, endingAt(at(30*time.Minute)))
	sent, open := b.addPartial(f.ID), b.addPartial(f.ID)
	n := b.submit(f, withPartial(sent))
	foreign := b.addPartial(other.ID)
	late := b.addPartial(f.ID, savedAt(at(time.Hour)), atMost(2))
	same(b, idsOf(b.partials(f.ID, at(time.Hour)), partialID), []storage.ID{late.Partial.ID, open.Partial.ID}, "Partials, two of two")
	change := again(open)
	change.Max = 1
	b.save(change)
	same(b, len(b.partials(f.ID, at(time.Hour))), 2, "partial submissions after a change with a lower limit")
	b.addPartial(f.ID, savedAt(at(2*time.Hour)), atMost(2))
	b.isGone(late, "the one that was saved once")
	b.partial(open, soon())
	b.isThere(foreign, "of another form")
	same(b, b.partial(sent, soon()).SubmissionID, n.Submission.ID, "SubmissionID of the submitted partial submission")
}

func partialVerified(b *bundle) {
	f := b.anyForm()
	var want []storage.Partial
	for i := range 5 {
		p := b.addPartial(f.ID, func(p *storage.SavePartialParams) { p.Partial.Verified, p.Partial.LinkIssued = i == 1, i == 2 })
		for _, set := range []bool{i == 3, false} {
			change := again(p)
			change.Partial.Verified, change.Partial.LinkIssued, change.Partial.SavedAt = set, set, b.tick()
			b.save(change)
		}
		got := b.partial(p, soon())
		same(b, got.Verified, i == 1 || i == 3, "Verified of partial submission %d", i)
		same(b, got.LinkIssued, i == 2 || i == 3, "LinkIssued of partial submission %d", i)
		if got.Verified {
			want = slices.Insert(want, 0, got)
		}
	}
	q := storage.PartialQuery{Now: soon(), Page: storage.Page{Limit: 1}, Verified: true}
	for i := range want {
		got, more, err := listPartials(b.Context(), b.store, storage.AsHost(), f.ID, q)
		b.ok(err, "Partials")
		same(b, got, want[i:i+1], "page %d of the verified partial submissions", i)
		same(b, more, i+1 < len(want), "more of page %d", i)
		q.Page.After = &storage.Position{Time: want[i].SavedAt, ID: want[i].ID}
	}
}

func partialNotCounted(b *bundle) {
	f := b.anyForm(withLimit(1))
	hook := b.addWebhook(f.ID)
	for range 3 {
		b.save(again(b.addPartial(f.ID)))
	}
	same(b, b.getForm(f.ID), f, "the form with partial submissions")
	same(b, b.submissions(f.ID), nil, "Submissions")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}), storage.Funnel{}, "Funnel")
	same(b, b.attempts(hook.ID), nil, "Deliveries")
	b.nothingPending("partial submissions queue no deliveries")
	b.submit(f)
	b.full(f, true, "after the one submission that the limit allows")
}

func partialList(b *bundle) {
	f := b.anyForm()
	same(b, b.partials(f.ID, soon()), nil, "Partials of a form without any")
	oldest, sent := b.addPartial(f.ID), b.addPartial(f.ID)
	b.addPartial(f.ID, endingAt(at(time.Hour)))
	newest := b.addPartial(f.ID)
	b.submit(f, withPartial(sent))
	b.addPartial(b.addForm(f.WorkspaceID).ID)
	want := []storage.Partial{newest.Partial, oldest.Partial}
	same(b, b.partials(f.ID, at(time.Hour)), want, "Partials")
	for limit, more := range map[int]bool{1: true, 2: false, 3: false, 0: false} {
		got, rest, err := listPartials(b.Context(), b.store, storage.AsHost(), f.ID, storage.PartialQuery{Now: at(time.Hour), Page: storage.Page{Limit: limit}})
		b.ok(err, "Partials")
		same(b, got, want[:min(limit, 2)], "Partials, %d of 2", limit)
		same(b, rest, more, "more of a page of %d of 2", limit)
	}
	for what, form := range map[string]storage.ID{"an unknown form": newID(), "the zero id": {}} {
		_, _, err := listPartials(b.Context(), b.store, storage.AsHost(), form, storage.PartialQuery{Now: soon(), Page: storage.Page{Limit: 1}})
		b.is(err, storage.ErrNotFound, "Partials of %s", what)
	}
}

func partialListRefused(b *bundle) {
	f := b.anyForm()
	for range 3 {
		b.addPartial(f.ID)
	}
	for _, wanted := range []error{errNothing, storage.ErrUnavailable, context.Canceled} {
		lent := 0
		_, err := b.store.Partials(b.Context(), storage.AsHost(), f.ID, storage.PartialQuery{Now: soon(), Page: storage.Page{Limit: 10}}, func(*storage.Partial) error {
			if lent++; lent == 2 {
				return wanted
			}
			return nil
		})
		same(b, err, wanted, "the error of a call whose callback failed at the second record")
		same(b, lent, 2, "records that were lent")
	}
}

func pagedPartials(b *bundle) pagedList {
	f := b.anyForm()
	b.addPartial(b.addForm(f.WorkspaceID).ID) // another form's
	return pagedList{
		add: func(when time.Time) storage.ID {
			return b.addPartial(f.ID, savedAt(when), endingAt(at(9000*time.Hour))).Partial.ID
		},
		remove: func(id storage.ID) { b.deletesPartials(f.ID, 1, storage.DeletePartialsParams{IDs: []storage.ID{id}}) },
		page: func(p storage.Page) []storage.Position {
			got, _, err := listPartials(b.Context(), b.store, storage.AsHost(), f.ID, storage.PartialQuery{Now: soon(), Page: p})
			b.ok(err, "Partials")
			return positions(got, func(p storage.Partial) storage.Position { return storage.Position{Time: p.SavedAt, ID: p.ID} })
		},
	}
}

func spoilPartial(p storage.Partial) { spoil(p.Answers, p.Hidden, p.Metadata) }

func clonePartial(p storage.Partial) storage.Partial {
	p.Answers, p.Hidden, p.Metadata = slices.Clone(p.Answers), slices.Clone(p.Hidden), slices.Clone(p.Metadata)
	return p
}

func copiesInPartial(b *bundle) {
	f := b.anyForm()
	p := b.newPartial(f.ID)
	given := p
	given.Partial = clonePartial(p.Partial)
	b.save(given)
	spoilPartial(given.Partial)
	b.isThere(p, "after the caller overwrote the arguments of SavePartial")
	p = again(p)
	given = p
	given.Partial = clonePartial(p.Partial)
	p.Partial.Revision = b.save(given)
	spoilPartial(given.Partial)
	b.isThere(p, "after the caller overwrote a change")
}

func copiesOutPartial(b *bundle) {
	p := b.addPartial(b.anyForm().ID)
	spoilPartial(b.partial(p, soon()))
	b.isThere(p, "after the caller overwrote the result of Partial")
	b.save(again(p))
	got := b.partial(p, soon())
	want := render(got)
	change := again(p)
	change.Partial.Answers = json.RawMessage(fmt.Sprintf(`{"q1": %q, "n": 2.50}`, newID()))
	b.save(change)
	same(b, render(got), want, "what Partial returned, after the partial submission changed")
}

func invalidPartial(b *bundle) {
	f := b.anyForm()
	p := b.addPartial(f.ID)
	ctx, host := b.Context(), storage.AsHost()
	save := func(edit func(*storage.SavePartialParams)) func() error {
		fresh, change := b.newPartial(newID(), edit), again(p)
		edit(&change)
		return func() error {
			if _, err := b.store.SavePartial(ctx, fresh); !errors.Is(err, storage.ErrInvalidValue) {
				return fmt.Errorf("a new partial submission of an unknown form: %w", err)
			}
			_, err := b.store.SavePartial(ctx, change)
			return err
		}
	}
	for _, s := range invalidTexts {
		raw := json.RawMessage(`{"q1":"` + s + `"}`)
		b.refuseAll(calls{
			"SavePartial, Answers":  save(func(p *storage.SavePartialParams) { p.Partial.Answers = raw }),
			"SavePartial, Hidden":   save(func(p *storage.SavePartialParams) { p.Partial.Hidden = raw }),
			"SavePartial, Metadata": save(func(p *storage.SavePartialParams) { p.Partial.Metadata = raw }),
			"SavePartial, Block":    save(func(p *storage.SavePartialParams) { p.Partial.Block = s }),
		})
	}
	for _, when := range invalidTimes {
		list := func(q storage.PartialQuery) func() error {
			q.Page.Limit = 1
			return func() error {
				_, _, err := listPartials(ctx, b.store, host, newID(), q)
				return err
			}
		}
		b.refuseAll(calls{
			"SavePartial, SavedAt": save(func(p *storage.SavePartialParams) { p.Partial.SavedAt = when }),
			"SavePartial, EndsAt":  save(func(p *storage.SavePartialParams) { p.Partial.EndsAt = when }),
			"Partial": func() error {
				_, err := b.store.Partial(ctx, newID(), p.Token, when)
				return err
			},
			"Partials, Now":      list(storage.PartialQuery{Now: when}),
			"Partials, position": list(storage.PartialQuery{Now: soon(), Page: storage.Page{After: &storage.Position{Time: when}}}),
			"DeletePartials": func() error {
				_, _, err := b.store.DeletePartials(ctx, host, newID(), storage.DeletePartialsParams{SavedBefore: when, Max: 1})
				return err
			},
		})
	}
	b.isThere(p, "after calls with invalid values")
}

func parallelPartials(b *bundle) {
	f := b.anyForm()
	const n, most = 40, 10
	errs := together(n+5, func(i int) error {
		if i < n {
			p := partialAt(f.ID, at(time.Duration(i)*time.Second))
			p.Max = most
			_, err := b.store.SavePartial(b.Context(), p)
			return err
		}
		for range n / 5 {
			list, _, err := listPartials(b.Context(), b.second, storage.AsHost(), f.ID, storage.PartialQuery{Now: soon(), Page: storage.Page{Limit: n}})
			if err != nil {
				return err
			}
			if len(list) > most {
				return fmt.Errorf("got %d partial submissions, want at most %d", len(list), most)
			}
		}
		return nil
	})
	for _, err := range errs {
		b.ok(err, "SavePartial and Partials concurrently")
	}
	same(b, len(b.partials(f.ID, soon())), most, "number of partial submissions")
}

func parallelRevision(b *bundle) {
	p := b.addPartial(b.anyForm().ID)
	changes := make([]storage.SavePartialParams, 20)
	for i := range changes {
		changes[i] = again(p)
		changes[i].IfRevision = 1
		changes[i].Partial.Answers = json.RawMessage(fmt.Sprintf(`{"q1":%d}`, i))
	}
	errs := together(len(changes), func(i int) error {
		_, err := b.store.SavePartial(b.Context(), changes[i])
		return err
	})
	same(b, b.outcome(errs, storage.ErrRevisionMismatch, "SavePartial"), 1, "conditional changes that succeeded")
	for i, err := range errs {
		if err == nil {
			changes[i].Partial.Revision = 2
			b.isThere(changes[i], "as the successful call saved it")
		} else {
			b.isPartialRevision(err, 2, "SavePartial that lost")
		}
	}
}

func parallelChanges(b *bundle) {
	p := b.addPartial(b.anyForm().ID)
	const n = 20
	revisions := make([]int64, n)
	errs := together(n, func(i int) (err error) {
		revisions[i], err = b.store.SavePartial(b.Context(), again(p))
		return err
	})
	for _, err := range errs {
		b.ok(err, "concurrent calls of SavePartial without a condition")
	}
	slices.Sort(revisions)
	for i, revision := range revisions {
		same(b, revision, int64(i+2), "revision %d of %d that were returned", i+1, n)
	}
	same(b, b.partial(p, soon()).Revision, int64(n+1), "Revision")
}

func parallelPartialSubmit(b *bundle) {
	f := b.anyForm()
	for range 4 {
		p := b.addPartial(f.ID)
		first, second := b.newSubmission(f), b.newSubmission(f)
		first.Partial, second.Partial = p.Token, p.Token
		errs := together(8, func(i int) error {
			switch i {
			case 0:
				_, _, err := b.store.Submit(b.Context(), first)
				return err
			case 1:
				_, _, err := b.second.Submit(b.Context(), second)
				return err
			}
			_, err := b.store.SavePartial(b.Context(), again(p))
			return err
		})
		b.ok(errs[0], "Submit concurrently with a save and another submission")
		b.ok(errs[1], "Submit concurrently with a save and another submission")
		b.outcome(errs[2:], storage.ErrConflict, "SavePartial concurrently with Submit")
		got := b.partial(p, soon())
		b.emptied(got, p)
		if got.SubmissionID != first.Submission.ID && got.SubmissionID != second.Submission.ID {
			b.Errorf("SubmissionID: want the ID of one of the two submissions, got %s", got.SubmissionID)
		}
	}
	same(b, len(b.submissions(f.ID)), 8, "number of submissions")
}
