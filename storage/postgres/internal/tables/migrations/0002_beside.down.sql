-- Half responses.

DROP TABLE IF EXISTS partials;
DROP DOMAIN IF EXISTS token_digest;

-- Documents.

UPDATE formsvc_version SET version = 1;
