package storagetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// world is a store with one of everything, for the cases that go through every
// method.
type world struct {
	owner, member, stranger storage.ID

	workspace storage.Workspace // of owner, with member
	second    storage.Workspace // of owner, with member, empty
	foreign   storage.Workspace // of stranger
	form      storage.Form      // published, with a webhook and submissions
	trashed   storage.Form
	webhook   storage.Webhook
	first     storage.NewSubmission     // its delivery has ended and is in the history
	attempt   storage.Delivery          // that of the first submission
	claimed   storage.ClaimedDelivery   // that of the second submission, under a lease
	waiting   storage.NewSubmission     // its delivery is due and not claimed
	key       storage.Key               // of owner
	partial   storage.SavePartialParams // is saved, unless the store keeps no half responses
	document  storage.DocumentChange    // is beside the form, unless the store keeps no documents
	hash      [32]byte
	now       time.Time // when everything above is past and due
}

func (b *bundle) furnish() *world {
	b.Helper()
	w := &world{owner: b.user(), stranger: b.user(), now: soon()}
	w.workspace = b.addWorkspace(w.owner)
	w.second = b.addWorkspace(w.owner)
	w.foreign = b.addWorkspace(w.stranger)
	w.member = b.addMember(w.workspace.ID)
	b.ok(b.store.SetMember(b.Context(), w.second.ID, w.member, true), "SetMember")

	w.trashed = b.addForm(w.workspace.ID)
	b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), w.trashed.ID, storage.TrashParams{At: b.tick()}), "TrashForm")
	w.form = b.addForm(w.workspace.ID, withUnique(fieldOne))
	w.webhook = b.addWebhook(w.form.ID)

	w.first = b.submit(w.form, withKey("first"), withAnswer("first"))
	sent := ended(b.claimOne(), b.tick())
	b.finish(sent)
	w.attempt = *sent.Delivery
	b.submit(w.form)
	w.claimed = b.claimOne()
	w.waiting = b.submit(w.form)
	w.partial = b.newPartial(w.form.ID, endingAt(at(100_000*time.Hour)))
	if _, err := b.store.SavePartial(b.Context(), w.partial); !errors.Is(err, storage.ErrUnimplemented) {
		b.ok(err, "SavePartial")
	}

	w.document = b.newDocument(version, "0000000000000001")
	if _, err := b.store.PutDocument(b.Context(), storage.AsHost(), w.form.ID, w.document); !errors.Is(err, storage.ErrUnimplemented) {
		b.ok(err, "PutDocument")
	}

	b.ok(b.store.CountFunnel(b.Context(), counted(w.form.ID, b.tick(), storage.Counters{Views: 5, Starts: 4})), "CountFunnel")
	b.ok(b.store.SetLifetimeCounters(b.Context(), w.form.ID, storage.Counters{Views: 9}), "SetLifetimeCounters")
	w.key, w.hash = b.addKey(w.owner)
	b.addKey(w.owner, func(k *storage.Key) { k.ExpiresAt = k.CreatedAt.Add(time.Second) })
	return w
}

// snapshot writes down all that the host can read, so that two snapshots are
// equal when nothing has changed. Leases do not show in it.
func (b *bundle) snapshot() string {
	b.Helper()
	var out strings.Builder
	show := func(name string, v any) { fmt.Fprintf(&out, "%s\n%s\n", name, render(v)) }
	host, all := storage.AsHost(), storage.Page{Limit: 10_000}

	workspaces, err := b.store.Workspaces(b.Context(), host, all)
	b.ok(err, "Workspaces")
	show("workspaces", workspaces)
	for _, w := range workspaces {
		members, err := b.store.Members(b.Context(), w.ID)
		b.ok(err, "Members")
		show("members", members)
	}
	trashed, err := b.store.Forms(b.Context(), host, storage.FormsParams{Trashed: true, Page: all})
	b.ok(err, "Forms in the trash")
	show("trash", trashed)
	forms, err := b.store.Forms(b.Context(), host, storage.FormsParams{Page: all})
	b.ok(err, "Forms")
	for _, f := range forms {
		f, err := b.store.Form(b.Context(), host, f.ID)
		b.ok(err, "Form")
		show("form", f)
		submissions, err := storage.ListSubmissions(b.Context(), b.store, host, f.ID, storage.SubmissionsParams{Page: all})
		b.ok(err, "Submissions")
		show("submissions", submissions)
		partials, _, err := listPartials(b.Context(), b.store, host, f.ID, storage.PartialQuery{Now: soon(), Page: all})
		if !errors.Is(err, storage.ErrUnimplemented) {
			b.ok(err, "Partials")
		}
		show("partial submissions", partials)
		show("funnel", b.funnel(f.ID, time.Time{}, time.Time{}))
		for _, kind := range []string{version, workingCopy} {
			documents, _, err := b.store.Documents(b.Context(), host, f.ID, storage.DocumentQuery{Kind: kind, Limit: everyRecord})
			if !errors.Is(err, storage.ErrUnimplemented) {
				b.ok(err, "Documents")
			}
			for _, d := range documents {
				show("document", b.document(f.ID, kind, d.Key))
			}
		}
	}
	webhooks, err := b.store.Webhooks(b.Context(), host, all)
	b.ok(err, "Webhooks")
	show("webhooks", webhooks)
	for _, w := range webhooks {
		show("attempts", b.attempts(w.ID))
	}
	show("queue", b.stats())
	for _, u := range b.users {
		keys, err := b.store.Keys(b.Context(), u)
		b.ok(err, "Keys")
		show("keys", keys)
	}
	for _, h := range b.hashes {
		_, user, err := b.store.KeyByHash(b.Context(), h)
		b.ok(err, "KeyByHash")
		show("user", user)
	}
	return out.String()
}

func (b *bundle) funnel(form storage.ID, from, to time.Time) storage.Funnel {
	b.Helper()
	got, err := b.store.Funnel(b.Context(), storage.AsHost(), form, storage.Window{From: from, To: to})
	b.ok(err, "Funnel")
	return got
}

// getForm reads a form as the host.
func (b *bundle) getForm(id storage.ID) storage.Form {
	b.Helper()
	got, err := b.store.Form(b.Context(), storage.AsHost(), id)
	b.ok(err, "Form")
	return got
}

// submissions lists every submission of a form as the host.
func (b *bundle) submissions(form storage.ID) []storage.Submission {
	b.Helper()
	got, err := storage.ListSubmissions(b.Context(), b.store, storage.AsHost(), form,
		storage.SubmissionsParams{Page: storage.Page{Limit: 10_000}})
	b.ok(err, "Submissions")
	return got.Submissions
}

// trash lists every form in the trash as the host.
func (b *bundle) trash() []storage.Form {
	b.Helper()
	got, err := b.store.Forms(b.Context(), storage.AsHost(),
		storage.FormsParams{Trashed: true, Page: storage.Page{Limit: 10_000}})
	b.ok(err, "Forms in the trash")
	return got
}
