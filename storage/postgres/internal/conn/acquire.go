package conn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// acquirer lends a connection of a pool to each call, so that a wait for one is told from a
// wait for an answer, and a connection that did not answer is known. Statements go through
// a pool of a type of the host's as through any DB.
type acquirer struct{ pool *pgxpool.Pool }

// MaxConns is how many connections the pool has at most, or pgx's least default when DB does
// not tell.
func (c *Conn) MaxConns() int {
	if pool, ok := c.DB.(interface{ Stat() *pgxpool.Stat }); ok {
		return int(pool.Stat().MaxConns())
	}
	return 4
}

// lent is a connection in the context of the call that has it.
type acquired struct {
	by   *acquirer
	conn *pgxpool.Conn
}

type acquiredKey struct{}

// In returns what the statements of a call run on: the connection that the call has.
func (c *Conn) DBFor(ctx context.Context) DB {
	if l, ok := ctx.Value(acquiredKey{}).(acquired); ok && l.by == c.acquirer {
		return l.conn
	}
	return c.DB
}

// noConnectionError is why a call got no connection. Nothing was sent.
type noConnectionError struct{ error }

func (e noConnectionError) Unwrap() error { return e.error }

// once runs do on a connection of its own.
func (c *Conn) onConnection(ctx context.Context, do func(context.Context) error) error {
	if c.acquirer == nil {
		return do(ctx)
	}
	defer c.acquirer.checkIdle(ctx, time.Now())
	held, err := c.acquirer.pool.Acquire(ctx)
	if err != nil {
		return noConnectionError{err}
	}
	defer release(held)
	if err = do(context.WithValue(ctx, acquiredKey{}, acquired{c.acquirer, held})); SQLState(err) == readOnly {
		c.acquirer.closeReadOnly(ctx, held)
	}
	return err
}

// readOnly is the SQLSTATE of a write on a server that only reads: a standby, or a primary that
// has become one.
const readOnly = "25006"

// closeReadOnly closes a connection on which nothing can be written, and the idle ones, which
// are as old or older. The pool makes new ones, which find the new primary.
func (l *acquirer) closeReadOnly(ctx context.Context, held *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	_ = held.Conn().Close(ctx)
	for _, idle := range l.pool.AcquireAllIdle(ctx) {
		_ = idle.Conn().Close(ctx)
		idle.Release()
	}
}

// release releases a connection. pgx closes one whose call ended before the answer came: it
// asks the server to end the statement, which a pooler does only for a client that is still
// there, and then waits up to 15 seconds for the server's side of it; so long it would keep
// its place in the pool. Without a socket it does not wait.
func release(held *pgxpool.Conn) {
	if c := held.Conn(); c.IsClosed() {
		time.AfterFunc(pingTimeout, func() { _ = c.PgConn().Conn().Close() })
	}
	held.Release()
}

// pingTimeout bounds how long an idle connection may take to answer when another one did
// not: a server that is there answers a ping at once, however busy it is.
const pingTimeout = time.Second

// checkIdle follows a call. When its time was used up, or its caller left after a while, the
// network may have dropped other connections as well: those that are idle answer a ping, or
// are closed before they serve.
func (l *acquirer) checkIdle(ctx context.Context, began time.Time) {
	if err := ctx.Err(); err == nil || errors.Is(err, context.Canceled) && time.Since(began) < pingTimeout/2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	var pings sync.WaitGroup
	for _, idle := range l.pool.AcquireAllIdle(ctx) {
		defer release(idle)
		pings.Go(func() { _ = idle.Conn().PgConn().Ping(ctx) }) // without the host's tracers
	}
	pings.Wait()
}
