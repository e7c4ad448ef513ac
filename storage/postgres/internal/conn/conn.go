// Package conn runs statements on a host's pool or in a host's transaction. It retries after errors, classifies
// errors for the caller, and converts values. It does not depend on forms.
package conn

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/cache"
)

// DB runs statements. It is a pool, a connection from a pool, or a transaction.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// VersionTable contains the version of the tables. Its unusual name also identifies this library's schemas.
const VersionTable = "formsvc_version"

// Conn runs statements on DB in a schema.
type Conn struct {
	DB            DB
	InTx          bool // whether DB is a host's transaction
	Schema        string
	ConfigError   error           // invalid options; every call returns it
	SchemaGuessed bool            // InTx is set, but the host gave no schema; see checkUsable
	Timeout       time.Duration   // timeout of a call, unless InTx
	acquirer      *acquirer       // nil unless DB is a *pgxpool.Pool
	writeLimiter  *writeLimiter   // nil if InTx
	statements    *statementCache // nil for writtenSchema, which the statements' text already contains
}

// New returns a Conn for a schema. The Conn has no DB until [Conn.WithDB] is called.
func New(schema string, configError error) Conn {
	c := Conn{Schema: schema, ConfigError: configError}
	if schema != writtenSchema {
		c.statements = &statementCache{prefix: pgx.Identifier{schema}.Sanitize() + "."}
	}
	return c
}

// WithDB returns a copy of c that uses db. A nil pointer counts as no DB.
func (c Conn) WithDB(db DB) Conn {
	if v := reflect.ValueOf(db); v.Kind() == reflect.Pointer && v.IsNil() {
		db = nil
	}
	c.DB = db
	_, c.InTx = db.(interface{ Commit(context.Context) error })
	c.acquirer, c.writeLimiter = nil, nil
	if db != nil && !c.InTx {
		c.writeLimiter = newWriteLimiter(c.MaxConns())
	}
	if pool, ok := db.(*pgxpool.Pool); ok && pool != nil {
		c.acquirer = &acquirer{pool}
	}
	return c
}

// Validate returns an error if every call would fail, regardless of the database.
func (c *Conn) Validate() error {
	if c.ConfigError == nil && c.DB == nil {
		return errors.New("postgres: the pool or transaction is nil")
	}
	return c.ConfigError
}

// LockSalt returns a number that depends on the schema and the kind of lock, so that this library's advisory locks
// differ from each other and from the host's.
func (c *Conn) LockSalt(kind string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("formsvc\x00" + c.Schema + "\x00" + kind)) // never fails
	return int64(h.Sum64())                                          // an overflow does not matter
}

const otherSchemas = `
SELECT n.nspname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = '` + VersionTable + `' AND c.relkind = 'r' AND n.nspname <> $1::text
ORDER BY 1 LIMIT 1`

// checkUsable returns Validate's error. It also returns an error if the schema is only guessed and the database has
// several formsvc schemas. Otherwise, New with a transaction could write to another tenant's tables.
func (c *Conn) checkUsable(ctx context.Context) error {
	if err := c.Validate(); err != nil || !c.SchemaGuessed {
		return err
	}
	var other string
	err := c.DBFor(ctx).QueryRow(ctx, otherSchemas, c.Schema).Scan(&other)
	if err == nil {
		return fmt.Errorf("postgres: New on a transaction without WithSchema is ambiguous because the database has the schemas %q and %q: use Store.On",
			other, c.Schema)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		c.SchemaGuessed = false // a transaction has one user, so this needs no lock
		return nil
	}
	return err
}

type statementCache struct {
	prefix    string
	rewritten cache.Cache[string, string]
}

const writtenSchema = "formsvc"

// RewriteSQL returns the statement for c's schema. In text, "formsvc." qualifies each name and must not occur
// elsewhere.
func (c *Conn) RewriteSQL(text string) string {
	if c.statements == nil {
		return text
	}
	if rewritten, ok := c.statements.rewritten.Get(text); ok {
		return rewritten
	}
	rewritten := strings.ReplaceAll(text, writtenSchema+".", c.statements.prefix)
	c.statements.rewritten.Put(text, rewritten, len(rewritten))
	return rewritten
}
