package storagetest

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func copyCases() []Case {
	return []Case{
		{"copies_in_form", "A store retains no slice or pointer of a form or a form change from the caller.", copiesInForm},
		{"copies_out_form", "Definitions that a store has returned never change, and the lists in a form belong to the caller.", copiesOutForm},
		{"copies_in_submission", "A store retains no slice of a submission, its unique answer or its event from the caller.", copiesInSubmission},
		{"copies_out_submission", "A store returns no slice of a submission that it retains.", copiesOutSubmission},
		{"copies_webhook", "A webhook's secret is copied when it is stored and when it is returned.", copiesWebhook},
		{"copies_delivery", "A delivery's secret and a recorded attempt are copies.", copiesDelivery},
		{"copies_key", "A key's scopes are copied when they are stored and when they are returned.", copiesKey},
		{"copies_workspace", "A change of a workspace and a member list are copies.", copiesWorkspace},
		{"copies_funnel", "Lifetime counters are returned as a copy.", copiesFunnel},
	}
}

// spoil overwrites bytes that belong to the caller.
func spoil(slices ...[]byte) {
	for _, s := range slices {
		for i := range s {
			s[i] = '#'
		}
	}
}

func spoilDefinition(d storage.Definition) {
	spoil(d.Blocks, d.Settings, d.Theme, d.Variables, d.HiddenFields)
}

func spoilSubmission(s storage.Submission) { spoil(s.Answers, s.Metadata, s.Hidden) }

func copiesInForm(b *bundle) {
	f := b.newForm(b.addWorkspace(b.user()).ID)
	want := render(f)
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm")
	spoilDefinition(f.Definition)
	same(b, render(b.getForm(f.ID)), want, "Form after the caller overwrote the arguments of CreateForm")

	c := storage.FormChange{
		Name: ptr("given"), Status: ptr(storage.StatusDraft), Acceptance: &storage.AcceptanceRules{ResponseLimit: 5}, At: b.tick(),
		Definition: b.newForm(f.WorkspaceID).Definition,
	}
	b.update(f.ID, c)
	want = render(b.getForm(f.ID))
	*c.Name, *c.Status, c.Acceptance.ResponseLimit = "changed", storage.StatusPublished, 1
	spoilDefinition(c.Definition)
	same(b, render(b.getForm(f.ID)), want, "Form after the caller overwrote the arguments of UpdateForm")
}

// Definitions are read only for callers, so a store may share their bytes; then it
// must not reuse them.
func copiesOutForm(b *bundle) {
	f := b.anyForm()
	type reading struct {
		what string
		got  *storage.Form
		want string
	}
	var readings []reading
	keep := func(what string, got storage.Form, err error) {
		b.Helper()
		b.ok(err, "%s", what)
		same(b, got.ID, f.ID, "ID of the record that %s returned", what)
		readings = append(readings, reading{what, &got, render(got)})
	}
	change := b.newForm(f.WorkspaceID).Definition
	got, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{At: b.tick(), Definition: change})
	keep("UpdateForm", got, err)
	spoilDefinition(change)
	got, err = b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{At: b.tick(), Name: ptr("x")})
	keep("UpdateForm of the name only", got, err)
	got, err = b.store.Form(b.Context(), storage.AsHost(), f.ID)
	keep("Form", got, err)
	got, err = b.store.FormByPublicID(b.Context(), f.PublicID)
	keep("FormByPublicID", got, err)

	page := storage.FormsParams{Page: storage.Page{Limit: 10}}
	list, err := b.store.Forms(b.Context(), storage.AsHost(), page)
	b.ok(err, "Forms")
	want := render(list)
	clear(list)
	list, err = b.store.Forms(b.Context(), storage.AsHost(), page)
	b.ok(err, "Forms")
	same(b, render(list), want, "Forms after the caller overwrote the list that it got")

	// Every section has other bytes of the same length now.
	current := b.getForm(f.ID).Definition
	for _, section := range current.Sections() {
		*section.Value = blank(*section.Value)
	}
	b.update(f.ID, storage.FormChange{At: b.tick(), Name: ptr("y"), Definition: current})
	for range 3 {
		b.getForm(f.ID)
	}
	for _, r := range readings {
		same(b, render(*r.got), r.want, "what %s returned, after the form changed", r.what)
	}
}

// blank returns an array or object with nothing in it, and as long as raw.
func blank(raw json.RawMessage) json.RawMessage {
	if len(raw) < 2 {
		return raw
	}
	out := bytes.Repeat([]byte(" "), len(raw))
	out[0], out[len(out)-1] = raw[0], raw[len(raw)-1]
	return out
}

func copiesInSubmission(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	n := b.newSubmission(f)
	n.UniqueAnswer = []byte("taken")
	want, body := render(n.Submission), string(n.Event.Body)
	_, _, err := b.store.Submit(b.Context(), n)
	b.ok(err, "Submit")
	spoilSubmission(n.Submission)
	spoil(n.UniqueAnswer, n.Event.Body)
	got, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
	b.ok(err, "Submission")
	same(b, render(got), want, "Submission after the caller overwrote the arguments of Submit")
	same(b, string(b.claimOne().Body), body, "Body after the caller overwrote the arguments of Submit")
	again := b.newSubmission(f)
	again.UniqueAnswer = []byte("taken")
	b.refuse(again, storage.ErrDuplicate, "the answer is taken, though the caller overwrote its slice")
}

func copiesOutSubmission(b *bundle) {
	f := b.anyForm()
	n := b.newSubmission(f)
	n.IdempotencyKey = "once"
	want := render(n.Submission)
	check := func(what string, got storage.Submission, err error) {
		b.Helper()
		b.ok(err, "%s", what)
		spoilSubmission(got)
		again, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
		b.ok(err, "Submission")
		same(b, render(again), want, "Submission after the caller overwrote the result of %s", what)
	}
	got, _, err := b.store.Submit(b.Context(), n)
	check("Submit", got, err)
	got, _, err = b.store.Submit(b.Context(), n)
	check("Submit, replayed,", got, err)
	got, err = b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
	check("Submission", got, err)
	got, err = b.store.SubmissionByKey(b.Context(), f.ID, "once")
	check("SubmissionByKey", got, err)
	check("Submissions", only(b, b.submissions(f.ID), "Submissions"), nil)
}

func copiesWebhook(b *bundle) {
	f := b.anyForm()
	given := b.newWebhook(f.ID)
	want := string(secretOf(given))
	check := func(what string, secret []byte) {
		b.Helper()
		spoil(secret)
		same(b, b.secret(given.ID), want, "Secret after the caller overwrote %s", what)
	}
	first := secretOf(given)
	b.ok(b.store.CreateWebhook(b.Context(), storage.AsHost(), storage.NewWebhook{Webhook: given, Secret: first}), "CreateWebhook")
	check("the arguments of CreateWebhook", first)
	list, err := b.store.Secrets(b.Context(), storage.ID{}, 10)
	b.ok(err, "Secrets")
	check("what Secrets returned", only(b, list, "Secrets").Secret)
	want = "another secret"
	secret := []byte(want)
	b.updateWebhook(given.ID, storage.WebhookChange{Secret: &secret})
	check("the arguments of UpdateWebhook", secret)
}

func copiesDelivery(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	e := newEvent()
	body := string(e.Body)
	b.ok(b.store.Enqueue(b.Context(), w.ID, e), "Enqueue")
	spoil(e.Body)
	p := b.everything()
	d := only(b, b.claim(p), "ClaimDeliveries")
	p.Webhooks[w.ID] = 0
	same(b, string(d.Body), body, "Body after the caller overwrote the arguments of Enqueue")
	spoil(d.Secret)
	same(b, b.secret(w.ID), string(secretOf(w)), "Secret after the caller overwrote the result of ClaimDeliveries")

	r := retried(d, b.tick(), atOnce)
	want := render(*r.Delivery)
	b.finish(r)
	*r.Delivery = storage.Delivery{Attempt: 77, NextAttemptAt: soon().Add(1000 * time.Hour)}
	history := b.attempts(w.ID)
	same(b, render(only(b, history, "Deliveries")), want, "Deliveries after the caller overwrote the arguments of FinishDeliveries")
	clear(history)
	same(b, render(only(b, b.attempts(w.ID), "Deliveries")), want, "Deliveries after the caller overwrote the list that it got")
	same(b, b.claimOne().Attempt, 2, "Attempt of the delivery that was rescheduled")
}

func copiesKey(b *bundle) {
	user := b.user()
	k, hash := b.newKey(user)
	want := render(k)
	check := func(what string, scopes []storage.Scope) {
		b.Helper()
		clear(scopes)
		got, _ := b.keyByHash(hash)
		same(b, render(got), want, "Key after the caller overwrote %s", what)
	}
	b.ok(b.store.CreateKey(b.Context(), storage.NewKey{User: newUser(user), Key: k, Hash: hash, Max: 0}), "CreateKey")
	check("the arguments of CreateKey", k.Scopes)
	got, _ := b.keyByHash(hash)
	check("what KeyByHash returned", got.Scopes)
	list, err := b.store.Keys(b.Context(), user)
	b.ok(err, "Keys")
	check("what Keys returned", only(b, list, "Keys").Scopes)
}

func copiesWorkspace(b *bundle) {
	w := b.addWorkspace(b.user())
	one, two := b.addMember(w.ID), b.addMember(w.ID)
	members, err := b.store.Members(b.Context(), w.ID)
	b.ok(err, "Members")
	clear(members)
	b.members(w.ID, one, two)

	name, owner := "given", one
	_, err = b.store.UpdateWorkspace(b.Context(), storage.AsHost(), w.ID, storage.WorkspaceChange{Name: &name, Owner: &owner, At: b.tick()})
	b.ok(err, "UpdateWorkspace")
	name, owner = "changed", two
	got, err := b.store.Workspace(b.Context(), storage.AsHost(), w.ID)
	b.ok(err, "Workspace")
	same(b, got.Name, "given", "Name after the caller overwrote the arguments of UpdateWorkspace")
	same(b, got.OwnerID, one, "OwnerID after the caller overwrote the arguments of UpdateWorkspace")
}

func copiesFunnel(b *bundle) {
	f := b.anyForm()
	want := storage.Counters{Views: 3}
	b.ok(b.store.SetLifetimeCounters(b.Context(), f.ID, want), "SetLifetimeCounters")
	got := b.funnel(f.ID, time.Time{}, time.Time{})
	if got.Lifetime == nil {
		b.Fatalf("Funnel: want the lifetime counters that were set, got none")
	}
	got.Lifetime.Views = 99
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Lifetime, &want, "Lifetime after the caller overwrote the result of Funnel")
}
