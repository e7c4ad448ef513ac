package storagetest

import (
	"encoding/json"
	"math"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func valueCases() []Case {
	return []Case{
		{"json_definition", "The sections of a definition retain fields, field order and number literals.", jsonDefinition},
		{"json_submission", "Answers, metadata and hidden fields retain fields, field order and number literals.", jsonSubmission},
		{"times", "Times are returned in UTC and to the microsecond, and zero times stay zero.", timesComeBack},
		{"text", "Text is returned unchanged, whatever it contains.", textComesBack},
		{"bytes", "An event's body, a secret and a unique answer are stored byte by byte.", bytesComeBack},
		{"numbers", "Numbers are returned exactly, including large numbers and fractions.", numbersComeBack},
	}
}

// awkwardObject and awkwardArray are JSON that decoding and encoding again, or a
// binary JSON type, would change.
func awkwardObject() json.RawMessage {
	return json.RawMessage(`{"zebra":1.0,"apple":{"b":1e2,"a":-0,"":null},"n":12345678901234567890.123456789,` +
		`"small":1E-7,"x":0.10,"text":"<>& \u00e9 😀 \\ \" /","empty":{},"list":[[],[null,true,false]],"Apple":1}`)
}

func awkwardArray() json.RawMessage {
	return json.RawMessage(`[{"id":"b","type":"text","n":1.50},{"type":"text","id":"a"},[],"",0,-0.0,1e300]`)
}

func jsonDefinition(b *bundle) {
	w := b.addWorkspace(b.user())
	awkward := storage.Definition{
		Blocks: awkwardArray(), Settings: awkwardObject(), Theme: awkwardObject(), Variables: awkwardObject(),
		HiddenFields: json.RawMessage(`["b","a","b","\u00e9"]`), Format: 3,
	}
	created := b.addForm(w.ID, func(f *storage.Form) { f.Definition = awkward })
	same(b, b.getForm(created.ID).Definition, awkward, "Definition of a new form")
	got, err := b.store.FormByPublicID(b.Context(), created.PublicID)
	b.ok(err, "FormByPublicID")
	same(b, got.Definition, awkward, "Definition in FormByPublicID")
	updated := b.addForm(w.ID)
	same(b, b.update(updated.ID, storage.FormChange{Definition: awkward, At: b.tick()}).Definition, awkward, "Definition as UpdateForm returns it")
	same(b, b.getForm(updated.ID).Definition, awkward, "Definition after UpdateForm")
}

func jsonSubmission(b *bundle) {
	f := b.anyForm()
	n := b.newSubmission(f)
	n.IdempotencyKey = "once"
	n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden = awkwardArray(), awkwardObject(), awkwardObject()
	for _, what := range []string{"Submit", "Submit, replayed,"} {
		got, _, err := b.store.Submit(b.Context(), n)
		b.ok(err, "%s", what)
		same(b, got, n.Submission, "what %s returns", what)
	}
	got, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
	b.ok(err, "Submission")
	same(b, got, n.Submission, "Submission")
	got, err = b.store.SubmissionByKey(b.Context(), f.ID, "once")
	b.ok(err, "SubmissionByKey")
	same(b, got, n.Submission, "SubmissionByKey")
	same(b, b.submissions(f.ID), []storage.Submission{n.Submission}, "Submissions")
}

func timesComeBack(b *bundle) {
	for i, when := range []time.Time{
		time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		time.Date(2026, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 7, 20, 20, 17, 40, 123_456_000, time.UTC),
		time.Date(2199, 2, 28, 0, 0, 0, 1000, time.UTC),
	} {
		w := b.newWorkspace(b.user())
		w.CreatedAt, w.UpdatedAt = when, when.Add(time.Microsecond)
		b.ok(b.store.CreateWorkspace(b.Context(), w, 0), "CreateWorkspace")
		gotW, err := b.store.Workspace(b.Context(), storage.AsHost(), w.ID)
		b.ok(err, "Workspace")
		same(b, gotW, w, "Workspace with time %d", i)

		f := b.addForm(w.ID, func(f *storage.Form) {
			f.CreatedAt, f.UpdatedAt, f.Acceptance.OpenAt, f.Acceptance.CloseAt = when, when, when, when
		})
		same(b, b.getForm(f.ID), f, "Form with time %d", i)
		n := b.submit(f, func(n *storage.NewSubmission) { n.Submission.SubmittedAt = when })
		same(b, b.submissions(f.ID), []storage.Submission{n.Submission}, "Submissions with time %d", i)
		hook := b.addWebhook(f.ID, func(w *storage.Webhook) { w.CreatedAt, w.UpdatedAt = when, when })
		same(b, b.getWebhook(hook.ID), hook, "Webhook with time %d", i)

		k, hash := b.addKey(b.user(), func(k *storage.Key) { k.CreatedAt, k.ExpiresAt = when, when })
		b.ok(b.store.RevokeKey(b.Context(), k.UserID, k.ID, when), "RevokeKey")
		b.ok(b.store.TouchKeys(b.Context(), map[storage.ID]time.Time{k.ID: when}), "TouchKeys")
		k.RevokedAt, k.LastUsedAt = when, when
		gotK, _ := b.keyByHash(hash)
		same(b, gotK, k, "Key with time %d", i)

		b.enqueue(hook.ID)
		r := retried(b.claimOne(), when, time.Duration(i+1)*time.Hour)
		b.finish(r)
		same(b, b.attempts(hook.ID), []storage.Delivery{*r.Delivery}, "Deliveries with time %d", i)

		b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), f.ID, storage.TrashParams{At: when}), "TrashForm")
		for _, trashed := range b.trash() {
			if trashed.ID == f.ID {
				same(b, trashed.TrashedAt, when, "TrashedAt with time %d", i)
			}
		}
	}
}

func textComesBack(b *bundle) {
	for _, s := range []string{
		"", " ", " padded ", "O'Brien; DROP TABLE forms;--", `back\slash`, `%_$1 ? ?? :name {{x}}`, "line\nfeed\ttab\r",
		"é", "e\u0301", "日本語", "😀👨‍👩‍👧", "\u202eright to left", "\ufeffmark", "<script>&amp;", "\x7f\u0080",
	} {
		w := b.newWorkspace(b.user())
		w.Name = s
		b.ok(b.store.CreateWorkspace(b.Context(), w, 0), "CreateWorkspace with the name %q", s)
		got, err := b.store.Workspace(b.Context(), storage.AsHost(), w.ID)
		b.ok(err, "Workspace")
		same(b, got.Name, s, "Workspace.Name")
		f := b.addForm(w.ID, func(f *storage.Form) { f.Name = s })
		same(b, b.getForm(f.ID).Name, s, "Form.Name")
		if s != "" {
			n := b.submit(f, withKey(s))
			again, err := b.store.SubmissionByKey(b.Context(), f.ID, s)
			b.ok(err, "SubmissionByKey(%q)", s)
			same(b, again.ID, n.Submission.ID, "SubmissionByKey")
		}
		k, hash := b.newKey(b.user())
		k.Name, k.Prefix = s, s
		u := storage.User{ID: k.UserID, Name: s, Email: s}
		b.ok(b.store.CreateKey(b.Context(), storage.NewKey{User: u, Key: k, Hash: hash, Max: 0}), "CreateKey with the name %q", s)
		gotK, gotU := b.keyByHash(hash)
		same(b, gotK, k, "Key")
		same(b, gotU, u, "User")
	}
}

func bytesComeBack(b *bundle) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.updateWebhook(w.ID, storage.WebhookChange{Secret: &all})
	same(b, b.secret(w.ID), string(all), "StoredSecret.Secret")
	b.submit(f, func(n *storage.NewSubmission) { n.Event.Body, n.UniqueAnswer = all, all })
	d := b.claimOne()
	same(b, d.Body, all, "Delivery.Body")
	same(b, d.Secret, all, "Delivery.Secret")
	n := b.newSubmission(f)
	n.UniqueAnswer = all
	b.refuse(n, storage.ErrDuplicate, "the answer is taken")
	n.UniqueAnswer = all[:255]
	b.submit(f, func(s *storage.NewSubmission) { *s = n })
}

func numbersComeBack(b *bundle) {
	const large = 1<<53 + 1
	f := b.anyForm(withLimit(large))
	same(b, b.getForm(f.ID).Acceptance.ResponseLimit, int64(large), "Gate.ResponseLimit")
	for _, seconds := range []float64{0, 0.1, 1.0 / 3, 1e15 + 0.5, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		n := b.submit(f, func(n *storage.NewSubmission) { n.Submission.CompletionTime = seconds })
		got, err := b.store.Submission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID)
		b.ok(err, "Submission")
		same(b, got.CompletionTime, seconds, "CompletionTime")
	}
	b.count(f.ID, at(0), large, large, 0)
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Views, int64(large), "Views")
	want := storage.Counters{Views: math.MaxInt64, Starts: large, Submissions: 1}
	b.ok(b.store.SetLifetimeCounters(b.Context(), f.ID, want), "SetLifetimeCounters")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Lifetime, &want, "Lifetime")
}
