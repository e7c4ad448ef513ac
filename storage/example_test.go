package storage_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// audited is a storage around another one. The embedded interface passes every other
// method through, also those that later versions add.
type audited struct{ storage.Storage }

func (a audited) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, at time.Time) error {
	err := a.Storage.DeleteWorkspace(ctx, actor, id, at)
	fmt.Printf("delete %s: %v\n", id, err)
	return err // as it is: callers compare with errors.Is
}

// A decorator adds to a storage what the host needs next to it. examples/storage is
// a whole program with one.
func Example_decorator() {
	ctx := context.Background()
	store := audited{memory.New()}
	now := time.Now()
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "Research", CreatedAt: now, UpdatedAt: now}
	if err := store.CreateWorkspace(ctx, w, 0); err != nil {
		fmt.Println(err)
	}
	_ = store.DeleteWorkspace(ctx, storage.As(w.OwnerID), w.ID, now)
	_ = store.DeleteWorkspace(ctx, storage.As(w.OwnerID), w.ID, now)
	// Output:
	// delete 010000000000000000000000: <nil>
	// delete 010000000000000000000000: storage: not found
}

// A report of the host's own reads a form's responses page by page.
func ExampleListSubmissions() {
	ctx, store, now := context.Background(), memory.New(), time.Now()
	form := storage.Form{ID: storage.ID{3}, PublicID: "f", WorkspaceID: storage.ID{1}, FormContent: storage.FormContent{Name: "Feedback"}, Status: storage.StatusPublished, Revision: 1, CreatedAt: now, UpdatedAt: now}
	if err := store.CreateWorkspace(ctx, storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "Research", CreatedAt: now, UpdatedAt: now}, 0); err != nil {
		fmt.Println(err)
	}
	if err := store.CreateForm(ctx, storage.AsHost(), form); err != nil {
		fmt.Println(err)
	}
	for i := range 5 {
		_, _, err := store.Submit(ctx, storage.NewSubmission{FormRevision: 1, Submission: storage.Submission{
			ID: storage.ID{4, byte(i)}, FormID: form.ID, SubmittedAt: now, Answers: []byte(`[]`),
		}})
		if err != nil {
			fmt.Println(err)
		}
	}
	query := storage.SubmissionsParams{Page: storage.Page{Limit: 2}}
	for {
		page, err := storage.ListSubmissions(ctx, store, storage.AsHost(), form.ID, query)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(page.Submissions), "responses")
		if !page.More {
			break
		}
		last := page.Submissions[len(page.Submissions)-1]
		query.Page.After = &storage.Position{Time: last.SubmittedAt, ID: last.ID}
	}
	// Output:
	// 2 responses
	// 2 responses
	// 1 responses
}

// What a storage of one's own asks before it stores a response.
func ExampleAcceptanceRules_IsClosed() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	gate := storage.AcceptanceRules{OpenAt: noon.Add(-time.Hour), CloseAt: noon, ResponseLimit: 100}
	stored := int64(100)
	fmt.Println(gate.IsClosed(false, noon.Add(-2*time.Hour)), gate.IsClosed(false, noon.Add(-time.Second)), gate.IsClosed(stored >= gate.ResponseLimit, noon.Add(-time.Second)), gate.IsClosed(false, noon))
	// Output: true false true true
}

// A storage of one's own changes the sections that are given, and writes each into its column.
func ExampleDefinition_Sections() {
	stored := storage.Definition{Blocks: json.RawMessage(`[{"id":"why"}]`), Settings: json.RawMessage(`{}`), Format: 1}
	before := stored
	stored.Apply(storage.Definition{Settings: json.RawMessage(`{"closed":true}`), Format: 1})
	fmt.Println(stored.HasSections(), stored.Equal(&before), stored.Size()-before.Size())
	for _, s := range stored.Sections() {
		if *s.Value == nil {
			*s.Value = json.RawMessage(s.Empty)
		}
		fmt.Printf("%s: %s\n", s.Name, *s.Value)
	}
	// Output:
	// true false 13
	// blocks: [{"id":"why"}]
	// settings: {"closed":true}
	// theme: {}
	// variables: {}
	// hidden_fields: []
}

// Scopes out of a host's configuration.
func ExampleScope_Valid() {
	for _, name := range []string{"forms:read", "forms:delete"} {
		if scope := storage.Scope(name); !scope.Valid() {
			fmt.Println(scope, "is none of", storage.Scopes()[:3], "…")
		}
	}
	// Output: forms:delete is none of [analytics:read forms:read forms:write] …
}

// Somebody asks a store whether a dispatcher runs in any process.
func ExampleMaintenanceStatus() {
	ctx, store := context.Background(), memory.New()
	for range 2 {
		u, err := store.MaintenanceStatus(ctx)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(!u.LastDispatch.IsZero() && u.Now.Sub(u.LastDispatch) < 5*time.Minute)
		if _, _, err := store.ClaimDeliveries(ctx, storage.ClaimParams{}); err != nil { // as a dispatcher does
			fmt.Println(err)
		}
	}
	// Output:
	// false
	// true
}

// A host keeps something of its own beside forms: a note for editors, which two of them cannot
// overwrite without seeing each other's.
func ExampleDocumentStore() {
	ctx, store, now := context.Background(), memory.New(), time.Now()
	if err := store.CreateWorkspace(ctx, storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "Research", CreatedAt: now, UpdatedAt: now}, 0); err != nil {
		fmt.Println(err)
	}
	form := storage.Form{ID: storage.ID{3}, PublicID: "f", WorkspaceID: storage.ID{1}, FormContent: storage.FormContent{Name: "Feedback"}, Status: storage.StatusPublished, Revision: 1, CreatedAt: now, UpdatedAt: now}
	if err := store.CreateForm(ctx, storage.AsHost(), form); err != nil {
		fmt.Println(err)
	}
	ann := storage.As(storage.ID{2})
	for _, text := range []string{`"ask Bob"`, `"asked Bob"`} { // both begin without a note
		d, err := store.PutDocument(ctx, ann, form.ID, storage.DocumentChange{Kind: "acme-note", Value: []byte(text), IfRevision: []int64{0}, By: storage.ID{2}, At: now})
		fmt.Println(string(d.Value), err)
	}
	found, more, err := store.Documents(ctx, ann, form.ID, storage.DocumentQuery{Kind: "acme-note", Limit: 10})
	fmt.Println(len(found), more, err)
	// Output:
	// "ask Bob" <nil>
	//  storage: revision mismatch acme-note: current is 1
	// 1 false <nil>
}

// A half response from its first save to its removal, as a service asks a storage for it.
func ExamplePartialStore() {
	ctx, store, now := context.Background(), memory.New(), time.Now()
	form := storage.Form{ID: storage.ID{3}, PublicID: "f", WorkspaceID: storage.ID{1}, FormContent: storage.FormContent{Name: "Feedback"}, Status: storage.StatusPublished, CreatedAt: now, UpdatedAt: now}
	if err := store.CreateWorkspace(ctx, storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "Research", CreatedAt: now, UpdatedAt: now}, 0); err != nil {
		fmt.Println(err)
	}
	if err := store.CreateForm(ctx, storage.AsHost(), form); err != nil {
		fmt.Println(err)
	}
	save := storage.SavePartialParams{New: true, Token: sha256.Sum256([]byte("what the respondent holds")), Max: 10_000, Partial: storage.Partial{
		ID: storage.ID{4}, FormID: form.ID, Answers: []byte(`{"q":1}`), SavedAt: now, EndsAt: now.AddDate(0, 0, 30),
	}}
	fmt.Println(store.SavePartial(ctx, save))
	save.New, save.IfRevision = false, 1
	fmt.Println(store.SavePartial(ctx, save))
	fmt.Println(store.SavePartial(ctx, save))
	more, err := store.Partials(ctx, storage.AsHost(), form.ID, storage.PartialQuery{Now: now, Page: storage.Page{Limit: 10}}, func(p *storage.Partial) error {
		fmt.Println(string(p.Answers)) // lent: not kept, not changed
		return nil
	})
	fmt.Println(more, err)
	fmt.Println(store.DeletePartials(ctx, storage.AsHost(), form.ID, storage.DeletePartialsParams{Token: save.Token, Max: 1}))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 0 storage: revision mismatch partial: current is 2
	// {"q":1}
	// false <nil>
	// 1 false <nil>
}
