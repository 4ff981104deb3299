# Trims in the middle of what transactions can do: the result is what it would be without them, and nothing crashes. With a
# threshold of 0, every event trims.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('transactions',
	[ q{pg_trim.events = 'query, transaction, idle'}, 'pg_trim.threshold_kb = 0', 'pg_trim.idle_delay = 1ms',
	  'pg_trim.busy_delay = 0', 'max_prepared_transactions = 2', 'pg_trim.log_min_kb = 0' ]);
my $session = session($node);

$node->safe_psql('postgres', 'CREATE TABLE numbers AS SELECT generate_series(1, 100000) AS i; ANALYZE numbers');

sub commit_in_a_procedure
{
	$session->query_safe(<<'EOS');
CREATE TEMP TABLE steps (i integer);
CREATE PROCEDURE pg_temp.step_by_step() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..100 LOOP
		INSERT INTO steps VALUES (i);
		IF i % 2 = 0 THEN
			COMMIT;
		ELSIF i % 3 = 0 THEN
			ROLLBACK;
		END IF;
	END LOOP;
END $$;
EOS
	$session->query_safe('CALL pg_temp.step_by_step()');
	is($session->query_safe('SELECT count(*) FROM steps'), 83, 'COMMIT and ROLLBACK in a procedure');
	$session->query_safe('DO $$ BEGIN FOR i IN 1..100 LOOP INSERT INTO steps VALUES (i); COMMIT; END LOOP; END $$');
	is($session->query_safe('SELECT count(*) FROM steps'), 183, 'COMMIT in a DO block');
}

sub subtransactions
{
	$session->query_safe(<<'EOS');
DO $$ BEGIN
	FOR i IN 1..100 LOOP
		BEGIN
			INSERT INTO steps VALUES (1 / (i % 2));
		EXCEPTION WHEN division_by_zero THEN
			DELETE FROM steps WHERE steps.i = 0;
		END;
	END LOOP;
END $$
EOS
	is($session->query_safe('SELECT count(*) FROM steps'), 233, 'errors caught in PL/pgSQL');
	$session->query_safe('BEGIN\; SAVEPOINT a\; TRUNCATE steps\; SAVEPOINT b\; INSERT INTO steps VALUES (1)\; ROLLBACK TO a\; COMMIT');
	is($session->query_safe('SELECT count(*) FROM steps'), 233, 'savepoints');
}

sub cursors
{
	my $holder = session($node, 'SET pg_trim.events = idle', 'SET pg_trim.busy_delay = -1');

	$holder->query_safe('BEGIN\; DECLARE held CURSOR WITH HOLD FOR SELECT i FROM numbers ORDER BY i');
	is($holder->query_safe('FETCH 2 FROM held'), "1\n2", 'a cursor in its transaction');
	$holder->query_safe('COMMIT');
	trimmed_ok($holder, leave_memory($holder), 'a session that holds a cursor');
	is($holder->query_safe('FETCH 2 FROM held'), "3\n4", 'the cursor after its transaction');
}

sub two_phase_commit
{
	my $from = log_end($node);

	$session->query_safe(q{BEGIN\; CREATE TABLE prepared ()\; PREPARE TRANSACTION 'one'});
	$session->query_safe(q{BEGIN\; CREATE TABLE forgotten ()\; PREPARE TRANSACTION 'two'});
	is($session->query_safe('SELECT count(*) FROM pg_prepared_xacts'), 2, 'transactions are prepared');
	$session->query_safe(q{COMMIT PREPARED 'one'});
	$session->query_safe(q{ROLLBACK PREPARED 'two'});
	is($session->query_safe(q{SELECT to_regclass('prepared'), to_regclass('forgotten')}), 'prepared|', 'and commit or roll back');
	ok((grep { $_->{cause} eq 'transaction' } trims($node, $session->{pid}, $from)), 'with trims at their ends');
}

# Parallel workers never trim by themselves: they are gone in a moment.
sub parallel_query
{
	$session->query_safe("SET $_ = 0") for 'parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size';
	$session->query_safe('SET max_parallel_workers_per_gather = 2');
	like($session->query_safe('EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT sum(i) FROM numbers'), qr/Workers Launched: [12]/,
		'a parallel query');
	my $from = log_end($node);
	$session->query_safe('SELECT sum(i) FROM numbers') for 1 .. 10;
	is($session->query_safe('SELECT sum(i) FROM numbers'), 5000050000, 'its result');
	my %trimmed = map { $_->{pid} => 1 } trims($node, undef, $from);
	delete @trimmed{ split /\n/, $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity') };
	is(join(' ', keys %trimmed), '', 'no trim in a worker');
}

# Whatever the threshold, a process that rests is left to rest: a trim is nothing that asks for another one.
sub no_endless_trims
{
	my $trims = q{SELECT coalesce(sum(trims), 0) FROM pg_trim_backends WHERE backend_type <> 'client backend'};
	my $before;

	ok(wait_until(sub {
		$before = $node->safe_psql('postgres', $trims);
		leave_memory($session) for 1 .. 3;
		$before == $node->safe_psql('postgres', $trims);
	}), 'the processes of the server come to rest');
}

sub nothing_crashed
{
	unlike(log_since($node, 0), qr/PANIC|terminated by signal|crash/, 'nothing crashed');
}

# They may be too large to be written, which is an error, and in a commit a PANIC.
sub neither_statement_nor_context_is_logged
{
	my $from = log_end($node);

	$session->query_safe('DO $$ BEGIN FOR i IN 1..3 LOOP INSERT INTO steps VALUES (i); COMMIT; END LOOP; END $$');
	cmp_ok(scalar(grep { $_->{cause} eq 'transaction' } trims($node, $session->{pid}, $from)), '>=', 3, 'trims are logged');
	unlike(log_since($node, $from), qr/^[^\n]*\[$session->{pid}\][^\n]*(STATEMENT|CONTEXT|QUERY):/m,
		'without statement and context');
}

# A setting of glibc's, under another allocator: who makes it is told, but nothing when the old value comes back, where an
# error is a PANIC.
sub setting_without_effect
{
	like(error_of($session, 'SET pg_trim.mmap_threshold_kb = 64'), qr/WARNING: .*does not take 64 kB/, 'SET without effect');
	$session->query_safe('BEGIN');
	like(error_of($session, 'SET LOCAL pg_trim.mmap_threshold_kb = 128'), qr/WARNING: .*does not take 128 kB/, 'SET LOCAL');
	unlike(error_of($session, 'COMMIT'), qr/WARNING/, 'nothing is said as it ends');
}

# The server is shut down while sessions wait for their timers, in and out of transactions, and while others are busy.
sub fast_shutdown
{
	my @sessions = map { session($node, q{SET pg_trim.idle_delay = '1min'}, "SET pg_trim.threshold_kb = '1MB'", 'SELECT leave_memory()') } 1 .. 3;
	push @sessions, map { session($node, q{SET pg_trim.idle_delay = '200ms'}, 'BEGIN', 'SELECT leave_memory()') } 1 .. 3;
	start($_, 'SELECT pg_sleep(600)') for @sessions[0, 3];

	$node->stop('fast');
	nothing_crashed();
	like(log_since($node, 0), qr/database system is shut down/, 'the server was shut down');
	$node->start;
	unlike(log_since($node, 0), qr/not properly shut down|automatic recovery/, 'in an orderly way');
}

commit_in_a_procedure();
subtransactions();
cursors();
two_phase_commit();
parallel_query();
no_endless_trims();
neither_statement_nor_context_is_logged();
setting_without_effect() if allocator() ne 'glibc';
nothing_crashed();
fast_shutdown();
done_testing();
