-- Queries for operators, for use in psql. IDs are 12 bytes: 24 hexadecimal digits in
-- the API, and \x with the same digits here. Their first four bytes are the creation
-- time in seconds.
--
--   psql -v form=6900000003000000000000aa -f cookbook.sql   # or paste one query
--
-- Set the variables of the query: :form, :webhook, :user, :workspace. All queries only read.
SET search_path = formsvc;

-- 1. Which record has this ID?
SELECT 'form' AS kind, encode(id, 'hex') AS id, name, to_timestamp(('x' || encode(substr(id, 1, 4), 'hex'))::bit(32)::bigint) AS made
FROM forms WHERE id = decode(:'form', 'hex')
UNION ALL
SELECT 'workspace', encode(id, 'hex'), name, created_at FROM workspaces WHERE id = decode(:'form', 'hex')
UNION ALL
SELECT 'webhook', encode(id, 'hex'), url, created_at FROM webhooks WHERE id = decode(:'form', 'hex');

-- 2. Who has access to a workspace? The names are from API keys.
SELECT encode(u.user_id, 'hex') AS user_id, u.is_owner, k.user_name, k.user_email
FROM workspace_users u
LEFT JOIN LATERAL (SELECT k.user_name, k.user_email FROM api_keys k WHERE k.user_id = u.user_id LIMIT 1) k ON true
WHERE u.workspace_id = decode(:'workspace', 'hex')
ORDER BY u.is_owner DESC, k.user_name;

-- 3. Which API keys does a user have, and are they active?
SELECT encode(id, 'hex') AS id, name, prefix, scopes, created_at, last_used_at,
	CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END AS state
FROM api_keys WHERE user_id = decode(:'user', 'hex')
ORDER BY created_at DESC;

-- 4. What are the newest submissions to a form?
SELECT encode(id, 'hex') AS id, submitted_at, completion_time, jsonb_pretty(answers::jsonb) AS answers
FROM submissions WHERE form_id = decode(:'form', 'hex')
ORDER BY submitted_at DESC, id DESC
LIMIT 10;

-- 5. How many submissions did a form get on each of the last 30 days? (The counts since the
-- last sweep are in funnel_log.)
SELECT d.day, d.views, d.starts, d.submissions
FROM funnel_days d WHERE d.form_id = decode(:'form', 'hex') AND d.day > current_date - 30
ORDER BY d.day;

-- 6. Which forms have the most submissions, and how large are they? The query reads the
-- whole table of submissions.
SELECT encode(s.form_id, 'hex') AS form_id, f.name, encode(f.workspace_id, 'hex') AS workspace_id,
	count(*) AS responses, pg_size_pretty(sum(pg_column_size(s.*))::bigint) AS stored
FROM submissions s LEFT JOIN forms f ON f.id = s.form_id
GROUP BY s.form_id, f.name, f.workspace_id
ORDER BY count(*) DESC
LIMIT 20;

-- 7. What is in the trash, and since when?
SELECT encode(f.id, 'hex') AS form_id, f.name, COALESCE(f.trashed_at, w.deleted_at) AS since, w.deleted_at IS NOT NULL AS workspace_deleted
FROM forms f JOIN workspaces w ON w.id = f.workspace_id
WHERE f.trashed_at IS NOT NULL OR w.deleted_at IS NOT NULL
ORDER BY since
LIMIT 100;

-- 8. How many deliveries are pending, for which webhooks, and since when?
SELECT encode(d.webhook_id, 'hex') AS webhook_id, w.url, count(*) AS pending, min(d.queued_at) AS oldest, max(d.attempt) AS most_attempts
FROM deliveries d LEFT JOIN webhooks w ON w.id = d.webhook_id
GROUP BY d.webhook_id, w.url
ORDER BY count(*) DESC
LIMIT 20;

-- 9. Which webhooks fail or are paused, since when and why?
SELECT encode(d.webhook_id, 'hex') AS webhook_id, w.url, d.failures, d.failing_since, d.paused_until, d.pause_reason
FROM destinations d JOIN webhooks w ON w.id = d.webhook_id
WHERE d.failing_since IS NOT NULL
ORDER BY d.failing_since;

-- 10. What were the results of a webhook's last attempts?
SELECT a.created_at, a.attempt, a.success, a.http_status, a.error, a.duration_us / 1000.0 AS ms, a.next_attempt_at,
	encode(a.submission_id, 'hex') AS submission_id
FROM attempts a WHERE a.webhook_id = decode(:'webhook', 'hex')
ORDER BY a.created_at DESC, a.id DESC
LIMIT 20;

-- 11. How large are the tables, and are they vacuumed?
SELECT relname, pg_size_pretty(pg_total_relation_size(relid)) AS size, n_live_tup, n_dead_tup, last_autovacuum, last_autoanalyze
FROM pg_stat_all_tables WHERE schemaname = current_schema()
ORDER BY pg_total_relation_size(relid) DESC;

-- 12. Which version do the tables have, and what is the oldest release that can use them?
SELECT version, oldest_program FROM formsvc_version;

-- 13. What delays vacuum? It cannot remove rows that died after the oldest of these entries
-- began. End sessions and prepared transactions that are hours old, and drop unused slots.
SELECT 'session' AS kind, pid::text AS name, age(backend_xmin) AS transactions, now() - xact_start AS since, state, left(query, 60) AS query
FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
UNION ALL
SELECT 'prepared transaction', gid, age(transaction), now() - prepared, NULL, NULL FROM pg_prepared_xacts
UNION ALL
SELECT 'replication slot', slot_name, age(xmin), NULL, CASE WHEN active THEN 'active' ELSE 'inactive' END, NULL
FROM pg_replication_slots WHERE xmin IS NOT NULL
UNION ALL
SELECT 'standby', application_name, age(backend_xmin), NULL, state, NULL FROM pg_stat_replication WHERE backend_xmin IS NOT NULL
ORDER BY transactions DESC
LIMIT 20;

-- 14. How much WAL does each replication slot retain on the disk? An inactive slot retains
-- more and more, until the disk is full or max_slot_wal_keep_size is reached. Run this on
-- the primary.
SELECT slot_name, slot_type, active, wal_status, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) AS retained
FROM pg_replication_slots
ORDER BY restart_lsn;

-- 15. How old are the oldest rows that are not frozen? At 100 percent of
-- autovacuum_freeze_max_age, PostgreSQL forces a vacuum that does not yield to other sessions.
-- Far above 100, vacuum is too slow, or query 13 shows what delays it. At 2 billion, the server
-- stops writes.
SELECT c.relname, a.transactions, round(100.0 * a.transactions / current_setting('autovacuum_freeze_max_age')::bigint, 1) AS percent,
	mxid_age(c.relminmxid) AS multixacts, s.last_autovacuum, s.autovacuum_count
FROM pg_class c
LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
CROSS JOIN LATERAL (SELECT GREATEST(age(c.relfrozenxid), age(t.relfrozenxid)) AS transactions) a
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
ORDER BY a.transactions DESC
LIMIT 20;

-- 16. How large are a million rows of each table, and how large are their indexes? If a table
-- grows from week to week without more rows, vacuum is too slow. Partitions are added up.
SELECT c.name, sum(c.tuples)::bigint AS rows, pg_size_pretty(sum(c.bytes)) AS size,
	pg_size_pretty(sum(c.bytes) * 1000000 / NULLIF(sum(c.tuples)::numeric, 0)) AS per_million,
	pg_size_pretty(sum(c.indexes) * 1000000 / NULLIF(sum(c.tuples)::numeric, 0)) AS indexes_per_million
FROM (
	SELECT COALESCE(h.inhparent, c.oid)::regclass::text AS name, GREATEST(c.reltuples, 0) AS tuples,
		pg_total_relation_size(c.oid) AS bytes, pg_indexes_size(c.oid) AS indexes
	FROM pg_class c LEFT JOIN pg_inherits h ON h.inhrelid = c.oid
	WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
) c
GROUP BY c.name
ORDER BY sum(c.bytes) DESC;

-- 17. Does a dispatcher run, does maintenance run, and for how long has the oldest delivery
-- of a webhook without a pause been due? The query reads every pending delivery.
SELECT now() - (SELECT max(u.done_at) FROM upkeep u WHERE u.work = 'dispatched') AS dispatched,
	now() - (SELECT max(u.done_at) FROM upkeep u WHERE u.work = 'maintained') AS maintained,
	count(*) AS waiting, now() - min(COALESCE(d.due_at, d.queued_at)) FILTER (WHERE (d.due_at IS NULL OR d.due_at <= now())
		AND (d.leased_until IS NULL OR d.leased_until <= now()) AND (x.paused_until IS NULL OR x.paused_until <= now())) AS oldest_due
FROM deliveries d LEFT JOIN destinations x ON x.webhook_id = d.webhook_id;

-- 18. How far behind are the standbys, and for which of them do commits wait (sync, quorum)?
-- If commits should wait but there is no such standby, they wait until one connects. Run this
-- on the primary, as a superuser or a member of pg_monitor.
SELECT application_name, state, sync_state, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)) AS not_flushed,
	pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)) AS not_replayed, replay_lag
FROM pg_stat_replication
ORDER BY sync_state DESC, application_name;

-- 19. Is the WAL archived? Segments that are not archived stay on the disk, and are lost with it.
SELECT last_archived_wal, now() - last_archived_time AS since, pg_walfile_name(pg_current_wal_lsn()) AS current,
	failed_count, last_failed_wal, last_failed_time > COALESCE(last_archived_time, '-infinity') AS failing
FROM pg_stat_archiver;

-- 20. Which sessions wait for which others, and how many connections are in use?
SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS taken, current_setting('max_connections') AS most,
	a.pid AS waits, now() - a.query_start AS since, left(a.query, 60) AS query, h.pid AS holder, h.state, now() - h.xact_start AS open, left(h.query, 60) AS last
FROM (SELECT 1) one
LEFT JOIN (pg_stat_activity a CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) b (pid) JOIN pg_stat_activity h ON h.pid = b.pid)
	ON a.wait_event_type = 'Lock'
ORDER BY since DESC NULLS LAST
LIMIT 20;

-- 21. Which documents does a form have, how large are they, and who wrote them last?
SELECT kind, key, revision, created_at, updated_at, encode(user_id, 'hex') AS user_id, value_bytes
FROM documents WHERE form_id = decode(:'form', 'hex')
ORDER BY kind, key DESC;

-- 22. Which forms have the most partial submissions, and how many of these are submitted, or are
-- expired and will be removed by the next sweep? The query reads the whole table.
SELECT encode(p.form_id, 'hex') AS form_id, f.name, count(*) AS partial_submissions, count(*) FILTER (WHERE NOT p.open) AS submitted,
	count(*) FILTER (WHERE p.ends_at <= now()) AS expired, max(p.saved_at) AS last_save, pg_size_pretty(sum(pg_column_size(p.*))::bigint) AS stored
FROM partials p JOIN forms f ON f.id = p.form_id
GROUP BY p.form_id, f.name
ORDER BY count(*) DESC
LIMIT 20;
