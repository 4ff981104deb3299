-- Requests to oneself, and those that nobody can answer.
CREATE EXTENSION pg_trim;
SET pg_trim.events = none;

SELECT pg_trim_backend(pg_backend_pid()) >= 0 AS answered;
SELECT pg_trim_backend(pg_backend_pid(), 0) >= 0 AS answered;
SELECT released >= 0 AS answered FROM pg_trim_all(180000) WHERE pid = pg_backend_pid();
SELECT pg_trim_refresh(pg_backend_pid(), 0);
SELECT pg_trim_refresh(timeout_ms => 180000) > 1 AS several;
SELECT trims, last_event FROM pg_trim_backends WHERE pid = pg_backend_pid();

-- no such process
SELECT pg_trim_backend(-1);
SELECT pg_trim_backend(0);
SELECT pg_trim_backend(2147483647, 0);
SELECT pg_trim_refresh(-1);
-- the postmaster takes no requests
SET client_min_messages = error;
SELECT pg_trim_backend(split_part(pg_read_file('postmaster.pid'), E'\n', 1)::integer);
RESET client_min_messages;

-- nulls
SELECT pg_trim_backend(NULL);
SELECT pg_trim_backend(pg_backend_pid(), NULL);
SELECT * FROM pg_trim_all(NULL);

-- bad input
SELECT pg_trim_backend(-1, -1);
SELECT * FROM pg_trim_all(-1);
SELECT pg_trim_refresh(pg_backend_pid(), -1);
SELECT pg_trim_refresh(timeout_ms => NULL);
\set VERBOSITY sqlstate
SELECT pg_trim_backend(pg_backend_pid(), -1);
SELECT pg_trim_refresh(timeout_ms => NULL);
\set VERBOSITY default

DROP EXTENSION pg_trim;
