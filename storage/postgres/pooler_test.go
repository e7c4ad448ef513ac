package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A change that PgBouncer keeps waiting for a server that does not come back was sent to
// nobody, so its caller may try it again.
func TestAPoolerWithoutAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	must(t, Migrate(t.Context(), pgtest.PoolAt(t, server.URL())))
	bouncer := pgtest.PgBouncer(t, server.URL(), "query_wait_timeout = 1", "server_login_retry = 1")
	s := New(pgtest.PoolAt(t, bouncer, pgtest.Mode(pgx.QueryExecModeSimpleProtocol)))
	create := func(n byte) error {
		id := storage.ID{n}
		return s.CreateWorkspace(t.Context(), storage.Workspace{ID: id, PublicID: id.String(), OwnerID: id}, 0)
	}
	must(t, create(1))

	server.Kill()
	err := create(2)
	if !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("CreateWorkspace behind a pooler without a server = %v", err)
	}
	server.Restart()
	eventually(t, "the same is made", func() bool {
		if err = create(2); err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("CreateWorkspace while the pooler connects again = %v", err)
		}
		return err == nil
	})
}

// A call that has used up its time ends its statement on the server too, so that nothing there
// goes on waiting for a form that somebody holds.
func TestATimeoutBehindAPoolerEndsTheStatement(t *testing.T) {
	t.Parallel()
	const calls = 3
	pool := pgtest.Pool(t)
	behind := pgtest.PoolAt(t, pgtest.PgBouncer(t, pgtest.URL(t)), pgtest.Mode(pgx.QueryExecModeExec))
	s := New(behind, WithSchema(filled(t, pool, pgseed.Size{Forms: 1})), WithTimeout(300*time.Millisecond))
	hold(t, s, 0)
	for range calls {
		_, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.FormChange{Gate: &storage.Gate{ResponseLimit: 1}})
		if !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
			t.Errorf("UpdateForm = %v", err)
		}
		if _, _, err := s.Submit(t.Context(), response(1)); !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
			t.Errorf("Submit = %v", err)
		}
	}
	eventually(t, "nothing waits for the form", func() bool { return waitingFor(t, pool, s, 0) == 0 })
}
