-- All tables of formsvc. The names are not qualified, because search_path contains only the
-- service's schema during the migration.
--
-- IDs are 12 bytes. Columns of type json store a value as it was sent: its fields, their order
-- and its number literals.
--
-- Tables that every submission or delivery writes have no foreign keys (submissions,
-- unique_answers, events, destinations, deliveries, attempts, funnel_log). Their check would
-- lock the row of the form or webhook. Statements that delete a form or webhook delete these rows.

-- Tables that submissions and deliveries write have vacuum settings. By default, PostgreSQL waits
-- for a fifth of the rows. Tables that are emptied as fast as they are filled have a fixed
-- threshold. Growing tables have a small share, because a vacuum reads every index completely.

-- Types of the tables that every submission or delivery writes. A statement compiles every CHECK
-- of a table again (2.5 µs), but a session compiles a domain once.
CREATE DOMAIN id AS bytea CHECK (octet_length(VALUE) = 12);
CREATE DOMAIN revision AS bigint CHECK (VALUE >= 1);
CREATE DOMAIN seconds AS double precision CHECK (VALUE >= 0 AND VALUE < 'infinity');
CREATE DOMAIN byte_count AS integer CHECK (VALUE >= 0);
CREATE DOMAIN counter AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN small_counter AS integer CHECK (VALUE >= 0);
CREATE DOMAIN attempt_number AS integer CHECK (VALUE >= 1);
CREATE DOMAIN copy_number AS integer CHECK (VALUE >= 0);
CREATE DOMAIN urgency AS smallint CHECK (VALUE BETWEEN 0 AND 2);
CREATE DOMAIN pause_reason AS text CHECK (VALUE IN ('failures', 'retry_after'));
CREATE DOMAIN http_status AS integer CHECK (VALUE BETWEEN 0 AND 999);
CREATE DOMAIN microseconds AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN token_digest AS bytea CHECK (octet_length(VALUE) = 32);
COMMENT ON DOMAIN id IS 'ID of a record.';
COMMENT ON DOMAIN revision IS 'Revision of a form.';
COMMENT ON DOMAIN seconds IS 'Duration in seconds.';
COMMENT ON DOMAIN byte_count IS 'Size of a value.';
COMMENT ON DOMAIN counter IS 'Number of records.';
COMMENT ON DOMAIN small_counter IS 'Number of records.';
COMMENT ON DOMAIN attempt_number IS 'Number of an attempt, starting at 1.';
COMMENT ON DOMAIN copy_number IS 'Distinguishes equal answers.';
COMMENT ON DOMAIN urgency IS 'How a delivery was requested.';
COMMENT ON DOMAIN pause_reason IS 'Why a webhook is paused.';
COMMENT ON DOMAIN http_status IS 'HTTP status of a response, or 0 without a response.';
COMMENT ON DOMAIN microseconds IS 'Duration in microseconds.';
COMMENT ON DOMAIN token_digest IS 'SHA-256 of a respondent''s token.';

-- The version of these tables, and the oldest release that they support. Every migration sets
-- both in its transaction. A migration that only adds leaves oldest_program, so that older
-- processes can continue. A migration that removes something raises it.
CREATE TABLE formsvc_version (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version        integer NOT NULL,
    oldest_program integer NOT NULL CHECK (oldest_program BETWEEN 1 AND version)
);
INSERT INTO formsvc_version (version, oldest_program) VALUES (1, 1);

-- Each key contains its user's name and email.
CREATE TABLE api_keys (
    id           bytea PRIMARY KEY,
    user_id      bytea NOT NULL,
    user_name    text NOT NULL,
    user_email   text NOT NULL,
    name         text NOT NULL,
    prefix       text NOT NULL,
    scopes       text[] NOT NULL,
    hash         bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_keys_hash UNIQUE (hash)
);
-- When a key ended or will end, or null.
CREATE INDEX api_keys_ended ON api_keys (LEAST(revoked_at, expires_at));
CREATE INDEX api_keys_user ON api_keys (user_id, created_at DESC, id DESC);

-- A deleted workspace remains as a row without a name while forms refer to it. After deleted_at,
-- its forms are in the trash, and sweeps update their rows in batches.
CREATE TABLE workspaces (
    id         bytea PRIMARY KEY,
    public_id  text NOT NULL,
    owner_id   bytea NOT NULL,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    tidied     boolean NOT NULL DEFAULT false, -- a deleted workspace without work for sweeps
    purged     boolean NOT NULL DEFAULT false, -- a deleted workspace whose forms are purged
    CONSTRAINT workspaces_public_id UNIQUE (public_id)
);
-- The indexes named …_of_all have a condition that is always true. Only the host's lists contain
-- it, so no other statement uses these indexes.
CREATE INDEX workspaces_newest_of_all ON workspaces (created_at DESC, id DESC) WHERE deleted_at IS NULL AND id > '';
CREATE INDEX workspaces_to_tidy ON workspaces (deleted_at, id) WHERE deleted_at IS NOT NULL AND NOT tidied;
CREATE INDEX workspaces_purged ON workspaces (id) WHERE purged;
CREATE INDEX workspaces_owner ON workspaces (owner_id);

-- The owner and the members of a workspace. created_at is a copy, so that a user's list is one
-- index scan.
CREATE TABLE workspace_users (
    workspace_id bytea NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    is_owner     boolean NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_users_newest ON workspace_users (user_id, created_at DESC, workspace_id DESC);

CREATE TABLE forms (
    id             bytea PRIMARY KEY,
    public_id      text NOT NULL,
    workspace_id   bytea NOT NULL REFERENCES workspaces (id),
    name           text NOT NULL,
    type           text NOT NULL,
    status         text NOT NULL,
    revision       bigint NOT NULL,
    closed         boolean NOT NULL,
    open_at        timestamptz,
    close_at       timestamptz,
    response_limit bigint NOT NULL,
    counted        boolean NOT NULL DEFAULT false, -- whether the form has a row in form_limits
    places_kept    bigint NOT NULL DEFAULT 0, -- submissions that were purged for their age
    unique_block       text NOT NULL DEFAULT '', -- empty without such a field
    unique_rules       integer NOT NULL DEFAULT 0,
    duplicates_covered boolean NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    trashed_at     timestamptz,
    purged_at      timestamptz, -- after this, the form is hidden and sweeps delete its rows
    format         integer NOT NULL,
    blocks         json NOT NULL,
    settings       json NOT NULL,
    theme          json NOT NULL,
    variables      json NOT NULL,
    hidden_fields  json NOT NULL,
    beside         bigint NOT NULL DEFAULT 0,
    CONSTRAINT forms_public_id UNIQUE (public_id),
    CONSTRAINT forms_workspace UNIQUE (workspace_id, id)
);
CREATE INDEX forms_newest ON forms (workspace_id, created_at DESC, id DESC) WHERE trashed_at IS NULL;
CREATE INDEX forms_trash ON forms (workspace_id, created_at DESC, id DESC) WHERE trashed_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX forms_newest_of_all ON forms (created_at DESC, id DESC) WHERE trashed_at IS NULL AND id > '';
CREATE INDEX forms_trash_of_all ON forms (created_at DESC, id DESC) WHERE trashed_at IS NOT NULL AND purged_at IS NULL AND id > '';
CREATE INDEX forms_trashed_at ON forms (trashed_at) WHERE trashed_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX forms_purged_at ON forms (purged_at, id) WHERE purged_at IS NOT NULL;

-- The number of submissions, only for forms with a response limit. Their submissions lock this
-- row. A new limit starts with a count of the stored submissions, in batches by ID.
CREATE TABLE form_limits (
    form_id          bytea PRIMARY KEY REFERENCES forms (id) ON DELETE CASCADE,
    submission_count bigint NOT NULL,
    counted_to       bytea,      -- the last ID that is counted; null after the last batch
    count_at         timestamptz -- when the last batch was counted; null when the limit applies
);
CREATE INDEX form_limits_count_at ON form_limits (count_at) WHERE count_at IS NOT NULL;

-- The condition on revision is always true. Only the statement that searches for older rules
-- contains it, so no other statement uses this index.
CREATE INDEX forms_unique_rules ON forms (unique_rules) WHERE unique_block <> '' AND revision > 0;

CREATE TABLE form_lifetime (
    form_id     bytea PRIMARY KEY REFERENCES forms (id) ON DELETE CASCADE,
    views       bigint NOT NULL,
    starts      bigint NOT NULL,
    submissions bigint NOT NULL
);

CREATE TABLE form_removals (
    form_id bytea PRIMARY KEY REFERENCES forms (id) ON DELETE CASCADE,
    removed bigint NOT NULL
);

-- Documents and partial submissions are deleted in batches with their form.

-- Documents are written under the lock of the form's row. Their number and bytes are limited by kind.
CREATE TABLE documents (
    form_id     id NOT NULL REFERENCES forms (id) ON DELETE CASCADE,
    kind        text NOT NULL,
    key         text COLLATE "C" NOT NULL,
    revision    revision NOT NULL,
    user_id     id,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    value_bytes byte_count NOT NULL,
    value       json NOT NULL,
    PRIMARY KEY (form_id, kind, key)
);

-- A submitted partial submission contains only the ID of its submission until it expires.
CREATE TABLE partials (
    token         token_digest PRIMARY KEY,
    form_id       id NOT NULL REFERENCES forms (id) ON DELETE CASCADE,
    id            id NOT NULL,
    revision      revision NOT NULL,
    answers       json,
    hidden        json,
    metadata      json,
    block         text NOT NULL,
    seconds       seconds NOT NULL,
    shared        boolean NOT NULL,
    verified      boolean NOT NULL DEFAULT false,
    link_taken    boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL,
    saved_at      timestamptz NOT NULL,
    ends_at       timestamptz NOT NULL,
    submission_id id,
    respondent    text,
    open          boolean NOT NULL GENERATED ALWAYS AS (submission_id IS NULL) STORED, -- for lists and the limit
    CONSTRAINT partials_sent_check CHECK (submission_id IS NULL OR answers IS NULL AND hidden IS NULL AND metadata IS NULL)
) WITH ( -- rows are often replaced, and searches for the oldest pass dead rows
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000
);
-- For a form's lists and limit, which skip submitted ones, and for the deletion of a form. Each
-- save and each submission writes every index, so there are few.
CREATE INDEX partials_newest ON partials (form_id, open, saved_at DESC, id DESC) INCLUDE (ends_at);
-- The first is for lists of a form with a captcha, and the second for the partial submissions that
-- new ones replace first. Few writes change them.
CREATE INDEX partials_verified ON partials (form_id, saved_at DESC, id DESC) WHERE open AND verified;
CREATE INDEX partials_once ON partials (form_id, saved_at DESC, id DESC) WHERE open AND revision = 1 AND NOT link_taken;
-- The condition on revision is always true. Only a sweep contains it, so no other statement uses
-- this index.
CREATE INDEX partials_ends_at ON partials (ends_at) WHERE revision > 0;
CREATE INDEX partials_respondent ON partials (respondent) WHERE respondent IS NOT NULL;

CREATE TABLE submissions (
    form_id         id NOT NULL,
    id              id NOT NULL,
    submitted_at    timestamptz NOT NULL,
    completion_time seconds NOT NULL,
    answers         json NOT NULL,
    metadata        json NOT NULL,
    hidden          json NOT NULL,
    form_revision   revision NOT NULL,  -- the form revision that the answers were checked against
    json_bytes      byte_count NOT NULL, -- bytes of answers, metadata and hidden
    idempotency_key text,
    event_id        id, -- the event that reports it, if one was queued
    respondent      text,
    ending          text,
    revision        integer NOT NULL DEFAULT 1,
    changed_at      timestamptz, -- null without a change
    CONSTRAINT submissions_pkey PRIMARY KEY (form_id, id)
) WITH (
    -- Submissions rarely change, so the first vacuum freezes them. A vacuum that must read all
    -- unfrozen rows (every 1.7 days at 1,000 submissions per second) then reads only the newest.
    autovacuum_freeze_min_age = 0,
    -- Vacuum starts after a hundred new megabytes, while they are in memory and before a checkpoint.
    -- After a checkpoint, freezing a page writes the whole page to the WAL again.
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    -- A purge for age or of a form leaves dead rows in long runs.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50000
);
CREATE INDEX submissions_newest ON submissions (form_id, submitted_at DESC, id DESC);
CREATE UNIQUE INDEX submissions_idempotency_key ON submissions (form_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- For a respondent's submissions to all forms and to one form. The second one also decides whether a
-- respondent has already submitted a form. Its condition on form_revision is always true. Statements
-- about all forms do not contain it, so they do not read the second index from end to end.
CREATE INDEX submissions_respondent ON submissions (respondent, submitted_at DESC, id DESC) WHERE respondent IS NOT NULL;
CREATE INDEX submissions_form_respondent ON submissions (form_id, respondent, submitted_at DESC, id DESC) WHERE respondent IS NOT NULL AND form_revision > 0;

-- The earlier states of submissions that were changed, at most 20 of each.
CREATE TABLE submission_history (
    form_id       id NOT NULL,
    submission_id id NOT NULL,
    revision      integer NOT NULL,
    form_revision revision NOT NULL,
    answers       json NOT NULL,
    hidden        json NOT NULL,
    replaced_at   timestamptz NOT NULL,
    replaced_by   id, -- null for the host
    by_respondent boolean NOT NULL DEFAULT false,
    PRIMARY KEY (form_id, submission_id, revision)
);

-- The answers to unique fields, a row for each indexed submission. A submission that is stored
-- while the field is set gets copy 0, which is unique. Several earlier submissions, which the
-- backfill indexes, can have the same answer.
CREATE TABLE unique_answers (
    form_id       id NOT NULL,
    digest        bytea NOT NULL,
    block_id      text NOT NULL,
    rules         integer NOT NULL,
    copy          copy_number NOT NULL,
    submission_id id NOT NULL,
    PRIMARY KEY (form_id, digest, block_id, rules, copy)
) WITH ( -- as for submissions
    autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50000
);
CREATE INDEX unique_answers_of_submission ON unique_answers (submission_id, form_id); -- in this order, lookups of a digest do not use it

-- The progress of a form's backfill. Only forms with a running backfill have a row.
CREATE TABLE unique_progress (
    form_id    bytea PRIMARY KEY REFERENCES forms (id) ON DELETE CASCADE,
    round      bigint GENERATED ALWAYS AS IDENTITY,
    entered_to bytea NOT NULL DEFAULT '', -- the last ID that is indexed
    piece_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX unique_progress_piece_at ON unique_progress (piece_at);

-- The funnel: submissions append to the log, and sweeps fold it into buckets. Days are retained
-- without limit, and minutes for two days.
CREATE TABLE funnel_log (
    form_id     id NOT NULL,
    at          timestamptz NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY (CACHE 64),
    views       counter NOT NULL,
    starts      counter NOT NULL,
    submissions counter NOT NULL,
    PRIMARY KEY (form_id, at, id)
) WITH ( -- a fold starts at the oldest row, behind dead rows
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000
);
CREATE TABLE funnel_minutes (
    form_id     bytea NOT NULL,
    minute      timestamptz NOT NULL,
    views       bigint NOT NULL,
    starts      bigint NOT NULL,
    submissions bigint NOT NULL,
    PRIMARY KEY (form_id, minute)
);
CREATE TABLE funnel_days (
    form_id     bytea NOT NULL,
    day         date NOT NULL,
    views       bigint NOT NULL,
    starts      bigint NOT NULL,
    submissions bigint NOT NULL,
    PRIMARY KEY (form_id, day)
);

-- An UPDATE takes the next number with SET … = DEFAULT.
CREATE SEQUENCE delivery_tokens;

CREATE TABLE webhooks (
    id           bytea PRIMARY KEY,
    form_id      bytea NOT NULL, -- twelve zero bytes for a local webhook for all forms
    workspace_id bytea, -- a copy, so that a user's list is one index scan
    all_forms    bytea, -- the webhook for all forms for which it was created
    url          text NOT NULL,
    enabled      boolean NOT NULL,
    form_details boolean NOT NULL DEFAULT false, -- whether its events also have the details
    updates boolean NOT NULL DEFAULT false, -- whether it gets events of changes
    secret       bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    old_secret       bytea, -- also signs until old_secret_until
    old_secret_until timestamptz,
    CONSTRAINT webhooks_form FOREIGN KEY (form_id, workspace_id) REFERENCES forms (id, workspace_id)
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX webhooks_of_form ON webhooks (form_id);
CREATE INDEX webhooks_newest ON webhooks (workspace_id, created_at DESC, id DESC);
CREATE INDEX webhooks_old_secrets ON webhooks (old_secret_until) WHERE old_secret_until IS NOT NULL;
CREATE INDEX webhooks_newest_of_all ON webhooks (created_at DESC, id DESC) WHERE id > '';
CREATE INDEX webhooks_local ON webhooks (created_at DESC, id DESC) WHERE starts_with(url, 'local:');

-- The health of each webhook's destination, and when it is served next. This is not in the
-- webhook's row, so that changes of a webhook do not wait for claims.
CREATE TABLE destinations (
    webhook_id    id PRIMARY KEY,
    host          text NOT NULL,
    succeeded     boolean NOT NULL DEFAULT false, -- since the last change of the URL
    slow_for      small_counter NOT NULL DEFAULT 0,
    failures      small_counter NOT NULL DEFAULT 0, -- in a row
    pool          smallint NOT NULL GENERATED ALWAYS AS (
        CASE WHEN NOT succeeded OR failures > 0 THEN 2 WHEN slow_for > 0 THEN 1 ELSE 0 END) STORED, -- of a claim
    failing_since timestamptz, -- the first failure
    failed_at     timestamptz, -- the last failure
    paused_until  timestamptz,
    pause_reason  pause_reason,
    generation    small_counter NOT NULL DEFAULT 0, -- counts the URLs, because results of an earlier URL do not apply
    expired_at    timestamptz, -- the time of the last summary of expired deliveries
    next_at       timestamptz -- when it is served next; null without waiting deliveries
) WITH (
    fillfactor = 50,
    -- Each claim moves entries in destinations_turns and passes dead ones.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
CREATE INDEX destinations_turns ON destinations (pool, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX destinations_failing ON destinations (webhook_id) WHERE failing_since IS NOT NULL;
CREATE INDEX destinations_paused ON destinations (failing_since DESC, webhook_id DESC) WHERE paused_until IS NOT NULL;

-- The body of an event for all webhooks. It is stored while a delivery is pending or an attempt is
-- retained, and deleted with its submission. refs counts the references. A delivery that ends
-- passes its reference to its last attempt. The statement that removes the last reference deletes
-- the event. Only an error or a manual change leaves 0, which a sweep deletes.
CREATE TABLE events (
    id            id PRIMARY KEY,
    form_id       id NOT NULL,
    submission_id id,
    type          text NOT NULL,
    body          bytea NOT NULL,
    refs          integer NOT NULL, -- pending deliveries, and attempts without a next one
    details       bytea, -- fields that the body has only for the webhooks in detailed
    detailed      bytea[],
    of_change     boolean -- true, or null if it does not report a change
) WITH ( -- these are the largest deleted rows, so a fifth would waste a fifth of the disk
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000
);
CREATE INDEX events_unused ON events (id) WHERE refs <= 0;
CREATE INDEX events_of_changes ON events (submission_id) WHERE of_change;
CREATE INDEX events_single ON events (form_id) WHERE submission_id IS NULL; -- at most one is pending for a webhook

-- Pending deliveries. A delivery waits until its webhook is served (destinations.next_at), or
-- until its own time. A lease changes no indexed column, and half of each page is free, so the
-- new row version stays on its page.
CREATE TABLE deliveries (
    webhook_id id NOT NULL,
    event_id   id NOT NULL,
    queued_at  timestamptz NOT NULL DEFAULT statement_timestamp(), -- or redelivered
    due_at     timestamptz, -- its next attempt, or the end of the lease of a direct dispatch
    leased_until timestamptz,
    attempt    attempt_number NOT NULL DEFAULT 1,
    token      counter NOT NULL DEFAULT nextval('delivery_tokens'), -- of the lease, or 0
    size       byte_count NOT NULL, -- of the event's body
    urgency    urgency NOT NULL DEFAULT 0, -- 1: requested by a user, despite a pause; 2: also, an earlier lease may still have a result
    generation integer NOT NULL DEFAULT 0, -- of the URL of the lease
    PRIMARY KEY (webhook_id, event_id)
) WITH (
    fillfactor = 50,
    -- Every row is deleted, and claims pass dead rows.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, LEAST(urgency, 1) DESC, queued_at, event_id) WHERE due_at IS NULL;

-- Webhooks with new deliveries that no claim has read. Submissions write here instead of
-- destinations, whose rows others write too.
CREATE TABLE arrivals (
    at         timestamptz NOT NULL DEFAULT statement_timestamp(),
    id         bigint GENERATED ALWAYS AS IDENTITY (CACHE 64),
    webhook_id id NOT NULL,
    asked      boolean NOT NULL DEFAULT false, -- requested by a user, despite a pause
    PRIMARY KEY (at, id)
) WITH ( -- a poll starts at the oldest row, behind dead rows
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000
);

-- When background work was last done. Each kind has a row, so that kinds do not wait for each other.
CREATE TABLE upkeep (
    work    text PRIMARY KEY,
    since   timestamptz NOT NULL DEFAULT statement_timestamp(),
    done_at timestamptz
);
INSERT INTO upkeep (work) VALUES ('dispatched'), ('maintained');

CREATE TABLE attempts (
    webhook_id      id NOT NULL,
    id              id NOT NULL,
    event_id        id NOT NULL,
    event_type      text NOT NULL,
    submission_id   id,
    attempt         attempt_number NOT NULL,
    http_status     http_status NOT NULL,
    success         boolean NOT NULL,
    error           text NOT NULL,
    duration_us     microseconds NOT NULL,
    created_at      timestamptz NOT NULL,
    next_attempt_at timestamptz,
    PRIMARY KEY (webhook_id, created_at, id)
) WITH ( -- each attempt of a busy webhook replaces its oldest one
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000
);

-- Checks: IDs have 12 bytes, counts are not negative, and states are those of the API.
ALTER TABLE api_keys
    ADD CHECK (octet_length(id) = 12),
    ADD CHECK (octet_length(user_id) = 12),
    ADD CHECK (octet_length(hash) = 32);
ALTER TABLE workspaces
    ADD CHECK (octet_length(id) = 12),
    ADD CHECK (octet_length(owner_id) = 12),
    ADD CONSTRAINT workspaces_purged_check CHECK (NOT purged OR deleted_at IS NOT NULL);
ALTER TABLE workspace_users
    ADD CHECK (octet_length(workspace_id) = 12),
    ADD CHECK (octet_length(user_id) = 12);
ALTER TABLE forms
    ADD CHECK (octet_length(id) = 12),
    ADD CHECK (octet_length(workspace_id) = 12),
    ADD CHECK (type IN ('SINGLE', 'MULTI')),
    ADD CHECK (status IN ('draft', 'published')),
    ADD CHECK (revision >= 1),
    ADD CHECK (response_limit >= 0),
    ADD CHECK (places_kept >= 0),
    ADD CHECK (unique_rules >= 0),
    ADD CONSTRAINT forms_duplicates_covered_check CHECK (NOT duplicates_covered OR unique_block <> ''),
    ADD CHECK (format >= 0),
    ADD CHECK (purged_at IS NULL OR trashed_at IS NOT NULL);
ALTER TABLE form_limits
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (submission_count >= 0),
    ADD CHECK (octet_length(counted_to) IN (0, 12));
ALTER TABLE unique_progress
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (octet_length(entered_to) IN (0, 12));
ALTER TABLE form_lifetime
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (views >= 0),
    ADD CHECK (starts >= 0),
    ADD CHECK (submissions >= 0);
ALTER TABLE form_removals
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (removed > 0);
ALTER TABLE funnel_minutes
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (minute = date_trunc('minute', minute, 'UTC')),
    ADD CHECK (views >= 0),
    ADD CHECK (starts >= 0),
    ADD CHECK (submissions >= 0);
ALTER TABLE funnel_days
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (views >= 0),
    ADD CHECK (starts >= 0),
    ADD CHECK (submissions >= 0);
ALTER TABLE webhooks
    ADD CHECK (octet_length(id) = 12),
    ADD CHECK (octet_length(form_id) = 12),
    ADD CHECK (octet_length(workspace_id) = 12),
    ADD CHECK (octet_length(all_forms) = 12),
    ADD CONSTRAINT webhooks_form_check CHECK ((workspace_id IS NULL) = (form_id = '\x000000000000000000000000')),
    ADD CHECK (url <> '');
ALTER TABLE destinations
    ADD CONSTRAINT destinations_failing_check CHECK ( -- a single check, because claims and results write this table
        (failing_since IS NULL) = (failures = 0) AND (failed_at IS NULL) = (failures = 0)
        AND (paused_until IS NULL) = (pause_reason IS NULL) AND (paused_until IS NULL OR failures > 0));

-- Descriptions for \d+ in psql.
COMMENT ON TABLE formsvc_version IS 'The version of these tables. One row.';
COMMENT ON COLUMN formsvc_version.only_row IS 'Always true: there is one row.';
COMMENT ON COLUMN formsvc_version.version IS 'The last migration.';
COMMENT ON COLUMN formsvc_version.oldest_program IS 'The oldest program version that can use these tables.';

COMMENT ON TABLE api_keys IS 'API keys with their users. The keys themselves are not stored.';
COMMENT ON COLUMN api_keys.id IS 'ID of the key.';
COMMENT ON COLUMN api_keys.user_id IS 'ID of the user, who has no table of their own.';
COMMENT ON COLUMN api_keys.user_name IS 'Name of the user, the same in all of their keys.';
COMMENT ON COLUMN api_keys.user_email IS 'Email address of the user, the same in all of their keys.';
COMMENT ON COLUMN api_keys.name IS 'Name that the user gave the key.';
COMMENT ON COLUMN api_keys.prefix IS 'The first characters of the key, for display.';
COMMENT ON COLUMN api_keys.scopes IS 'Permissions of the key.';
COMMENT ON COLUMN api_keys.hash IS 'SHA-256 of the whole key.';
COMMENT ON COLUMN api_keys.created_at IS 'When the key was created.';
COMMENT ON COLUMN api_keys.expires_at IS 'When the key expires, or null if never.';
COMMENT ON COLUMN api_keys.revoked_at IS 'When the key was revoked, or null.';
COMMENT ON COLUMN api_keys.last_used_at IS 'When the key was last used, to the minute, or null if never.';

COMMENT ON TABLE workspaces IS 'Workspaces. Deleted workspaces remain while forms refer to them.';
COMMENT ON COLUMN workspaces.id IS 'ID of the workspace.';
COMMENT ON COLUMN workspaces.public_id IS 'The name in public links.';
COMMENT ON COLUMN workspaces.owner_id IS 'The user who owns the workspace.';
COMMENT ON COLUMN workspaces.name IS 'Name of the workspace.';
COMMENT ON COLUMN workspaces.created_at IS 'When the workspace was created.';
COMMENT ON COLUMN workspaces.updated_at IS 'When its name or owner last changed.';
COMMENT ON COLUMN workspaces.deleted_at IS 'When the workspace was deleted and its forms moved to the trash, or null.';
COMMENT ON COLUMN workspaces.tidied IS 'Whether sweeps have completed their work for a deleted workspace.';

COMMENT ON COLUMN workspaces.purged IS 'Whether the forms of a deleted workspace are purged too, because its owner was deleted.';

COMMENT ON TABLE workspace_users IS 'Users with access to a workspace, including its owner.';
COMMENT ON COLUMN workspace_users.workspace_id IS 'The workspace.';
COMMENT ON COLUMN workspace_users.user_id IS 'The user.';
COMMENT ON COLUMN workspace_users.created_at IS 'When the workspace was created, a copy for the order of the user''s list.';
COMMENT ON COLUMN workspace_users.is_owner IS 'Whether the user is the owner.';

COMMENT ON TABLE forms IS 'Forms, including forms in the trash.';
COMMENT ON COLUMN forms.id IS 'ID of the form.';
COMMENT ON COLUMN forms.public_id IS 'The name in public links.';
COMMENT ON COLUMN forms.workspace_id IS 'The workspace of the form, or its last workspace if the form is in the trash.';
COMMENT ON COLUMN forms.name IS 'Name of the form.';
COMMENT ON COLUMN forms.type IS 'SINGLE (one question at a time) or MULTI (many questions on a page).';
COMMENT ON COLUMN forms.status IS 'draft or published.';
COMMENT ON COLUMN forms.revision IS 'Starts at 1 and increases by one with each change of the form.';
COMMENT ON COLUMN forms.closed IS 'settings.closed.';
COMMENT ON COLUMN forms.open_at IS 'settings.openAt, or null if immediately.';
COMMENT ON COLUMN forms.close_at IS 'settings.closeAt, or null if never.';
COMMENT ON COLUMN forms.response_limit IS 'settings.responseLimit, or 0 without a limit.';
COMMENT ON COLUMN forms.counted IS 'Whether the form has a row in form_limits.';
COMMENT ON COLUMN forms.places_kept IS 'Number of submissions that were purged because of their age but still count against a response limit.';
COMMENT ON COLUMN forms.unique_block IS 'settings.duplicateField: the block whose answer must be unique within the form, or empty.';
COMMENT ON COLUMN forms.unique_rules IS 'Version of the rules by which its answers are compared.';
COMMENT ON COLUMN forms.duplicates_covered IS 'Whether the answers of all submissions are indexed in unique_answers.';
COMMENT ON COLUMN forms.created_at IS 'When the form was created.';
COMMENT ON COLUMN forms.updated_at IS 'When the form last changed.';
COMMENT ON COLUMN forms.trashed_at IS 'When the form moved to the trash, or null.';
COMMENT ON COLUMN forms.purged_at IS 'When the form was purged, or null; sweeps delete its rows.';
COMMENT ON COLUMN forms.format IS 'Version of the encoding of the five sections.';
COMMENT ON COLUMN forms.blocks IS 'definition.blocks.';
COMMENT ON COLUMN forms.settings IS 'definition.settings.';
COMMENT ON COLUMN forms.theme IS 'definition.theme.';
COMMENT ON COLUMN forms.variables IS 'definition.variables.';
COMMENT ON COLUMN forms.hidden_fields IS 'definition.hidden_fields.';
COMMENT ON COLUMN forms.beside IS 'Increases with each change of a document that form pages read. 0 before the first change.';

COMMENT ON TABLE form_limits IS 'Numbers of submissions. Only forms with a response limit have a row.';
COMMENT ON COLUMN form_limits.form_id IS 'The form.';
COMMENT ON COLUMN form_limits.submission_count IS 'Submissions that are stored or were purged because of their age. Deleted submissions do not count.';
COMMENT ON COLUMN form_limits.counted_to IS 'The highest submission ID that the count includes. Empty before the first batch, null after the last.';
COMMENT ON COLUMN form_limits.count_at IS 'When the last batch was counted for a new limit, or null when the limit applies.';

COMMENT ON TABLE form_lifetime IS 'Totals from before the events of a form were counted one by one, set by the host.';
COMMENT ON COLUMN form_lifetime.form_id IS 'The form.';
COMMENT ON COLUMN form_lifetime.views IS 'Views.';
COMMENT ON COLUMN form_lifetime.starts IS 'Respondents who began.';
COMMENT ON COLUMN form_lifetime.submissions IS 'Submissions.';
COMMENT ON TABLE form_removals IS 'How many submissions of a form were removed or changed, so that processes see that what they counted has changed.';
COMMENT ON COLUMN form_removals.form_id IS 'The form.';
COMMENT ON COLUMN form_removals.removed IS 'Submissions that were ever deleted, erased or purged.';

COMMENT ON TABLE documents IS 'Documents of a form: its working copy, earlier versions.';
COMMENT ON COLUMN documents.form_id IS 'The form.';
COMMENT ON COLUMN documents.kind IS 'Kind of the document: working-copy or version.';
COMMENT ON COLUMN documents.key IS 'Distinguishes documents of a kind, compared byte by byte.';
COMMENT ON COLUMN documents.revision IS 'Counts the writes of the document.';
COMMENT ON COLUMN documents.user_id IS 'The user who last wrote the document, who may no longer exist, or null for the host.';
COMMENT ON COLUMN documents.created_at IS 'When it was created.';
COMMENT ON COLUMN documents.updated_at IS 'When it was written last.';
COMMENT ON COLUMN documents.value_bytes IS 'Size of the value in bytes.';
COMMENT ON COLUMN documents.value IS 'The value.';

COMMENT ON TABLE partials IS 'Partial submissions.';
COMMENT ON COLUMN partials.token IS 'SHA-256 of the respondent''s token.';
COMMENT ON COLUMN partials.form_id IS 'The form.';
COMMENT ON COLUMN partials.id IS 'ID of the partial submission.';
COMMENT ON COLUMN partials.revision IS 'Starts at 1 and rises by one with each save.';
COMMENT ON COLUMN partials.answers IS 'The answers as they were sent, or null after the submission.';
COMMENT ON COLUMN partials.hidden IS 'Values of the hidden fields by name, or null after the submission.';
COMMENT ON COLUMN partials.metadata IS 'Country, device, user agent and UTM parameters, or null after the submission.';
COMMENT ON COLUMN partials.block IS 'The farthest block that the respondent reached. Empty if there is none, and after the submission.';
COMMENT ON COLUMN partials.seconds IS 'How long the respondent took so far; 0 when it was submitted.';
COMMENT ON COLUMN partials.shared IS 'Whether the respondent was informed that the form''s users can read it.';
COMMENT ON COLUMN partials.verified IS 'Whether a captcha was solved for a save.';
COMMENT ON COLUMN partials.link_taken IS 'Whether the respondent received a link to it.';
COMMENT ON COLUMN partials.created_at IS 'When it was saved first.';
COMMENT ON COLUMN partials.saved_at IS 'When it was saved last.';
COMMENT ON COLUMN partials.ends_at IS 'When it expires; sweeps delete it later.';
COMMENT ON COLUMN partials.submission_id IS 'The submission, or null if not submitted.';
COMMENT ON COLUMN partials.respondent IS 'The host''s ID of the respondent, or null if unknown.';
COMMENT ON COLUMN partials.open IS 'Whether it was not submitted.';

COMMENT ON TABLE submissions IS 'Responses to forms.';
COMMENT ON COLUMN submissions.form_id IS 'The form.';
COMMENT ON COLUMN submissions.id IS 'ID of the submission.';
COMMENT ON COLUMN submissions.submitted_at IS 'When the response was stored, in whole seconds.';
COMMENT ON COLUMN submissions.completion_time IS 'Seconds from start to submit.';
COMMENT ON COLUMN submissions.answers IS 'The answers, as the API returns them.';
COMMENT ON COLUMN submissions.metadata IS 'Country, device, user agent and UTM parameters.';
COMMENT ON COLUMN submissions.hidden IS 'Values of the hidden fields, by name.';
COMMENT ON COLUMN submissions.form_revision IS 'The revision of the form that the answers were checked against.';
COMMENT ON COLUMN submissions.json_bytes IS 'Bytes of answers, metadata and hidden, which bound a page.';
COMMENT ON COLUMN submissions.idempotency_key IS 'Identifies the request within the form, so that a repeated request returns this row. Null if there is none.';
COMMENT ON COLUMN submissions.event_id IS 'The event that reports the submission, or null if no webhook was enabled.';
COMMENT ON COLUMN submissions.respondent IS 'The host''s ID of the respondent, or null if unknown.';
COMMENT ON COLUMN submissions.ending IS 'ID of the ending block that was reached, or null if there was none.';

COMMENT ON COLUMN submissions.revision IS '1 for a new submission. Each change increments it.';
COMMENT ON COLUMN submissions.changed_at IS 'When the submission was last changed, or null if never.';

COMMENT ON TABLE submission_history IS 'Earlier states of submissions that were changed.';
COMMENT ON COLUMN submission_history.form_id IS 'The form.';
COMMENT ON COLUMN submission_history.submission_id IS 'The submission.';
COMMENT ON COLUMN submission_history.revision IS 'The revision of the submission in this state.';
COMMENT ON COLUMN submission_history.form_revision IS 'The revision of the form that the answers were checked against.';
COMMENT ON COLUMN submission_history.answers IS 'The answers.';
COMMENT ON COLUMN submission_history.hidden IS 'Values of the hidden fields, by name.';
COMMENT ON COLUMN submission_history.replaced_at IS 'When the next state replaced this state.';
COMMENT ON COLUMN submission_history.replaced_by IS 'The user who changed the submission, or null for the host.';
COMMENT ON COLUMN submission_history.by_respondent IS 'Whether the host changed the submission for its respondent.';

COMMENT ON TABLE unique_answers IS 'Answers that are taken, by submission.';
COMMENT ON COLUMN unique_answers.form_id IS 'The form.';
COMMENT ON COLUMN unique_answers.digest IS 'Digest of the answer.';
COMMENT ON COLUMN unique_answers.block_id IS 'The block that it is the answer to.';
COMMENT ON COLUMN unique_answers.rules IS 'Version of the rules by which the digest was created.';
COMMENT ON COLUMN unique_answers.copy IS 'Distinguishes submissions with the same answer. Only one submission has 0.';
COMMENT ON COLUMN unique_answers.submission_id IS 'The submission.';

COMMENT ON TABLE unique_progress IS 'Forms whose submissions are being indexed in unique_answers.';
COMMENT ON COLUMN unique_progress.form_id IS 'The form.';
COMMENT ON COLUMN unique_progress.round IS 'New whenever the backfill restarts.';
COMMENT ON COLUMN unique_progress.entered_to IS 'The last submission, by ID, that is indexed; empty before the first.';
COMMENT ON COLUMN unique_progress.piece_at IS 'When the last batch was indexed; the form that has waited longest is next.';

COMMENT ON TABLE funnel_log IS 'Counts that are not in the buckets yet.';
COMMENT ON COLUMN funnel_log.form_id IS 'The form.';
COMMENT ON COLUMN funnel_log.at IS 'When it happened.';
COMMENT ON COLUMN funnel_log.id IS 'Distinguishes counts of one instant.';
COMMENT ON COLUMN funnel_log.views IS 'Views.';
COMMENT ON COLUMN funnel_log.starts IS 'Respondents who began.';
COMMENT ON COLUMN funnel_log.submissions IS 'Submissions.';

COMMENT ON TABLE funnel_minutes IS 'Counts by minute, for two days.';
COMMENT ON COLUMN funnel_minutes.form_id IS 'The form.';
COMMENT ON COLUMN funnel_minutes.minute IS 'Start of the minute.';
COMMENT ON COLUMN funnel_minutes.views IS 'Views.';
COMMENT ON COLUMN funnel_minutes.starts IS 'Respondents who began.';
COMMENT ON COLUMN funnel_minutes.submissions IS 'Submissions.';

COMMENT ON TABLE funnel_days IS 'Counts by day in UTC, without limit. The minutes of a day are part of it.';
COMMENT ON COLUMN funnel_days.form_id IS 'The form.';
COMMENT ON COLUMN funnel_days.day IS 'The day.';
COMMENT ON COLUMN funnel_days.views IS 'Views.';
COMMENT ON COLUMN funnel_days.starts IS 'Respondents who began.';
COMMENT ON COLUMN funnel_days.submissions IS 'Responses. Deleting a submission does not change them.';

COMMENT ON TABLE webhooks IS 'Where the events of a form are sent.';
COMMENT ON COLUMN webhooks.id IS 'ID of the webhook.';
COMMENT ON COLUMN webhooks.form_id IS 'The form, or twelve zero bytes for a local webhook for all forms.';
COMMENT ON COLUMN webhooks.workspace_id IS 'The workspace of the form, a copy for the user''s list.';
COMMENT ON COLUMN webhooks.all_forms IS 'The webhook for all forms for which it was created, or null.';
COMMENT ON COLUMN webhooks.url IS 'The destination: an http or https URL, or local: and the name of a handler.';
COMMENT ON COLUMN webhooks.enabled IS 'Whether events are queued for it; set by the owner.';
COMMENT ON COLUMN webhooks.updates IS 'Whether it also gets events of changes of submissions.';
COMMENT ON COLUMN webhooks.form_details IS 'Whether new events contain the name, language and questions of the form.';
COMMENT ON COLUMN webhooks.secret IS 'The signing secret, or empty. Its first byte says how it is encrypted.';
COMMENT ON COLUMN webhooks.created_at IS 'When the webhook was created.';
COMMENT ON COLUMN webhooks.updated_at IS 'When the owner changed it last.';

COMMENT ON COLUMN webhooks.old_secret IS 'The secret before the last change, or null.';
COMMENT ON COLUMN webhooks.old_secret_until IS 'Until when the old secret signs too.';

COMMENT ON TABLE destinations IS 'Health of each webhook''s destination, and when it is served next.';
COMMENT ON COLUMN destinations.webhook_id IS 'The webhook.';
COMMENT ON COLUMN destinations.host IS 'The hostname of the URL, in lower case.';
COMMENT ON COLUMN destinations.succeeded IS 'Whether a request succeeded since the webhook got its URL.';
COMMENT ON COLUMN destinations.slow_for IS 'Fast successes until it counts as fast.';
COMMENT ON COLUMN destinations.failures IS 'Failures in a row.';
COMMENT ON COLUMN destinations.pool IS '0 for fast, 1 for slow, 2 for new or failing.';
COMMENT ON COLUMN destinations.failing_since IS 'When the first of the failures was recorded, or null without failures.';
COMMENT ON COLUMN destinations.failed_at IS 'When the last of the failures was recorded, or null without failures.';
COMMENT ON COLUMN destinations.paused_until IS 'Until then, only requested deliveries are claimed; null if not paused.';
COMMENT ON COLUMN destinations.pause_reason IS 'failures, or retry_after if the destination requested the pause.';
COMMENT ON COLUMN destinations.generation IS 'Counts the URLs that the webhook has had.';
COMMENT ON COLUMN destinations.expired_at IS 'When the last summary of expired deliveries was added (null if never).';
COMMENT ON COLUMN destinations.next_at IS 'When the webhook is served next, or null without waiting deliveries.';

COMMENT ON TABLE deliveries IS 'Pending deliveries. The table attempts contains the results.';
COMMENT ON COLUMN deliveries.webhook_id IS 'The webhook.';
COMMENT ON COLUMN deliveries.event_id IS 'The event.';
COMMENT ON COLUMN deliveries.queued_at IS 'When it was queued or redelivered.';
COMMENT ON COLUMN deliveries.due_at IS 'When the next attempt is due, or the lease of a direct dispatch ends. Null if the delivery waits for its webhook.';
COMMENT ON COLUMN deliveries.leased_until IS 'End of the lease, or null.';
COMMENT ON COLUMN deliveries.attempt IS 'Number of the next or running attempt.';
COMMENT ON COLUMN deliveries.token IS 'Token of the lease, or 0.';
COMMENT ON COLUMN deliveries.size IS 'Bytes of the body of the event.';
COMMENT ON COLUMN deliveries.urgency IS '0 for an ordinary delivery. 1 if a user requested it, so that a pause does not delay it. 2 if an earlier lease may also still have a result.';

COMMENT ON COLUMN deliveries.generation IS 'That of the URL which the lease is for.';

COMMENT ON TABLE arrivals IS 'Webhooks for which deliveries were queued since the last claim.';
COMMENT ON COLUMN arrivals.at IS 'When they were queued.';
COMMENT ON COLUMN arrivals.id IS 'Distinguishes arrivals of one instant.';
COMMENT ON COLUMN arrivals.webhook_id IS 'The webhook.';
COMMENT ON COLUMN arrivals.asked IS 'Whether a user requested the delivery, so that a pause does not delay it.';

COMMENT ON TABLE upkeep IS 'When background work was last done.';
COMMENT ON COLUMN upkeep.work IS 'dispatched for a dispatcher that claims deliveries, maintained for a sweep.';
COMMENT ON COLUMN upkeep.since IS 'When these tables were made.';
COMMENT ON COLUMN upkeep.done_at IS 'When it was done last, to the minute (null if never).';

COMMENT ON TABLE events IS 'The bytes of an event, once for all webhooks.';
COMMENT ON COLUMN events.id IS 'ID of the event, the same in every attempt.';
COMMENT ON COLUMN events.form_id IS 'The form.';
COMMENT ON COLUMN events.submission_id IS 'The submission that the event reports, or null for a test event.';
COMMENT ON COLUMN events.type IS 'Type of the event.';
COMMENT ON COLUMN events.body IS 'The body of each request.';
COMMENT ON COLUMN events.details IS 'The end of the body for the webhooks in detailed, or null if there are none.';
COMMENT ON COLUMN events.detailed IS 'The webhooks that had form_details when the event was queued, or null.';
COMMENT ON COLUMN events.of_change IS 'True if the event reports a change of the submission, or null.';
COMMENT ON COLUMN events.refs IS 'Pending deliveries of it, and attempts without a next one.';

COMMENT ON TABLE attempts IS 'The newest 100 attempts of each webhook, and about as many older attempts that are not removed yet.';
COMMENT ON COLUMN attempts.webhook_id IS 'The webhook.';
COMMENT ON COLUMN attempts.id IS 'ID of the attempt.';
COMMENT ON COLUMN attempts.event_id IS 'The event.';
COMMENT ON COLUMN attempts.event_type IS 'Type of the event.';
COMMENT ON COLUMN attempts.submission_id IS 'The submission that the event reports, or null for a test event.';
COMMENT ON COLUMN attempts.attempt IS 'Number of the attempt, from 1 on.';
COMMENT ON COLUMN attempts.http_status IS 'Status of the response; 0: there was none.';
COMMENT ON COLUMN attempts.duration_us IS 'How long it took, in microseconds.';
COMMENT ON COLUMN attempts.success IS 'Whether the receiver accepted it.';
COMMENT ON COLUMN attempts.error IS 'Class of the error, or empty.';
COMMENT ON COLUMN attempts.created_at IS 'When the attempt ended.';
COMMENT ON COLUMN attempts.next_attempt_at IS 'When the next attempt is due. Null if there is none; the row then holds a reference to the event.';
