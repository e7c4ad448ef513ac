-- Ids are 12 bytes. Times are microseconds since 0001-01-01 UTC: the zero time.Time is
-- 0, and integers order as times do. JSON is kept as the bytes that came.

CREATE TABLE IF NOT EXISTS workspaces (
	id        BLOB PRIMARY KEY,
	public_id TEXT NOT NULL UNIQUE,
	owner     BLOB NOT NULL,
	name      TEXT NOT NULL,
	created   INTEGER NOT NULL,
	updated   INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS workspaces_owner ON workspaces (owner);
CREATE INDEX IF NOT EXISTS workspaces_created ON workspaces (created, id);

CREATE TABLE IF NOT EXISTS members (
	workspace BLOB NOT NULL REFERENCES workspaces ON DELETE CASCADE,
	user      BLOB NOT NULL,
	PRIMARY KEY (workspace, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS members_user ON members (user);

-- workspace is not a reference: a form in the trash may outlive its workspace.
CREATE TABLE IF NOT EXISTS forms (
	id             BLOB PRIMARY KEY,
	public_id      TEXT NOT NULL UNIQUE,
	workspace      BLOB NOT NULL,
	name           TEXT NOT NULL,
	type           TEXT NOT NULL,
	status         TEXT NOT NULL,
	revision       INTEGER NOT NULL,
	closed         INTEGER NOT NULL,
	close_at       INTEGER NOT NULL,
	response_limit INTEGER NOT NULL,
	unique_block   TEXT NOT NULL,
	unique_rules   INTEGER NOT NULL,
	-- How far the answers are entered: the last submission, x'' before the first; null: all.
	unique_to      BLOB,
	unique_round   INTEGER NOT NULL DEFAULT 0, -- raised whenever entering begins anew
	unique_turn    INTEGER NOT NULL DEFAULT 0, -- of several forms, the lowest one is next
	beside         INTEGER NOT NULL DEFAULT 0, -- raised with each change of a public document
	responses      INTEGER NOT NULL DEFAULT 0, -- how many rows submissions has, with those that were purged for their age
	created        INTEGER NOT NULL,
	updated        INTEGER NOT NULL,
	trashed        INTEGER NOT NULL DEFAULT 0,
	owner          BLOB, -- who owned the workspace when it was deleted with the form in it
	purged         INTEGER NOT NULL DEFAULT 0, -- gone for every method, sweep removes the rest
	blocks         BLOB,
	settings       BLOB,
	theme          BLOB,
	variables      BLOB,
	hidden_fields  BLOB,
	format         INTEGER NOT NULL,
	lifetime_views       INTEGER NOT NULL DEFAULT 0,
	lifetime_starts      INTEGER NOT NULL DEFAULT 0,
	lifetime_submissions INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS forms_workspace ON forms (workspace, created, id);
CREATE INDEX IF NOT EXISTS forms_created ON forms (created, id);
CREATE INDEX IF NOT EXISTS forms_trashed ON forms (trashed) WHERE trashed > 0;

-- What is kept beside a form.
CREATE TABLE IF NOT EXISTS documents (
	form     BLOB NOT NULL REFERENCES forms,
	kind     TEXT NOT NULL,
	key      TEXT NOT NULL,
	revision INTEGER NOT NULL,
	user     BLOB NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	value    BLOB NOT NULL,
	PRIMARY KEY (form, kind, key)
) STRICT;

CREATE TABLE IF NOT EXISTS submissions (
	form            BLOB NOT NULL REFERENCES forms,
	id              BLOB NOT NULL,
	revision        INTEGER NOT NULL,
	submitted       INTEGER NOT NULL,
	completion_time REAL NOT NULL,
	answers         BLOB,
	metadata        BLOB,
	hidden          BLOB,
	idempotency_key TEXT, -- null: none
	PRIMARY KEY (form, id),
	UNIQUE (form, idempotency_key)
) STRICT;
CREATE INDEX IF NOT EXISTS submissions_submitted ON submissions (form, submitted, id);

-- The answers that are taken.
CREATE TABLE IF NOT EXISTS unique_answers (
	form       BLOB NOT NULL,
	submission BLOB NOT NULL,
	block      TEXT NOT NULL,
	rules      INTEGER NOT NULL,
	digest     BLOB NOT NULL,
	PRIMARY KEY (form, submission, block, rules)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unique_answers_digest ON unique_answers (form, digest, block, rules);

-- Every count is in both tables; sweep removes minutes that are old.
CREATE TABLE IF NOT EXISTS funnel_minutes (
	form        BLOB NOT NULL REFERENCES forms,
	at          INTEGER NOT NULL, -- minutes since 1970
	views       INTEGER NOT NULL,
	starts      INTEGER NOT NULL,
	submissions INTEGER NOT NULL,
	PRIMARY KEY (form, at)
) STRICT;
CREATE TABLE IF NOT EXISTS funnel_days (
	form        BLOB NOT NULL REFERENCES forms,
	at          INTEGER NOT NULL, -- days since 1970
	views       INTEGER NOT NULL,
	starts      INTEGER NOT NULL,
	submissions INTEGER NOT NULL,
	PRIMARY KEY (form, at)
) STRICT;

CREATE TABLE IF NOT EXISTS webhooks (
	id               BLOB PRIMARY KEY,
	form             BLOB NOT NULL REFERENCES forms,
	url              TEXT NOT NULL,
	host             TEXT NOT NULL,
	enabled          INTEGER NOT NULL,
	secret           BLOB NOT NULL, -- empty: none
	old_secret       BLOB NOT NULL DEFAULT x'',
	old_secret_until INTEGER NOT NULL DEFAULT 0,
	older_secret       BLOB NOT NULL DEFAULT x'', -- the one before the old one
	older_secret_until INTEGER NOT NULL DEFAULT 0,
	created          INTEGER NOT NULL,
	updated          INTEGER NOT NULL,
	-- The standing of its destination.
	succeeded        INTEGER NOT NULL DEFAULT 0,
	slow_for         INTEGER NOT NULL DEFAULT 0,
	failures         INTEGER NOT NULL DEFAULT 0,
	failing_since    INTEGER NOT NULL DEFAULT 0,
	failed           INTEGER NOT NULL DEFAULT 0, -- the last failure
	paused_until     INTEGER NOT NULL DEFAULT 0,
	pause_reason     TEXT NOT NULL DEFAULT '',
	url_token        INTEGER NOT NULL DEFAULT 0, -- leases up to this one are of an earlier URL
	served           INTEGER NOT NULL DEFAULT 0, -- the token of its last lease
	expired          INTEGER NOT NULL DEFAULT 0  -- the last summary of expired deliveries
) STRICT;
CREATE INDEX IF NOT EXISTS webhooks_form ON webhooks (form);
CREATE INDEX IF NOT EXISTS webhooks_created ON webhooks (created, id);

CREATE TABLE IF NOT EXISTS events (
	id         BLOB PRIMARY KEY,
	form       BLOB NOT NULL,
	submission BLOB NOT NULL, -- zero: a test event
	type       TEXT NOT NULL,
	body       BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_submission ON events (form, submission);

CREATE TABLE IF NOT EXISTS deliveries (
	webhook BLOB NOT NULL REFERENCES webhooks ON DELETE CASCADE,
	event   BLOB NOT NULL REFERENCES events ON DELETE CASCADE,
	queued  INTEGER NOT NULL,
	attempt INTEGER NOT NULL DEFAULT 1, -- the next or the running one
	due     INTEGER NOT NULL,           -- or the end of the lease
	token   INTEGER NOT NULL DEFAULT 0, -- of the last lease; 0: it was settled, or there was none
	urgency INTEGER NOT NULL DEFAULT 0, -- see the constants in deliveries.go
	PRIMARY KEY (webhook, event)
) STRICT;
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (webhook, due);
CREATE INDEX IF NOT EXISTS deliveries_event ON deliveries (event);

-- event is not a reference: a history outlives the bodies of its events.
CREATE TABLE IF NOT EXISTS attempts (
	webhook    BLOB NOT NULL REFERENCES webhooks ON DELETE CASCADE,
	id         BLOB NOT NULL,
	event      BLOB NOT NULL,
	type       TEXT NOT NULL,
	submission BLOB NOT NULL,
	attempt    INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	success    INTEGER NOT NULL,
	error      TEXT NOT NULL,
	duration   INTEGER NOT NULL, -- nanoseconds
	created    INTEGER NOT NULL,
	next       INTEGER NOT NULL,
	summary    INTEGER NOT NULL, -- it stands for expired deliveries
	PRIMARY KEY (webhook, id)
) STRICT;
CREATE INDEX IF NOT EXISTS attempts_created ON attempts (webhook, summary, created, id);
CREATE INDEX IF NOT EXISTS attempts_event ON attempts (event);

-- A body goes with the last delivery or attempt that needs it.
CREATE TRIGGER IF NOT EXISTS deliveries_gone AFTER DELETE ON deliveries BEGIN
	DELETE FROM events WHERE id = OLD.event
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event = OLD.event)
		AND NOT EXISTS (SELECT 1 FROM attempts WHERE event = OLD.event);
END;
CREATE TRIGGER IF NOT EXISTS attempts_gone AFTER DELETE ON attempts BEGIN
	DELETE FROM events WHERE id = OLD.event
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event = OLD.event)
		AND NOT EXISTS (SELECT 1 FROM attempts WHERE event = OLD.event);
END;

-- The tokens of leases: one row.
CREATE TABLE IF NOT EXISTS tokens (last INTEGER NOT NULL) STRICT;
INSERT INTO tokens SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM tokens);

CREATE TABLE IF NOT EXISTS users (
	id    BLOB PRIMARY KEY,
	name  TEXT NOT NULL,
	email TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS keys (
	id        BLOB PRIMARY KEY,
	hash      BLOB NOT NULL UNIQUE,
	user      BLOB NOT NULL REFERENCES users,
	name      TEXT NOT NULL,
	prefix    TEXT NOT NULL,
	scopes    TEXT NOT NULL, -- a JSON array
	created   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	revoked   INTEGER NOT NULL,
	last_used INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS keys_user ON keys (user, created, id);

-- When some process did the work last that is to be done again and again. One row.
CREATE TABLE IF NOT EXISTS upkeep (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	since      INTEGER NOT NULL,
	dispatched INTEGER NOT NULL DEFAULT 0,
	maintained INTEGER NOT NULL DEFAULT 0
) STRICT;
