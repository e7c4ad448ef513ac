// Package postgres stores the data of formsvc in PostgreSQL, in its own schema of a database of the host. It supports
// PostgreSQL 15 to 18 and needs no extension. It rejects databases that only support PostgreSQL's protocol (see
// [Store.CheckVersion]). Some of them grant an advisory lock to every session, but these locks separate submissions
// from changes of the form.
//
//	pool, err := pgxpool.New(ctx, url) // your own pool
//	…
//	err = postgres.Migrate(ctx, pool)  // creates or updates the tables
//	…
//	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool)))
//
// The pool belongs to the host. The store never configures or closes it, and holds none of its connections. The pool
// can use any of pgx's modes. Set timeouts for networks that stop delivering packets, as in the [example Pool].
//
// # Privileges
//
// [Migrate] needs CREATE on the database for the first run. After that, it needs the ownership of its schema. If the
// service uses another role, the owner must grant these privileges:
//
//	GRANT USAGE ON SCHEMA formsvc TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA formsvc TO app;
//	GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA formsvc TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, USAGE ON SEQUENCES TO app;
//
// Row-level security must not hide rows from that role. If it is enabled on the tables, give the role BYPASSRLS, or
// each table a policy USING (true) WITH CHECK (true). [Store.CheckVersion] reports each table without either of them,
// because the service would treat hidden rows as missing.
//
// # Settings
//
// [Store.CheckVersion] rejects these settings of the server, database, role or pooler. [Migrate] rejects all of them
// except for timeouts and formats:
//
//   - a database or a client_encoding other than UTF8
//   - an isolation level other than read committed, the default
//   - read-only sessions
//   - standard_conforming_strings = off
//   - session_replication_role = replica, because foreign keys are then not enforced
//   - statement_timeout, transaction_timeout, lock_timeout and
//     idle_in_transaction_session_timeout below one second, unless they are 0
//   - in pgx's modes with text formats: a DateStyle other than ISO, bytea_output = escape, and
//     extra_float_digits below 1
//
// With synchronous_commit = off, or fsync = off on the server, the service works, but a crash loses submissions that it
// has confirmed.
//
// Behind PgBouncer in transaction mode, use pgx's exec or simple-protocol mode, or PgBouncer 1.21 or later, which
// supports prepared statements. Only [Migrate] needs a session. Give it a pool that connects to the server directly or
// in session mode (see its example). In transaction mode, it returns an error before it changes anything.
//
// # The server's log
//
// With log_statement = all, or if it logs durations, PostgreSQL writes statement parameters to its log. These include
// respondents' answers, and signing secrets as readable hexadecimal. With
// [github.com/formsvc/formsvc.WithSecretCipher], secrets are encrypted before they are sent. Without it, set
// log_parameter_max_length = 0 on the server, which requires a superuser. Do not use pgx's simple protocol then: it
// writes values into the statement's text, where pg_stat_activity and the error log also show them. Exec mode works
// with the same poolers. API keys are digests in every mode.
//
// # Migrations
//
// Everything is in the schema formsvc ([WithSchema] renames it). Its own table contains the version, so it does not
// affect other users of golang-migrate in the same database. Migrate runs only when you call it, on its own
// connections. Several processes can call it concurrently.
//
// The changelog lists every migration. Run the migrations first, then start the new processes. The tables contain the
// oldest release that they support. A migration supports the previous release, so old processes can continue and
// restart in the meantime. To roll back, run the old release on the new tables. Nothing is migrated down, and data from
// new processes stays. The .down.sql files drop what a migration created, with its data. The service never runs them.
// [Store.CheckVersion] reports tables that are too old or too new, missing privileges, and invalid settings of the
// role, as does [github.com/formsvc/formsvc.Service.Check].
//
// [Migrations] returns the files for hosts with their own tool, and explains how to run them. (Tested with goose v3.29
// as SQL and as Go migrations, and with atlas's Go library.)
//
// golang-migrate adds the modules of its own tests to the go.sum of a host, such as Docker's client and OpenTelemetry.
// go build neither downloads nor links these modules, about thirty ("go version -m" lists the modules of a program).
//
// # Transactions
//
// Every method is one transaction, and usually one statement in one round trip. To run a call in a host's own
// transaction, use [Store.On] of the service's store:
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		…
//		_, err := svc.WithStorage(store.On(tx)).Submit(ctx, response)
//		return err
//	})
//	svc.Dispatcher().Wake() // after the commit
//
// An open transaction of a host delays other calls until it ends:
//
//   - After Submit: changes of the form's acceptance rules or webhooks, its move to the trash, and a
//     new response limit. These calls then delay other submissions to the form. If the form has a
//     response limit, every other submission to it waits.
//   - After SavePartial: other saves of this partial submission, and the submission that continues it.
//     If it is new, also other new partial submissions of the form, and moves of the form.
//   - After creating, moving or restoring a form: the deletion of its workspace.
//   - After a change of a form or of its documents: other changes of both.
//   - After Redeliver or a change of a webhook: recording the results of the webhook's deliveries.
//   - After DeleteUser: creating a key or a workspace for this user, or a form in one of the user's
//     workspaces. DeleteUser itself waits for every open transaction that stored a
//     submission to one of the user's forms.
//
// Calls to other forms and workspaces never wait. A waiting write holds no connection of the pool, see operations.md.
// When it times out, it returns a [storage.ErrUnavailable]. In a host's transaction, no method works in batches.
// DeleteUser, PurgeForm, PurgeTrash, PurgeSubmissions, EraseRespondent and a new response limit lock their rows until
// the end, and maintenance waits in every process. Call these methods outside of the transaction, before or after your
// own changes. You can repeat each of them.
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
// This stays compatible: the table submissions has the unique key (form_id, id), both bytea of 12 bytes, also if it is
// partitioned by hash. Every permanent removal of a submission deletes its row, so the host's rows are removed in the
// same transaction. Create the foreign key after the tables are partitioned. Use ON DELETE CASCADE or SET NULL: with
// another action, removals fail.
//
// PostgreSQL searches for the host's rows once for each removed submission. With the index, each lookup takes some
// microseconds. Without it, each lookup reads the whole table, and a purge of a thousand submissions reads it a
// thousand times while it holds the locks of its batch. The host's role needs REFERENCES on the table. To remove rows
// in another database or service, use [github.com/formsvc/formsvc.WithBeforeDelete].
//
// # database/sql, gorm and bun
//
// If a host needs a *sql.DB, create it from the pool, so that there is only one pool:
//
//	pool, err := pgxpool.New(ctx, url) // the URL of sql.Open("pgx", url)
//	db := stdlib.OpenDBFromPool(pool)  // for the host, for gorm and for bun
//	store := postgres.New(pool)
//
// MaxConns of the pool is then the limit for both. Do not allow idle connections in db, which is the default of
// OpenDBFromPool: the pool retains them, and the store cannot use connections of db. Two pools for one database also
// work, but the connections of both count. The store uses a connection only during a call. pgxpool opens as many
// connections as there are CPUs, and at least four, unless MaxConns is set.
//
// [Store.InSQLTx] puts the store into a transaction on a [database/sql.Conn], because a [database/sql.Tx] does not
// expose its connection. gorm and bun have one:
//
//	err = gormDB.WithContext(ctx).Connection(func(db *gorm.DB) error {
//		conn := db.Statement.ConnPool.(*sql.Conn)
//		return db.Transaction(func(tx *gorm.DB) error {
//			… // tx for the host's rows, store.InSQLTx(ctx, conn, …) for the submission
//		})
//	})
//
//	conn, err := bunDB.Conn(ctx)
//	err = conn.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
//		… // tx for the host's rows, store.InSQLTx(ctx, conn.Conn, …) for the submission
//	})
//
// examples/orm shows all three. The store does not support connections of lib/pq, of bun's pgdriver, or of a driver
// that wraps pgx's; InSQLTx then returns an error. Replace such a driver with pgx's stdlib, which accepts the same
// URLs. Or store the row first, and then the submission with an IdempotencyKey derived from the row's ID, so that you
// can repeat the second step.
//
// # Tests of a host
//
// A test can run the service in a transaction that it rolls back; the [example TestsOfAHost] shows how. The API, pages,
// keys, exports and erasures work, and views and starts count immediately. Closing this copy of the service does
// nothing. In the transaction:
//
//   - No webhook is sent, because a dispatcher sees only committed data.
//   - Calls must not run concurrently, because there is only one connection. Concurrent requests of a
//     browser, or calls in two goroutines, return an error ("conn busy").
//   - A failed statement of the host ends the transaction, unless it runs in a savepoint:
//     pgx.BeginFunc(ctx, tx, …) creates one. A rejection by the service does not end it.
//   - Locks are held until the end, see above. Parallel tests therefore need their own users and forms,
//     and the pool needs a connection for each test.
//
// For other tests, use a separate schema, as in the same example. Migrate takes about 0.2 s to create it, and dropping
// it takes 0.05 s.
//
// # Maintenance
//
// Maintenance merges counts and deletes the rows of deleted and purged records, in small batches next to other work. It
// also indexes earlier answers after settings.duplicateField was set (Form.DuplicateCheckReady). A running dispatcher
// does this about once a minute. Without a dispatcher, call [github.com/formsvc/formsvc.Service.Maintain] as often,
// from any process. Deleting a workspace or a user, purging the trash and setting a response limit take effect
// immediately, whatever the amount of data. They also make progress with a statement_timeout. If a process dies,
// another one continues.
//
// Tables and columns have comments (\d+ formsvc.forms in psql). cookbook.sql in this directory contains queries for
// operators. "go run ./examples/quickstart -database-url postgres://…" starts a service for trying them.
//
// # Operation
//
// operations.md in this directory is for database operators: pools and timeouts, failover and poolers, durability,
// point-in-time recovery, partitions, vacuum, PostgreSQL upgrades, alerts and sizes. Stop all processes before you
// restore the database, and start them afterwards.
//
// # Errors
//
// Errors wrap the errors of package storage and their cause, so errors.As finds the *pgconn.PgError. On a pool, the
// store retries a few times after serialization failures, deadlocks, refused connections and errors of a failover. Then
// it returns a [storage.ErrUnavailable]. If a connection breaks during a change, the change may have been made. The
// error is then a [storage.ErrOutcomeUnknown], and the store does not retry. If a context ends at that moment, the
// error is both. The same applies to a call that times out while waiting for a response ([WithTimeout]). If it times
// out while waiting for a connection, the error is a [storage.ErrUnavailable].
//
// With a closed pool, or if PgBouncer has no server for a call, the error is a [storage.ErrUnavailable]. PgBouncer
// reports this as 08P01, as when it loses a server during a call. The store distinguishes them by the texts
// "query_wait_timeout" and "server login has been failing".
//
// # Tracers and hooks of the pool
//
// On a pool, [Store.Submit] stores the submissions of several callers in a separate goroutine. Its context contains no
// values of the callers, so a tracer sees no span or tenant there. To get these, submit in your own transaction:
// svc.WithStorage(store.On(tx)). If a tracer or hook panics in that goroutine, each of these callers panics in its own
// goroutine, with the stack of the hook. pgxpool calls some hooks, such as AfterConnect, in its own goroutines. Only
// the hook itself can recover from panics there.
//
// [example Pool]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-Pool [example
// TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-TestsOfAHost
package postgres
