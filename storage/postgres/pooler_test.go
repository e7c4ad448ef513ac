package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A change that PgBouncer keeps waiting for a server that does not come back was sent to
// nobody, so its caller may try it again.
func TestAPoolerWithoutAServer(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	if err := Migrate(t.Context(), pgtest.PoolAt(t, server.URL())); err != nil {
		t.Fatal(err)
	}
	bouncer := pgtest.PgBouncer(t, server.URL(), "query_wait_timeout = 1", "server_login_retry = 1")
	s := New(pgtest.PoolAt(t, bouncer, pgtest.Mode(pgx.QueryExecModeSimpleProtocol)))
	create := func(n byte) error {
		id := storage.ID{n}
		return s.CreateWorkspace(t.Context(), storage.Workspace{ID: id, PublicID: id.String(), OwnerID: id}, 0)
	}
	if err := create(1); err != nil {
		t.Fatal(err)
	}

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
