package main

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/formsvc/formsvc"
)

// storeBun begins the transaction on a bun.Conn, which has a *sql.Conn in it.
func (s *shop) storeBun(ctx context.Context, o *order, r formsvc.SubmitParams) error {
	conn, err := s.bun.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := s.respond(ctx, conn.Conn, o, r); err != nil {
			return err
		}
		_, err := tx.NewInsert().Model(o).Exec(ctx)
		return err
	})
}
