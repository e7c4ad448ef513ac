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

	db conn.Conn
	// Concurrent calls share batches and reads. These are nil unless db is a pool.
	submitBatches  *submitBatches
	partialBatches *partialBatches
	formReader     *formReader
	cache          *formCache // likewise: what a transaction reads may never be committed
	log            *slog.Logger
	sweepPosition  *sweepPosition
	queueSize      *atomic.Int64                 // of the queue; see setQueueSize
	pollPosition   *atomic.Pointer[pollPosition] // at the queue; nil: never
	notedAt        *sync.Map                     // when this process noted each kind of work; see note

	countBatchSize int64 // 0: the constant
}

// sweepPosition is where sweeps go on. It belongs to all copies of a store; another process
// has its own, which does no harm.
type sweepPosition struct {
	step   atomic.Uint32
	funnel atomic.Pointer[storage.ID] // the last form whose counts were folded; nil: begin anew
}

// Option changes what [New] and [Migrate] do.
type Option func(*config)

type config struct {
	schema    string
	schemaSet bool // by the host
	log       *slog.Logger
	timeout   time.Duration
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
			c.schema, c.schemaSet = name, true
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

// DefaultTimeout is the time of a call without [WithTimeout].
const DefaultTimeout = 10 * time.Second

// WithTimeout sets how long a call waits for a connection of the pool and for the
// database's answer, together and with all tries; [DefaultTimeout] when it is not given or
// not positive. Then the call ends with [storage.ErrUnavailable], or with
// [storage.ErrOutcomeUnknown] when the change may have been made; over HTTP both are a 503.
// The calls of a store that one request, one page or one response makes share the time.
//
// It also bounds how long a pool stays without use of the connections that a network has
// dropped. In a host's transaction ([Store.On]) only the host's context bounds a call.
func WithTimeout(d time.Duration) Option {
	return func(c *config) {
		if d > 0 {
			c.timeout = d
		}
	}
}

// check refuses names that are too long: the server would cut them.
func (c config) check() error {
	if len(c.schema) > 63 || !utf8.ValidString(c.schema) || strings.ContainsRune(c.schema, 0) {
		return fmt.Errorf("postgres: schema name %q must be valid text of at most 63 bytes", c.schema)
	}
	return nil
}

// New returns a store on db, which is a pool. It is cheap, opens nothing and runs
// no statement, so it does not see whether there are tables: [Migrate] makes them, and
// [Store.CheckVersion] looks at them. With a nil db, or a schema name that no
// server takes, every call fails; [Store.Validate] says so before. Every method is a transaction of
// its own and is tried again when it failed for a passing reason. To use the store
// inside a transaction of the host's, call [Store.On].
//
// db may be a [pgx.Tx] too. The store is then as from [Store.On], but knows nothing
// of the schema of another one: without [WithSchema] its calls fail when the
// database has tables of this library in any other schema than [DefaultSchema].
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

// Validate reports what keeps every call of the store from working, whatever the database:
// a nil pool, or a schema name that no server takes. It asks no server.
// [github.com/formsvc/formsvc.New] calls it.
func (s *Store) Validate() error {
	if s == nil {
		return errors.New("postgres: the store is nil")
	}
	return s.db.Validate()
}

// On returns a copy of the store on tx, with the schema and every other option of
// the store:
//
//	svc.WithStorage(store.On(tx)).Submit(ctx, response)
//
// A decorator around the service's storage is to be put around the copy as well.
//
// With a [pgx.Tx], or anything else that has its Commit method, every method is
// part of that transaction, and what it locks stays locked until the transaction
// ends. The caller commits, and starts again when an error wraps
// [storage.ErrUnavailable]: then the transaction is lost as a whole. The copy is
// safe for concurrent use only if tx is, which a pgx.Tx is not.
func (s *Store) On(tx DB) *Store {
	on := *s
	on.db = s.db.On(tx)
	on.submitBatches, on.partialBatches, on.formReader, on.cache = nil, nil, nil, nil
	if _, ok := tx.(interface {
		Acquire(context.Context) (*pgxpool.Conn, error)
	}); ok {
		on.submitBatches, on.partialBatches, on.formReader, on.cache = on.newSubmitBatches(), on.newPartialBatches(), on.newFormReader(), &formCache{}
	}
	return &on
}

// InSQLTx runs do with a copy of the store, as [Store.On] makes it, that is part of the
// transaction which the host has begun on conn through database/sql and pgx's stdlib:
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
// A [sql.Tx] from [sql.DB.BeginTx] does not tell which connection it is on; begin it on a
// [sql.Conn]. conn and its transaction must not be used inside do, which would wait for
// itself, and the store not after it. The host commits or rolls back.
//
// It returns the error of do, and panics when do does, with the stack of do. When conn is no
// connection of pgx or has no transaction, it returns an error without calling do.
func (s *Store) InSQLTx(ctx context.Context, conn *sql.Conn, do func(*Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var result error
	var panicErr *panicError
	// After a panic or a driver.ErrBadConn, Raw closes conn before it returns. That waits for the end of
	// the transaction, and so for the caller: Raw sees neither of them.
	err := conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("postgres: InSQLTx: the connection is a %T, not a connection of pgx/stdlib", driverConn)
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

// sqlTx is a connection with a transaction that somebody else ends.
type sqlTx struct{ *pgx.Conn }

var errHostTransaction = errors.New("postgres: the host began this transaction through database/sql")

// Begin is part of [DB]; the store begins nothing in a transaction.
func (sqlTx) Begin(context.Context) (pgx.Tx, error) { return nil, errHostTransaction }

// Commit says that this is a transaction, see [Store.On].
func (sqlTx) Commit(context.Context) error { return errHostTransaction }

// transaction runs do as [conn.Conn.Transaction] does, with a copy of the store on it.
func (s *Store) transaction(ctx context.Context, do func(context.Context, *Store) error) error {
	return s.db.Transaction(ctx, func(ctx context.Context, tx conn.DB) error { return do(ctx, s.On(tx)) })
}
