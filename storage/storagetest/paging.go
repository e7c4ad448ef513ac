package storagetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// pagedList is one list that is read in pages. Its functions work on one bundle.
type pagedList struct {
	add    func(when time.Time) storage.ID
	remove func(id storage.ID)
	page   func(p storage.Page) []storage.Position
}

func pagingCases() []Case {
	lists := []struct {
		name  string
		setup func(b *bundle) pagedList
	}{
		{"workspaces", pagedWorkspaces},
		{"forms", pagedForms(1, false)},
		{"forms_merged", pagedForms(4, false)},
		{"forms_in_trash", pagedForms(1, true)},
		{"submissions", pagedSubmissions},
		{"webhooks", pagedWebhooks},
	}
	var cases []Case
	for _, l := range lists {
		for _, c := range pagingChecks() {
			cases = append(cases, Case{
				Name:  l.name + "_" + c.name,
				About: c.about,
				run:   func(b *bundle) { c.run(b, l.setup(b)) },
			})
		}
	}
	return cases
}

type pagingCheck struct {
	name, about string
	run         func(b *bundle, l pagedList)
}

// pagingChecks are what every list has to pass.
func pagingChecks() []pagingCheck {
	return []pagingCheck{
		{"order", "Pages of any size together contain the whole list, newest first and then by ID.", pagesJoin},
		{"any_position", "A page can start at a position that no record has.", anyPosition},
		{"stable", "If records are added and removed between pages, no page repeats or omits a record that existed throughout.", stablePages},
		{"no_limit", "A limit below 1 returns no record.", limitBelowOne},
	}
}

func pagedWorkspaces(b *bundle) pagedList {
	owner, other := b.user(), b.user()
	return pagedList{
		add: func(when time.Time) storage.ID {
			w := b.newWorkspace(owner)
			w.CreatedAt = when
			joined := w.ID[11]%2 == 0 // about half are those of another owner
			if joined {
				w.OwnerID = other
			}
			b.ok(b.store.CreateWorkspace(b.Context(), w, 0), "CreateWorkspace")
			if joined {
				b.ok(b.store.SetMember(b.Context(), w.ID, owner, true), "SetMember")
			}
			return w.ID
		},
		remove: func(id storage.ID) {
			b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), id, b.tick()), "DeleteWorkspace")
		},
		page: func(p storage.Page) []storage.Position {
			got, err := b.store.Workspaces(b.Context(), storage.As(owner), p)
			b.ok(err, "Workspaces")
			return positions(got, func(w storage.Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
		},
	}
}

// pagedForms spreads forms over a number of workspaces.
func pagedForms(spread int, trashed bool) func(b *bundle) pagedList {
	return func(b *bundle) pagedList {
		owner := b.user()
		var workspaces []storage.ID
		for range spread {
			workspaces = append(workspaces, b.addWorkspace(owner).ID)
		}
		b.anyForm() // somebody else's
		n := 0
		return pagedList{
			add: func(when time.Time) storage.ID {
				n++
				f := b.addForm(workspaces[n%spread], func(f *storage.Form) { f.CreatedAt = when })
				if trashed {
					b.trashForm(f.ID)
				}
				return f.ID
			},
			remove: func(id storage.ID) {
				if trashed {
					b.ok(b.store.RestoreForm(b.Context(), id, storage.ID{}, b.tick()), "RestoreForm")
					return
				}
				b.trashForm(id)
			},
			page: func(p storage.Page) []storage.Position {
				q := storage.FormsParams{Trashed: trashed, Page: p}
				if spread == 1 {
					q.WorkspaceID = workspaces[0]
				}
				got, err := b.store.Forms(b.Context(), storage.As(owner), q)
				b.ok(err, "Forms")
				return positions(got, func(f storage.Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} })
			},
		}
	}
}

func pagedSubmissions(b *bundle) pagedList {
	f := b.anyForm()
	return pagedList{
		add: func(when time.Time) storage.ID {
			return b.submit(f, func(n *storage.NewSubmission) { n.Submission.SubmittedAt = when }).Submission.ID
		},
		remove: func(id storage.ID) {
			b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, id), "DeleteSubmission")
		},
		page: func(p storage.Page) []storage.Position {
			got, err := storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), f.ID, storage.SubmissionsParams{Page: p})
			b.ok(err, "Submissions")
			return positions(got.Submissions, func(s storage.Submission) storage.Position { return storage.Position{Time: s.SubmittedAt, ID: s.ID} })
		},
	}
}

func pagedWebhooks(b *bundle) pagedList {
	owner := b.user()
	var forms []storage.ID
	for range 3 {
		forms = append(forms, b.addForm(b.addWorkspace(owner).ID).ID)
	}
	b.addWebhook(b.anyForm().ID) // somebody else's
	n := 0
	return pagedList{
		add: func(when time.Time) storage.ID {
			n++
			return b.addWebhook(forms[n%len(forms)], func(w *storage.Webhook) { w.CreatedAt = when }).ID
		},
		remove: func(id storage.ID) { b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), id), "DeleteWebhook") },
		page: func(p storage.Page) []storage.Position {
			got, err := b.store.Webhooks(b.Context(), storage.As(owner), p)
			b.ok(err, "Webhooks")
			return positions(got, func(w storage.Webhook) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
		},
	}
}

func positions[V any](list []V, of func(V) storage.Position) []storage.Position {
	out := make([]storage.Position, 0, len(list))
	for _, v := range list {
		out = append(out, of(v))
	}
	return out
}

// newestFirst orders positions as every list does.
func newestFirst(a, b storage.Position) int {
	if c := b.Time.Compare(a.Time); c != 0 {
		return c
	}
	return bytes.Compare(b.ID[:], a.ID[:])
}

// fill adds records, several of them at the same time and two a microsecond
// apart, in an order that is neither that of their times nor of their ids.
func (l pagedList) fill() []storage.Position {
	const us = time.Microsecond
	var all []storage.Position
	for _, offset := range []time.Duration{
		5 * time.Hour, 0, 2 * time.Hour, 2 * time.Hour, 9 * time.Hour, 2 * time.Hour, 0,
		2*time.Hour + us, 2 * time.Hour, 2*time.Hour - us, 2 * time.Hour, 9 * time.Hour,
	} {
		when := at(offset)
		all = append(all, storage.Position{Time: when, ID: l.add(when)})
	}
	slices.SortFunc(all, newestFirst)
	return all
}

// walk reads page after page from after until one is empty. between runs after
// each page.
func (b *bundle) walk(l pagedList, after *storage.Position, limit int, between func(page int)) []storage.Position {
	b.Helper()
	var got []storage.Position
	for n := 0; ; n++ {
		page := l.page(storage.Page{After: after, Limit: limit})
		if len(page) > limit {
			b.Fatalf("a page has %d records where at most %d were asked for", len(page), limit)
		}
		if len(page) == 0 {
			return got
		}
		if got = append(got, page...); len(got) > 1000 {
			b.Fatalf("the pages do not end: %d records so far", len(got))
		}
		last := page[len(page)-1]
		after = &last
		between(n)
	}
}

func undisturbed(int) {}

func pagesJoin(b *bundle, l pagedList) {
	same(b, l.page(storage.Page{Limit: 5}), nil, "a page of the empty list")
	want := l.fill()
	for _, limit := range []int{1, 2, 3, len(want) - 1, len(want), len(want) + 1, 1000} {
		same(b, b.walk(l, nil, limit, undisturbed), want, "the list in pages of %d", limit)
	}
	full := l.page(storage.Page{Limit: len(want) / 2})
	same(b, full, want[:len(want)/2], "a page that is shorter than the list")
	for i := range want {
		same(b, l.page(storage.Page{After: &want[i], Limit: 2}), want[i+1:min(i+3, len(want))], "the page after record %d", i)
	}
}

func anyPosition(b *bundle, l pagedList) {
	all := l.fill()
	var lowest, highest storage.ID
	for i := range highest {
		highest[i] = 0xff
	}
	for _, after := range []storage.Position{
		{Time: at(1000 * time.Hour)}, {Time: at(-1000 * time.Hour), ID: highest},
		{Time: at(2 * time.Hour), ID: highest}, {Time: at(2 * time.Hour), ID: lowest}, {Time: at(2 * time.Hour), ID: newID()},
		{Time: at(2*time.Hour + time.Microsecond), ID: lowest}, {Time: at(3 * time.Hour), ID: newID()},
		{Time: at(9 * time.Hour), ID: highest}, {Time: at(0), ID: lowest},
	} {
		var want []storage.Position
		for _, p := range all {
			if newestFirst(after, p) < 0 {
				want = append(want, p)
			}
		}
		same(b, l.page(storage.Page{After: &after, Limit: 100}), want, "the list after %s, %s", renderTime(after.Time), after.ID)
		same(b, b.walk(l, &after, 2, undisturbed), want, "the pages after %s, %s", renderTime(after.Time), after.ID)
	}
}

func stablePages(b *bundle, l pagedList) {
	all := l.fill()
	// After each page the record that it ended with goes, so that the position
	// names no record, and newer and older ones come.
	end := 0
	got := b.walk(l, nil, 3, func(page int) {
		end = min(3*(page+1), len(all))
		if page > 2 {
			return
		}
		l.remove(all[end-1].ID)
		l.add(at(50 * time.Hour))
		if page == 0 {
			all = append(all, storage.Position{Time: at(-time.Hour), ID: l.add(at(-time.Hour))})
		}
	})
	same(b, got, all, "the list in pages of 3, with records that come and go between the pages")
}

func limitBelowOne(b *bundle, l pagedList) {
	all := l.fill()
	same(b, l.page(storage.Page{Limit: 1}), all[:1], "a page with a limit of 1")
	for _, limit := range []int{0, -1} {
		same(b, l.page(storage.Page{Limit: limit}), nil, "a page with a limit of %d", limit)
	}
}
