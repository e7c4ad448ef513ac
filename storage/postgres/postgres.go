package postgres

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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

	db     DB
	inTx   bool
	schema string
	texts  *texts          // nil: the statements are run as they are written
	chance func(n int) int // a random number below n
}

// Option changes what [New] and [Migrate] do.
type Option func(*config)

type config struct{ schema string }

// DefaultSchema is the schema that is used without [WithSchema].
const DefaultSchema = "formsvc"

// WithSchema sets the schema that holds the tables, [DefaultSchema] when it is
// not given or empty. Any name that PostgreSQL takes as a quoted identifier will
// do. Services on different schemas of one database do not see each other.
func WithSchema(name string) Option {
	return func(c *config) {
		if name != "" {
			c.schema = name
		}
	}
}

func newConfig(opts []Option) config {
	c := config{schema: DefaultSchema}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// New returns a store on db. It is cheap, opens nothing and runs no statement;
// the tables are made by [Migrate].
//
// With a pool, every method is a transaction of its own and is tried again when
// it failed for a passing reason. With a [pgx.Tx], or anything else that has its
// Commit method, every method is part of that transaction, and what it locks
// stays locked until the transaction ends. It is the caller who commits, and who
// starts again when an error wraps [storage.ErrUnavailable]: then the transaction
// is lost as a whole.
func New(db DB, opts ...Option) *Store {
	c := newConfig(opts)
	s := &Store{db: db, schema: c.schema, chance: rand.N[int]}
	_, s.inTx = db.(interface{ Commit(context.Context) error })
	if c.schema != DefaultSchema {
		s.texts = &texts{prefix: pgx.Identifier{c.schema}.Sanitize() + "."}
	}
	return s
}

// texts keeps statements that were rewritten for another schema.
type texts struct {
	prefix string
	known  sync.Map // the statement as written -> the statement to run
}

// sql returns a statement for the store's schema. Statements are written with
// each name qualified by "formsvc.", and have these eight characters nowhere
// else.
func (s *Store) sql(text string) string {
	if s.texts == nil {
		return text
	}
	if known, ok := s.texts.known.Load(text); ok {
		return known.(string)
	}
	rewritten := strings.ReplaceAll(text, DefaultSchema+".", s.texts.prefix)
	s.texts.known.Store(text, rewritten)
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

// collect runs one statement and returns what scan makes of each row.
func collect[T any](ctx context.Context, s *Store, text string, scan func(pgx.Rows) (T, error), args ...any) ([]T, error) {
	rows, err := s.query(ctx, text, args)
	if err != nil {
		return nil, err
	}
	return collectRows(rows, scan)
}

func collectRows[T any](rows pgx.Rows, scan func(pgx.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
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

// queue adds a statement to a batch.
func (s *Store) queue(b *pgx.Batch, text string, args ...any) {
	b.Queue(s.sql(text), args...)
}

// send runs a batch in one round trip and hands the rows of its last statement to
// read. Outside a host's transaction the batch is one transaction; each statement
// in it sees what was committed before that statement began, so a statement that
// follows a lock sees what the lock has waited for.
func (s *Store) send(ctx context.Context, b *pgx.Batch, read func(pgx.Rows) error) error {
	results, err := s.sendBatch(ctx, b)
	if err != nil {
		return err
	}
	err = readLast(results, b.Len(), read)
	// The transaction is committed when Close says so.
	if closed := results.Close(); err == nil || closed != nil && isResult(err) {
		err = closed
	}
	return err
}

// sendBatch sends what was queued. Whoever calls it closes the results, and takes
// the batch for committed when that returns nil.
func (s *Store) sendBatch(ctx context.Context, b *pgx.Batch) (pgx.BatchResults, error) {
	for _, q := range b.QueuedQueries {
		if err := checkArgs(q.Arguments); err != nil {
			return nil, err
		}
	}
	return s.db.SendBatch(ctx, b), nil
}

func readLast(results pgx.BatchResults, n int, read func(pgx.Rows) error) error {
	for range n - 1 {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	return read(rows)
}

// sendRow is send for a last statement of one row.
func (s *Store) sendRow(ctx context.Context, b *pgx.Batch, scan func(pgx.Rows) error) error {
	return s.send(ctx, b, func(rows pgx.Rows) error { return firstRow(rows, scan) })
}
