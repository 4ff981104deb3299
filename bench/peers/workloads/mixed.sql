-- A heavy query every two seconds or so: the first of these tables' partitions, small statements, and a pause.
SELECT count(*) FROM orders JOIN payments USING (id) WHERE orders.id < 3000 AND payments.id < 3000;
\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\sleep 1500 ms
