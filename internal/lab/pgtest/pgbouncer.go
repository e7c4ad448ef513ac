package pgtest

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
)

// bouncerPoolSize is small, so that a few clients already share connections.
const bouncerPoolSize = 5

// PgBouncer starts a PgBouncer in transaction mode, with five connections a
// database, before the server with this connection string, and returns the
// connection string of the same database behind it. Everything else is as
// PgBouncer has it by itself: it refuses startup parameters such as search_path,
// and before version 1.21 it does not know prepared statements, which pgx's
// default mode needs. Settings are lines of its configuration. It ends with the test.
func PgBouncer(t TB, serverURL string, settings ...string) string {
	t.Helper()
	return startBouncer(t, serverURL, false, settings...)
}

// SessionPgBouncer is PgBouncer in session mode: a client has a connection of its
// own until it leaves.
func SessionPgBouncer(t TB, serverURL string) string {
	t.Helper()
	return startBouncer(t, serverURL, true)
}

func startBouncer(t TB, serverURL string, sessions bool, settings ...string) string {
	t.Helper()
	program, err := pgrun.Finder{}.PgBouncer()
	if err != nil {
		missing(t, "a PgBouncer: %v", err)
	}
	server, err := pgx.ParseConfig(serverURL)
	if err != nil {
		t.Fatalf("connection string for PgBouncer: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bouncer, err := pgrun.StartBouncer(ctx, program, pgrun.BouncerConfig{
		Host:     server.Host,
		Port:     server.Port,
		User:     server.User,
		Password: server.Password,
		PoolSize: bouncerPoolSize,
		Sessions: sessions,
		Settings: settings,
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := bouncer.Close(); err != nil {
			t.Errorf("close PgBouncer: %v", err)
		}
	})
	return bouncer.URL(server.Database)
}
