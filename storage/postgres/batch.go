package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// sendEach is send for a batch of which several statements have something to
// tell: there is one read for each statement, nil for those whose rows do not
// matter.
func (s *Store) sendEach(ctx context.Context, b *pgx.Batch, read ...func(pgx.Rows) error) error {
	results, err := s.sendBatch(ctx, b)
	if err != nil {
		return err
	}
	err = readEach(results, read)
	// The transaction is committed when Close says so.
	if closed := results.Close(); err == nil || closed != nil && isResult(err) {
		err = closed
	}
	return err
}

func readEach(results pgx.BatchResults, read []func(pgx.Rows) error) error {
	for _, f := range read {
		if f == nil {
			if _, err := results.Exec(); err != nil {
				return err
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if err := f(rows); err != nil {
			return err
		}
	}
	return nil
}
