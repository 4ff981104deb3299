-- What the views show, as far as a session can tell by itself.
CREATE EXTENSION pg_trim;
SET pg_trim.events = none;

-- their columns
SELECT c.relname AS view, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relkind = 'v' AND c.relname LIKE 'pg\_trim\_%'
ORDER BY c.relname COLLATE "C", a.attnum;

-- a row per event
SELECT event FROM pg_trim_stats;

-- a session's trims are counted in its own row and in its event's
SELECT trims AS trims_before, released AS released_before FROM pg_trim_stats WHERE event = 'manual' \gset
SELECT pg_trim_now() AS released1 \gset
SELECT pg_trim_now() AS released2 \gset
SELECT trims - :trims_before AS trims, released - :released_before = :released1 + :released2 AS released_adds_up,
	   trim_ms >= max_trim_ms AND max_trim_ms > 0 AS took_time
FROM pg_trim_stats WHERE event = 'manual';
SELECT backend_type, resident > 0 AS resident, checks, trims, released = :released1 + :released2 AS released_adds_up,
	   trim_ms > 0 AS took_time, last_event, last_released = :released2 AS last_released, last_trim > now() - interval '1 min' AS just_now
FROM pg_trim_backends WHERE pid = pg_backend_pid();

-- refreshed figures are new
SELECT checked_at AS checked_before FROM pg_trim_backends WHERE pid = pg_backend_pid() \gset
SELECT pg_trim_refresh(pg_backend_pid());
SELECT checked_at > :'checked_before' AS refreshed, checks, trims FROM pg_trim_backends WHERE pid = pg_backend_pid();

-- every process has one row, whatever its kind
SELECT count(*) = count(DISTINCT pid) AS once, bool_or(backend_type = 'checkpointer') AS checkpointer,
	   bool_or(backend_type = 'client backend') AS client_backend
FROM pg_trim_backends;
SELECT count(*) = count(DISTINCT pid) AS once, bool_and(verdict IS NOT NULL AND advice IS NOT NULL) AS judged
FROM pg_trim_diagnosis;

-- the histogram's buckets are powers of two, and it has seen each trim
SELECT count(*) FROM pg_trim_histogram WHERE NOT (low_kb = 0 AND high_kb = 0 OR high_kb = 2 * low_kb - 1 AND trims > 0);
SELECT metric, sum(trims) = (SELECT sum(trims) FROM pg_trim_stats) AS complete
FROM pg_trim_histogram GROUP BY metric ORDER BY metric;

-- a trim that is left undone returned nothing
SET pg_trim.dry_run = on;
SELECT pg_trim_now();
SELECT last_released FROM pg_trim_backends WHERE pid = pg_backend_pid();
RESET pg_trim.dry_run;

-- the totals go back to zero, the figures of processes are theirs
SELECT stats_reset AS reset_before FROM pg_trim_stats LIMIT 1 \gset
SELECT pg_trim_reset();
SELECT checks, trims, released, heap_released, trim_ms, max_trim_ms, stats_reset > :'reset_before' AS reset
FROM pg_trim_stats WHERE event = 'manual';
SELECT count(*) FROM pg_trim_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database());
SELECT trims FROM pg_trim_backends WHERE pid = pg_backend_pid();
SELECT pg_trim_now() >= 0 AS trimmed;
SELECT metric, sum(trims) FROM pg_trim_histogram GROUP BY metric ORDER BY metric;

DROP EXTENSION pg_trim;
