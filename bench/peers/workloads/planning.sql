-- Planning takes memory for each pair of partitions.
SELECT count(*) FROM orders JOIN payments USING (id);
