-- A sort, then a cursor on the same sort, with the first use of many tables while it is open.
SELECT count(*) FROM (SELECT * FROM readings ORDER BY value OFFSET 0) AS s;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM readings ORDER BY value;
FETCH 1 FROM c;
SELECT count(*) FROM orders JOIN payments USING (id);
COMMIT;
