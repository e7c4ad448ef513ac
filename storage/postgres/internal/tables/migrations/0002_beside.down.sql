-- Half responses.

-- Documents.
DROP TABLE IF EXISTS documents;
ALTER TABLE IF EXISTS forms DROP COLUMN IF EXISTS beside;

UPDATE formsvc_version SET version = 1;
