# pg_trim_diagnosis names the cause of six processes that were made for it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('diagnosis',
	[ 'pg_trim.events = none', 'shared_buffers = 512MB', 'max_locks_per_transaction = 4096', 'work_mem = 4MB' ]);

$node->safe_psql('postgres', <<'EOS');
CREATE TABLE parted (i integer) PARTITION BY RANGE (i);
DO $$ BEGIN
	FOR i IN 1..2000 LOOP
		EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
END $$;
CREATE TABLE large AS SELECT repeat('x', 1000) AS t FROM generate_series(1, 100000);
VACUUM large;
EOS

# The columns are as of now.
sub diagnosis
{
	my ($session, $column) = @_;

	$node->safe_psql('postgres', "SELECT pg_trim_refresh($session->{pid}, 180000)");
	return $node->safe_psql('postgres', "SELECT $column FROM pg_trim_diagnosis WHERE pid = $session->{pid}");
}

sub judged
{
	my ($session, $verdict, $advice, $name) = @_;

	is(diagnosis($session, 'verdict'), $verdict, $name)
	  || diag diagnosis($session, q{format('%s, of it %s shared, %s in contexts, %s in use, %s retained', resident, shared, in_contexts, in_use, retained)});
	like(diagnosis($session, 'advice'), $advice, "$name: what to do");
}

sub planned_over_partitions
{
	my $session = session($node, 'SET enable_partitionwise_join = on', 'SELECT count(*) FROM parted a JOIN parted b USING (i)');

	judged($session, 'retained memory', qr/pg_trim_backend\($session->{pid}\)/, 'planned over 2,000 partitions');
	my $promised = diagnosis($session, 'retained') / 1024;
	my $returned = ask($node, $session->{pid});
	# mimalloc 2 keeps more of it
	cmp_ok($returned, '>', (allocator() eq 'mimalloc' ? 0.1 : 0.5) * $promised, "planned over 2,000 partitions: $promised kB promised, $returned kB returned");
	isnt(diagnosis($session, 'verdict'), 'retained memory', 'planned over 2,000 partitions: trimmed, it is no longer that');
}

sub touched_tables
{
	my $session = session($node, <<'EOS');
DO $$ BEGIN
	FOR i IN 1..2000 LOOP
		EXECUTE format('SELECT FROM parted_%s', i);
	END LOOP;
END $$
EOS
	ask($node, $session->{pid});
	judged($session, 'live caches', qr/new connection[^.]*\.$/, 'touched 2,000 tables');
	# mimalloc 2 retains more than it returns, and that is the largest part then
	return if allocator() eq 'mimalloc';
	leave_memory($session, 'SELECT leave_memory(80)');
	judged($session, 'live caches', qr/new connection.* A trim returns about .*pg_trim_backend/,
		'touched 2,000 tables, and left a little besides');
}

sub prepared_statements
{
	my $session = session($node, <<'EOS');
DO $$ BEGIN
	FOR i IN 1..5000 LOOP
		EXECUTE format('PREPARE p%s AS SELECT * FROM pg_class WHERE oid = $1', i);
	END LOOP;
END $$
EOS
	ask($node, $session->{pid});
	judged($session, 'prepared statements', qr/DEALLOCATE/, '5,000 prepared statements');
	$session->query_safe('DEALLOCATE ALL');
	judged($session, 'retained memory', qr/pg_trim_backend/, 'deallocated: a trim would return it');
	ask($node, $session->{pid});
	isnt(diagnosis($session, 'verdict'), 'prepared statements', 'trimmed: no longer that');
}

# An interpreter has its memory from malloc.
sub outside_contexts
{
  SKIP:
	{
		skip 'PL/Python is not installed', 2
		  if $node->psql('postgres', 'CREATE EXTENSION plpython3u') != 0;
		my $session = session($node, <<'EOS');
DO LANGUAGE plpython3u $$ GD['kept'] = [str(i) * 10 for i in range(300000)] $$
EOS
		ask($node, $session->{pid});
		judged($session, 'outside contexts', qr/extension or library/, 'memory of PL/Python');
	}
}

sub shared_buffers
{
	my $session = session($node, 'SELECT count(*) FROM large');

	judged($session, 'shared buffers', qr/nothing to do/, 'scanned a large table');
	cmp_ok(diagnosis($session, 'shared'), '>', 100_000_000, 'scanned a large table: they are counted');
	cmp_ok(diagnosis($session, 'resident'), '<', 10_000_000, 'scanned a large table: as what they are');
}

sub running_statement
{
	my $session = session($node, q{SET work_mem = '1GB'}, 'BEGIN',
		'DECLARE c CURSOR FOR SELECT t FROM large ORDER BY t DESC', 'FETCH 1 FROM c');

	judged($session, 'running statement', qr/cursors/, 'a cursor on a large sort');
}

sub fresh
{
	my $session = session($node);

	is($node->safe_psql('postgres', "SELECT verdict FROM pg_trim_diagnosis WHERE pid = $session->{pid}"),
		'unknown', 'fresh: unknown before its first check');
	judged($session, 'nothing unusual', qr/Nothing to do/, 'fresh');
}

planned_over_partitions();
touched_tables();
prepared_statements();
outside_contexts();
shared_buffers();
running_statement();
fresh();
done_testing();
