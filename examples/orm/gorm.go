package main

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/formsvc/formsvc"
)

// storeGorm begins the transaction inside of Connection, which puts a *sql.Conn into the
// statement.
func (s *shop) storeGorm(ctx context.Context, o *order, r formsvc.SubmitParams) error {
	return s.gorm.WithContext(ctx).Connection(func(db *gorm.DB) error {
		conn := db.Statement.ConnPool.(*sql.Conn)
		return db.Transaction(func(tx *gorm.DB) error {
			if err := s.respond(ctx, conn, o, r); err != nil {
				return err
			}
			return tx.Create(o).Error
		})
	})
}
