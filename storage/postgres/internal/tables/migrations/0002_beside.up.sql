-- What is kept beside a form: documents, and responses that were saved half-way. Both are
-- removed in pieces when their form goes; the foreign keys remove what a process of the
-- earlier release, which does not know them, leaves.

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
ALTER TABLE forms ADD COLUMN beside bigint NOT NULL DEFAULT 0;

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

UPDATE formsvc_version SET version = 2, oldest_program = 1;
