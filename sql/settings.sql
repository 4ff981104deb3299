-- Every setting: its range, its unit, who may set it. Allocators other than glibc warn about three of them.
SET client_min_messages = error;

-- What a statement fails with; messages name ranges differently in each version.
CREATE FUNCTION error_of(statement text, OUT state text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	state := 'none';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;

SELECT name, vartype, unit, context, boot_val, min_val, max_val
FROM pg_settings WHERE name LIKE 'pg\_trim.%' ORDER BY name COLLATE "C";
SELECT name FROM pg_settings WHERE name LIKE 'pg\_trim.%' AND short_desc IS NULL;

-- both ends of every range, and what lies beyond
SELECT name,
	   (error_of(format('SET %s = %s', name, min_val))).state AS least,
	   (error_of(format('SET %s = %s', name, max_val))).state AS most,
	   (error_of(format('SET %s = %s', name, min_val::bigint - 1))).state AS less,
	   (error_of(format('SET %s = %s', name, max_val::bigint + 1))).state AS more,
	   (error_of(format('SET %s = %L', name, 'a lot'))).state AS word,
	   (error_of(format('SET %s = %L', name, ''))).state AS nothing
FROM pg_settings WHERE name LIKE 'pg\_trim.%' AND vartype = 'integer' AND context = 'superuser' ORDER BY name COLLATE "C";
-- a refused value changes nothing
SELECT name FROM pg_settings WHERE name LIKE 'pg\_trim.%' AND vartype = 'integer' AND context = 'superuser' AND setting <> max_val;
RESET ALL;
SET client_min_messages = error;
SELECT name, (error_of(format('SET %s = maybe', name))).state AS maybe, (error_of(format('SET %s = off', name))).state AS "off"
FROM pg_settings WHERE name LIKE 'pg\_trim.%' AND vartype = 'bool' ORDER BY name COLLATE "C";
RESET ALL;
SET client_min_messages = error;
SELECT (error_of('SET pg_trim.max_statements = 10')).state;

-- units
SET pg_trim.threshold_kb = '2MB';
SHOW pg_trim.threshold_kb;
SET pg_trim.threshold_kb = 100;
SHOW pg_trim.threshold_kb;
SET pg_trim.pad_kb = '1GB';
SHOW pg_trim.pad_kb;
SET pg_trim.log_min_kb = '64kB';
SHOW pg_trim.log_min_kb;
SET pg_trim.mmap_threshold_kb = '1MB';
SHOW pg_trim.mmap_threshold_kb;
SET pg_trim.idle_delay = '2min';
SHOW pg_trim.idle_delay;
SET pg_trim.idle_delay = 250;
SHOW pg_trim.idle_delay;
SET pg_trim.busy_delay = '1.5s';
SHOW pg_trim.busy_delay;
SET pg_trim.busy_delay = -1;
SHOW pg_trim.busy_delay;
SELECT (error_of($$SET pg_trim.idle_delay = '1MB'$$)).state AS delay_in_mb, (error_of($$SET pg_trim.threshold_kb = '1s'$$)).state AS size_in_s;
RESET ALL;
SET client_min_messages = error;

-- events: a list of words
SELECT events, e.*
FROM unnest(ARRAY[
	'query', 'transaction', 'idle', 'none',
	'query, transaction, idle', 'idle,query', '  idle ,  query  ',
	'IDLE', 'Transaction, qUERY', 'NONE', '"idle"',
	'idle, idle', 'none, none',
	'', ' ', ',', 'idle,', ', idle', 'idle query',
	'none, idle', 'idle, none',
	'commit', 'manual', 'request', 'query, commit', 'on', 'idle;', '"IDLE"', '"idle'
]) events, error_of(format('SET pg_trim.events = %L', events)) e;
-- without quotes it is a list, too
SET pg_trim.events = idle, query;
SHOW pg_trim.events;
SET pg_trim.events = none;
SHOW pg_trim.events;
-- what was refused changes nothing
SET pg_trim.events = commit;
SHOW pg_trim.events;
RESET pg_trim.events;

-- who may
CREATE ROLE regress_trim_settings;
SET ROLE regress_trim_settings;
SELECT name, (error_of(format('SET %s = %L', name, boot_val))).state
FROM pg_settings WHERE name LIKE 'pg\_trim.%' ORDER BY name COLLATE "C";
SHOW pg_trim.events;
RESET ROLE;
GRANT SET ON PARAMETER pg_trim.idle_delay TO regress_trim_settings;
SET ROLE regress_trim_settings;
SET pg_trim.idle_delay = '3s';
SHOW pg_trim.idle_delay;
SELECT (error_of('SET pg_trim.busy_delay = 0')).state;
RESET ROLE;
REVOKE SET ON PARAMETER pg_trim.idle_delay FROM regress_trim_settings;

-- for a role, for a database, for a function
ALTER ROLE regress_trim_settings SET pg_trim.events = 'query, idle';
ALTER ROLE regress_trim_settings SET pg_trim.threshold_kb = '1MB';
SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setrole = 'regress_trim_settings'::regrole ORDER BY 1;
SELECT (error_of('ALTER ROLE regress_trim_settings SET pg_trim.events = commit')).*;
SELECT (error_of('ALTER ROLE regress_trim_settings SET pg_trim.threshold_kb = -1')).state AS role,
	   (error_of(format('ALTER DATABASE %I SET pg_trim.idle_delay = -1', current_database()))).state AS database;
CREATE FUNCTION events_inside() RETURNS text LANGUAGE sql SET pg_trim.events = none AS $$ SELECT current_setting('pg_trim.events') $$;
SET pg_trim.events = query;
SELECT events_inside(), current_setting('pg_trim.events') AS outside;
RESET pg_trim.events;

-- until the end of a transaction
BEGIN;
SET LOCAL pg_trim.events = none;
SET pg_trim.idle_delay = '1h';
SELECT current_setting('pg_trim.events'), current_setting('pg_trim.idle_delay');
ROLLBACK;
SELECT current_setting('pg_trim.events') = 'none' AS events, current_setting('pg_trim.idle_delay') = '1h' AS idle_delay;

-- the prefix is reserved
SET pg_trim.no_such_thing = 1;

DROP FUNCTION events_inside, error_of;
DROP ROLE regress_trim_settings;
