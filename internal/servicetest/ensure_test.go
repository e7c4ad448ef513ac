package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// contactForm returns the form with the ID contact, with one question.
func contactForm(workspace formsvc.ID, label string) formsvc.FormCreate {
	return formsvc.FormCreate{
		Workspace: workspace, PublicID: "contact", Name: "Contact", Type: "MULTI",
		Definition: formsvc.Definition{
			Blocks:   json.RawMessage(`[{"id":"name","type":"short_text","label":"` + label + `"}]`),
			Settings: json.RawMessage(`{"responseLimit":100,"closedMessage":"Closed"}`),
		},
	}
}

// formWrites counts the calls that write forms and documents. stop makes writes fail after the given number of writes.
type formWrites struct {
	storage.Storage
	n, stop atomic.Int64
}

func (s *formWrites) write() error {
	if n, stop := s.n.Add(1), s.stop.Load(); stop > 0 && n > stop {
		return storage.ErrUnavailable
	}
	return nil
}

func (s *formWrites) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	if err := s.write(); err != nil {
		return err
	}
	return s.Storage.CreateForm(ctx, actor, f)
}

func (s *formWrites) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	if err := s.write(); err != nil {
		return storage.Form{}, err
	}
	return s.Storage.UpdateForm(ctx, actor, id, c)
}

func (s *formWrites) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	if err := s.write(); err != nil {
		return storage.Document{}, err
	}
	return s.Storage.PutDocument(ctx, actor, form, c)
}

func TestEnsureForm(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		counted := &formWrites{Storage: store}
		b := servicetest.SetupOn(t, counted, servicetest.Loopback())
		host, ctx := b.AsHost(), t.Context()
		first := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name")))
		expect.That(t, !first.Edited && first.Status == formsvc.StatusPublished && first.Revision == 1 && first.PublicID == "contact" && first.Type == "MULTI",
			"created: %+v", first)
		page := expect.Must(b.PublicForm(ctx, "contact"))
		expect.That(t, page.ID == first.ID && page.Blocks[0].Label == "Name", "the page shows %+v", page.Blocks)
		stored := expect.Must(host.Form(ctx, first.ID))
		expect.Same(t, first.Form, stored, "the stored form")

		for range 3 {
			before := counted.n.Load()
			again := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name")))
			expect.Same(t, again, first, "a repeated call")
			expect.Equal(t, counted.n.Load()-before, 0, "writes of a repeated call")
		}

		spelled := contactForm(b.Workspace, "N\\u0061me")
		spelled.Definition.Settings = json.RawMessage("{\n\t\"closedMessage\": \"Closed\",\n\t\"responseLimit\": 100\n}")
		before := counted.n.Load()
		expect.Same(t, expect.Must(host.EnsureForm(ctx, spelled)), first, "equal JSON with other whitespace and order")
		expect.Equal(t, counted.n.Load()-before, 0, "writes for equal JSON")

		changed := contactForm(b.Workspace, "Your name")
		changed.Name, changed.Type, changed.Definition.Settings = "Write to us", "SINGLE", nil
		second := expect.Must(host.EnsureForm(ctx, changed))
		expect.That(t, !second.Edited && second.ID == first.ID && second.Revision == 2 && second.Name == "Write to us" && second.Type == "SINGLE" &&
			string(second.Settings) == "{}" && second.Acceptance == storage.AcceptanceRules{}, "changed: %+v", second)
		v := expect.Must(host.Version(ctx, first.ID, 1))
		expect.That(t, v.Name == "Contact" && string(v.Blocks) == string(first.Blocks), "the version has %+v", v)
		before = counted.n.Load()
		expect.Same(t, expect.Must(host.EnsureForm(ctx, changed)), second, "a repeated change")
		expect.Equal(t, counted.n.Load()-before, 0, "writes of a repeated change")

		// A submission and a webhook are no edits.
		expect.Must(b.Answer(first.ID, "name", `"Ann"`))
		url, _ := servicetest.Receiver(t)
		b.Webhook(first.ID, url, servicetest.Secret)
		third := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Who are you?")))
		expect.That(t, !third.Edited && third.Revision == 3, "after a submission: %+v", third)
		expect.Equal(t, b.Submissions(first.ID), 1, "submissions")
		w := b.Do(http.MethodGet, "/forms/"+first.ID.String(), "", nil) // compared with the API description
		expect.That(t, w.Code == http.StatusOK && strings.Contains(w.Body.String(), `"public_id":"contact"`), "GET: %d %s", w.Code, w.Body)
	})
}

// Each kind of edit makes EnsureForm change nothing, until it may overwrite the edit.
func TestEnsureFormKeepsEdits(t *testing.T) {
	t.Parallel()
	must := func(_ formsvc.Form, err error) error { return err }
	edits := map[string]func(ctx context.Context, b *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error{
		"a block": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return expect.ErrorOf(c.UpdateBlock(ctx, form, "name", label("Edited")))
		},
		"another block": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return expect.ErrorOf(c.CreateBlock(ctx, form, json.RawMessage(`{"id":"mail","type":"email"}`)))
		},
		"settings": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}}))
		},
		"the theme": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Definition: formsvc.Definition{Theme: json.RawMessage(`{"font":"Inter"}`)}}))
		},
		"variables": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Definition: formsvc.Definition{Variables: json.RawMessage(`{"score":1}`)}}))
		},
		"hidden fields": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Definition: formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)}}))
		},
		"a working copy": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return expect.ErrorOf(c.WorkingCopy(form).UpdateBlock(ctx, "name", label("Edited")))
		},
		"a published working copy": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return errors.Join(expect.ErrorOf(c.WorkingCopy(form).UpdateBlock(ctx, "name", label("Edited"))),
				expect.ErrorOf(c.WorkingCopy(form).Publish(ctx, formsvc.PublishOptions{})))
		},
		"unpublishing": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Status: new(formsvc.StatusDraft)}))
		},
		"the name": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Name: new("Edited")}))
		},
		"the type": func(ctx context.Context, _ *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Type: new("SINGLE")}))
		},
		"the workspace": func(ctx context.Context, b *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			other := expect.Must(b.CreateWorkspace(ctx, b.User.ID, "Other"))
			return must(c.UpdateForm(ctx, form, formsvc.FormUpdate{Workspace: &other.ID}))
		},
		"restoring into another workspace": func(ctx context.Context, b *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			other := expect.Must(b.CreateWorkspace(ctx, b.User.ID, "Other"))
			return errors.Join(c.TrashForm(ctx, form), b.RestoreForm(ctx, form, other.ID))
		},
		"an earlier version": func(ctx context.Context, b *servicetest.Bundle, c formsvc.Client, form formsvc.ID) error {
			return must(c.RestoreVersion(ctx, form, 1, formsvc.RestoreOptions{}))
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
				host, ctx := b.AsHost(), t.Context()
				expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "First")))
				ensured := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name")))
				form := ensured.ID
				expect.NoError(t, edit(ctx, b, b.As(b.User.ID), form))
				edited, copied := expect.Must(host.Form(ctx, form)), expect.Must(host.WorkingCopy(form).Form(ctx))
				for _, label := range []string{"Name", "New", "New"} {
					got := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, label)))
					expect.That(t, got.Edited, "%s: not Edited", label)
					expect.Same(t, got.Form, edited, "%s: the result", label)
				}
				expect.Same(t, expect.Must(host.Form(ctx, form)), edited, "the form")
				expect.Same(t, expect.Must(host.WorkingCopy(form).Form(ctx)), copied, "the working copy")

				for _, label := range []string{"New", "New"} {
					got := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, label), formsvc.Overwrite()))
					expect.That(t, !got.Edited && got.ID == form && got.Name == "Contact" && got.Type == "MULTI" && got.Status == formsvc.StatusPublished &&
						got.WorkspaceID == b.Workspace && strings.Contains(string(got.Blocks), `"label":"New"`) && got.Acceptance.ResponseLimit == 100 &&
						string(got.Theme) == "{}" && string(got.Variables) == "{}" && string(got.HiddenFields) == "[]", "overwritten: %+v", got)
					expect.That(t, len(expect.Must(host.FormsWithWorkingCopy(ctx, form))) == 0, "the working copy remains")
				}
				again := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Newer")))
				expect.That(t, !again.Edited && strings.Contains(string(again.Blocks), "Newer"), "after Overwrite: %+v", again)
			})
		})
	}
}

// Only a working copy is removed if the form itself is as in the call.
func TestEnsureFormOverwritesAWorkingCopy(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		host, ctx := b.AsHost(), t.Context()
		form := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name"))).ID
		expect.Must(host.WorkingCopy(form).UpdateBlock(ctx, "name", label("Edited")))
		got := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name"), formsvc.Overwrite()))
		expect.That(t, !got.Edited && got.Revision == 1, "overwritten: %+v", got)
		expect.Equal(t, len(expect.Must(host.FormsWithWorkingCopy(ctx, form))), 0, "working copies")
	})
}

// An edit that is adopted in the source code is no longer an edit.
func TestEnsureFormAdoptsEdits(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		host, ctx := b.AsHost(), t.Context()
		form := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name"))).ID
		expect.Must(b.As(b.User.ID).UpdateBlock(ctx, form, "name", label("Edited")))
		adopted := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Edited")))
		expect.That(t, !adopted.Edited && adopted.Revision == 2, "adopted: %+v", adopted)
		next := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "New")))
		expect.That(t, !next.Edited && next.Revision == 3, "after that: %+v", next)
		// An edit that was undone is none.
		for _, text := range []string{"Edited", "New"} {
			expect.Must(b.As(b.User.ID).UpdateBlock(ctx, form, "name", label(text)))
		}
		undone := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Newer")))
		expect.That(t, !undone.Edited && undone.Revision == 6, "after an edit was undone: %+v", undone)
	})
}

func TestEnsureFormInTheTrash(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		host, ctx := b.AsHost(), t.Context()
		form := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name"))).ID
		expect.NoError(t, host.TrashForm(ctx, form))
		for _, label := range []string{"Name", "New"} {
			for _, options := range [][]formsvc.EnsureOption{nil, {formsvc.Overwrite()}} {
				expect.Error(t, "in the trash", expect.ErrorOf(host.EnsureForm(ctx, contactForm(b.Workspace, label), options...)), formsvc.ErrConflict)
			}
		}
		expect.NoError(t, b.RestoreForm(ctx, form, formsvc.ID{}))
		got := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "New")))
		expect.That(t, !got.Edited && got.ID == form && got.Revision == 2, "restored: %+v", got)

		expect.NoError(t, host.TrashForm(ctx, form))
		expect.NoError(t, b.PurgeForm(ctx, form))
		created := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "New")))
		expect.That(t, created.ID != form && created.Revision == 1, "after the purge: %+v", created)
		expect.NoError(t, host.DeleteWorkspace(ctx, b.Workspace))
		expect.Error(t, "a deleted workspace", expect.ErrorOf(host.EnsureForm(ctx, contactForm(b.Workspace, "New"))), formsvc.ErrNotFound)
	})
}

// Twenty processes make one form, and none takes the changes of another for an edit.
func TestEnsureFormConcurrently(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		b := servicetest.SetupOn(t, store)
		const processes = 20
		ensure := func(label func(i int) string) (forms []formsvc.EnsuredForm) {
			forms = make([]formsvc.EnsuredForm, processes)
			var wg sync.WaitGroup
			for i := range processes {
				svc := servicetest.New(t, store)
				wg.Go(func() {
					var err error
					forms[i], err = svc.AsHost().EnsureForm(t.Context(), contactForm(b.Workspace, label(i)))
					expect.That(t, err == nil && !forms[i].Edited, "process %d: %+v, %v", i, forms[i], err)
				})
			}
			wg.Wait()
			return forms
		}
		created := ensure(func(int) string { return "Name" })
		for _, f := range created {
			expect.That(t, f.ID == created[0].ID && f.Revision == 1, "a process has form %s at %d", f.ID, f.Revision)
		}
		for round := range 5 {
			for _, f := range ensure(func(int) string { return fmt.Sprint("Round ", round) }) {
				expect.That(t, f.ID == created[0].ID && f.Revision == int64(round)+2, "round %d: form %s is at %d", round, f.ID, f.Revision)
			}
		}
		for range 5 {
			ensure(func(i int) string { return fmt.Sprint("Process ", i%3) })
		}
		forms := 0
		for _, err := range b.AsHost().Forms(t.Context(), formsvc.FormQuery{Workspace: b.Workspace}) {
			expect.NoError(t, err)
			forms++
		}
		expect.Equal(t, forms, 1, "forms")
	})
}

// Of tenants that choose the same ID, one has it. The form of a tenant never changes for another one.
func TestEnsureFormOfTwoTenants(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		host, ctx := b.AsHost(), t.Context()
		other := expect.Must(b.CreateWorkspace(ctx, formsvc.UserIDFrom("eve"), "Other")).ID
		tenants := []formsvc.ID{b.Workspace, other}
		results, errs := make([]formsvc.EnsuredForm, 20), make([]error, 20)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i], errs[i] = host.EnsureForm(ctx, contactForm(tenants[i%2], "Name")) })
		}
		wg.Wait()
		shown := expect.Must(b.PublicForm(ctx, "contact"))
		owner := expect.Must(host.Form(ctx, shown.ID)).WorkspaceID
		for i, err := range errs {
			if tenants[i%2] == owner {
				expect.That(t, err == nil && results[i].WorkspaceID == owner && !results[i].Edited, "the owner: %+v, %v", results[i], err)
			} else {
				expect.That(t, errors.Is(err, formsvc.ErrConflict) && results[i].ID.IsZero(), "the other tenant: %+v, %v", results[i], err)
			}
		}
		loser := tenants[(slices.Index(tenants, owner)+1)%2]
		expect.Error(t, "Overwrite", expect.ErrorOf(host.EnsureForm(ctx, contactForm(loser, "Mine"), formsvc.Overwrite())), formsvc.ErrConflict)
		form := expect.Must(host.Form(ctx, shown.ID))
		expect.That(t, strings.Contains(string(form.Blocks), `"Name"`) && form.WorkspaceID == owner && form.Revision == 1, "the form is %+v", form)
		mine := contactForm(loser, "Mine")
		mine.PublicID = "Contact" // another ID
		expect.That(t, expect.Must(host.EnsureForm(ctx, mine)).ID != form.ID, "IDs that differ in case are equal")

		// A form that a user made is not taken over, whatever its ID.
		ordinary := expect.Must(b.As(b.User.ID).CreateForm(ctx, formsvc.FormCreate{Workspace: b.Workspace, Name: "Ordinary"}))
		chosen := contactForm(b.Workspace, "Name")
		chosen.PublicID = ordinary.PublicID
		got := expect.Must(host.EnsureForm(ctx, chosen))
		expect.That(t, got.Edited && got.Name == "Ordinary" && got.Status == formsvc.StatusDraft, "an ordinary form: %+v", got)
		chosen.Workspace = other
		expect.Error(t, "an ordinary form in another workspace", expect.ErrorOf(host.EnsureForm(ctx, chosen)), formsvc.ErrConflict)
	})
}

func TestEnsureFormRefusesInvalidForms(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		host, ctx := b.AsHost(), t.Context()
		before := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name")))
		violations := func(what string, err error, want ...string) {
			t.Helper()
			var got []string
			if invalid, ok := errors.AsType[*formsvc.Error](err); ok {
				for _, v := range invalid.Violations {
					got = append(got, v.Path+" "+v.Code)
				}
			}
			expect.That(t, slices.Equal(got, want), "%s: %v, %q, want %q", what, err, got, want)
		}
		for _, id := range []string{"", "-contact", "_contact", "contact us", "contact/us", "kontakt-für", "contact.", "a\x00", "\xff", strings.Repeat("a", 65)} {
			n := contactForm(b.Workspace, "New")
			n.PublicID = id
			violations(fmt.Sprintf("%q", id), expect.ErrorOf(host.EnsureForm(ctx, n)), "/public_id BAD_FORMAT")
		}
		n := contactForm(formsvc.ID{}, "New")
		n.PublicID = ""
		violations("no workspace", expect.ErrorOf(host.EnsureForm(ctx, n)), "/public_id BAD_FORMAT", "/workspace_id REQUIRED")
		n = contactForm(b.Workspace, "New")
		n.Name, n.Type, n.Definition.Blocks = "", "BOTH", json.RawMessage(`[{"id":"a","type":"short_text","unknown":1},{"id":"a","type":"email"}]`)
		invalid := []string{"/definition/blocks/0/unknown UNKNOWN_FIELD", "/definition/blocks/1/id DUPLICATE", "/name TOO_SHORT", "/type NOT_ALLOWED"}
		violations("invalid content", expect.ErrorOf(host.EnsureForm(ctx, n)), invalid...)
		violations("invalid content, Overwrite", expect.ErrorOf(host.EnsureForm(ctx, n, formsvc.Overwrite())), invalid...)
		violations("a user", expect.ErrorOf(b.As(b.User.ID).EnsureForm(ctx, contactForm(b.Workspace, "New"))), "/public_id NOT_ALLOWED")
		violations("CreateForm", expect.ErrorOf(host.CreateForm(ctx, contactForm(b.Workspace, "New"))), "/public_id NOT_ALLOWED")
		w := b.Do(http.MethodPost, "/forms", `{"workspace_id":"`+b.Workspace.String()+`","name":"Form","public_id":"mine"}`, nil)
		expect.That(t, w.Code == http.StatusUnprocessableEntity && strings.Contains(w.Body.String(), `"/public_id"`), "POST: %d %s", w.Code, w.Body)
		w = b.Do(http.MethodPatch, "/forms/"+before.ID.String(), `{"public_id":"mine"}`, nil)
		expect.That(t, w.Code == http.StatusUnprocessableEntity, "PATCH: %d %s", w.Code, w.Body)
		unknown := contactForm(formsvc.UserIDFrom("nothing"), "New")
		expect.Error(t, "an unknown workspace, ID in use", expect.ErrorOf(host.EnsureForm(ctx, unknown)), formsvc.ErrConflict)
		unknown.PublicID = "new"
		expect.Error(t, "an unknown workspace", expect.ErrorOf(host.EnsureForm(ctx, unknown)), formsvc.ErrNotFound)
		expect.Same(t, expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, "Name"))), before, "the form after the errors")

		for _, id := range []string{"a", "7", "A-_9", strings.Repeat("z", 64), "abcdefghijkl"} {
			n := contactForm(b.Workspace, "Name")
			n.PublicID = id
			got := expect.Must(host.EnsureForm(ctx, n))
			expect.Equal(t, expect.Must(b.PublicForm(ctx, id)).ID, got.ID, "the page of %q", id)
		}
	})
}

// A process that is stopped between its writes leaves a form that the next call completes, even with other content.
func TestEnsureFormContinues(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		counted := &formWrites{Storage: store}
		b := servicetest.SetupOn(t, counted)
		host, ctx := b.AsHost(), t.Context()
		counted.stop.Store(1)
		expect.Error(t, "the first call", expect.ErrorOf(host.EnsureForm(ctx, contactForm(b.Workspace, "Name"))), formsvc.ErrUnavailable)
		expect.Equal(t, expect.Must(b.PublicForm(ctx, "contact")).Blocks[0].Label, "Name", "the label")
		counted.stop.Store(0)
		for i, label := range []string{"New", "Newer"} {
			got := expect.Must(host.EnsureForm(ctx, contactForm(b.Workspace, label)))
			expect.That(t, !got.Edited && got.Revision == int64(i)+2 && strings.Contains(string(got.Blocks), label), "%s: %+v", label, got)
		}
	})
}

// takenOnce is a storage in which the first public ID of a new form is taken.
type takenOnce struct {
	storage.Storage
	ids []string
}

func (s *takenOnce) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	if s.ids = append(s.ids, f.PublicID); len(s.ids) == 1 {
		return storage.ErrConflict
	}
	return s.Storage.CreateForm(ctx, actor, f)
}

func TestARandomPublicIDThatIsTakenIsReplaced(t *testing.T) {
	t.Parallel()
	store := &takenOnce{Storage: memory.New()}
	b := servicetest.SetupOn(t, store)
	f := expect.Must(b.As(b.User.ID).CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "Form"}))
	expect.That(t, len(store.ids) == 2 && store.ids[0] != store.ids[1] && f.PublicID == store.ids[1], "the IDs are %q, the form's is %s", store.ids, f.PublicID)
}

func TestEnsureFormWithoutDocuments(t *testing.T) {
	t.Parallel()
	store := memory.New()
	b := servicetest.SetupOn(t, withoutDocuments{storage.Unimplemented{}, beneath{store}})
	expect.Error(t, "EnsureForm", expect.ErrorOf(b.AsHost().EnsureForm(t.Context(), contactForm(b.Workspace, "Name"))), formsvc.ErrUnsupported)
	expect.Error(t, "the form", expect.ErrorOf(store.FormByPublicID(t.Context(), "contact")), storage.ErrNotFound)
}

func TestEnsureFormInAHostsTransaction(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(pgtest.Schema(t)))
	b := servicetest.SetupOn(t, store)
	rollback := errors.New("roll back")
	for _, want := range []error{rollback, nil} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			host := b.WithStorage(store.On(tx)).AsHost()
			for i, label := range []string{"Name", "Name", "New"} {
				got, err := host.EnsureForm(t.Context(), contactForm(b.Workspace, label))
				expect.That(t, err == nil && !got.Edited && got.Revision == int64(1+i/2), "call %d: %+v, %v", i, got, err)
			}
			return want
		})
		expect.Error(t, "the transaction", err, want)
		_, err = b.PublicForm(t.Context(), "contact")
		expect.That(t, errors.Is(err, formsvc.ErrNotFound) == (want != nil), "the form: %v", err)
	}
}

func TestParseForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithTimeZone(time.UTC))
	data := []byte(`{
		"name": " Contact ",
		"type": "MULTI",
		"definition": {
			"blocks": [{"id": "name", "type": "short_text", "label": "Name"}],
			"settings": {"closeAt": "2030-01-02T03:04:05+01:00"},
			"theme": {}, "variables": {"score": 1}, "hidden_fields": ["ref"]
		}
	}`)
	n := expect.Must(b.ParseForm(data))
	clear(data) // the result must not share its memory
	n.Workspace, n.PublicID = b.Workspace, "contact"
	f := expect.Must(b.AsHost().EnsureForm(t.Context(), n))
	content := expect.Must(formsvc.DecodeForm(f.Form))
	expect.That(t, f.Name == "Contact" && f.Type == "MULTI" && content.Blocks[0].Label == "Name" && content.HiddenFields[0] == "ref" && content.Variables["score"] == 1.0,
		"the form is %+v", content)

	// A form that the API returns becomes an equal form.
	file := expect.Must(json.Marshal(map[string]any{"name": f.Name, "type": f.Type, "definition": f.Definition}))
	n = expect.Must(b.ParseForm(file))
	n.Workspace, n.PublicID = b.Workspace, "contact"
	expect.Same(t, expect.Must(b.AsHost().EnsureForm(t.Context(), n)), f, "the form from a file")
	n = expect.Must(b.ParseForm([]byte(`{"name":"Empty"}`)))
	expect.That(t, n.Type == "SINGLE" && string(n.Definition.Blocks) == "[]", "an empty form is %+v", n)

	for data, want := range map[string]string{
		``:                  ` REQUIRED`,
		`{`:                 ` BAD_FORMAT`,
		"\ufeff{}":          ` BAD_FORMAT`,
		`[]`:                ` WRONG_TYPE`,
		`null`:              ` WRONG_TYPE`,
		`{"name":"a"} {}`:   ` BAD_FORMAT`,
		`{"type":"MULTI"}`:  `/name REQUIRED`,
		`{"name":null}`:     `/name WRONG_TYPE`,
		`{"name":"\u202e"}`: `/name TOO_SHORT`,
		`{"name":"a","blocks":[],"status":"draft","workspace_id":"65a1f0c2d4e5b6a7980c1d02","definition":{"block":[],"settings":{"closd":true}}}`:         `/blocks UNKNOWN_FIELD /definition/block UNKNOWN_FIELD /definition/settings/closd UNKNOWN_FIELD /status UNKNOWN_FIELD /workspace_id UNKNOWN_FIELD`,
		`{"type":"BOTH","definition":{"blocks":[{"id":"a","type":"nothing"},{"id":"b","type":"dropdown","choices":[{"id":"x"},{"id":"x"}]}],"theme":[]}}`: `/definition/blocks/0/type NOT_ALLOWED /definition/blocks/1/choices/1/id DUPLICATE /definition/theme WRONG_TYPE /name REQUIRED /type NOT_ALLOWED`,
	} {
		_, err := b.ParseForm([]byte(data))
		var got []string
		if invalid, ok := errors.AsType[*formsvc.Error](err); ok {
			for _, v := range invalid.Violations {
				got = append(got, v.Path+" "+v.Code)
			}
		}
		expect.Equal(t, strings.Join(got, " "), want, "the violations of %s: %v", data, err)
	}
}
