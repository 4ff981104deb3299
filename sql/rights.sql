-- Who may.
CREATE EXTENSION pg_trim;
CREATE ROLE regress_trim_ordinary;
CREATE ROLE regress_trim_monitor IN ROLE pg_monitor;
CREATE ROLE regress_trim_stats IN ROLE pg_read_all_stats;
CREATE ROLE regress_trim_signal IN ROLE pg_signal_backend;

-- call which function
SELECT p.oid::regprocedure AS function,
	   has_function_privilege('regress_trim_ordinary', p.oid, 'EXECUTE') AS ordinary,
	   has_function_privilege('regress_trim_signal', p.oid, 'EXECUTE') AS signal,
	   has_function_privilege('regress_trim_stats', p.oid, 'EXECUTE') AS stats,
	   has_function_privilege('regress_trim_monitor', p.oid, 'EXECUTE') AS monitor
FROM pg_proc p
WHERE p.proname LIKE 'pg\_trim\_%' AND p.proname NOT LIKE 'pg\_trim\_bench\_%'
ORDER BY p.proname COLLATE "C";
SELECT bool_or(has_function_privilege(r.oid, p.oid, 'EXECUTE')) AS benchmarks
FROM pg_proc p, pg_roles r
WHERE p.proname LIKE 'pg\_trim\_bench\_%' AND r.rolname LIKE 'regress\_trim\_%';

-- read which view
SELECT c.relname AS view,
	   has_table_privilege('regress_trim_ordinary', c.oid, 'SELECT') AS ordinary,
	   has_table_privilege('regress_trim_signal', c.oid, 'SELECT') AS signal,
	   has_table_privilege('regress_trim_stats', c.oid, 'SELECT') AS stats,
	   has_table_privilege('regress_trim_monitor', c.oid, 'SELECT') AS monitor
FROM pg_class c
WHERE c.relkind = 'v' AND c.relname LIKE 'pg\_trim\_%'
ORDER BY c.relname COLLATE "C";

-- ask: this session is a superuser's, and so the server's own processes are treated
SELECT pid AS checkpointer FROM pg_stat_activity WHERE backend_type = 'checkpointer' \gset
SET ROLE regress_trim_ordinary;
SELECT pg_trim_backend(pg_backend_pid());
SELECT pg_trim_backend(:checkpointer);
SELECT pg_trim_all() IS NOT NULL AS only_itself;
SELECT pg_trim_refresh();
SELECT pg_trim_reset();
SELECT pg_trim_now() >= 0 AS own, (pg_trim_now_verbose()).released >= 0 AS own, (pg_trim_heap()).resident > 0 AS own;
SET ROLE regress_trim_signal;
SELECT pg_trim_backend(pg_backend_pid());
SELECT pg_trim_backend(:checkpointer);
SET ROLE regress_trim_monitor;
SELECT pg_trim_backend(pg_backend_pid());
SELECT pg_trim_reset();

-- really read
SELECT count(*) > 0 AS rows FROM pg_trim_backends;
SELECT count(*) > 0 AS rows FROM pg_trim_diagnosis;
SELECT count(*) > 0 AS rows FROM pg_trim_stats;
SELECT count(*) >= 0 AS rows FROM pg_trim_histogram;
SELECT count(*) >= 0 AS rows FROM pg_trim_statements;
SELECT pg_trim_refresh(timeout_ms => 180000) > 1 AS several;
SET ROLE regress_trim_stats;
SELECT count(*) >= 0 AS rows FROM pg_trim_statements;
SELECT FROM pg_trim_stats;
RESET ROLE;

DROP EXTENSION pg_trim;
DROP ROLE regress_trim_ordinary, regress_trim_monitor, regress_trim_stats, regress_trim_signal;
