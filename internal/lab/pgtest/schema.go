package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Schema returns a name that no other schema of the shared server has, made of
// the test's name and random characters. The schema is not created; it is
// dropped with all that is in it when the test ends.
//
// Call Schema before Pool: what is asked for first is cleared up last, and a
// transaction that is still open then is found.
func Schema(t TB) string {
	t.Helper()
	return schema(t, URL(t), 10*time.Second)
}

func schema(t TB, url string, lockTimeout time.Duration) string {
	t.Helper()
	name := schemaName(t.Name())
	t.Cleanup(func() {
		ctx, cancel := afterwards(t, patience)
		defer cancel()
		if err := drop(ctx, url, name, lockTimeout); err != nil {
			t.Errorf("the schema %s is left behind: %v", name, err)
		}
	})
	return name
}

// schemaName: at most 63 bytes, the longest name that PostgreSQL has, and
// nothing that would have to be quoted.
func schemaName(test string) string {
	readable := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '_'
		}
	}, test)
	const most = 30
	return "t_" + readable[:min(len(readable), most)] + "_" + strings.ToLower(rand.Text())
}

// drop waits no longer than lockTimeout for a transaction that the test left open.
func drop(ctx context.Context, url, schema string, lockTimeout time.Duration) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(ctx) }()
	if _, err := connection.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", lockTimeout.Milliseconds())); err != nil {
		return err
	}
	_, err = connection.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
	return err
}
