package storagetest

import (
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Text and times that the contract does not allow.
var (
	invalidTexts = []string{"a\x00b", "\xff", "a\xc3", "\xed\xa0\x80"}
	invalidTimes = []time.Time{
		time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(-4713, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.UnixMicro(1<<63 - 1), time.UnixMicro(-1 << 63),
	}
)

func invalidCases() []Case {
	return []Case{
		{"invalid_text", "Text that is not UTF-8 without U+0000 is ErrInvalidValue in every method that would store it, and nothing changes.", invalidText},
		{"invalid_text_found", "A lookup of a record by such a text returns ErrNotFound.", invalidTextFound},
		{"invalid_times", "A time outside the years 1 to 9999 is ErrInvalidValue, also in the position of a list.", invalidTime},
		{"invalid_first", "ErrInvalidValue comes before all other errors.", invalidFirst},
	}
}

// calls are calls by name, each of which has one value that is not valid.
type calls map[string]func() error

func (b *bundle) refuseAll(all calls) {
	b.Helper()
	b.unchanged("calls with a value that is not valid", func() {
		for what, call := range all {
			b.is(call(), storage.ErrInvalidValue, "%s", what)
		}
	})
}

func invalidText(b *bundle) {
	w := b.furnish()
	ctx, host := b.Context(), storage.AsHost()
	for _, s := range invalidTexts {
		raw := json.RawMessage(`"` + s + `"`)
		form := func(edit func(*storage.Form)) func() error {
			f := b.newForm(w.workspace.ID)
			edit(&f)
			return func() error { return b.store.CreateForm(ctx, host, f) }
		}
		change := func(c storage.FormChange) func() error {
			c.At = w.now
			return func() error {
				_, err := b.store.UpdateForm(ctx, host, w.form.ID, c)
				return err
			}
		}
		submit := func(edit func(*storage.NewSubmission)) func() error {
			n := b.newSubmission(w.form)
			edit(&n)
			return func() error {
				_, _, err := b.store.Submit(ctx, n)
				return err
			}
		}
		key := func(edit func(*storage.NewKey)) func() error {
			k, hash := b.newKey(w.owner)
			n := storage.NewKey{User: newUser(w.owner), Key: k, Hash: hash}
			edit(&n)
			return func() error { return b.store.CreateKey(ctx, n) }
		}
		workspace := b.newWorkspace(w.owner)
		workspace.Name = s
		hook := b.newWebhook(w.form.ID)
		hook.URL = s
		b.refuseAll(calls{
			"CreateWorkspace, Name": func() error { return b.store.CreateWorkspace(ctx, workspace, 0) },
			"UpdateWorkspace, Name": func() error {
				_, err := b.store.UpdateWorkspace(ctx, host, w.workspace.ID, storage.WorkspaceChange{Name: &s, At: w.now})
				return err
			},
			"CreateForm, Name":         form(func(f *storage.Form) { f.Name = s }),
			"CreateForm, PublicID":     form(func(f *storage.Form) { f.PublicID = s }),
			"CreateForm, Blocks":       form(func(f *storage.Form) { f.Definition.Blocks = raw }),
			"CreateForm, HiddenFields": form(func(f *storage.Form) { f.Definition.HiddenFields = raw }),
			"UpdateForm, Name":         change(storage.FormChange{Name: &s}),
			"UpdateForm, Type":         change(storage.FormChange{Type: &s}),
			"UpdateForm, Status":       change(storage.FormChange{Status: &s}),
			"UpdateForm, Settings":     change(storage.FormChange{Definition: storage.Definition{Settings: raw, Format: 1}}),
			"Submit, Answers":          submit(func(n *storage.NewSubmission) { n.Submission.Answers = raw }),
			"Submit, Hidden":           submit(func(n *storage.NewSubmission) { n.Submission.Hidden = raw }),
			"Submit, IdempotencyKey":   submit(func(n *storage.NewSubmission) { n.IdempotencyKey = s }),
			"CreateKey, Name":          key(func(n *storage.NewKey) { n.Key.Name = s }),
			"CreateKey, User.Name":     key(func(n *storage.NewKey) { n.User.Name = s }),
			"CreateKey, User.Email":    key(func(n *storage.NewKey) { n.User.Email = s }),
			"CreateKey, Scopes":        key(func(n *storage.NewKey) { n.Key.Scopes = []storage.Scope{storage.Scope(s)} }),
			"CreateWebhook, URL":       func() error { return b.createWebhook(hook, 0) },
			"UpdateWebhook, URL": func() error {
				_, err := b.store.UpdateWebhook(ctx, host, w.webhook.ID, storage.WebhookChange{URL: &s, At: w.now})
				return err
			},
		})
	}
}

func invalidTextFound(b *bundle) {
	f := b.anyForm()
	for _, s := range invalidTexts {
		_, err := b.store.FormByPublicID(b.Context(), s)
		b.is(err, storage.ErrNotFound, "FormByPublicID(%q)", s)
		_, err = b.store.SubmissionByKey(b.Context(), f.ID, s)
		b.is(err, storage.ErrNotFound, "SubmissionByKey(%q)", s)
	}
}

func invalidTime(b *bundle) {
	w := b.furnish()
	ctx, host := b.Context(), storage.AsHost()
	for _, when := range invalidTimes {
		page := storage.Page{Limit: 1, After: &storage.Position{Time: when}}
		list := func(q storage.SubmissionsParams) func() error {
			return func() error {
				_, err := storage.ListSubmissions(ctx, b.store, host, w.form.ID, q)
				return err
			}
		}
		f := b.newForm(w.workspace.ID)
		f.Acceptance.CloseAt = when
		opens := b.newForm(w.workspace.ID)
		opens.Acceptance.OpenAt = when
		n := b.newSubmission(w.form)
		n.Submission.SubmittedAt = when
		b.refuseAll(calls{
			"Workspaces, position": func() error {
				_, err := b.store.Workspaces(ctx, host, page)
				return err
			},
			"Forms, position": func() error {
				_, err := b.store.Forms(ctx, storage.As(w.owner), storage.FormsParams{Page: page})
				return err
			},
			"Forms of the host, position": func() error {
				_, err := b.store.Forms(ctx, host, storage.FormsParams{Page: page})
				return err
			},
			"Webhooks, position": func() error {
				_, err := b.store.Webhooks(ctx, storage.As(w.owner), page)
				return err
			},
			"Submissions, position": list(storage.SubmissionsParams{Page: page}),
			"Submissions, Since":    list(storage.SubmissionsParams{Since: when, Page: storage.Page{Limit: 1}}),
			"Submissions, Until":    list(storage.SubmissionsParams{Until: when, Page: storage.Page{Limit: 1}}),
			"Funnel": func() error {
				_, err := b.store.Funnel(ctx, host, w.form.ID, storage.Window{From: when})
				return err
			},
			"CountFunnel":         func() error { return b.store.CountFunnel(ctx, counted(w.form.ID, when, storage.Counters{Views: 1})) },
			"CreateForm, CloseAt": func() error { return b.store.CreateForm(ctx, host, f) },
			"CreateForm, OpenAt":  func() error { return b.store.CreateForm(ctx, host, opens) },
			"UpdateForm, OpenAt": func() error {
				_, err := b.store.UpdateForm(ctx, host, w.form.ID, storage.FormChange{Acceptance: &opens.Acceptance, At: w.now})
				return err
			},
			"UpdateForm, CloseAt": func() error {
				_, err := b.store.UpdateForm(ctx, host, w.form.ID, storage.FormChange{Acceptance: &f.Acceptance, At: w.now})
				return err
			},
			"Submit, SubmittedAt": func() error {
				_, _, err := b.store.Submit(ctx, n)
				return err
			},
			"TrashForm": func() error {
				return b.store.TrashForm(ctx, host, w.form.ID, storage.TrashParams{At: when})
			},
			"DeleteWorkspace": func() error { return b.store.DeleteWorkspace(ctx, host, w.workspace.ID, when) },
			"RevokeKey":       func() error { return b.store.RevokeKey(ctx, w.owner, w.key.ID, when) },
			"TouchKeys":       func() error { return b.store.TouchKeys(ctx, map[storage.ID]time.Time{w.key.ID: when}) },
			"Sweep": func() error {
				_, err := b.store.Sweep(ctx, storage.SweepParams{Now: w.now, TrashBefore: when, Max: 1})
				return err
			},
		})
	}
}

func invalidFirst(b *bundle) {
	w := b.furnish()
	ctx, stranger := b.Context(), storage.As(w.stranger)
	bad := "a\x00b"
	foreign := w.form
	foreign.Name = bad
	n := b.newSubmission(w.form)
	n.Submission.FormID, n.IdempotencyKey = newID(), bad
	k, hash := b.newKey(w.owner)
	b.refuseAll(calls{
		"CreateForm where it may not, with a taken id": func() error { return b.store.CreateForm(ctx, stranger, foreign) },
		"UpdateForm of a foreign form, stale": func() error {
			_, err := b.store.UpdateForm(ctx, stranger, w.form.ID, storage.FormChange{Name: &bad, IfRevision: []int64{99}, At: w.now})
			return err
		},
		"UpdateWorkspace by a member": func() error {
			_, err := b.store.UpdateWorkspace(ctx, storage.As(w.member), w.workspace.ID, storage.WorkspaceChange{Name: &bad, At: w.now})
			return err
		},
		"Submit to an unknown form": func() error {
			_, _, err := b.store.Submit(ctx, n)
			return err
		},
		"CreateKey for another user": func() error {
			return b.store.CreateKey(ctx, storage.NewKey{User: newUser(w.stranger), Key: k, Hash: hash})
		},
		"CreateKey for another user, at the limit": func() error {
			return b.store.CreateKey(ctx, storage.NewKey{User: newUser(w.stranger), Key: k, Hash: hash, Max: 1})
		},
	})
}
