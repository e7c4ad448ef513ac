// Package postgres keeps the data of formsvc in PostgreSQL, in a schema of its own in a
// database that the host already has. PostgreSQL 15 to 18 are supported; it needs no extension.
// Databases that only speak PostgreSQL's protocol are refused (see [Store.CheckVersion]): some
// grant an advisory lock to everybody at once, and the locks keep responses apart from changes.
//
//	pool, err := pgxpool.New(ctx, url) // your own, as it is
//	…
//	err = postgres.Migrate(ctx, pool)  // makes or updates the tables
//	…
//	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool)))
//
// The pool stays the host's: it is never reconfigured and never closed, and no connection of
// it is kept. It may use any of pgx's modes. It needs time-outs against a network that falls
// silent, as the [example Pool] sets them.
//
// # Rights
//
// [Migrate] needs CREATE on the database for the first time, and the ownership of its schema
// after that. A service that runs as another role needs these rights, given by the owner:
//
//	GRANT USAGE ON SCHEMA formsvc TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA formsvc TO app;
//	GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA formsvc TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, USAGE ON SEQUENCES TO app;
//
// Row-level security must not hide rows from that role. If it is enabled on the tables, give the
// role BYPASSRLS, or each table a policy USING (true) WITH CHECK (true). [Store.CheckVersion] names
// each table for which neither holds, because the service would take hidden rows for missing ones.
//
// # Settings
//
// [Store.CheckVersion] refuses these settings, wherever they come from (server, database, role or
// pooler), and [Migrate] refuses all of them except for timeouts and formats:
//
//   - a database or a client_encoding other than UTF8
//   - an isolation level other than read committed, the default
//   - sessions that can only read
//   - standard_conforming_strings = off
//   - session_replication_role = replica, because foreign keys are then not enforced
//   - statement_timeout, transaction_timeout, lock_timeout and
//     idle_in_transaction_session_timeout below one second, unless they are 0
//   - in pgx's modes with text formats: a DateStyle other than ISO, bytea_output = escape, and
//     extra_float_digits below 1
//
// With synchronous_commit = off, or fsync = off on the server, the service works, but a crash
// loses submissions that it has confirmed. Behind
// PgBouncer in transaction mode use pgx's exec or simple-protocol mode, or PgBouncer 1.21 and
// newer, which knows prepared statements. [Migrate] alone needs a session: give it a pool at the
// server's own address, or at one in session mode (see its example). At one in transaction mode
// it returns an error before it sets or makes anything.
//
// # The server's log
//
// With log_statement = all, or a duration that is logged, PostgreSQL writes the parameters of
// statements into its log: answers of respondents, and signing secrets in hexadecimal, which
// anybody reads back. With [github.com/formsvc/formsvc.WithSecretCipher] secrets are sealed
// before they are sent. Without it set log_parameter_max_length = 0 on the server (a superuser
// can, a role cannot for itself), and do not use pgx's simple protocol, which has no parameters:
// it writes values into the statement's text, where pg_stat_activity and the log of errors
// show them as well. Exec mode suits the same poolers. API keys are digests in every mode.
//
// # Migrations
//
// Everything lives in the schema formsvc ([WithSchema] renames it), with a table of its own
// that notes the version, so another user of golang-migrate in the same database is not
// disturbed. Migrate runs only when it is called, on connections of its own, and may be called
// by many processes at once.
//
// The changelog names every migration. Migrate first, then start the new processes. The
// tables say which oldest program they still serve, and a migration serves the previous
// release, so old processes go on and restart meanwhile. To roll back is to run the old program
// on the new tables: nothing is migrated down, and what new processes have stored is kept. The
// .down.sql files drop what a migration made, with its data, and no program runs them.
// [Store.CheckVersion]
// reports tables that are too old or too new, rights that are missing, and settings of the
// role that do not fit; [github.com/formsvc/formsvc.Service.Check] does too.
//
// [Migrations] has the files for hosts with a tool of their own, and says how to run them.
// (Tried with goose v3.29 as SQL and as Go migrations, and with atlas's Go library.)
//
// golang-migrate brings what its own tests use, Docker's client and OpenTelemetry among it,
// into go.sum of a host that imports this package: some thirty modules, which go build neither
// downloads nor links ("go version -m" of the program lists what it has).
//
// # Transactions
//
// Every method is one transaction, most often one statement in one round trip. A host that
// wants a call to be part of its own transaction puts the store on that with [Store.On]:
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		…
//		_, err := svc.Using(store.On(tx)).Submit(ctx, response)
//		return err
//	})
//	svc.Dispatcher().Wake() // after the commit
//
// store is the service's own.
//
// An open transaction of a host holds up calls that cannot know how it ends:
//
//   - After Submit: changes of that form's gate or webhooks, its move to the trash, and a new
//     response limit, and with them other responses to that form; for a form with a response
//     limit every other response to it.
//   - After SavePartial: other saves of that half response, and the response that is begun with
//     it; and, when it is new, others that are new to that form, and moves of the form.
//   - After creating, moving or restoring a form: the deletion of that workspace.
//   - After a change of a form, or of what is kept beside it: other changes of both.
//   - After Redeliver or a change of a webhook: the record of what was sent for that webhook.
//   - After DeleteUser: whoever creates a key or a workspace for that user, or a form in a
//     workspace of theirs. DeleteUser itself waits for every open transaction that stored a
//     response to one of their forms.
//
// Other forms and workspaces never wait: a waiting write keeps no connection of the pool, see
// operations.md, and is a [storage.ErrUnavailable] when its time is over. In such a transaction nothing is done in pieces: what
// DeleteUser, PurgeForm, PurgeTrash, PurgeSubmissions, EraseRespondent or a new response limit
// touches stays locked until the end, and so does maintenance in every process. So call these
// outside, before or after your own changes: each may be repeated.
//
// # Rows next to submissions
//
// A host's table can refer to submissions, in the same database and in any schema:
//
//	CREATE TABLE shop_orders (
//		form_id bytea, submission_id bytea, …
//		FOREIGN KEY (form_id, submission_id) REFERENCES formsvc.submissions (form_id, id) ON DELETE CASCADE
//	);
//	CREATE INDEX ON shop_orders (form_id, submission_id);
//
// This is a promise: the table submissions has the unique key (form_id, id), both bytea of 12
// bytes, whole or partitioned by hash, and whatever removes a submission for good removes its row.
// So the host's rows are removed in the same transaction. Create the foreign key after the tables
// are partitioned. Use ON DELETE CASCADE or SET NULL: with another action, removals fail.
//
// The server looks for the host's rows once for each submission that is removed. The host indexes
// its own columns, or each of these lookups reads the whole table, and a purge of a thousand
// submissions reads it a thousand times while it holds the locks of its batch. With the index,
// each lookup takes some microseconds. The host's role needs REFERENCES on the table. Rows in
// another database or service are removed in [github.com/formsvc/formsvc.WithBeforeDelete].
//
// # database/sql, gorm and bun
//
// A host that has a *sql.DB makes it of the pool, so that there is one:
//
//	pool, err := pgxpool.New(ctx, url) // what sql.Open("pgx", url) was given
//	db := stdlib.OpenDBFromPool(pool)  // for the host, for gorm and for bun
//	store := postgres.New(pool)
//
// MaxConns of the pool is the limit for both then. Leave the idle connections of db at none, as
// they are: the pool keeps them, and what db keeps the store cannot use. With two pools at one
// address everything works as well, and the connections of both count. The store takes a
// connection for the time of a call, and pgxpool opens as many as there are processors, at
// least four, unless MaxConns says otherwise.
//
// [Store.InSQLTx] takes the store into a transaction that was begun on a [database/sql.Conn],
// since a [database/sql.Tx] does not tell which connection it is on. gorm and bun have one:
//
//	err = gormDB.WithContext(ctx).Connection(func(db *gorm.DB) error {
//		conn := db.Statement.ConnPool.(*sql.Conn)
//		return db.Transaction(func(tx *gorm.DB) error {
//			… // tx for the host's rows, store.InSQLTx(ctx, conn, …) for the response
//		})
//	})
//
//	conn, err := bunDB.Conn(ctx)
//	err = conn.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
//		… // tx for the host's rows, store.InSQLTx(ctx, conn.Conn, …) for the response
//	})
//
// examples/orm is a program with all three. A connection of lib/pq, of bun's pgdriver, or of a
// driver that wraps pgx's cannot take the store in, and InSQLTx says so: such a host changes the
// driver to pgx's stdlib, which takes the same addresses, or stores its row and the response one
// after the other, with an IdempotencyKey made of the row's id, so that it may repeat the second.
//
// # Tests of a host
//
// A test takes the service into a transaction that is rolled back; the [example TestsOfAHost] has
// the ten lines. The API, pages, keys, exports and erasures work in it, and a view or a start
// counts at once. Closing that copy of the service does nothing. In the transaction
//
//   - no webhook is sent: a dispatcher sees what is committed;
//   - calls come one after the other, as it is one connection: a browser that asks twice at
//     once, or two goroutines, get an error ("conn busy");
//   - a statement of the host's that fails ends everything, unless it has a transaction of its
//     own in it: pgx.BeginFunc(ctx, tx, …) makes a savepoint. A refusal by the service does not;
//   - what it locks stays locked, see above, so tests that run in parallel have users and forms
//     of their own, and the pool has a connection for each.
//
// A test that needs one of these has a schema of its own, as in the same example. Migrate takes
// some 0.2 s for it, and dropping it 0.05 s.
//
// # Maintenance
//
// Counts are summed up, and what was deleted or purged is tidied up, in small pieces beside
// the traffic. A running dispatcher does that about once a minute; a deployment without one
// calls [github.com/formsvc/formsvc.Service.Maintain] as often, from any process. The same
// enters the answers of earlier responses after settings.duplicateField was set
// (Form.DuplicatesCovered). Deleting a workspace or a user, purging the trash and setting a
// response limit take effect at once, however much there is, make progress under a
// statement_timeout, and are continued by any process when one dies.
//
// Tables and columns have comments (\d+ formsvc.forms in psql); cookbook.sql beside this
// package has the queries that an operator asks. "go run ./examples/quickstart -database-url
// postgres://…" tries everything.
//
// # Operation
//
// operations.md beside this package is for who runs the database: pools and time-outs, failover
// and poolers, what an acknowledged response survives, a restore to a point in time, partitions,
// vacuum, upgrades of PostgreSQL, alerts and sizes. No process goes on over a restore of the
// database: all are stopped before and started after it.
//
// # Errors
//
// Errors wrap those of package storage and their cause, so errors.As finds the
// *pgconn.PgError. On a pool, serialization failures, deadlocks, refused connections and what
// a failover makes of statements are tried again a few times before they are a
// [storage.ErrUnavailable]. When a connection breaks while a change is under way, the change
// may have been made: the error is a [storage.ErrOutcomeUnknown], and the call is never tried
// again. A context that ends at that moment gives an error that is both. So does a call that
// gets no answer within its time ([WithTimeout]); one that gets no connection in that time is a
// [storage.ErrUnavailable].
//
// A closed pool is a [storage.ErrUnavailable], and so is a PgBouncer that has no server for a
// call. PgBouncer reports both that and a server which it lost during a call as 08P01, so its
// texts "query_wait_timeout" and "server login has been failing" tell them apart.
//
// # Tracers and hooks of the pool
//
// [Store.Submit] on a pool stores the responses of several callers in a goroutine of its own.
// Its context has no values of theirs, so a tracer sees no span or tenant of a request there.
// A host that needs them submits in a transaction of its own: svc.Using(store.On(tx)). What a tracer
// or hook panics with in that goroutine reaches each of these callers, with the stack of the
// hook, as a panic in the caller's own goroutine. What pgxpool calls in goroutines of its own,
// such as AfterConnect, nobody can recover but the host's function itself.
//
// [example Pool]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-Pool
// [example TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-TestsOfAHost
package postgres
