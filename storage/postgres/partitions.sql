-- Partitions for installations that expect hundreds of millions of responses: the tables that
-- grow with them are divided by hash, so that each vacuum and each rebuild of an index has a
-- part of the rows to go through, and several workers do them at the same time. Below that
-- they only cost: a table of 100 million rows needs none.
--
-- This makes the tables anew, so it has to run before there is data, right after
-- postgres.Migrate and as the role that ran it. It refuses tables with rows. Rights on the
-- four tables go with the old ones: give them afterwards, as the package's documentation says.
--
--     psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f partitions.sql
--
-- The program notices nothing: it names rows by key. Most statements name a form, a webhook
-- or an event, and so go to one partition.
--
-- Migrations of later versions run as on whole tables, and a dump has the partitions in it.
-- How many there are can only be changed by copying the rows: take as many as the tables will
-- need in the end. A statement that reads all of them locks each with its indexes, and locks
-- beyond 16 are slower before PostgreSQL 18, so fewer are better.
--
-- With the schema of WithSchema change the name here:
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
        -- A form's responses are read together, and its idempotency keys must be unique.
        ('submissions', 'form_id'),
        -- Of a webhook the oldest deliveries are taken, and the newest attempts kept.
        ('deliveries', 'webhook_id'),
        ('attempts', 'webhook_id'),
        -- Deliveries of several webhooks have the same event, and know its id alone.
        ('events', 'id')
    ) AS p (name, key)
    LOOP
        -- Nobody writes to it from here on.
        EXECUTE format('LOCK TABLE %I', part.name);
        SELECT * INTO STRICT old FROM pg_class WHERE oid = part.name::regclass;
        IF old.relkind = 'p' THEN
            RAISE EXCEPTION 'the table % is partitioned already', part.name;
        END IF;
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', part.name) INTO has_rows;
        IF has_rows THEN
            RAISE EXCEPTION 'the table % has rows: partitions are made before there is data', part.name;
        END IF;

        -- The new table has all that the old one has, under the same names: migrations use them.
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
