-- This script partitions the tables that grow with the submissions by hash, for installations
-- that expect hundreds of millions of submissions. Each vacuum and each index rebuild then reads
-- only a part of the rows, and several workers can run concurrently. Smaller installations get
-- no benefit: a table of 100 million rows needs no partitions.
--
-- The script creates the tables again, so run it before there is data: right after
-- postgres.Migrate and as the same role. It refuses tables with rows. The privileges on the four
-- tables are lost; grant them afterwards, as the package's documentation describes.
--
--     psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f partitions.sql
--
-- The service needs no change, because it addresses rows by key. Most statements contain a form,
-- a webhook or an event, and therefore use one partition.
--
-- Later migrations work as on whole tables, and a dump contains the partitions. You can change
-- the number of partitions only by copying the rows, so choose the final number. A statement that
-- reads all partitions locks each one with its indexes. Before PostgreSQL 18, more than 16 locks
-- are slower, so fewer partitions are better.
--
-- If you use WithSchema, change the name here:
BEGIN;
SET LOCAL search_path = formsvc;

DO $$
DECLARE
    partitions constant integer := 8;
    part     record;
    old      pg_class;
    about    text;
    indexes  text[];
    command  text;
    has_rows boolean;
BEGIN
    FOR part IN SELECT * FROM (VALUES
        -- Lists read a form's submissions, and its idempotency keys must be unique.
        ('submissions', 'form_id'),
        -- A claim takes a webhook's oldest deliveries, and its newest attempts are retained.
        ('deliveries', 'webhook_id'),
        ('attempts', 'webhook_id'),
        -- Deliveries of several webhooks share an event, and contain only its ID.
        ('events', 'id')
    ) AS p (name, key)
    LOOP
        -- This lock blocks all writes from here.
        EXECUTE format('LOCK TABLE %I', part.name);
        SELECT * INTO STRICT old FROM pg_class WHERE oid = part.name::regclass;
        IF old.relkind = 'p' THEN
            RAISE EXCEPTION 'the table % is partitioned already', part.name;
        END IF;
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', part.name) INTO has_rows;
        IF has_rows THEN
            RAISE EXCEPTION 'the table % has rows: partitions are made before there is data', part.name;
        END IF;

        -- The new table has the same columns, indexes and names, because migrations use them.
        about := obj_description(old.oid, 'pg_class');
        SELECT array_agg(CASE WHEN k.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
                ELSE format('ALTER TABLE %I ADD CONSTRAINT %I %s', part.name, k.conname, pg_get_constraintdef(k.oid)) END)
            INTO indexes
            FROM pg_index i LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
            WHERE i.indrelid = old.oid;
        EXECUTE format('ALTER TABLE %I RENAME TO whole', part.name);
        EXECUTE format('CREATE TABLE %I (LIKE whole INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (%I)', part.name, part.key);
        DROP TABLE whole;
        EXECUTE format('COMMENT ON TABLE %I IS %L', part.name, about);
        FOREACH command IN ARRAY indexes LOOP
            EXECUTE command;
        END LOOP;

        -- Fill factor and vacuum settings are those of partitions: the table itself has no pages.
        FOR n IN 0 .. partitions - 1 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)%s',
                part.name || '_' || n, part.name, partitions, n,
                ' WITH (' || array_to_string(old.reloptions, ', ') || ')');
        END LOOP;
    END LOOP;
END
$$;
COMMIT;
