-- What the workloads need. Variables: partitions, rows.
CREATE EXTENSION pg_trim;

CREATE TABLE orders (id integer PRIMARY KEY, amount integer) PARTITION BY RANGE (id);
CREATE TABLE payments (id integer PRIMARY KEY, amount integer) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE %1$s_%2$s PARTITION OF %1$s FOR VALUES FROM (%3$s) TO (%4$s)', name, i, i * 10, i * 10 + 10)
FROM (VALUES ('orders'), ('payments')) AS t (name), generate_series(0, :partitions - 1) AS i
\gexec

CREATE TABLE readings AS
SELECT i AS id, md5(i::text) AS value, repeat(md5(i::text), 3) AS comment FROM generate_series(1, :rows) AS i;

-- A role per kind of session: the server shows it in the process title, where a session's memory is looked up.
CREATE ROLE planning LOGIN IN ROLE pg_monitor;
CREATE ROLE cursors LOGIN IN ROLE pg_monitor;
CREATE ROLE prepares LOGIN IN ROLE pg_monitor;
CREATE ROLE arrays LOGIN IN ROLE pg_monitor;
CREATE ROLE busy LOGIN IN ROLE pg_monitor;
CREATE ROLE fresh LOGIN IN ROLE pg_monitor;

-- What each session holds in the end, in bytes.
CREATE TABLE live (role name, bytes bigint);

-- Sessions wait here for each other, so that all go idle at once; the last one writes down when.
CREATE SEQUENCE arrived;
CREATE TABLE released (second double precision);
CREATE FUNCTION wait_for_all(sessions integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('arrived') = sessions THEN
    INSERT INTO released VALUES (extract(epoch FROM clock_timestamp()));
  END IF;
  WHILE (SELECT last_value FROM arrived) < sessions LOOP
    PERFORM pg_sleep(0.02);
  END LOOP;
END $$;

GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO PUBLIC;
VACUUM ANALYZE;
CHECKPOINT;
