-- Everything of formsvc. The names are not qualified: the migration runs with the
-- service's own schema as the only one in search_path.
--
-- Ids are 12 bytes. Columns of type json keep a value as it was sent: its members,
-- their order and its number literals.
--
-- There is no foreign key on what every response of a form and every delivery
-- writes (submissions, events, deliveries, attempts, funnel_log): its check would
-- lock the row of the form or of the webhook each time. Those rows are removed by
-- the statements that remove what they belong to.

-- The version of these tables, and which programs they serve. Every migration sets
-- both, in its own transaction. A migration that only adds keeps oldest_program, so
-- that older processes start and run meanwhile; one that takes something away raises
-- it to the first version that does without.
CREATE TABLE formsvc_version (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version        integer NOT NULL CHECK (version >= 1),
    oldest_program integer NOT NULL CHECK (oldest_program BETWEEN 1 AND version)
);
INSERT INTO formsvc_version (version, oldest_program) VALUES (1, 1);

-- What is known of the user is kept with each of their keys.
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
-- When a key ended or will end; null: never.
CREATE INDEX api_keys_ended ON api_keys (LEAST(revoked_at, expires_at));
CREATE INDEX api_keys_user ON api_keys (user_id, created_at DESC, id DESC);

-- A deleted workspace stays as a row without a name for as long as forms refer to
-- it. From deleted_at on its forms are in the trash, whatever their own rows say:
-- a sweep moves them there, some at a time.
CREATE TABLE workspaces (
    id         bytea PRIMARY KEY,
    public_id  text NOT NULL,
    owner_id   bytea NOT NULL,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    tidied     boolean NOT NULL DEFAULT false, -- of a deleted one: a sweep has nothing to do for it
    CONSTRAINT workspaces_public_id UNIQUE (public_id)
);
-- The indexes named …_of_all have a condition that always holds. Only the lists of the
-- host say it: no other statement can be planned with them.
CREATE INDEX workspaces_newest_of_all ON workspaces (created_at DESC, id DESC) WHERE deleted_at IS NULL AND id > '';
CREATE INDEX workspaces_to_tidy ON workspaces (deleted_at, id) WHERE deleted_at IS NOT NULL AND NOT tidied;
CREATE INDEX workspaces_owner ON workspaces (owner_id) WHERE deleted_at IS NULL;

-- Who may use a workspace, its owner included. created_at is the workspace's, so
-- that a user's list is one index scan.
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
    close_at       timestamptz,
    response_limit bigint NOT NULL,
    counted        boolean NOT NULL DEFAULT false, -- there is a row in form_limits
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    trashed_at     timestamptz,
    purged_at      timestamptz, -- from then on nobody sees the form; sweeps remove what is left of it
    format         integer NOT NULL,
    blocks         json NOT NULL,
    settings       json NOT NULL,
    theme          json NOT NULL,
    variables      json NOT NULL,
    hidden_fields  json NOT NULL,
    CONSTRAINT forms_public_id UNIQUE (public_id),
    CONSTRAINT forms_workspace UNIQUE (workspace_id, id)
);
CREATE INDEX forms_newest ON forms (workspace_id, created_at DESC, id DESC) WHERE trashed_at IS NULL;
CREATE INDEX forms_trash ON forms (workspace_id, created_at DESC, id DESC) WHERE trashed_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX forms_newest_of_all ON forms (created_at DESC, id DESC) WHERE trashed_at IS NULL AND id > '';
CREATE INDEX forms_trash_of_all ON forms (created_at DESC, id DESC) WHERE trashed_at IS NOT NULL AND purged_at IS NULL AND id > '';
CREATE INDEX forms_trashed_at ON forms (trashed_at) WHERE trashed_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX forms_purged_at ON forms (purged_at, id) WHERE purged_at IS NOT NULL;

-- How many submissions a form has, for forms with a response limit only: its row
-- is the one that their submissions lock. A new limit begins with a count of what
-- is there, some at a time in the order of ids.
CREATE TABLE form_limits (
    form_id    bytea PRIMARY KEY REFERENCES forms (id) ON DELETE CASCADE,
    taken      bigint NOT NULL,
    counted_to bytea,      -- the last id that taken covers; null: all
    count_at   timestamptz -- when the last piece was counted; null: the limit is in force
);
CREATE INDEX form_limits_count_at ON form_limits (count_at) WHERE count_at IS NOT NULL;

CREATE TABLE form_lifetime (
    form_id     bytea PRIMARY KEY REFERENCES forms (id) ON DELETE CASCADE,
    views       bigint NOT NULL,
    starts      bigint NOT NULL,
    submissions bigint NOT NULL
);

CREATE TABLE submissions (
    form_id         bytea NOT NULL,
    id              bytea NOT NULL,
    submitted_at    timestamptz NOT NULL,
    completion_time double precision NOT NULL,
    answers         json NOT NULL,
    metadata        json NOT NULL,
    hidden          json NOT NULL,
    form_revision   bigint NOT NULL,  -- of the form that the answers were checked against
    json_bytes      integer NOT NULL, -- of answers, metadata and hidden as they were given
    idempotency_key text,
    unique_answer   bytea,
    event_id        bytea, -- of the event that tells of it, when one was queued
    CONSTRAINT submissions_pkey PRIMARY KEY (form_id, id)
);
CREATE INDEX submissions_newest ON submissions (form_id, submitted_at DESC, id DESC);
CREATE UNIQUE INDEX submissions_idempotency_key ON submissions (form_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX submissions_unique_answer ON submissions (form_id, unique_answer) WHERE unique_answer IS NOT NULL;

-- The funnel: responses append to the log, and the log is folded into buckets. A
-- count is in its day's bucket for ever and in its minute's for two days.
CREATE TABLE funnel_log (
    form_id     bytea NOT NULL,
    at          timestamptz NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY (CACHE 64),
    views       bigint NOT NULL,
    starts      bigint NOT NULL,
    submissions bigint NOT NULL,
    PRIMARY KEY (form_id, at, id)
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

-- An UPDATE takes the next number of these with SET … = DEFAULT.
CREATE SEQUENCE delivery_turns;
CREATE SEQUENCE delivery_tokens;

CREATE TABLE webhooks (
    id           bytea PRIMARY KEY,
    form_id      bytea NOT NULL,
    workspace_id bytea NOT NULL, -- the form's, so that a user's list is one index scan
    url          text NOT NULL,
    enabled      boolean NOT NULL,
    secret       bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    destination  integer NOT NULL DEFAULT 1, -- rises with each new url
    failures     integer NOT NULL DEFAULT 0,
    paused_until timestamptz,
    history      bigint NOT NULL DEFAULT 0, -- how many attempts are kept; it stays once that is all there may be
    CONSTRAINT webhooks_form FOREIGN KEY (form_id, workspace_id) REFERENCES forms (id, workspace_id)
        ON UPDATE CASCADE ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX webhooks_of_form ON webhooks (form_id);
CREATE INDEX webhooks_newest ON webhooks (workspace_id, created_at DESC, id DESC);
CREATE INDEX webhooks_newest_of_all ON webhooks (created_at DESC, id DESC) WHERE id > '';

-- When a webhook was last served, for each of them. Not in its own row: that is
-- locked while results are recorded, and a claim waits for nobody.
CREATE TABLE webhook_turns (
    webhook_id bytea PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
    -- 0: never. From a sequence, not a clock: turns stay fair when claims share an
    -- instant.
    served     bigint NOT NULL DEFAULT nextval('delivery_turns')
) WITH (fillfactor = 50);

-- The bytes of an event, once for all webhooks. They live while a delivery is
-- pending or an attempt is kept, and die with their submission. Whoever adds or
-- removes a delivery or an attempt counts that in refs. When the last two are
-- removed at once neither sees the other, and 0 is left for a sweep to find.
CREATE TABLE events (
    id            bytea PRIMARY KEY,
    form_id       bytea NOT NULL,
    submission_id bytea,
    type          text NOT NULL,
    body          bytea NOT NULL,
    refs          integer NOT NULL -- pending deliveries and kept attempts
);
CREATE INDEX events_unused ON events (id) WHERE refs <= 0;

-- Pending deliveries. Finished ones leave the table. A page has room for a second
-- version of each of its rows, which a lease makes: in another page it would need
-- new entries in both indexes.
CREATE TABLE deliveries (
    webhook_id   bytea NOT NULL,
    event_id     bytea NOT NULL,
    due_at       timestamptz NOT NULL,
    attempt      integer NOT NULL DEFAULT 1,
    token        bigint NOT NULL DEFAULT nextval('delivery_tokens'), -- of the lease; 0: none
    destination  integer NOT NULL DEFAULT 0, -- that the lease is for
    leased_until timestamptz,
    PRIMARY KEY (event_id, webhook_id)
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- For whoever goes through a webhook's deliveries, and says attempt > 0. Without
-- the condition, which always holds, a plan that was made for an empty queue may
-- look for single deliveries here, among all of their webhook's.
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, event_id) WHERE attempt > 0;

CREATE TABLE attempts (
    webhook_id      bytea NOT NULL,
    id              bytea NOT NULL,
    event_id        bytea NOT NULL,
    event_type      text NOT NULL,
    submission_id   bytea,
    attempt         integer NOT NULL,
    status          integer NOT NULL,
    success         boolean NOT NULL,
    error           text NOT NULL,
    duration        bigint NOT NULL, -- nanoseconds
    created_at      timestamptz NOT NULL,
    next_attempt_at timestamptz,
    PRIMARY KEY (webhook_id, created_at, id)
);
