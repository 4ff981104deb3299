# Processes that serve no client return their memory too, while they wait for their next piece of work.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgTrimTest;
use Test::More;

my $node = new_node('processes_without_client',
	[ 'logical_decoding_work_mem = 1GB', 'autovacuum = on', 'autovacuum_naptime = 1s', 'shared_buffers = 16MB', 'max_worker_processes = 16',
	  'pg_trim.busy_delay = 1s' ],
	init => { allows_streaming => 'logical' });

# Waits for a process: as if it were a session.
sub process
{
	my ($query) = @_;
	my $pid = wait_until(sub { $node->safe_psql('postgres', $query) });

	return { node => $node, pid => $pid };
}

# It decodes a large transaction, in memory, for a client that takes all of it, and has nothing to do afterwards.
sub logical_walsender
{
	$node->safe_psql('postgres', q{CREATE TABLE large (t text); SELECT pg_create_logical_replication_slot('large', 'test_decoding')});
	my $client = IPC::Run::start(
		[ 'pg_recvlogical', '-d', $node->connstr('postgres'), '-S', 'large', '--start', '-f', '/dev/null' ],
		'>', \my $out, '2>', \my $err);
	my $walsender = process(q{SELECT pid FROM pg_stat_replication WHERE state = 'streaming'});
	my $from = log_end($node);

	$node->safe_psql('postgres', q{INSERT INTO large SELECT repeat('x', 100) FROM generate_series(1, 300000)});
	# mimalloc returns a third of it
	trimmed_ok($walsender, $from, 'logical walsender after a large transaction',
		ratio => allocator() eq 'mimalloc' ? 0.8 : 0.3);
	$client->signal('TERM');
	$client->finish;
	$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('large')});
}

# A subscription to a database of the same server. Each row that comes has its trigger leave memory.
sub apply_worker
{
	$node->safe_psql('postgres', q{
		CREATE TABLE replicated (i integer);
		CREATE PUBLICATION p FOR TABLE replicated;
		SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
	$node->safe_psql('postgres', 'CREATE DATABASE subscriber TEMPLATE template0');
	create_leave_memory($node, 'subscriber');
	$node->safe_psql('subscriber', q{
		CREATE TABLE replicated (i integer);
		CREATE FUNCTION at_insert() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN PERFORM public.leave_memory(); RETURN new; END $$;
		CREATE TRIGGER at_insert AFTER INSERT ON replicated FOR EACH ROW EXECUTE FUNCTION at_insert();
		ALTER TABLE replicated ENABLE ALWAYS TRIGGER at_insert});
	my $connstr = $node->connstr('postgres') =~ s/'/''/gr;
	$node->safe_psql('subscriber',
		"CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p WITH (create_slot = false, copy_data = false)");
	my $worker = process('SELECT pid FROM pg_stat_subscription WHERE received_lsn IS NOT NULL');

	for (1 .. 2)
	{
		my $from = log_end($node);
		$node->safe_psql('postgres', 'INSERT INTO replicated VALUES (1)');
		trimmed_ok($worker, $from, "apply worker, transaction $_");
	}
	$node->safe_psql('subscriber', 'DROP SUBSCRIPTION s');
}

# ANALYZE evaluates the expression of an index, which leaves memory (not prepared statements, which are forbidden there) and
# then waits for a lock.
sub autovacuum_worker
{
	$node->safe_psql('postgres', <<'EOS');
CREATE FUNCTION leave_memory_and_wait(i integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	strings text[];
	catalog regclass;
BEGIN
	IF i = 1 THEN
		-- glibc keeps large blocks from the second time on
		FOR round IN 1..2 LOOP
			strings := NULL;
			FOR n IN 1..50000 LOOP
				strings[n] := repeat('x', 1000);
			END LOOP;
		END LOOP;
		-- what is used for the first time now stays above
		FOR catalog IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'pg_catalog'::regnamespace LOOP
			EXECUTE format('SELECT FROM %s LIMIT 1', catalog);
		END LOOP;
		strings := NULL;
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN i;
END $$;
CREATE TABLE analyzed (i integer) WITH (autovacuum_analyze_threshold = 1, autovacuum_analyze_scale_factor = 0);
CREATE INDEX ON analyzed (leave_memory_and_wait(i));
EOS
	my $holder = session($node, 'SELECT pg_advisory_lock(1)');
	my $from = log_end($node);
	$holder->query_safe('INSERT INTO analyzed VALUES (1), (2)');
	my $worker = process(
		q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND wait_event_type = 'Lock'});
	# jemalloc keeps less of it than others
	trimmed_ok($worker, $from, 'autovacuum worker that waits', least => 10_000);
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	ok(wait_until(sub { $node->safe_psql('postgres', q{SELECT autoanalyze_count FROM pg_stat_user_tables WHERE relname = 'analyzed'}) }),
		'and then finishes');
}

logical_walsender();
apply_worker();
autovacuum_worker();
done_testing();
