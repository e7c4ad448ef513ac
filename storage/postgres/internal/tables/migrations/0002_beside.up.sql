-- What is kept beside a form: documents, and responses that were saved half-way. Both are
-- removed in pieces when their form goes; the foreign keys remove what a process of the
-- earlier release, which does not know them, leaves.

-- The strongest lock comes first: a reference takes a weaker one, and a process that reads forms and
-- then writes them would wait for this, and this for it.
ALTER TABLE forms ADD COLUMN beside bigint NOT NULL DEFAULT 0;

-- Documents.

-- A kind is read and written under the lock of the form's row, and bounded by number and bytes.
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

COMMENT ON COLUMN forms.beside IS 'Rises with each change of a document that respondents'' pages read; 0: there never was one.';
COMMENT ON TABLE documents IS 'What is kept beside a form: its working copy, earlier versions.';
COMMENT ON COLUMN documents.form_id IS 'The form.';
COMMENT ON COLUMN documents.kind IS 'What it is: working-copy, version.';
COMMENT ON COLUMN documents.key IS 'Tells documents of a kind apart, compared byte by byte.';
COMMENT ON COLUMN documents.revision IS 'Counts the writes of the document.';
COMMENT ON COLUMN documents.user_id IS 'Who wrote it last, perhaps a user who is gone; null: the host.';
COMMENT ON COLUMN documents.created_at IS 'When it was made.';
COMMENT ON COLUMN documents.updated_at IS 'When it was written last.';
COMMENT ON COLUMN documents.value_bytes IS 'Bytes of the value as it was given.';
COMMENT ON COLUMN documents.value IS 'The value.';

-- Half responses.

CREATE DOMAIN token_digest AS bytea CHECK (octet_length(VALUE) = 32);
COMMENT ON DOMAIN token_digest IS 'SHA-256 of what a respondent holds.';

-- One that was submitted is empty, and says which response became of it until it ends.
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
    open          boolean NOT NULL GENERATED ALWAYS AS (submission_id IS NULL) STORED, -- of a list, and of the bound
    CONSTRAINT partials_sent_check CHECK (submission_id IS NULL OR answers IS NULL AND hidden IS NULL AND metadata IS NULL)
) WITH ( -- rows are replaced all the time, and who looks for the oldest passes the dead ones
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000
);
-- The lists of a form and its bound, which do not pass over those that were submitted; and all
-- that is removed with a form. Each save and each response writes every index, so there are few.
CREATE INDEX partials_newest ON partials (form_id, open, saved_at DESC, id DESC) INCLUDE (ends_at);
-- What owners see of a form with a captcha, and what new ones replace first. Few writes touch them:
-- the first has no row that a program made, and a second save leaves the other.
CREATE INDEX partials_verified ON partials (form_id, saved_at DESC, id DESC) WHERE open AND verified;
CREATE INDEX partials_once ON partials (form_id, saved_at DESC, id DESC) WHERE open AND revision = 1 AND NOT link_taken;
-- The condition on revision always holds. Only a sweep says it: no other statement can be
-- planned with this index.
CREATE INDEX partials_ends_at ON partials (ends_at) WHERE revision > 0;

COMMENT ON TABLE partials IS 'Responses that respondents saved half-way.';
COMMENT ON COLUMN partials.token IS 'SHA-256 of what the respondent holds.';
COMMENT ON COLUMN partials.form_id IS 'The form.';
COMMENT ON COLUMN partials.id IS 'Id of the half response.';
COMMENT ON COLUMN partials.revision IS 'Starts at 1 and rises by one with each save.';
COMMENT ON COLUMN partials.answers IS 'The answers as they were sent; null: it was submitted.';
COMMENT ON COLUMN partials.hidden IS 'Values of the hidden fields, by name; null: it was submitted.';
COMMENT ON COLUMN partials.metadata IS 'Country, device, user agent and UTM parameters; null: it was submitted.';
COMMENT ON COLUMN partials.block IS 'The farthest block that the respondent came to; empty: none, or it was submitted.';
COMMENT ON COLUMN partials.seconds IS 'How long the respondent took so far; 0 when it was submitted.';
COMMENT ON COLUMN partials.shared IS 'Whether the respondent was told that the owners of the form can read it.';
COMMENT ON COLUMN partials.verified IS 'Whether a captcha was solved for one of its saves.';
COMMENT ON COLUMN partials.link_taken IS 'Whether the respondent received a link to it.';
COMMENT ON COLUMN partials.created_at IS 'When it was saved first.';
COMMENT ON COLUMN partials.saved_at IS 'When it was saved last.';
COMMENT ON COLUMN partials.ends_at IS 'From when on nobody sees it any more; a sweep removes it.';
COMMENT ON COLUMN partials.submission_id IS 'The submission that became of it; null: none yet.';
COMMENT ON COLUMN partials.open IS 'Whether it was not submitted.';

UPDATE formsvc_version SET version = 2, oldest_program = 1;
