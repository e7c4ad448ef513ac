package main

import (
	"context"

	"github.com/formsvc/formsvc"
)

// storeSQL begins the transaction on a sql.Conn: one of sql.DB.BeginTx does not tell which
// connection it is on.
func (s *shop) storeSQL(ctx context.Context, o *order, r formsvc.SubmitParams) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing after the commit
	if err := s.respond(ctx, conn, o, r); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders (customer, response) VALUES ($1, $2)`, o.Customer, o.Response); err != nil {
		return err
	}
	return tx.Commit()
}
