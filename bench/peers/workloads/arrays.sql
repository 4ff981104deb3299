-- An array that grows by a text at a time; the second time, tables are used for the first time meanwhile.
DO $$
DECLARE
  list text[] := '{}';
BEGIN
  FOR i IN 1..20000 LOOP
    list := list || repeat(md5(i::text), 30);
  END LOOP;
END $$;
DO $$
DECLARE
  list text[] := '{}';
BEGIN
  FOR i IN 1..20000 LOOP
    list := list || repeat(md5(i::text), 30);
    IF i % 200 = 0 THEN
      EXECUTE format('SELECT count(*) FROM orders_%s', i / 200);
    END IF;
  END LOOP;
END $$;
