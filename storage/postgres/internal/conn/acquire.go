package conn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// acquirer acquires a pool connection for each call. It can therefore distinguish waiting for a connection from waiting
// for a response, and can detect connections that do not respond. If DB is a host's own pool type, the acquirer is nil,
// and statements run directly on DB.
type acquirer struct{ pool *pgxpool.Pool }

// MaxConns returns the pool's maximum number of connections, or pgx's smallest default if DB does not report it.
func (c *Conn) MaxConns() int {
	if pool, ok := c.DB.(interface{ Stat() *pgxpool.Stat }); ok {
		return int(pool.Stat().MaxConns())
	}
	return 4
}

type acquired struct {
	by   *acquirer
	conn *pgxpool.Conn
}

type acquiredKey struct{}

// DBFor returns the call's connection, or DB if the call has none.
func (c *Conn) DBFor(ctx context.Context) DB {
	if l, ok := ctx.Value(acquiredKey{}).(acquired); ok && l.by == c.acquirer {
		return l.conn
	}
	return c.DB
}

// noConnectionError means that a call got no connection, so nothing was sent.
type noConnectionError struct{ error }

func (e noConnectionError) Unwrap() error { return e.error }

func (c *Conn) onConnection(ctx context.Context, do func(context.Context) error) error {
	if c.acquirer == nil {
		return do(ctx)
	}
	defer c.acquirer.pingIdle(ctx, time.Now())
	held, err := c.acquirer.pool.Acquire(ctx)
	if err != nil {
		if stat := c.acquirer.pool.Stat(); stat.AcquiredConns() == stat.MaxConns() {
			err = fmt.Errorf("all %d connections of the pool are in use (inside a transaction, use Store.On): %w", stat.MaxConns(), err)
		}
		return noConnectionError{err}
	}
	defer releaseConn(held)
	if err = do(context.WithValue(ctx, acquiredKey{}, acquired{c.acquirer, held})); SQLState(err) == readOnly {
		c.acquirer.closeReadOnly(ctx, held)
	}
	return err
}

// readOnly is the SQLSTATE for a write on a read-only server: a standby, or a former primary.
const readOnly = "25006"

// closeReadOnly closes a read-only connection and all idle connections, which may belong to the same server. The pool
// then connects to the new primary.
func (l *acquirer) closeReadOnly(ctx context.Context, held *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	_ = held.Conn().Close(ctx)
	for _, idle := range l.pool.AcquireAllIdle(ctx) {
		_ = idle.Conn().Close(ctx)
		idle.Release()
	}
}

// releaseConn releases a connection. If a call ends before its response, pgx closes the connection, asks the server to
// cancel the statement, and waits up to 15 seconds. Until then, the connection occupies a slot in the pool. release
// ends this wait by closing the socket after pingTimeout. It does not close the socket immediately, because a pooler
// cancels statements only for connected clients.
func releaseConn(held *pgxpool.Conn) {
	if c := held.Conn(); c.IsClosed() {
		time.AfterFunc(pingTimeout, func() { _ = c.PgConn().Conn().Close() })
	}
	held.Release()
}

// pingTimeout is the timeout for pinging an idle connection. Even a busy server responds immediately.
const pingTimeout = time.Second

// pingIdle pings the idle connections and closes any that do not respond. It runs only if the call timed out or its
// caller left after some time, because the network may then have dropped other connections too.
func (l *acquirer) pingIdle(ctx context.Context, began time.Time) {
	if err := ctx.Err(); err == nil || errors.Is(err, context.Canceled) && time.Since(began) < pingTimeout/2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	var pings sync.WaitGroup
	for _, idle := range l.pool.AcquireAllIdle(ctx) {
		defer releaseConn(idle)
		pings.Go(func() { _ = idle.Conn().PgConn().Ping(ctx) }) // PgConn does not call the host's tracers
	}
	pings.Wait()
}
