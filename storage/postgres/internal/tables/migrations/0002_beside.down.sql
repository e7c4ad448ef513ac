-- Half responses.

DROP TABLE IF EXISTS partials;
DROP DOMAIN IF EXISTS token_digest;

-- Documents.
DROP TABLE IF EXISTS documents;
ALTER TABLE IF EXISTS forms DROP COLUMN IF EXISTS beside;

UPDATE formsvc_version SET version = 1;
