package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// manyForms adds forms to the workspace of the first user, each with a webhook that
// has a pending delivery.
func manyForms(t *testing.T, pool *pgxpool.Pool, s *Store, n int) {
	t.Helper()
	workspace := pgseed.ID(pgseed.Workspace, 0)
	for _, text := range []string{
		`INSERT INTO formsvc.forms (id, public_id, workspace_id, name, type, status, revision, closed, response_limit,
				created_at, updated_at, format, blocks, settings, theme, variables, hidden_fields)
			SELECT '\x01020304'::bytea || int8send(i), 'many' || i, $1, 'F', 'SINGLE', 'published', 1, false, 0,
				now(), now(), 1, '[]', '{}', '{}', '{}', '[]' FROM generate_series(1, $2::integer) i`,
		`INSERT INTO formsvc.webhooks (id, form_id, workspace_id, url, enabled, secret, created_at, updated_at)
			SELECT '\x05060708'::bytea || int8send(i), '\x01020304'::bytea || int8send(i), $1, 'https://example.com/', true, '', now(), now()
			FROM generate_series(1, $2::integer) i`,
		`INSERT INTO formsvc.destinations (webhook_id, host)
			SELECT w.id, 'example.com' FROM formsvc.webhooks w WHERE w.workspace_id = $1 AND $2::integer > 0 ON CONFLICT DO NOTHING`,
	} {
		execute(t, pool, s, text, pgx.QueryExecModeExec, workspace[:], n)
	}
	for i := range n {
		hook := storage.ID{5, 6, 7, 8, 10: byte((i + 1) >> 8), 11: byte(i + 1)}
		e := storage.Event{ID: pgseed.ID(pgseed.Event, 10_000+i), Type: "t", Body: []byte("{}")}
		must(t, s.Enqueue(t.Context(), hook, e))
	}
}

// elsewhere adds a published form in a workspace of its own.
func elsewhere(t *testing.T, s *Store) storage.Form {
	t.Helper()
	w := storage.Workspace{ID: storage.ID{9, 9}, PublicID: "elsewhere", OwnerID: storage.ID{9}, Name: "W"}
	must(t, s.CreateWorkspace(t.Context(), w, 0))
	f := storage.Form{
		ID: storage.ID{9, 8}, PublicID: "elsewhere", WorkspaceID: w.ID, Status: storage.StatusPublished, Revision: 1,
		FormContent: storage.FormContent{Name: "F", Type: "SINGLE", Definition: storage.Definition{
			Blocks: []byte(`[]`), Settings: []byte(`{}`), Theme: []byte(`{}`), Variables: []byte(`{}`), HiddenFields: []byte(`[]`), Format: 1,
		}},
	}
	must(t, s.CreateForm(t.Context(), storage.AsHost(), f))
	return f
}

// locks counts what a transaction has locked beside the tables.
func locks(t *testing.T, tx pgx.Tx) (n int) {
	t.Helper()
	must(t, tx.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype <> 'relation'").Scan(&n))
	return n
}

// Deleting a workspace is one piece however many forms it has, is seen at once, and
// holds up nobody who stores a response, not before its commit and not while a sweep
// tidies up.
func TestAWorkspaceOfManyFormsIsDeletedAtOnce(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	const many = 300
	manyForms(t, pool, s, many)
	other := elsewhere(t, s)
	before := len(claimable(t, s))
	if before < many {
		t.Fatalf("%d deliveries can be claimed", before)
	}
	submits := func(what string, number int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		n := response(number)
		n.Submission.FormID = other.ID
		if _, _, err := s.Submit(ctx, n); err != nil {
			t.Errorf("Submit to another form %s: %v", what, err)
		}
		if number < 3 { // while the deletion is not committed
			if _, _, err := s.Submit(ctx, response(number)); err != nil {
				t.Errorf("Submit to a form in the workspace %s: %v", what, err)
			}
		}
	}
	const piece = 20
	inTx := func(what string, number int, do func(on *Store) error) {
		t.Helper()
		tx := begin(t, pool)
		must(t, do(s.On(tx)))
		if n := locks(t, tx); n > 16+piece { // one for each form of the piece
			t.Errorf("%s holds %d locks", what, n)
		}
		submits("beside "+what, number)
		must(t, tx.Commit(t.Context()))
	}
	inTx("the deletion", 1, func(on *Store) error {
		return on.DeleteWorkspace(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Workspace, 0), pgseed.Start().Add(time.Hour))
	})

	gone := func(when string) {
		t.Helper()
		if got := claimable(t, s); len(got) != 0 {
			t.Errorf("%s: %d deliveries can be claimed", when, len(got))
		}
		if st, err := s.QueueStats(t.Context()); err != nil || st.Due+st.Waiting != 0 {
			t.Errorf("%s: %+v, %v", when, st, err)
		}
		page := storage.Page{Limit: 10_000}
		live, err := s.Forms(t.Context(), storage.AsHost(), storage.FormsParams{Page: page})
		if err != nil || len(live) != 1 || live[0].ID != other.ID {
			t.Errorf("%s: %d forms are not in the trash, %v", when, len(live), err)
		}
		for _, q := range []storage.FormsParams{{Trashed: true, Page: page}, {Trashed: true, WorkspaceID: pgseed.ID(pgseed.Workspace, 0), Page: page}} {
			trash, err := s.Forms(t.Context(), storage.AsHost(), q)
			if err != nil || len(trash) != many+3 || !trash[0].TrashedAt.Equal(pgseed.Start().Add(time.Hour)) {
				t.Errorf("%s: %d forms in the trash, %v", when, len(trash), err)
			}
		}
		if hooks, err := s.Webhooks(t.Context(), storage.AsHost(), page); err != nil || len(hooks) != 0 {
			t.Errorf("%s: %d webhooks, %v", when, len(hooks), err)
		}
	}
	gone("at once")
	var name string
	if err := pool.QueryRow(t.Context(), s.db.SQL("SELECT name FROM formsvc.workspaces WHERE deleted_at IS NOT NULL")).Scan(&name); err != nil || name != "" {
		t.Errorf("the name %q is kept, %v", name, err)
	}

	// Some pieces by this store, the rest by one of another process.
	for i := range 5 {
		inTx("a piece of tidying up", 10+i, func(on *Store) error {
			_, err := on.Sweep(t.Context(), storage.SweepParams{Max: piece})
			return err
		})
		gone(fmt.Sprintf("after %d pieces", i+1))
	}
	sweepAll(t, New(pool, WithSchema(s.db.Schema)), storage.SweepParams{Max: 50})
	gone("when all is tidied up")
	wantRows(t, pool, s, 0, "deliveries")
	// A form comes back without what was pending.
	if err := s.RestoreForm(t.Context(), storage.ID{1, 2, 3, 4, 11: 1}, other.WorkspaceID, pgseed.Start()); err != nil {
		t.Error(err)
	}
	purged := sweepAll(t, s, storage.SweepParams{TrashBefore: pgseed.Start().Add(2 * time.Hour), Max: 40}).Forms
	if purged != many+2 || count(t, pool, s, "forms") != 2 || count(t, pool, s, "workspaces") != 1 {
		t.Errorf("%d purged, %d forms and %d workspaces left", purged, count(t, pool, s, "forms"), count(t, pool, s, "workspaces"))
	}
}

// A form that is restored before a sweep came by has lost what was pending, too.
func TestRestoringOutOfADeletedWorkspaceEndsDeliveries(t *testing.T) {
	t.Parallel()
	s, _ := seeded(t)
	into := elsewhere(t, s).WorkspaceID
	for i := range 5 {
		mustSubmit(t, s, response(i))
	}
	form := pgseed.ID(pgseed.Form, 0)
	must(t, s.DeleteWorkspace(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Workspace, 0), pgseed.Start()))
	must(t, s.RestoreForm(t.Context(), form, into, pgseed.Start()))
	if f, err := s.Form(t.Context(), storage.AsHost(), form); err != nil || f.WorkspaceID != into || f.Revision != 2 {
		t.Error(f, err)
	}
	if got := claimable(t, s); len(got) != 0 {
		t.Errorf("%d deliveries came back", len(got))
	}
}

// A purge makes progress under a time-out that one piece keeps and the whole does
// not, and goes on where another process stopped.
func TestAPurgeMakesProgressUnderATimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	owner, pool := seeded(t)
	form := pgseed.ID(pgseed.Form, 0)
	const rows = 800
	for _, text := range []string{ // each row takes at least 5 ms: 4 s in all, 0.2 s a piece
		`INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time, answers, metadata, hidden, form_revision, json_bytes)
			SELECT $1::bytea, '\x01020304'::bytea || int8send(i), now(), 1, '[]', '{}', '{}', 1, 6 FROM generate_series(1, $2::integer) i`,
	} {
		execute(t, pool, owner, text, pgx.QueryExecModeExec, form[:], rows)
	}
	if _, err := pool.Exec(t.Context(), owner.db.SQL(`
		CREATE FUNCTION formsvc.slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN OLD; END';
		CREATE TRIGGER slowly BEFORE DELETE ON formsvc.submissions FOR EACH ROW EXECUTE FUNCTION formsvc.slowly()`),
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	at := pgseed.Start()
	must(t, owner.TrashForm(t.Context(), storage.AsHost(), form, storage.TrashParams{At: at}))
	hurried := pgtest.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["statement_timeout"] = "3s" })
	s := New(hurried, WithSchema(owner.db.Schema))
	p := storage.SweepParams{TrashBefore: at.Add(time.Second), Max: rows}
	if _, err := s.Sweep(t.Context(), p); err != nil { // marks the form
		t.Fatal(err)
	}
	failed := false
	for range sweepSteps {
		_, err := s.Sweep(t.Context(), p)
		failed = failed || err != nil
	}
	if !failed || count(t, pool, owner, "submissions") != rows {
		t.Fatalf("the whole in one piece: failed %v", failed)
	}
	p.Max = 40
	if _, err := s.Sweep(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	sweepAll(t, New(hurried, WithSchema(owner.db.Schema)), storage.SweepParams{Max: 40}) // of another process, that knows nothing of the purge
	wantRows(t, pool, owner, 0, "submissions", "events", "funnel_log", "deliveries")
	wantRows(t, pool, owner, 2, "forms")
}

// claimable claims everything, and gives it back.
func claimable(t *testing.T, s *Store) []storage.ClaimedDelivery {
	t.Helper()
	got := claimAll(t, s)
	results := make([]storage.Result, len(got))
	for i, d := range got {
		results[i].Lease = d.Lease
	}
	finish(t, s, results...)
	return got
}
