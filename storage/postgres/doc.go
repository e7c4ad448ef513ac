// Package postgres keeps the data of formsvc in PostgreSQL 13 or newer, in a
// schema of its own in a database that the host already has.
//
//	pool, err := pgxpool.New(ctx, url)
//	…
//	err = postgres.Migrate(ctx, pool)
//	…
//	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool)))
//
// The pool stays the host's: nothing of it is changed and no connection of it is
// kept. It may use any of pgx's modes, and reach the server through PgBouncer in
// transaction mode; prepared statements, which pgx's default mode uses, need
// PgBouncer 1.21. Only [Migrate] needs a session.
//
// # Transactions
//
// Every method is one transaction, most often one statement in one round trip.
// The isolation level has to be read committed, PostgreSQL's default. A host that
// wants formsvc to be part of its own transaction puts the store on that:
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		…
//		_, err := svc.Using(store.On(tx)).Submit(ctx, response)
//		return err
//	})
//
// # Errors
//
// Errors wrap those of package storage and their cause, so errors.As finds the
// *pgconn.PgError. On a pool, serialization failures, deadlocks, refused
// connections and what a failover makes of statements are tried again a few times
// before they are a storage.ErrUnavailable. When a connection breaks while a
// change is under way, the change may have been made: that is a
// storage.ErrOutcomeUnknown and is never tried again. A context that ends at that
// moment gives an error that is both.
package postgres
