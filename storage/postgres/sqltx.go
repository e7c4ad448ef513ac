package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// InSQLTx runs do with a copy of the store, as [Store.On] makes it, that is part of the
// transaction which the host has begun on conn through database/sql and pgx's stdlib:
//
//	conn, err := db.Conn(ctx) // of sql.OpenDB(stdlib.…) or sql.Open("pgx", …)
//	tx, err := conn.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, …)
//	err = store.InSQLTx(ctx, conn, func(store *postgres.Store) error {
//		_, err := svc.Using(store).Submit(ctx, response)
//		return err
//	})
//	err = tx.Commit()
//
// A [sql.Tx] from [sql.DB.BeginTx] does not tell which connection it is on; begin it on a
// [sql.Conn]. conn and its transaction must not be used inside do, which would wait for
// itself, and the store not after it. The host commits or rolls back.
//
// It returns what do returns, or without calling it an error when conn is not one of
// pgx's or has no transaction.
func (s *Store) InSQLTx(ctx context.Context, conn *sql.Conn, do func(*Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("postgres: InSQLTx: the connection is a %T, not one of pgx's stdlib", driverConn)
		}
		if status := c.Conn().PgConn().TxStatus(); status == 'I' {
			return errors.New("postgres: InSQLTx: no transaction has begun on this connection")
		}
		return do(s.On(sqlTx{c.Conn()}))
	})
}

// sqlTx is a connection with a transaction that somebody else ends.
type sqlTx struct{ *pgx.Conn }

var errNotOurs = errors.New("postgres: the transaction is the host's, begun through database/sql")

// Begin is part of [DB]; the store begins nothing in a transaction.
func (sqlTx) Begin(context.Context) (pgx.Tx, error) { return nil, errNotOurs }

// Commit says that this is a transaction, see [Store.On].
func (sqlTx) Commit(context.Context) error { return errNotOurs }
