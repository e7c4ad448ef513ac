-- Half responses.

DROP TABLE IF EXISTS partials;
DROP DOMAIN IF EXISTS token_digest;

-- Documents.
DROP TABLE IF EXISTS documents;
ALTER TABLE IF EXISTS forms DROP COLUMN IF EXISTS beside;

-- Sets the version to 1, where there is one: the table may be gone when this runs again.
ALTER TABLE IF EXISTS formsvc_version ALTER COLUMN version TYPE integer USING 1;
