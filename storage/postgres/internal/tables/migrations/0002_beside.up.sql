-- What is kept beside a form: documents, and responses that were saved half-way. Both are
-- removed in pieces when their form goes; the foreign keys remove what a process of the
-- earlier release, which does not know them, leaves.

-- Documents.

-- Half responses.

UPDATE formsvc_version SET version = 2;
