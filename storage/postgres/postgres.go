package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// DB runs the statements of a [Store]. Both *pgxpool.Pool and [pgx.Tx] implement it.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Store is a [storage.Storage] that uses PostgreSQL. It is safe for concurrent use on a pool, but not in a transaction.
type Store struct {
	storage.Unimplemented

	db conn.Conn
	// These fields let concurrent calls share batches and reads. They are nil unless db is a pool.
	submitBatches  *submitBatches
	partialBatches *partialBatches
	formReader     *formReader
	cache          *formCache // nil in a transaction, whose changes may be rolled back
	log            *slog.Logger
	sweepPosition  *sweepPosition
	queueSize      *atomic.Int64                 // see setQueueSize
	pollPosition   *atomic.Pointer[pollPosition] // nil before the first poll
	notedAt        *sync.Map                     // when this process recorded each kind of work, see noteWork

	countBatchSize int64 // defaults to the constant of the same name
}

// sweepPosition is where this process's next sweep continues. All copies of a store share it.
type sweepPosition struct {
	step   atomic.Uint32
	funnel atomic.Pointer[storage.ID] // last form whose counts were moved into buckets, or nil
}

// Option configures [New] and [Migrate].
type Option func(*config)

type config struct {
	schema    string
	schemaSet bool // whether the host set the schema
	log       *slog.Logger
	timeout   time.Duration
}

// DefaultSchema is the schema that the store uses without [WithSchema].
const DefaultSchema = "formsvc"

// WithSchema sets the schema that contains the tables. Defaults to [DefaultSchema], even if name is empty. The name can
// be any PostgreSQL identifier of up to 63 bytes, including those that need quotes. With an invalid name, every call
// fails. Services in different schemas of one database are independent.
func WithSchema(name string) Option {
	return func(c *config) {
		if name != "" {
			c.schema, c.schemaSet = name, true
		}
	}
}

// WithLogger sets the logger for errors that do not fail a call of the [Store]. Without a logger, they are discarded.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) {
		if logger != nil {
			c.log = logger
		}
	}
}

// DefaultTimeout is the timeout of a call without [WithTimeout].
const DefaultTimeout = 10 * time.Second

// WithTimeout sets how long a call waits for a pool connection and for the database's responses, including retries.
// Defaults to [DefaultTimeout], even if d is not positive. A call that times out returns [storage.ErrUnavailable], or
// [storage.ErrOutcomeUnknown] if the change may have been made. The HTTP API returns 503 for both. The store's calls
// for one request, page or submission share this time. The timeout also limits how long broken connections block the
// pool. In a host's transaction ([Store.On]), only the host's context limits a call.
func WithTimeout(d time.Duration) Option {
	return func(c *config) {
		if d > 0 {
			c.timeout = d
		}
	}
}

// check validates the schema name. It rejects long names, because the server would truncate them.
func (c config) check() error {
	if len(c.schema) > 63 || !utf8.ValidString(c.schema) || strings.ContainsRune(c.schema, 0) {
		return fmt.Errorf("postgres: schema name %q must be valid text of at most 63 bytes", c.schema)
	}
	return nil
}

// New returns a store that uses db, usually a pool. It does not contact the server: [Migrate] creates the tables, and
// [Store.CheckVersion] checks them. With a nil db or an invalid schema name, every call fails, and [Store.Validate]
// returns the reason. To use the store in a host's transaction, call [Store.On]. db can also be a [pgx.Tx]. Without
// [WithSchema], calls then fail if the database has tables of this library in a schema other than [DefaultSchema].
func New(db DB, opts ...Option) *Store {
	c := config{schema: DefaultSchema, log: slog.New(slog.DiscardHandler), timeout: DefaultTimeout}
	for _, o := range opts {
		o(&c)
	}
	s := &Store{db: conn.New(c.schema, c.check()), log: c.log, sweepPosition: &sweepPosition{}, queueSize: new(atomic.Int64), pollPosition: new(atomic.Pointer[pollPosition]), notedAt: new(sync.Map)}
	s.db.Timeout = c.timeout
	s = s.On(db)
	s.db.SchemaGuessed = s.db.InTx && !c.schemaSet
	return s
}

// Validate returns an error if every call of the store would fail, because the pool is nil or the schema name is
// invalid. It does not contact the server. [github.com/formsvc/formsvc.New] calls it.
func (s *Store) Validate() error {
	if s == nil {
		return errors.New("postgres: the store is nil")
	}
	return s.db.Validate()
}

// On returns a copy of the store that uses tx, with the same schema and options:
//
//	svc.WithStorage(store.On(tx)).Submit(ctx, response)
//
// If a decorator wraps the service's storage, wrap the copy too. If tx is a [pgx.Tx] or has the same Commit method,
// every call is part of that transaction, which holds the call's locks until it ends. The caller commits. If an error
// wraps [storage.ErrUnavailable], the transaction is lost and the caller must start again.
func (s *Store) On(tx DB) *Store {
	on := *s
	on.db = s.db.WithDB(tx)
	on.submitBatches, on.partialBatches, on.formReader, on.cache = nil, nil, nil, nil
	if _, ok := tx.(interface {
		Acquire(context.Context) (*pgxpool.Conn, error)
	}); ok {
		on.submitBatches, on.partialBatches, on.formReader, on.cache = on.newSubmitBatches(), on.newPartialBatches(), on.newFormReader(), &formCache{}
	}
	return &on
}

// InSQLTx runs do with a copy of the store, as [Store.On] returns it, in the transaction that the host began on
// conn through database/sql and pgx's stdlib:
//
//	conn, err := db.Conn(ctx) // of sql.OpenDB(stdlib.…) or sql.Open("pgx", …)
//	tx, err := conn.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, …)
//	err = store.InSQLTx(ctx, conn, func(store *postgres.Store) error {
//		_, err := svc.WithStorage(store).Submit(ctx, response)
//		return err
//	})
//	err = tx.Commit()
//
// A [sql.Tx] from [sql.DB.BeginTx] does not expose its connection, so begin the transaction on a [sql.Conn]. Do not use
// conn or its transaction in do, which would deadlock, and do not use the store after do returns. The host commits or
// rolls back. InSQLTx returns the error that do returns. If do panics, InSQLTx panics with do's stack. If conn is not a
// pgx connection or has no transaction, InSQLTx returns an error without calling do.
func (s *Store) InSQLTx(ctx context.Context, conn *sql.Conn, do func(*Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var result error
	var panicErr *panicError
	// Hide do's errors and panics from Raw. After a panic or a driver.ErrBadConn, Raw would close conn and wait for the
	// caller's transaction to end, which is a deadlock.
	err := conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("postgres: InSQLTx: the connection is a %T, not a pgx/stdlib connection", driverConn)
		}
		if status := c.Conn().PgConn().TxStatus(); status == 'I' {
			return errors.New("postgres: InSQLTx: no transaction has begun on this connection")
		}
		defer func() {
			if value := recover(); value != nil {
				panicErr = &panicError{value, debug.Stack()}
			}
		}()
		result = do(s.On(sqlTx{c.Conn()}))
		return nil
	})
	if panicErr != nil {
		panic(panicErr)
	}
	return cmp.Or(err, result)
}

// sqlTx is a connection with a transaction that the host begins and ends.
type sqlTx struct{ *pgx.Conn }

var errHostTransaction = errors.New("postgres: the host began this transaction through database/sql")

// Begin is never called, because the store does not nest transactions.
func (sqlTx) Begin(context.Context) (pgx.Tx, error) { return nil, errHostTransaction }

// Commit marks sqlTx as a transaction (see [Store.On]).
func (sqlTx) Commit(context.Context) error { return errHostTransaction }

// inTransaction is like [conn.Conn.Transaction], but passes do a copy of the store that uses the transaction.
func (s *Store) inTransaction(ctx context.Context, do func(context.Context, *Store) error) error {
	return s.db.Transaction(ctx, func(ctx context.Context, tx conn.DB) error { return do(ctx, s.On(tx)) })
}
