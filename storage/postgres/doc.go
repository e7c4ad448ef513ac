// Package postgres stores formsvc's data in PostgreSQL, in its own schema in the host's database. It supports
// PostgreSQL 15 to 18 and requires no extensions. It rejects databases that merely speak PostgreSQL's protocol, because
// submissions need working advisory locks (see [Store.CheckVersion]).
//
//	pool, err := pgxpool.New(ctx, url) // your own pool
//	err = postgres.Migrate(ctx, pool) // creates or updates the tables
//	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool)))
//
// The pool belongs to the host. The store never configures or closes it, and uses a connection only during a call. The
// pool can use any of pgx's query modes. Set timeouts for networks that drop packets, as in the [example Pool].
//
// # Privileges
//
// The first run of [Migrate] needs the CREATE privilege on the database. Later runs must use the role that owns the
// schema. If the service uses another role, the owner must grant it these privileges:
//
//	GRANT USAGE ON SCHEMA formsvc TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA formsvc TO app;
//	GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA formsvc TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app;
//	ALTER DEFAULT PRIVILEGES IN SCHEMA formsvc GRANT SELECT, USAGE ON SEQUENCES TO app;
//
// Row-level security must not hide rows from that role. If it is enabled on the tables, give the role BYPASSRLS, or
// give each table a policy USING (true) WITH CHECK (true). Because the service would treat hidden rows as missing,
// [Store.CheckVersion] reports such tables.
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
//   - a DateStyle other than ISO, bytea_output = escape, and extra_float_digits below 1, in those pgx modes that use
//     text formats
//
// The service works with synchronous_commit = off or fsync = off, but a crash then loses confirmed submissions. Behind
// PgBouncer in transaction mode, use pgx's exec or simple-protocol mode, or PgBouncer 1.21 or later, which supports
// prepared statements. Only [Migrate] needs a direct connection or session mode, so give it its own pool (see its
// example).
//
// # The server's log
//
// If log_statement is all, or if PostgreSQL logs durations, it writes statement parameters to its log. These include
// respondents' answers and, in hexadecimal, signing secrets. With [github.com/formsvc/formsvc.WithSecretCipher],
// secrets are encrypted before they are sent. Without it, set log_parameter_max_length = 0 on the server, which
// requires a superuser, and use exec mode instead of pgx's simple protocol. The simple protocol writes values into the
// statement's text, which pg_stat_activity and the error log also show. API keys are always sent as digests.
//
// # Migrations
//
// All tables are in the schema formsvc ([WithSchema] sets another name). The schema version is stored in a separate
// table, so other uses of golang-migrate in the database are not affected. Migrate runs only when you call it, on its
// own connections. Several processes can call it concurrently.
//
// The changelog lists every migration. Run the migrations first, then start the new processes. Old processes can
// continue and restart in the meantime, because each migration supports the previous release. The tables record the
// oldest release that can use them. To roll back, run the old release on the new tables. Nothing is migrated down, and
// new data stays. The .down.sql files drop what a migration created, with its data. The service never runs them.
// [Store.CheckVersion] reports tables that are too old or too new, missing privileges, and invalid settings of the
// role, as does [github.com/formsvc/formsvc.Service.Check].
//
// [Migrations] returns the files for hosts that use their own tool; its documentation explains how to run them. They
// are tested with goose v3.29, as SQL and as Go migrations, and with atlas's Go library. golang-migrate adds
// about thirty modules that only its tests use, such as Docker's client, to a host's go.sum. go build neither downloads
// nor links them.
//
// # Transactions
//
// Every method runs one transaction, usually a single statement in one round trip. To run a call in a host's own
// transaction, use [Store.On] of the service's store:
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		_, err := svc.WithStorage(store.On(tx)).Submit(ctx, response)
//		return err
//	})
//	svc.Dispatcher().Wake() // after the commit
//
// A host's open transaction delays other calls until it ends:
//
//   - After Submit: changing the form's acceptance rules or webhooks, moving the form to the trash, and setting a
//     response limit. These calls then delay other submissions to the form. If the form has a response limit, every
//     other submission to it waits. If it accepts one submission of each respondent, another one of the same respondent
//     waits, and the process stores other submissions to the form only afterward.
//   - After SavePartial: other saves of this partial submission, and the submission that completes it. If it is new,
//     also other new partial submissions for the form, and moving the form.
//   - After creating, moving or restoring a form: deleting its workspace.
//   - After a change to a form or its documents: other changes to either.
//   - After Redeliver or a change to a webhook: recording the results of the webhook's deliveries.
//   - After DeleteUser: creating a key or a workspace for this user, or a form in one of the user's workspaces.
//     DeleteUser itself waits for every open transaction that stored a submission to one of the user's forms.
//
// Calls for other forms and workspaces never wait. A waiting write holds no pool connection (see operations.md). If it
// times out, it returns [storage.ErrUnavailable]. In a host's transaction, no method works in batches. DeleteUser,
// PurgeForm, PurgeTrash, PurgeSubmissions, EraseRespondent, EraseRespondentData and setting a response limit lock their
// rows until the transaction ends, and maintenance waits in every process. Make these calls outside of the transaction,
// before or after your own changes. You can repeat each of them.
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
// Later versions stay compatible: the table submissions has the unique key (form_id, id), two bytea columns of 12
// bytes, even if it is partitioned by hash. Every permanent removal of a submission deletes its row, so the host's rows
// are removed in the same transaction. If you partition the tables, create the foreign key afterwards. Use ON DELETE
// CASCADE or SET NULL, because removals fail with any other action. PostgreSQL searches for the host's rows once for
// each removed submission. Without the index, each search reads the whole table: a purge of a thousand submissions
// reads it a thousand times while it holds its locks. The host's role needs REFERENCES on the table. To remove rows in
// another database or service, use [github.com/formsvc/formsvc.WithBeforeDelete].
//
// # database/sql, gorm and bun
//
// If a host needs a *sql.DB, create it from the pool, so that there is only one pool:
//
//	pool, err := pgxpool.New(ctx, url) // the URL of sql.Open("pgx", url)
//	db := stdlib.OpenDBFromPool(pool) // for the host, for gorm and for bun
//	store := postgres.New(pool)
//
// The pool's MaxConns then limits the host's and the store's connections together. Leave db's maximum number of idle
// connections at 0, which OpenDBFromPool sets, because the store cannot use connections that are idle in db. Two pools
// for one database also work, but use more connections than a shared pool. Without MaxConns, pgxpool's limit is the
// number of CPUs, but at least four.
//
// [Store.InSQLTx] runs the store in a transaction on a [database/sql.Conn], because a [database/sql.Tx] does not expose
// its connection. gorm.DB.Connection and bun.DB.Conn provide such a Conn:
//
//	err = gormDB.WithContext(ctx).Connection(func(db *gorm.DB) error {
//		conn := db.Statement.ConnPool.(*sql.Conn)
//		return db.Transaction(func(tx *gorm.DB) error { … store.InSQLTx(ctx, conn, …) … })
//	})
//
// examples/orm shows database/sql, gorm and bun. InSQLTx returns an error for connections from lib/pq, bun's pgdriver,
// or a driver that wraps pgx's. Replace such a driver with pgx's stdlib, which accepts the same URLs. Alternatively,
// store your row first, and then the submission with an IdempotencyKey derived from the row's ID, so that you can
// repeat the second step.
//
// # Tests of a host
//
// A test can run the service in a transaction that it rolls back; the [example TestsOfAHost] shows how. The API, pages,
// keys, exports and erasures work in such a test, and views and starts are counted immediately. Closing this copy of
// the service has no effect. Some things differ:
//
//   - No webhook is sent, because a dispatcher sees only committed data.
//   - Calls must not run concurrently, because there is only one connection. Concurrent browser requests, or calls in
//     two goroutines, return an error ("conn busy").
//   - If one of the host's statements fails, the transaction is aborted unless the statement runs in a savepoint, which
//     pgx.BeginFunc(ctx, tx, …) creates. If the service rejects a call, the transaction continues.
//   - Locks are held until the transaction ends. Parallel tests therefore need their own users and forms, and one
//     connection each.
//
// For other tests, use a separate schema, as in the same example. Creating a schema takes about 0.2 s, dropping it 0.05
// s.
//
// # Maintenance
//
// Maintenance merges counts and deletes the rows of deleted and purged records, in small batches while other work
// continues. It also indexes earlier answers after settings.duplicateField is set (Form.DuplicateCheckReady). A running
// dispatcher does maintenance about once a minute. Without a dispatcher, call
// [github.com/formsvc/formsvc.Service.Maintain] once a minute, from any process. Deleting a workspace or a user,
// purging the trash and setting a response limit take effect immediately, regardless of the amount of data. They make
// progress even under a statement_timeout. If a process dies, another process continues. Tables and columns have
// comments (\d+ formsvc.forms in psql). cookbook.sql contains queries for operators. operations.md explains pools and
// timeouts, failover and poolers, durability, point-in-time recovery, partitions, vacuum, PostgreSQL upgrades, alerts
// and sizes. Stop all processes before you restore the database.
//
// # Errors
//
// Errors wrap the errors of package storage and their cause, so errors.As finds the *pgconn.PgError. On a pool, the
// store retries a few times after serialization failures, deadlocks, refused connections and failover errors. Then it
// returns [storage.ErrUnavailable]. If a connection breaks during a change, the change may have been made, so the store
// does not retry and returns [storage.ErrOutcomeUnknown]. If the context ends at that moment, the error also wraps the
// context's error. A change that times out while waiting for a response ([WithTimeout]) also returns
// [storage.ErrOutcomeUnknown]. If a call gets no connection in time, the pool is closed, or PgBouncer has no server for
// the call, it returns [storage.ErrUnavailable].
//
// # Tracers and hooks of the pool
//
// On a pool, [Store.Submit] stores the submissions of several callers in a separate goroutine. Its context does not
// contain the callers' values, so a tracer finds no span or tenant. If you need them, submit in your own transaction:
// svc.WithStorage(store.On(tx)). If a tracer or hook panics in that goroutine, each of these callers panics with the
// hook's stack. pgxpool calls some hooks, such as AfterConnect, in its own goroutines, where only the hook can recover
// from a panic.
//
// [example Pool]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-Pool
// [example TestsOfAHost]: https://pkg.go.dev/github.com/formsvc/formsvc/storage/postgres#example-package-TestsOfAHost
package postgres
