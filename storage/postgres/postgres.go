package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
)

// DB is what a [Store] runs its statements on. *pgxpool.Pool and [pgx.Tx] both
// satisfy it.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Store is a [storage.Storage] on PostgreSQL. It is safe for concurrent use when
// its DB is: a pool is, a transaction is not.
type Store struct {
	storage.Unimplemented

	db      DB
	inTx    bool
	schema  string
	fault   error      // of the options; every call returns it
	guessed bool       // inTx, and nobody has named the schema: see usable
	texts   *texts     // nil: the statements are run as they are written
	submits *submits   // nil unless db is a pool
	cache   *formCache // likewise: what a transaction reads may never be committed
	log     *slog.Logger
	turns   *sweepTurns
	size    *atomic.Int64 // of the queue; see noteSizes

	countedMost int64 // see the constant
}

// Option changes what [New] and [Migrate] do.
type Option func(*config)

type config struct {
	schema string
	named  bool // by the host
	log    *slog.Logger
}

// DefaultSchema is the schema that is used without [WithSchema].
const DefaultSchema = "formsvc"

// WithSchema sets the schema that holds the tables, [DefaultSchema] when it is
// not given or empty. Any name that PostgreSQL takes as a quoted identifier will
// do, up to its 63 bytes; with another one every call fails. Services on different
// schemas of one database do not see each other.
func WithSchema(name string) Option {
	return func(c *config) {
		if name != "" {
			c.schema, c.named = name, true
		}
	}
}

// WithLogger sets the logger that gets the faults of what a [Store] does on the side
// of a call that succeeds all the same. Without it, or with nil, they are discarded.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) {
		if logger != nil {
			c.log = logger
		}
	}
}

func newConfig(opts []Option) config {
	c := config{schema: DefaultSchema, log: slog.New(slog.DiscardHandler)}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// check refuses what the server would make another name of: it cuts what is longer.
func (c config) check() error {
	if len(c.schema) > 63 || !utf8.ValidString(c.schema) || strings.ContainsRune(c.schema, 0) {
		return fmt.Errorf("postgres: schema name %q must be valid text of at most 63 bytes", c.schema)
	}
	return nil
}

// New returns a store on db, which is a pool. It is cheap, opens nothing and runs
// no statement; the tables are made by [Migrate]. Every method is a transaction of
// its own and is tried again when it failed for a passing reason. To use the store
// inside a transaction of the host's, call [Store.On].
//
// db may be a [pgx.Tx] too. The store is then as from [Store.On], but knows nothing
// of the schema of another one: without [WithSchema] its calls fail when the
// database has tables of this library in any other schema than [DefaultSchema].
func New(db DB, opts ...Option) *Store {
	c := newConfig(opts)
	s := &Store{schema: c.schema, fault: c.check(), log: c.log, turns: &sweepTurns{}, size: new(atomic.Int64), countedMost: countedMost}
	if c.schema != DefaultSchema {
		s.texts = &texts{prefix: pgx.Identifier{c.schema}.Sanitize() + "."}
	}
	s = s.On(db)
	s.guessed = s.inTx && !c.named
	return s
}

// On returns a copy of the store on tx, with the schema and every other option of
// the store:
//
//	svc.Using(store.On(tx)).Submit(ctx, response)
//
// With a [pgx.Tx], or anything else that has its Commit method, every method is
// part of that transaction, and what it locks stays locked until the transaction
// ends. The caller commits, and starts again when an error wraps
// [storage.ErrUnavailable]: then the transaction is lost as a whole. The copy is
// safe for concurrent use only if tx is, which a pgx.Tx is not.
func (s *Store) On(tx DB) *Store {
	on := *s
	on.db = tx
	_, on.inTx = tx.(interface{ Commit(context.Context) error })
	on.submits, on.cache = nil, nil
	if pool, ok := tx.(acquirer); ok {
		on.submits, on.cache = on.newSubmits(pool), &formCache{}
	}
	return &on
}

const otherSchemas = `
SELECT n.nspname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = '` + versionTable + `' AND c.relkind = 'r' AND n.nspname <> $1::text
ORDER BY 1 LIMIT 1`

// usable refuses a schema name that no server knows, and to guess the schema where
// there are several to choose from: a host whose service has a schema of its own and
// whose New on a transaction does not name it would write into another tenant's
// tables.
func (s *Store) usable(ctx context.Context) error {
	if s.fault != nil || !s.guessed {
		return s.fault
	}
	var other string
	err := s.db.QueryRow(ctx, otherSchemas, s.schema).Scan(&other)
	if err == nil {
		return fmt.Errorf("postgres: New on a transaction without WithSchema, but the database has a schema %q beside %q: use Store.On",
			other, s.schema)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		s.guessed = false // a transaction has one user, so this needs no lock
		return nil
	}
	return err
}

// texts keeps statements that were rewritten for another schema, by the statement as it
// is written.
type texts struct {
	prefix    string
	rewritten cache.Cache[string, string]
}

// sql returns a statement for the store's schema. Statements are written with
// each name qualified by "formsvc.", and have these eight characters nowhere
// else.
func (s *Store) sql(text string) string {
	if s.texts == nil {
		return text
	}
	if rewritten, ok := s.texts.rewritten.Get(text); ok {
		return rewritten
	}
	rewritten := strings.ReplaceAll(text, DefaultSchema+".", s.texts.prefix)
	s.texts.rewritten.Put(text, rewritten, len(rewritten))
	return rewritten
}

func (s *Store) query(ctx context.Context, text string, args []any) (pgx.Rows, error) {
	if err := checkArgs(args); err != nil {
		return nil, err
	}
	return s.db.Query(ctx, s.sql(text), args...)
}

// queryRow runs one statement and hands its first row to scan, which may borrow
// the row's memory until it returns. Without a row it returns [pgx.ErrNoRows].
func (s *Store) queryRow(ctx context.Context, text string, scan func(pgx.Rows) error, args ...any) error {
	rows, err := s.query(ctx, text, args)
	if err != nil {
		return err
	}
	return firstRow(rows, scan)
}

// firstRow reads to the end, because only there the server says that the
// statement is committed.
func firstRow(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	if !rows.Next() {
		rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := scan(rows); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// readOne reads what scan makes of the row of a statement. Without a row it returns ErrNotFound.
func readOne[T any](ctx context.Context, s *Store, scan func(pgx.Rows) (T, error), text string, args ...any) (found T, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		err := s.queryRow(ctx, text, func(rows pgx.Rows) (err error) {
			found, err = scan(rows)
			return err
		}, args...)
		return noRow(err, storage.ErrNotFound)
	})
	if err != nil {
		found = *new(T)
	}
	return found, err
}

// readAll reads what scan makes of each row of a statement.
func readAll[T any](ctx context.Context, s *Store, scan func(pgx.Rows) (T, error), text string, args ...any) (found []T, err error) {
	err = s.read(ctx, func(ctx context.Context) (err error) {
		found, err = collect(ctx, s, text, scan, args...)
		return err
	})
	return found, err
}

// changeRows runs one statement as write does and returns how many rows it changed.
func (s *Store) changeRows(ctx context.Context, text string, args ...any) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		rows, err := s.exec(ctx, text, args...)
		n = int(rows)
		return err
	})
	return n, err
}

// changeRow is changeRows for a statement that changes a row if there is one. Without one it
// returns ErrNotFound.
func (s *Store) changeRow(ctx context.Context, text string, args ...any) error {
	n, err := s.changeRows(ctx, text, args...)
	if err == nil && n == 0 {
		return storage.ErrNotFound
	}
	return err
}

// collect runs one statement and returns what scan makes of each row.
func collect[T any](ctx context.Context, s *Store, text string, scan func(pgx.Rows) (T, error), args ...any) ([]T, error) {
	rows, err := s.query(ctx, text, args)
	if err != nil {
		return nil, err
	}
	return collectRows(rows, scan)
}

func collectRows[T any](rows pgx.Rows, scan func(pgx.Rows) (T, error)) ([]T, error) {
	return appendRows(nil, rows, scan)
}

// appendRows is collectRows for a caller who knows about how many rows there are.
func appendRows[T any](out []T, rows pgx.Rows, scan func(pgx.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	rows.Close()
	return out, rows.Err()
}

// exec runs one statement and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := checkArgs(args); err != nil {
		return 0, err
	}
	tag, err := s.db.Exec(ctx, s.sql(text), args...)
	return tag.RowsAffected(), err
}
