# On a hot standby everything works but what writes, which says so.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $primary = new_node('primary', ['compute_query_id = on'], init => { allows_streaming => 1 });
$primary->backup('backup');
my $node = PostgreSQL::Test::Cluster->new('standby');
$node->init_from_backup($primary, 'backup', has_streaming => 1);
$node->start;
$primary->wait_for_catchup($node);
is($node->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'a hot standby');

sub trims_by_itself
{
	my $session = session($node);

	trimmed_ok($session, leave_memory($session), 'standby, idle');
	$session->query_safe('BEGIN');
	trimmed_ok($session, leave_memory($session), 'standby, idle in transaction');
}

sub own_session
{
	my $session = session($node, 'SET pg_trim.events = none', 'SELECT leave_memory()');

	cmp_ok($session->query_safe('SELECT retained FROM pg_trim_heap()'), '>', 20_000_000, 'standby: pg_trim_heap()');
	cmp_ok($session->query_safe('SELECT pg_trim_now()'), '>', 20_000_000, 'standby: pg_trim_now()');
	is($session->query_safe('SELECT released >= 0 FROM pg_trim_now_verbose()'), 't', 'standby: pg_trim_now_verbose()');
	is($session->query_safe('SELECT pg_trim_bench_palloc_pfree(1000, 100) >= 0'), 't', 'standby: a benchmark');
}

sub requests
{
	my $session = session($node, 'SET pg_trim.events = none', 'BEGIN', 'SELECT leave_memory()');

	cmp_ok(ask($node, $session->{pid}), '>', 20_000, 'standby: a session answers');
	for my $kind ('startup', 'walreceiver', 'checkpointer', 'background writer')
	{
		my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = '$kind'");
		ok(defined ask($node, $pid), "standby: the $kind process answers");
		is($node->safe_psql('postgres', "SELECT last_event FROM pg_trim_backends WHERE pid = $pid"), 'request', 'it is in the views');
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_trim_all(180000) WHERE released IS NULL'), 0, 'standby: all answer');
	is($node->safe_psql('postgres', 'SELECT pg_trim_refresh(timeout_ms => 180000) > 3'), 't', 'standby: all publish their figures');
}

sub views
{
	is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM $_"), 't', "standby: $_")
	  for qw(pg_trim_backends pg_trim_diagnosis pg_trim_stats pg_trim_histogram pg_trim_statements);
	$node->safe_psql('postgres', 'SELECT pg_trim_reset()');
	is($node->safe_psql('postgres', 'SELECT sum(trims) FROM pg_trim_histogram'), '', 'standby: pg_trim_reset()');
	is($primary->safe_psql('postgres', 'SELECT sum(checks) >= 0 FROM pg_trim_stats'), 't', 'the primary has its own');
}

sub what_writes_says_so
{
	my (undef, undef, $error) = $node->psql('postgres', 'CREATE EXTENSION pg_trim');
	like($error, qr/ERROR:  cannot execute CREATE EXTENSION in a read-only transaction/, 'standby: no CREATE EXTENSION');
	(undef, undef, $error) = $node->psql('postgres', q{SELECT * FROM pg_trim_bench_overhead('CREATE TABLE t ()', 1)});
	like($error, qr/ERROR:  cannot execute CREATE TABLE in a read-only transaction/, 'standby: no benchmark of what writes');
}

# Replication goes on while its processes are asked again and again.
sub replication_goes_on
{
	my $asker = session($node);

	start($asker, 'SELECT count(*) FROM generate_series(1, 200) i, pg_trim_all(180000 + 0 * i) WHERE released IS NULL');
	$primary->safe_psql('postgres', 'CREATE TABLE replicated AS SELECT generate_series(1, 100000) AS i');
	$primary->wait_for_catchup($node);
	is(result($asker), 0, 'standby: all answer, 200 times, while it replays');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM replicated'), 100_000, 'it replayed');
}

# The process that keeps replication slots in step, there since 17.
sub slotsync_worker
{
	$primary->append_conf('postgresql.conf', 'wal_level = logical');
	$primary->restart;
	$primary->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('standby')});
	$node->append_conf('postgresql.conf', join "\n", 'wal_level = logical', 'sync_replication_slots = on', 'hot_standby_feedback = on',
		q{primary_slot_name = 'standby'}, "primary_conninfo = '" . $primary->connstr . " dbname=postgres'");
	$node->restart;
	my $pid = wait_until(sub { $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'slotsync worker'}) });
	my $worker = { node => $node, pid => $pid };

	ok(wait_until(sub { figure($worker, 'checks > 0') eq 't' }), 'standby: the slotsync worker looks by itself');
	ok(defined ask($node, $pid), 'and answers');
}

sub promoted
{
	my $session = session($node, 'SELECT 1');

	$node->promote;
	trimmed_ok($session, leave_memory($session), 'promoted: a session from before, idle');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_trim_all(180000) WHERE released IS NULL'), 0, 'promoted: all answer');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_trim_backends WHERE backend_type IN ('startup', 'walreceiver')}),
		0, 'promoted: the processes of recovery are gone');
}

trims_by_itself();
own_session();
requests();
views();
what_writes_says_so();
replication_goes_on();
slotsync_worker() if $node->pg_version >= 17;
promoted();
done_testing();
