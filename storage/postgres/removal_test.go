package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// removeUser does what the service does for DeleteUser.
func removeUser(ctx context.Context, s *Store, user storage.ID) error {
	if err := s.DeleteUser(ctx, user, time.Now()); err != nil {
		return err
	}
	return removeRest(ctx, s)
}

func removeRest(ctx context.Context, s *Store) error {
	for {
		swept, err := s.Sweep(ctx, storage.SweepParams{Now: time.Now(), RemovalsOnly: true, Max: 2})
		if err != nil || !swept.More {
			return err
		}
	}
}

// leftRows names the tables that have rows. A claim empties arrivals, which knows
// nothing but ids of webhooks, and a user's counts are in one schema with its version.
func leftRows(t *testing.T, pool *pgxpool.Pool, s *Store) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname NOT IN ('formsvc_version', 'upkeep', 'arrivals')`, s.db.Schema)
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	var left []string
	for _, table := range tables {
		if n := count(t, pool, s, table); n > 0 {
			left = append(left, fmt.Sprintf("%s: %d", table, n))
		}
	}
	slices.Sort(left)
	return left
}

// A response counts as removed when its removal is committed, not before.
func TestARemovalThatIsNotCommittedCountsNothing(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	r := response(0)
	mustSubmit(t, s, r)
	execute(t, pool, s, `
		CREATE FUNCTION formsvc.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no commit''; END';
		CREATE CONSTRAINT TRIGGER refuse AFTER DELETE ON formsvc.submissions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION formsvc.refuse()`, pgx.QueryExecModeSimpleProtocol)
	n, err := s.EraseSubmissions(t.Context(), r.Submission.FormID, []storage.ID{r.Submission.ID})
	if n != 0 || err == nil || count(t, pool, s, "submissions") != 1 {
		t.Errorf("%d removed, %v", n, err)
	}
}

// A response may be stored by a transaction that began before the user was deleted. Its
// rows are removed with the others.
func TestARemovalWaitsForTheResponsesOnTheirWay(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(ctx context.Context, s *Store) error{
		"of a user": func(ctx context.Context, s *Store) error { return removeUser(ctx, s, pgseed.ID(pgseed.User, 0)) },
		"of a form": func(ctx context.Context, s *Store) error {
			if err := s.DeleteWorkspace(ctx, storage.AsHost(), pgseed.ID(pgseed.Workspace, 0), time.Now()); err != nil {
				return err
			}
			for i := range 3 {
				if err := s.PurgeForm(ctx, pgseed.ID(pgseed.Form, i)); err != nil {
					return err
				}
			}
			return removeUser(ctx, s, pgseed.ID(pgseed.User, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			tx := begin(t, pool)
			mustSubmit(t, s.On(tx), response(1))
			done := make(chan error, 1)
			go func() { done <- remove(context.WithoutCancel(t.Context()), s) }()
			ended := false
			eventually(t, "the removal waits for the response, or has ended", func() bool {
				ended = ended || len(done) > 0
				return ended || waited(t, pool, tx)
			})
			expect(t, !ended, "the removal has not waited for the response")
			must(t, tx.Commit(t.Context()))
			must(t, <-done)
			if left := leftRows(t, pool, s); len(left) > 0 {
				t.Errorf("rows are left: %v", left)
			}
		})
	}
}

// Maintenance of another process has done some pieces and not committed the last one.
func TestARemovalWaitsForTheSweepsOfOthers(t *testing.T) {
	t.Parallel()
	for pieces := 1; pieces <= 12; pieces++ {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d pieces, commits %t", pieces, commits), func(t *testing.T) {
				t.Parallel()
				s, pool := seeded(t)
				mustSubmit(t, s, response(1))
				must(t, s.DeleteUser(t.Context(), pgseed.ID(pgseed.User, 0), time.Now()))
				other := New(pool, WithSchema(s.db.Schema))
				p := storage.SweepParams{Now: time.Now(), Max: 1}
				for range pieces - 1 {
					must(t, errorOf(other.Sweep(t.Context(), p)))
				}
				tx := begin(t, pool)
				must(t, errorOf(other.On(tx).Sweep(t.Context(), p)))
				type outcome struct {
					err  error
					left []string
				}
				done := make(chan outcome, 1)
				go func() {
					err := removeRest(context.WithoutCancel(t.Context()), s)
					done <- outcome{err, leftRows(t, pool, s)} // as they are when the call returns
				}()
				eventually(t, "the removal waits for the other, or has ended", func() bool { return len(done) > 0 || waited(t, pool, tx) })
				end := tx.Commit
				if !commits {
					end = tx.Rollback
				}
				must(t, end(t.Context()))
				if got := <-done; got.err != nil || len(got.left) > 0 {
					t.Errorf("rows are left: %v, %v", got.left, got.err)
				}
			})
		}
	}
}

// before calls a function before the transactions of a store, by their number.
type before struct {
	*pgxpool.Pool
	number int
	do     func(number int)
}

func (b *before) next() { b.do(b.number); b.number++ }

func (b *before) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	b.next()
	return b.Pool.SendBatch(ctx, batch)
}

func (b *before) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	b.next()
	return b.Pool.Query(ctx, text, args...)
}

// Between any two steps of a removal another process sweeps once, or until it has
// nothing left to do.
func TestARemovalMissesNothingThatOthersDoBetweenItsSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	for _, sweeps := range []int{1, 2, 3, 100} {
		t.Run(fmt.Sprint(sweeps), func(t *testing.T) {
			t.Parallel()
			steps := 1
			for at := 0; at < steps; at++ {
				s, pool := seeded(t)
				mustSubmit(t, s, response(1))
				other := New(pool, WithSchema(s.db.Schema))
				db := &before{Pool: pool, do: func(number int) {
					steps = max(steps, number+1)
					if number != at {
						return
					}
					for range sweeps {
						if swept, err := other.Sweep(t.Context(), storage.SweepParams{Now: time.Now(), RemovalsOnly: true, Max: 1}); err != nil {
							t.Error(err)
						} else if !swept.More {
							return
						}
					}
				}}
				must(t, removeUser(t.Context(), New(db, WithSchema(s.db.Schema)), pgseed.ID(pgseed.User, 0)))
				if left := leftRows(t, pool, s); len(left) > 0 {
					t.Fatalf("%d sweeps of another before statement %d: rows are left: %v", sweeps, at, left)
				}
			}
			expect(t, steps >= 10, "a removal has %d statements", steps)
		})
	}
}

// A transaction of the host's holds the row of a form, for a foreign key of its own. The
// removal waits for it, and does not ask again and again.
func TestARemovalWaitsForARowThatAHostHolds(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.forms FOR KEY SHARE`)
	done := waits(t, pool, tx, func() error { return removeUser(context.WithoutCancel(t.Context()), s, pgseed.ID(pgseed.User, 0)) })
	must(t, tx.Rollback(t.Context()))
	must(t, <-done)
	if left := leftRows(t, pool, s); len(left) > 0 {
		t.Errorf("rows are left: %v", left)
	}
}

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
		FormContent: noBlocks(),
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

	page := storage.Page{Limit: 10_000}
	forms := func(q storage.FormsParams) int {
		q.Page = page
		list, err := s.Forms(t.Context(), storage.AsHost(), q)
		must(t, err)
		return len(list)
	}
	gone := func(when string) {
		t.Helper()
		queue, err := s.QueueStats(t.Context())
		must(t, err)
		hooks, err := s.Webhooks(t.Context(), storage.AsHost(), page)
		must(t, err)
		got := []int{
			len(claimable(t, s)), int(queue.Due + queue.Waiting), len(hooks), forms(storage.FormsParams{}),
			forms(storage.FormsParams{Trashed: true}), forms(storage.FormsParams{Trashed: true, WorkspaceID: pgseed.ID(pgseed.Workspace, 0)}),
		}
		if want := []int{0, 0, 0, 1, many + 3, many + 3}; !slices.Equal(got, want) {
			t.Errorf("%s: deliveries, webhooks, forms and trash: %v, want %v", when, got, want)
		}
	}
	gone("at once")
	var name string
	if err := pool.QueryRow(t.Context(), s.db.RewriteSQL("SELECT name FROM formsvc.workspaces WHERE deleted_at IS NOT NULL")).Scan(&name); err != nil || name != "" {
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
	check(t, s.RestoreForm(t.Context(), storage.ID{1, 2, 3, 4, 11: 1}, other.WorkspaceID, pgseed.Start()))
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
	if _, err := pool.Exec(t.Context(), owner.db.RewriteSQL(`
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
	must(t, errorOf(s.Sweep(t.Context(), p))) // marks the form
	failed := false
	for range sweepSteps {
		_, err := s.Sweep(t.Context(), p)
		failed = failed || err != nil
	}
	if !failed || count(t, pool, owner, "submissions") != rows {
		t.Fatalf("the whole in one piece: failed %v", failed)
	}
	p.Max = 40
	must(t, errorOf(s.Sweep(t.Context(), p)))
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

// A response that a host's transaction has stored and not committed yet holds up no
// deletion of another response.
func TestDeletingASubmissionWaitsForNoResponse(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	tx := begin(t, pool)
	mustSubmit(t, s.On(tx), response(2))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	wantError(t, "DeleteSubmission beside a response", s.DeleteSubmission(ctx, storage.AsHost(), pgseed.ID(pgseed.Form, 0), response(1).Submission.ID), nil)
}

// What a purge removes may be held by somebody, who may wait for what the purge has
// removed already. So it leaves deliveries and attempts that are held to the next sweep.
func TestPurgingWaitsForNoDeliveryAndNoAttempt(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"deliveries", "attempts"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			failingWebhook(t, s, pool)
			execute(t, pool, s, `UPDATE formsvc.forms SET trashed_at = now(), purged_at = now()`)
			tx := begin(t, pool)
			held, err := tx.Exec(t.Context(), s.db.RewriteSQL(`SELECT FROM formsvc.`+table+` FOR UPDATE`))
			if err != nil || held.RowsAffected() == 0 {
				t.Fatal(held, err)
			}
			purge := func() {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				for more := true; more; {
					if more, err = s.removePurgedForms(ctx, storage.SweepParams{Max: 100}, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			purge()
			for _, other := range []string{"deliveries", "attempts", "submissions"} {
				want := 0
				if other == table {
					want = int(held.RowsAffected())
				}
				wantRows(t, pool, s, want, other)
			}
			must(t, tx.Rollback(t.Context()))
			purge()
			wantRows(t, pool, s, 0, "deliveries", "attempts", "events", "webhooks", "forms")
		})
	}
}
