-- The benchmarks: facts and bad input, never times.
CREATE EXTENSION pg_trim;

-- What a statement fails with; details name the machine's memory.
CREATE FUNCTION error_of(statement text, OUT state text, OUT message text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
END $$;

-- Is there a context of a benchmark?
CREATE VIEW left_behind AS SELECT name FROM pg_backend_memory_contexts WHERE name LIKE 'pg_trim benchmark%';

-- They are for whoever is allowed to put load on the server.
CREATE ROLE regress_trim_nobody;
SELECT oid::regprocedure, has_function_privilege('regress_trim_nobody', oid, 'EXECUTE') AS everybody
FROM pg_proc WHERE proname LIKE 'pg\_trim\_bench\_%' ORDER BY 1::text COLLATE "C";
SET ROLE regress_trim_nobody;
SELECT pg_trim_bench_palloc_pfree(1, 1);
SELECT pg_trim_bench_overhead('SELECT 1', 1);
RESET ROLE;

-- Every kind of context, and the sizes at which contexts change their ways.
SELECT context, size, pg_trim_bench_palloc_pfree(3000, size, context) > 0 AS palloc_pfree,
	pg_trim_bench_context_reset(3000, size, context) > 0 AS context_reset,
	pg_trim_bench_window(3000, size, 7, context) > 0 AS "window"
FROM unnest(ARRAY['aset', 'generation', 'slab']) context, unnest(ARRAY[8, 100, 8192, 8193, 32768]) size
ORDER BY 1, 2;
SELECT pg_trim_bench_palloc_pfree(10, 1024 * 1024, 'slab') > 0 AS largest_slab;
SELECT pg_trim_bench_palloc_pfree(3, 1073741823) > 0 AS largest;
SELECT pg_trim_bench_palloc_pfree(1, 1) >= 0 AS smallest, pg_trim_bench_palloc_pfree(1, 1, 'ASET') >= 0 AS capitals;
SELECT pg_trim_bench_window(1, 100, 1) >= 0 AS one, pg_trim_bench_window(1000, 100, 1000) > 0 AS all_alive;

-- A million take longer than ten do at their best, even on a busy machine.
SELECT pg_trim_bench_palloc_pfree(1000000, 100) > min(pg_trim_bench_palloc_pfree(10, 100)) AS pairs,
	pg_trim_bench_context_reset(1000000, 100) > min(pg_trim_bench_context_reset(10, 100)) AS reset,
	pg_trim_bench_window(1000000, 100, 10) > min(pg_trim_bench_window(10, 100, 10)) AS "window"
FROM generate_series(1, 20);

-- The table has a row for each count, in their order.
SELECT count, palloc_pfree_ms >= 0 AS pairs, palloc_ms >= 0 AS palloc, reset_ms >= 0 AS reset
FROM pg_trim_bench_table(ARRAY[100, 3000, 1], 100);
SELECT count(*) FROM pg_trim_bench_table('{}', 100);
SELECT array_agg(count) FROM pg_trim_bench_table(ARRAY[1, 2], 100, 'slab');
SELECT array_agg(count) FROM pg_trim_bench_table(ARRAY[1, 2], 100, 'generation');

-- Null in, null out.
SELECT pg_trim_bench_palloc_pfree(NULL, 1), pg_trim_bench_context_reset(1, NULL), pg_trim_bench_window(1, 1, NULL),
	pg_trim_bench_palloc_pfree(1, 1, NULL), pg_trim_bench_fragment(10, 100, NULL), pg_trim_bench_overhead(NULL, 1);
SELECT count(*) FROM pg_trim_bench_table(NULL, 100);

-- Bad input.
SELECT statement, e.*
FROM unnest(ARRAY[
	'pg_trim_bench_palloc_pfree(0, 100)',
	'pg_trim_bench_palloc_pfree(-1, 100)',
	'pg_trim_bench_palloc_pfree(10, 0)',
	'pg_trim_bench_palloc_pfree(10, -1)',
	'pg_trim_bench_palloc_pfree(10, 1073741824)',
	'pg_trim_bench_palloc_pfree(10, 9223372036854775807)',
	'pg_trim_bench_palloc_pfree(10, 100, ''heap'')',
	'pg_trim_bench_palloc_pfree(10, 100, '''')',
	'pg_trim_bench_palloc_pfree(10, 1048577, ''slab'')',
	'pg_trim_bench_palloc_pfree(10, 7, ''slab'')',
	'pg_trim_bench_context_reset(0, 100)',
	'pg_trim_bench_context_reset(-1, 100)',
	'pg_trim_bench_context_reset(10, 0)',
	'pg_trim_bench_context_reset(10, -1)',
	'pg_trim_bench_context_reset(10, 1073741824)',
	'pg_trim_bench_context_reset(10, 100, ''bump'')',
	'pg_trim_bench_context_reset(1000000000000000, 1)',
	'pg_trim_bench_context_reset(9223372036854775807, 1)',
	'pg_trim_bench_context_reset(9223372036854775807, 1073741823)',
	'pg_trim_bench_context_reset(9223372036854775807, 100, ''slab'')',
	'pg_trim_bench_context_reset(9223372036854775807, 100, ''generation'')',
	'pg_trim_bench_window(0, 100, 1)',
	'pg_trim_bench_window(10, 0, 1)',
	'pg_trim_bench_window(10, 1073741824, 1)',
	'pg_trim_bench_window(10, 100, 0)',
	'pg_trim_bench_window(10, 100, -1)',
	'pg_trim_bench_window(10, 100, 11)',
	'pg_trim_bench_window(10, 100, 1, ''heap'')',
	'pg_trim_bench_window(1000000000000000, 1, 1000000000000000)',
	'pg_trim_bench_table(ARRAY[10, 0], 100)',
	'pg_trim_bench_table(ARRAY[10, -1], 100)',
	'pg_trim_bench_table(ARRAY[10, NULL], 100)',
	'pg_trim_bench_table(ARRAY[[1, 2], [3, 4]], 100)',
	'pg_trim_bench_table(ARRAY[10], 0)',
	'pg_trim_bench_table(ARRAY[10], 1073741824)',
	'pg_trim_bench_table(''{}'', -1)',
	'pg_trim_bench_table(ARRAY[10], 100, ''heap'')',
	'pg_trim_bench_table(ARRAY[1, 1000000000000000], 100)',
	'pg_trim_bench_fragment(1, 100, ''last'')',
	'pg_trim_bench_fragment(0, 100, ''last'')',
	'pg_trim_bench_fragment(-1, 100, ''last'')',
	'pg_trim_bench_fragment(10, 0, ''last'')',
	'pg_trim_bench_fragment(10, -1, ''last'')',
	'pg_trim_bench_fragment(10, 1073741824, ''last'')',
	'pg_trim_bench_fragment(10, 100, ''middle'')',
	'pg_trim_bench_fragment(10, 100, '''')',
	'pg_trim_bench_fragment(2147483647, 1073741823, ''first'')',
	'pg_trim_bench_overhead(''SELECT 1'', 0)',
	'pg_trim_bench_overhead(''SELECT 1'', -1)',
	'pg_trim_bench_overhead(''SELECT 1'', 1000001)',
	'pg_trim_bench_overhead('''', 1)',
	'pg_trim_bench_overhead(''-- nothing'', 1)',
	'pg_trim_bench_overhead(''SELECT 1 / 0'', 1)',
	'pg_trim_bench_overhead(''SELEKT 1'', 1)',
	'pg_trim_bench_overhead(''COMMIT'', 1)',
	'pg_trim_bench_overhead(''SELECT 1; ROLLBACK'', 1)',
	'pg_trim_bench_overhead(''COPY pg_am TO STDOUT'', 1)'
]) statement, error_of('SELECT * FROM ' || statement) e \gx

-- The error says how much memory there is.
DO $$
DECLARE
	detail text;
BEGIN
	PERFORM pg_trim_bench_context_reset(1000000000000000, 100);
EXCEPTION WHEN program_limit_exceeded THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RAISE NOTICE '%', regexp_replace(detail, '\d+ MB', 'N MB');
END $$;

-- None of all this left a context; and a benchmark's own is gone when its function returns, not when the query ends.
SELECT * FROM left_behind;
SELECT pg_trim_bench_palloc_pfree(i, 100) >= 0 AS done, (SELECT count(*) FROM left_behind WHERE i > 0) AS contexts
FROM generate_series(10, 11) i;

-- A pinned heap: what one chunk keeps, a trim returns.
SELECT resident_full > 1000 * 120000 AS "full", resident_freed <= resident_full AS freed,
	resident_trimmed < resident_full / 2 AS trimmed, trim_ms >= 0 AS took
FROM unnest(ARRAY['first', 'last']) keep, pg_trim_bench_fragment(1000, 120000, keep);
SELECT count(*) FROM pg_trim_bench_fragment(2, 1, 'First');

-- A query is executed three times a run, whatever it is, and the session's own trims are back afterwards.
CREATE TEMP SEQUENCE executions;
SELECT plain_ms > 0 AS plain, trimmed_ms > 0 AS trimmed, ratio = trimmed_ms / plain_ms AS ratio
FROM pg_trim_bench_overhead($$SELECT nextval('executions')$$, 7);
SELECT last_value FROM executions;
CREATE TEMP TABLE lines (i integer);
SELECT plain_ms > 0 AS plain FROM pg_trim_bench_overhead('INSERT INTO lines VALUES (1); INSERT INTO lines VALUES (2)', 2);
SELECT count(*) FROM lines;
SELECT plain_ms > 0 AS plain FROM pg_trim_bench_overhead('SELECT * FROM generate_series(1, 100000)', 1);
SET pg_trim.events = 'idle, query';
SELECT plain_ms > 0 AS plain FROM pg_trim_bench_overhead('SET LOCAL work_mem = ''1MB''', 1);
SHOW pg_trim.events;
SELECT message FROM error_of($$SELECT pg_trim_bench_overhead('SELECT 1 / 0', 1)$$);
SHOW pg_trim.events;
RESET pg_trim.events;
SELECT plain_ms > 0 AS nested FROM pg_trim_bench_overhead($$SELECT pg_trim_bench_overhead('SELECT 1', 2)$$, 1);

-- Whoever is allowed to may measure, and need not be allowed to change settings.
GRANT EXECUTE ON FUNCTION pg_trim_bench_overhead TO regress_trim_nobody;
SET ROLE regress_trim_nobody;
SELECT plain_ms > 0 AS plain FROM pg_trim_bench_overhead('SELECT 1', 1);
SELECT pg_trim_bench_overhead('SELECT pg_trim_reset()', 1);
RESET ROLE;

REVOKE ALL ON FUNCTION pg_trim_bench_overhead FROM regress_trim_nobody;
DROP ROLE regress_trim_nobody;
DROP VIEW left_behind;
DROP FUNCTION error_of;
DROP EXTENSION pg_trim;
