/* pg_trim--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_trim" to load this file. \quit

--
-- The calling session
--

CREATE FUNCTION pg_trim_now(pad_kb integer DEFAULT 0)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_now(integer) IS
'trims this session, all but pad_kb at the top of the heap: bytes of resident memory returned';

CREATE FUNCTION pg_trim_now_verbose(
	pad_kb integer DEFAULT 0,
	OUT allocator text,
	OUT resident_before bigint,
	OUT resident_after bigint,
	OUT heap_before bigint,
	OUT heap_after bigint,
	OUT released bigint,
	OUT elapsed_ms double precision)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_now_verbose(integer) IS
'trims this session and tells what was measured: bytes of anonymous resident memory and of the heap (sbrk), milliseconds';

CREATE FUNCTION pg_trim_heap(
	OUT allocator text,
	OUT resident bigint,
	OUT heap bigint,
	OUT in_use bigint,
	OUT free bigint,
	OUT top_free bigint,
	OUT mmapped bigint,
	OUT retained bigint)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_heap() IS
'this session''s memory in bytes, as the kernel and the allocator count it; retained is what a trim promises to return';

--
-- All processes
--

CREATE FUNCTION pg_trim_backend(pid integer, timeout_ms integer DEFAULT 5000)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_backend(integer, integer) IS
'asks a server process to trim: bytes it returned, or null if it did not answer in time; the request then stands';

CREATE FUNCTION pg_trim_all(
	timeout_ms integer DEFAULT 5000,
	OUT pid integer,
	OUT released bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_all(integer) IS
'asks every process that the caller may signal to trim: bytes each returned, or null if it did not answer in time';

CREATE FUNCTION pg_trim_refresh(pid integer DEFAULT NULL, timeout_ms integer DEFAULT 1000)
RETURNS integer
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_refresh(integer, integer) IS
'asks a server process, or all, to publish its figures without a trim: how many answered in time';

CREATE FUNCTION pg_trim_processes(
	OUT pid integer,
	OUT backend_type text,
	OUT resident bigint,
	OUT shared bigint,
	OUT in_use bigint,
	OUT retained bigint,
	OUT in_contexts bigint,
	OUT in_caches bigint,
	OUT in_plans bigint,
	OUT checked_at timestamptz,
	OUT checks bigint,
	OUT trims bigint,
	OUT released bigint,
	OUT trim_ms double precision,
	OUT last_trim timestamptz,
	OUT last_event text,
	OUT last_released bigint,
	OUT holdoff_ms bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_processes() IS
'what pg_trim_backends and pg_trim_diagnosis are made from';

CREATE VIEW pg_trim_backends AS
SELECT pid, backend_type, resident, in_use, retained, checked_at,
	   checks, trims, released, trim_ms,
	   last_trim, last_event, last_released, holdoff_ms
FROM pg_trim_processes();
COMMENT ON VIEW pg_trim_backends IS
'a row per server process: resident memory now, the figures of its last check, and its trims; bytes and milliseconds';
COMMENT ON COLUMN pg_trim_backends.resident IS 'anonymous resident memory now, RssAnon in /proc/PID/status';
COMMENT ON COLUMN pg_trim_backends.in_use IS 'allocated from malloc; more than is resident, where parts were never touched';
COMMENT ON COLUMN pg_trim_backends.retained IS 'what a trim returns, about: resident or swapped, but neither in use nor what a process has from its beginning';
COMMENT ON COLUMN pg_trim_backends.checked_at IS 'when it last looked at itself';
COMMENT ON COLUMN pg_trim_backends.checks IS 'how often it decided whether to trim';
COMMENT ON COLUMN pg_trim_backends.trims IS 'trims, those of a dry run included';
COMMENT ON COLUMN pg_trim_backends.released IS 'resident memory that all of its trims returned';
COMMENT ON COLUMN pg_trim_backends.trim_ms IS 'time that all of its trims took';
COMMENT ON COLUMN pg_trim_backends.last_event IS 'what caused the last trim: query, transaction, idle, request or manual';
COMMENT ON COLUMN pg_trim_backends.holdoff_ms IS 'least time from one trim to the next that it makes by itself, as back-off has set it';

-- The largest part of a process's memory names the cause, if it is large enough
-- to matter; the figures are those of its last check.
CREATE VIEW pg_trim_diagnosis AS
SELECT p.pid, p.resident, p.shared, p.in_contexts, p.in_use, p.retained,
	   d.verdict,
	   CASE d.verdict
		   WHEN 'unknown' THEN
			   'It has not published its figures: SELECT pg_trim_refresh();'
		   WHEN 'retained memory' THEN
			   format('A trim returns about %s: SELECT pg_trim_backend(%s);',
					  pg_size_pretty(p.retained), p.pid)
		   WHEN 'prepared statements' THEN
			   format('%s in prepared statements and cached plans, in use: DEALLOCATE or DISCARD ALL frees those of PREPARE, a new connection those of functions.',
					  pg_size_pretty(p.in_plans))
		   WHEN 'live caches' THEN
			   format('%s in caches of the tables it touched, in use: only a new connection frees them, so have the pooler recycle this one.',
					  pg_size_pretty(p.in_caches))
		   WHEN 'outside contexts' THEN
			   format('%s taken by an extension or library past PostgreSQL''s memory contexts, in use: a trim cannot return it, a new connection frees it.',
					  pg_size_pretty(p.in_use - p.in_contexts))
		   WHEN 'running statement' THEN
			   format('%s in use by its statement, transaction or open cursors: it is freed when they end.',
					  pg_size_pretty(p.in_contexts - p.in_caches - p.in_plans))
		   WHEN 'shared buffers' THEN
			   format('%s of shared buffers and files that it touched are counted in every process that did so: nothing to do.',
					  pg_size_pretty(p.shared))
		   ELSE 'Nothing to do.'
	   END ||
	   CASE
		   WHEN d.verdict NOT IN ('unknown', 'retained memory', 'nothing unusual') AND p.retained >= 1024 * 1024 THEN
			   format(' A trim returns about %s: SELECT pg_trim_backend(%s);',
					  pg_size_pretty(p.retained), p.pid)
		   ELSE ''
	   END AS advice
FROM pg_trim_processes() p
	 CROSS JOIN LATERAL (
		 SELECT CASE
					WHEN p.retained IS NULL OR p.in_contexts IS NULL THEN 'unknown'
					WHEN part.bytes >= 4 * 1024 * 1024 THEN part.name
					WHEN p.shared >= GREATEST(4 * p.resident, 24 * 1024 * 1024) THEN 'shared buffers'
					ELSE 'nothing unusual'
				END AS verdict
		 FROM (VALUES ('retained memory', p.retained),
					  ('prepared statements', p.in_plans),
					  ('live caches', p.in_caches),
					  ('outside contexts', p.in_use - p.in_contexts),
					  ('running statement', p.in_contexts - p.in_caches - p.in_plans))
				  AS part (name, bytes)
		 ORDER BY part.bytes DESC NULLS LAST
		 LIMIT 1) d;
COMMENT ON VIEW pg_trim_diagnosis IS
'what each server process''s memory is, and what to do about it; bytes, as of its last check';
COMMENT ON COLUMN pg_trim_diagnosis.resident IS 'anonymous resident memory now, RssAnon in /proc/PID/status';
COMMENT ON COLUMN pg_trim_diagnosis.shared IS 'resident memory now that is shared, of shared buffers and of files';
COMMENT ON COLUMN pg_trim_diagnosis.in_contexts IS 'held by PostgreSQL''s memory contexts';
COMMENT ON COLUMN pg_trim_diagnosis.in_use IS 'allocated from malloc; more than is resident, where parts were never touched';
COMMENT ON COLUMN pg_trim_diagnosis.retained IS 'what a trim returns, about';
COMMENT ON COLUMN pg_trim_diagnosis.verdict IS
'the largest part, if it has 4 MB: retained memory, prepared statements, live caches, outside contexts, running statement or shared buffers; else nothing unusual, or unknown';
COMMENT ON COLUMN pg_trim_diagnosis.advice IS 'what to do about it; pg_trim_backend() needs the rights of pg_cancel_backend()';

--
-- Totals
--

CREATE FUNCTION pg_trim_stats(
	OUT event text,
	OUT checks bigint,
	OUT trims bigint,
	OUT released bigint,
	OUT heap_released bigint,
	OUT trim_ms double precision,
	OUT max_trim_ms double precision,
	OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_stats() IS 'what the view pg_trim_stats is made from';

CREATE VIEW pg_trim_stats AS SELECT * FROM pg_trim_stats();
COMMENT ON VIEW pg_trim_stats IS
'checks and trims by what caused them; released is resident memory, heap_released how far the heap end (sbrk) fell, in bytes';
COMMENT ON COLUMN pg_trim_stats.event IS
'query, transaction, idle (after idle_delay or busy_delay), request (of another session) or manual (pg_trim_now)';
COMMENT ON COLUMN pg_trim_stats.trims IS 'trims, those of a dry run included';
COMMENT ON COLUMN pg_trim_stats.stats_reset IS 'when the counting began: the last restart of the server, or pg_trim_reset()';

CREATE FUNCTION pg_trim_histogram(
	OUT metric text,
	OUT low_kb bigint,
	OUT high_kb bigint,
	OUT trims bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_histogram() IS 'what the view pg_trim_histogram is made from';

CREATE VIEW pg_trim_histogram AS SELECT * FROM pg_trim_histogram();
COMMENT ON VIEW pg_trim_histogram IS
'trims by what they returned, in power-of-two buckets of kB, by resident memory and by the heap end (sbrk)';
COMMENT ON COLUMN pg_trim_histogram.metric IS 'resident for resident memory, sbrk for the heap end';
COMMENT ON COLUMN pg_trim_histogram.low_kb IS 'the least that trims in this bucket returned';
COMMENT ON COLUMN pg_trim_histogram.high_kb IS 'the most';

CREATE FUNCTION pg_trim_statements(
	OUT userid oid,
	OUT dbid oid,
	OUT queryid bigint,
	OUT trims bigint,
	OUT released bigint,
	OUT max_released bigint,
	OUT last_trim timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_statements() IS 'what the view pg_trim_statements is made from';

CREATE VIEW pg_trim_statements AS SELECT * FROM pg_trim_statements();
COMMENT ON VIEW pg_trim_statements IS
'bytes of resident memory that trims returned, by the statement that left them; queryid is null where the server computed none';

CREATE FUNCTION pg_trim_reset()
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_reset() IS
'sets the counters per event, the histogram and the statements back to zero';

--
-- Who may
--

REVOKE ALL ON FUNCTION pg_trim_refresh(integer, integer), pg_trim_processes(),
	pg_trim_stats(), pg_trim_histogram(), pg_trim_statements(), pg_trim_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_trim_refresh(integer, integer), pg_trim_processes(),
	pg_trim_stats(), pg_trim_histogram() TO pg_monitor;
GRANT SELECT ON pg_trim_backends, pg_trim_diagnosis, pg_trim_stats, pg_trim_histogram TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_trim_statements() TO pg_read_all_stats;
GRANT SELECT ON pg_trim_statements TO pg_read_all_stats;

--
-- Benchmarks
--

CREATE FUNCTION pg_trim_bench_palloc_pfree(count bigint, size bigint, context text DEFAULT 'aset')
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_bench_palloc_pfree(bigint, bigint, text) IS
'milliseconds for count times palloc and pfree of size bytes, one after the other; context: aset, generation or slab';

CREATE FUNCTION pg_trim_bench_context_reset(count bigint, size bigint, context text DEFAULT 'aset')
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_bench_context_reset(bigint, bigint, text) IS
'milliseconds for count times palloc of size bytes and one reset of the context; context: aset, generation or slab';

CREATE FUNCTION pg_trim_bench_window(count bigint, size bigint, live bigint, context text DEFAULT 'aset')
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_bench_window(bigint, bigint, bigint, text) IS
'milliseconds for count times palloc and pfree of size bytes, where live chunks exist at a time and the oldest is freed at each step';

CREATE FUNCTION pg_trim_bench_table(
	counts bigint[],
	size bigint,
	context text DEFAULT 'aset',
	OUT count bigint,
	OUT palloc_pfree_ms double precision,
	OUT palloc_ms double precision,
	OUT reset_ms double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION pg_trim_bench_table(bigint[], bigint, text) IS
'for each of the counts, milliseconds for the loop of palloc and pfree, for a loop of palloc alone, and for the reset after it';

CREATE FUNCTION pg_trim_bench_fragment(
	chunks integer,
	size bigint,
	keep text,
	OUT resident_full bigint,
	OUT resident_freed bigint,
	OUT resident_trimmed bigint,
	OUT trim_ms double precision)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_trim_bench_fragment(integer, bigint, text) IS
'bytes of resident memory with so many chunks of malloc, with all but the first or the last freed, and after a trim; milliseconds of the trim';

CREATE FUNCTION pg_trim_bench_overhead(
	query text,
	runs integer,
	OUT plain_ms double precision,
	OUT trimmed_ms double precision,
	OUT ratio double precision)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_trim_bench_overhead(text, integer) IS
'medians in milliseconds of a query without and with a trim after it, and their ratio; it is really executed, three times per run';

REVOKE ALL ON FUNCTION pg_trim_bench_palloc_pfree(bigint, bigint, text),
	pg_trim_bench_context_reset(bigint, bigint, text),
	pg_trim_bench_window(bigint, bigint, bigint, text),
	pg_trim_bench_table(bigint[], bigint, text),
	pg_trim_bench_fragment(integer, bigint, text),
	pg_trim_bench_overhead(text, integer) FROM PUBLIC;
