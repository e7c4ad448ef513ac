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

const lookUpRows = `
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// lookUp makes the server plan what follows in the batch so that it looks up row by
// row what it needs of a table, and reports whether it added a statement for that.
// A prepared statement keeps its plan: one that was made while a queue was nearly
// empty reads whole tables, and goes on to do so when a backlog has come, until the
// tables are analysed next. The settings end with the batch. A host's transaction
// is the host's, and is left as it is.
func (s *Store) lookUp(b *pgx.Batch) bool {
	if s.inTx {
		return false
	}
	b.Queue(lookUpRows)
	return true
}
