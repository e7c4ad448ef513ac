package main

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// noteWork writes when a kind of work, a column, was done last, to the minute.
func (t *tx) noteWork(work string, clock time.Time) error {
	_, err := t.exec(`UPDATE upkeep SET `+work+` = ?1 WHERE `+work+` NOT BETWEEN ?2 AND ?1`, clock, clock.Add(-time.Minute))
	return err
}

// Upkeep implements [storage.Storage].
func (s *Store) Upkeep(ctx context.Context) (u storage.Upkeep, err error) {
	err = s.read(ctx, func(tx *tx) error {
		return tx.one(`SELECT ?, since, dispatched, maintained FROM upkeep`, []any{s.now()},
			at(&u.Now), at(&u.Since), at(&u.Dispatched), at(&u.Maintained))
	})
	if err != nil {
		return storage.Upkeep{}, err
	}
	return u, nil
}
