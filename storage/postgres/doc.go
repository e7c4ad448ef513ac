// Package postgres stores the data of formsvc in PostgreSQL, in its own schema of a database of the host. It supports
// PostgreSQL 15 to 18 and needs no extension. It rejects databases that only support PostgreSQL's protocol, because
// submissions need working advisory locks (see [Store.CheckVersion]).
//
//	pool, err := pgxpool.New(ctx, url) // your own pool
//	err = postgres.Migrate(ctx, pool) // creates or updates the tables
//	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool)))
//
// The pool belongs to the host. The store never configures or closes it, and uses a connection only during a call. The
// pool can use any of pgx's modes. Set timeouts for networks that drop packets, as in the [example Pool].
//
// # Privileges
//
// The first run of [Migrate] needs CREATE on the database. Later runs need to own the schema. If the service uses
// another role, the owner must grant these privileges:
//
//	GRANT USAGE ON SCHEMA formsvc TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA formsvc TO app;
//	GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA formsvc TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, USAGE ON SEQUENCES TO app;
//
// Row-level security must not hide rows from that role. If it is enabled on the tables, give the role BYPASSRLS, or
// each table a policy USING (true) WITH CHECK (true). Otherwise the service would treat hidden rows as missing, so
// [Store.CheckVersion] reports the table.
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
//   - statement_timeout, transaction_timeout, lock_timeout and idle_in_transaction_session_timeout below one second,
//     unless they are 0
//   - a DateStyle other than ISO, bytea_output = escape, and extra_float_digits below 1, in pgx's modes with text
//     formats
//
// The service works with synchronous_commit = off or fsync = off, but a crash then loses confirmed submissions. Behind
// PgBouncer in transaction mode, use pgx's exec or simple-protocol mode, or PgBouncer 1.21 or later, which supports
// prepared statements. Only [Migrate] needs a direct connection or session mode, so give it its own pool (see its
// example).
//
// # The server's log
//
// With log_statement = all, or if it logs durations, PostgreSQL writes statement parameters to its log. These include
// respondents' answers, and signing secrets in hexadecimal. With [github.com/formsvc/formsvc.WithSecretCipher], secrets
// are encrypted before they are sent. Without it, set log_parameter_max_length = 0 on the server, which requires a
// superuser, and use exec mode instead of pgx's simple protocol. The simple protocol writes values into the statement's
// text, which pg_stat_activity and the error log also show. API keys are always sent as digests.
//
// # Migrations
//
// All tables are in the schema formsvc ([WithSchema] sets another name). The version of the schema is in a separate
// table, so other uses of golang-migrate in the database are not affected. Migrate runs only when you call it, on its
// own connections. Several processes can call it concurrently.
//
// The changelog lists every migration. Run the migrations first, then start the new processes. Old processes can
// continue and restart in the meantime, because each migration supports the previous release. The tables record the
// oldest release that they support. To roll back, run the old release on the new tables. Nothing is migrated down, and
// new data stays. The .down.sql files drop what a migration created, with its data. The service never runs them.
// [Store.CheckVersion] reports tables that are too old or too new, missing privileges, and invalid settings of the
// role, as does [github.com/formsvc/formsvc.Service.Check].
//
// [Migrations] returns the files for hosts with their own tool, and explains how to run them. They are tested with
// goose v3.29, as SQL and as Go migrations, and with atlas's Go library. golang-migrate adds about thirty modules of
// its own tests to a host's go.sum, such as Docker's client. go build neither downloads nor links them.
//
// # Transactions
//
// Every method is one transaction, and usually one statement in one round trip. To run a call in a host's own
// transaction, use [Store.On] of the service's store:
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		_, err := svc.WithStorage(store.On(tx)).Submit(ctx, response)
//		return err
//	})
//	svc.Dispatcher().Wake() // after the commit
//
// An open transaction of a host delays other calls until it ends:
//
//   - After Submit: changes of the form's acceptance rules or webhooks, its move to the trash, and a new response
//     limit. These calls then delay other submissions to the form. If the form has a response limit, every other
//     submission to it waits.
//   - After SavePartial: other saves of this partial submission, and the submission that continues it. If it is new,
//     also the form's other new partial submissions, and its moves.
//   - After creating, moving or restoring a form: the deletion of its workspace.
//   - After a change of a form or of its documents: other changes of both.
//   - After Redeliver or a change of a webhook: recording the results of the webhook's deliveries.
//   - After DeleteUser: creating a key or a workspace for this user, or a form in one of the user's workspaces.
//     DeleteUser itself waits for every open transaction that stored a submission to one of the user's forms.
//
// Calls for other forms and workspaces never wait. A waiting write holds no connection of the pool (see operations.md).
// If it times out, it returns a [storage.ErrUnavailable]. In a host's transaction, no method works in batches.
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
// same transaction. If you partition the tables, create the foreign key afterwards. Use ON DELETE CASCADE or SET NULL:
// with another action, removals fail. PostgreSQL searches for the host's rows once for each removed submission. Without
// the index, each search reads the whole table: a purge of a thousand submissions reads it a thousand times while it
// holds its locks. The host's role needs REFERENCES on the table. To remove rows in another database or service, use
// [github.com/formsvc/formsvc.WithBeforeDelete].
//
// # database/sql, gorm and bun
//
// If a host needs a *sql.DB, create it from the pool, so that there is only one pool:
//
//	pool, err := pgxpool.New(ctx, url) // the URL of sql.Open("pgx", url)
//	db := stdlib.OpenDBFromPool(pool) // for the host, for gorm and for bun
//	store := postgres.New(pool)
//
// MaxConns of the pool then limits both. Leave the maximum of idle connections in db at 0, the default of
// OpenDBFromPool, because the store cannot use the idle connections of db. Two pools for one database also work, but
// use more connections. Without MaxConns, pgxpool opens up to as many connections as there are CPUs, and at least four.
//
// [Store.InSQLTx] puts the store into a transaction on a [database/sql.Conn], because a [database/sql.Tx] does not
// expose its connection. gorm.DB.Connection and bun.DB.Conn provide one:
//
//	err = gormDB.WithContext(ctx).Connection(func(db *gorm.DB) error {
//		conn := db.Statement.ConnPool.(*sql.Conn)
//		return db.Transaction(func(tx *gorm.DB) error { … store.InSQLTx(ctx, conn, …) … })
//	})
//
// examples/orm shows database/sql, gorm and bun. For connections of lib/pq, of bun's pgdriver, or of a driver that
// wraps pgx's, InSQLTx returns an error. Replace such a driver with pgx's stdlib, which accepts the same URLs. Or store
// the row first, and then the submission with an IdempotencyKey derived from the row's ID, so that you can repeat the
// second step.
//
// # Tests of a host
//
// A test can run the service in a transaction that it rolls back; the [example TestsOfAHost] shows how. The API, pages,
// keys, exports and erasures work, and views and starts are counted immediately. Closing this copy of the service has
// no effect. In the transaction:
//
//   - No webhook is sent, because a dispatcher sees only committed data.
//   - Calls must not run concurrently, because there is only one connection. Concurrent requests of a browser, or calls
//     in two goroutines, return an error ("conn busy").
//   - A failed statement of the host ends the transaction, unless it runs in a savepoint: pgx.BeginFunc(ctx, tx, …)
//     creates one. A rejection by the service does not end it.
//   - Locks are held until the end. Parallel tests therefore need their own users and forms, and one connection each.
//
// For other tests, use a separate schema, as in the same example. Creating it takes about 0.2 s, and dropping it 0.05
// s.
//
// # Maintenance
//
// Maintenance merges counts and deletes the rows of deleted and purged records, in small batches next to other work. It
// also indexes earlier answers after settings.duplicateField was set (Form.DuplicateCheckReady). A running dispatcher
// does this about once a minute. Without a dispatcher, call [github.com/formsvc/formsvc.Service.Maintain] as often,
// from any process. Deleting a workspace or a user, purging the trash and setting a response limit take effect
// immediately, whatever the amount of data. They also make progress with a statement_timeout. If a process dies,
// another one continues. Tables and columns have comments (\d+ formsvc.forms in psql). cookbook.sql contains queries
// for operators. operations.md explains pools and timeouts, failover and poolers, durability, point-in-time recovery,
// partitions, vacuum, PostgreSQL upgrades, alerts and sizes. Stop all processes before you restore the database.
//
// # Errors
//
// Errors wrap the errors of package storage and their cause, so errors.As finds the *pgconn.PgError. On a pool, the
// store retries a few times after serialization failures, deadlocks, refused connections and failover errors. Then it
// returns a [storage.ErrUnavailable]. If a connection breaks during a change, the change may have been made. The error
// is then a [storage.ErrOutcomeUnknown], and the store does not retry. If a context ends at that moment, the error is
// both. The same applies to a call that times out while waiting for a response ([WithTimeout]). If a call gets no
// connection in time, the pool is closed, or PgBouncer has no server for the call, the error is a
// [storage.ErrUnavailable].
//
// # Tracers and hooks of the pool
//
// On a pool, [Store.Submit] stores the submissions of several callers in a separate goroutine. Its context does not
// contain the callers' values, so a tracer finds no span or tenant. If you need them, submit in your own transaction:
// svc.WithStorage(store.On(tx)). If a tracer or hook panics in that goroutine, each of these callers panics with the
// stack of the hook. pgxpool calls some hooks, such as AfterConnect, in its own goroutines, where only the hook can
// recover from a panic.
//
// [example Pool]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-Pool
// [example TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-TestsOfAHost
package postgres
