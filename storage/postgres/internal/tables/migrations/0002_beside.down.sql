-- Half responses.

-- Documents.

UPDATE formsvc_version SET version = 1;
