-- What a session can do to itself. Sizes depend on the allocator: only facts about them are shown.
CREATE EXTENSION pg_trim;
SET pg_trim.events = none;

-- every function and view of the extension says what it is for
SELECT pg_describe_object(classid, objid, 0) AS without_comment
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND classid IN ('pg_proc'::regclass, 'pg_class'::regclass)
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_trim')
	AND obj_description(objid, classid::regclass::name) IS NULL;

-- bytes returned
SELECT pg_trim_now() >= 0 AS now;
SELECT pg_trim_now(0) >= 0 AS pad_0, pg_trim_now(64) >= 0 AS pad_64, pg_trim_now(pad_kb => 2147483647) >= 0 AS most;
SELECT pg_trim_now(NULL);
SELECT pg_trim_now(-1);
SELECT pg_trim_now(-2147483648);
\set VERBOSITY sqlstate
SELECT pg_trim_now(-1);
SELECT pg_trim_now_verbose(-1);
\set VERBOSITY default
-- one trim right after another finds next to nothing
SELECT pg_trim_now() >= 0 AS first \gset
SELECT pg_trim_now() < 1024 * 1024 AS little_left;

-- what was measured
SELECT allocator ~ '^(glibc|jemalloc|tcmalloc|mimalloc)( \d+\.\d+(\.\d+)?)?$' AS allocator,
	   resident_before > 0 AND resident_after > 0 AS resident,
	   released = greatest(resident_before - resident_after, 0) AS released,
	   heap_before >= 0 AND heap_after <= heap_before AS heap,
	   elapsed_ms >= 0 AS elapsed
FROM pg_trim_now_verbose();
SELECT pg_trim_now_verbose(NULL) IS NULL AS "null";

-- what there is
SELECT allocator = (pg_trim_now_verbose()).allocator AS allocator,
	   resident > in_use / 2 AS resident,
	   in_use > 0 AND in_use >= coalesce(mmapped, 0) AS in_use,
	   free >= coalesce(top_free, 0) AS free,
	   retained >= 0 AND retained < resident AS retained
FROM pg_trim_heap();

-- 30 MB in use are 30 MB in use and resident, and are not when they are freed
CREATE TEMP TABLE heap AS SELECT 0 AS step, * FROM pg_trim_heap();
DO $$
DECLARE
	strings text[] := array_fill(repeat('x', 1000), ARRAY[30000]);
BEGIN
	INSERT INTO heap SELECT 1, * FROM pg_trim_heap();
	PERFORM length(strings[1]);
END $$;
SELECT pg_trim_now() >= 0 AS trimmed;
INSERT INTO heap SELECT 2, * FROM pg_trim_heap();
SELECT a.in_use - b.in_use > 25 * 1024 * 1024 AS in_use, a.resident - b.resident > 25 * 1024 * 1024 AS resident
FROM heap a, heap b WHERE (a.step, b.step) IN ((1, 0), (1, 2));

-- decided, but not done
SET pg_trim.dry_run = on;
SELECT pg_trim_now();
SELECT released, resident_before = resident_after AS unchanged FROM pg_trim_now_verbose();
RESET pg_trim.dry_run;

-- in a transaction that failed, only its end helps
BEGIN;
SELECT pg_trim_now(-1);
SELECT pg_trim_now();
ROLLBACK;
SELECT pg_trim_now() >= 0 AS now;

-- it is for this session: parallel workers do not call it
SELECT proname, proparallel, provolatile FROM pg_proc WHERE proname IN ('pg_trim_now', 'pg_trim_now_verbose', 'pg_trim_heap')
ORDER BY proname COLLATE "C";

-- everywhere that functions are called
CREATE TEMP TABLE trims AS SELECT i, pg_trim_now() >= 0 AS trimmed FROM generate_series(1, 3) i;
TABLE trims;
UPDATE trims SET trimmed = pg_trim_now() < 0 WHERE pg_trim_now() >= 0 AND i = 2 RETURNING *;
SELECT count(*) FROM generate_series(1, 100) i WHERE pg_trim_now() >= 0;

-- what is dropped comes back
DROP EXTENSION pg_trim;
SELECT to_regproc('pg_trim_now') IS NULL AS gone;
CREATE EXTENSION pg_trim;
SELECT pg_trim_now() >= 0 AS now;
DROP EXTENSION pg_trim;
