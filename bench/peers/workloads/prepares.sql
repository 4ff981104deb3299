-- Thousands of prepared statements, and then none.
BEGIN;
DO $$ BEGIN
  FOR i IN 1..5000 LOOP
    EXECUTE format('PREPARE p%s (integer) AS SELECT r.value, s.comment FROM readings r JOIN readings s USING (id)
      WHERE r.id = $1 AND s.value LIKE ''%s%%'' ORDER BY r.value', i, i);
  END LOOP;
END $$;
DEALLOCATE ALL;
COMMIT;
