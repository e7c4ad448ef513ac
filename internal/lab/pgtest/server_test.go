package pgtest

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestAKilledServerRestartsWithWhatWasCommitted(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Config{})
	pool := PoolAt(t, server.URL())
	fill(t.Context(), t, pool, "kept")
	var fsync string
	if err := pool.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync); err != nil || fsync != "on" {
		t.Errorf("fsync = %q, %v", fsync, err)
	}

	// A connection of its own: its backend has to go with the server.
	open := must(pgx.Connect(t.Context(), server.URL()))
	defer func() { _ = open.Close(t.Context()) }()
	tx := must(open.Begin(t.Context()))
	must(tx.Exec(t.Context(), "INSERT INTO kept.rows VALUES (2)"))

	server.Kill()
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("a transaction was committed on a killed server")
	}
	if connection, err := pgx.Connect(t.Context(), server.URL()); err == nil {
		t.Error("a killed server accepts connections")
		_ = connection.Close(t.Context())
	}
	server.Kill() // nothing is left to kill

	server.Restart()
	pool = PoolAt(t, server.URL())
	var ids []int
	noError(t, pool.QueryRow(t.Context(), "SELECT array_agg(id) FROM kept.rows").Scan(&ids))
	if len(ids) != 1 || ids[0] != 1 {
		t.Errorf("rows = %v, want the committed one", ids)
	}
}

// A backend that computes does not notice for long that the server is gone; had
// it survived, it would stand in the way of the restart.
func TestKillEndsABusyBackendToo(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Config{NoSync: true})
	busy, watcher := PoolAt(t, server.URL()), PoolAt(t, server.URL())
	ended := make(chan error, 1)
	go func() {
		_, err := busy.Exec(t.Context(), "DO $$ BEGIN PERFORM pg_advisory_lock(1); LOOP END LOOP; END $$")
		ended <- err
	}()
	for locked := false; !locked; {
		noError(t, watcher.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted)").Scan(&locked))
	}
	server.Kill()
	if left := processes(directory(t, server.URL())); len(left) != 1 { // the one that removes the directory
		t.Fatalf("left running: %q", left)
	}
	if err := <-ended; err == nil {
		t.Error("a killed query ended well")
	}
}

// directory is where the server with this connection string lives.
func directory(t *testing.T, address string) string {
	t.Helper()
	parsed := must(url.Parse(address))
	dir := parsed.Query().Get("host")
	if !strings.Contains(dir, "formsvc-pg-") {
		t.Fatalf("%s has no directory", address)
	}
	return dir
}

// processes returns the command lines of those that work in the directory or
// name it.
func processes(dir string) []string {
	var found []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		at, _ := os.Readlink("/proc/" + entry.Name() + "/cwd")
		if err == nil && len(line) != 0 && (strings.Contains(string(line), dir) || strings.HasPrefix(at, dir)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
