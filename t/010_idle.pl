# A session is trimmed once it is idle, without its client doing anything, if there is something to return.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('idle');

sub trimmed_when_idle
{
	my $session = session($node);

	trimmed_ok($session, leave_memory($session), 'idle');
	trimmed_ok($session, leave_memory($session), 'idle once more');
}

# The shape that most people meet. Much of it stays: caches.
sub trimmed_after_planning_over_partitions
{
	$node->safe_psql('postgres', <<'EOS');
CREATE TABLE orders (id integer PRIMARY KEY) PARTITION BY RANGE (id);
DO $$ BEGIN
	FOR i IN 0..999 LOOP
		EXECUTE format('CREATE TABLE orders_%s PARTITION OF orders FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10);
	END LOOP;
END $$;
EOS
	my $session = session($node, 'SET enable_partitionwise_join = on');
	my $from = leave_memory($session, 'SELECT count(*) FROM orders a JOIN orders b USING (id)');
	trimmed_ok($session, $from, 'planned over 1,000 partitions', ratio => 0.7);
}

sub heap_end_does_not_tell
{
  SKIP:
	{
		skip 'only glibc keeps its memory in a heap that sbrk() grows', 1 if allocator() ne 'glibc';
		my $session = session($node);
		my $trim = wait_for_trim($node, $session->{pid}, leave_memory($session));

		cmp_ok($trim->{saved}, '>', 10 * $trim->{heap_fell}, 'much more was returned than the heap end fell by');
	}
}

sub trimmed_at_once
{
	my $session = session($node, 'SET pg_trim.idle_delay = 0');

	trimmed_ok($session, leave_memory($session), 'idle_delay = 0');
}

# The timer that runs already does not make a session wait for what was set before.
sub shorter_delay_counts_at_once
{
	local $ENV{PGOPTIONS} = '-c pg_trim.idle_delay=1h';
	my $session = session($node, q{SET pg_trim.idle_delay = '100ms'});

	trimmed_ok($session, leave_memory($session), 'a shorter idle_delay');
}

# Sessions like this one look, and decide not to trim, or do not look at all; another session is trimmed meanwhile.
sub left_alone
{
	my ($session, $looks, $name) = @_;
	my $checks = figure($session, 'checks');

	leave_memory($session);
	wait_until(sub { figure($session, 'checks') > $checks }) if $looks;
	my $other = session($node);
	trimmed_ok($other, leave_memory($other), "$name: another session is trimmed");
	is(figure($session, 'trims'), 0, "$name: this one is not");
	is(figure($session, 'checks') > $checks ? 1 : 0, $looks, $name . ($looks ? ': it looked' : ': it never looked'));
}

sub nothing_to_return
{
	my $session = session($node);

	$session->query_safe('SELECT count(*) FROM generate_series(1, 1000)');
	ok(wait_until(sub { figure($session, 'checks') > 0 }), 'a session with nothing to return looks');
	is(figure($session, 'trims'), 0, 'and is left alone');
}

# Once trimmed, it has no reason to look again, while others are trimmed again and again.
sub sleeps
{
	my ($session, $name) = @_;
	my $checks = figure($session, 'checks');

	my $other = session($node);
	trimmed_ok($other, leave_memory($other), "another session, round $_") for 1 .. 3;
	is(figure($session, 'checks'), $checks, "$name: a session that does nothing does not look again");
}

sub sleeps_afterwards
{
	my $session = session($node);

	trimmed_ok($session, leave_memory($session), 'trimmed once');
	sleeps($session, 'trimmed once');
}

sub set_for_a_role_or_a_database
{
	$node->safe_psql('postgres', <<'EOS');
CREATE ROLE app LOGIN;
ALTER ROLE app SET pg_trim.events = none;
CREATE DATABASE quiet;
ALTER DATABASE quiet SET pg_trim.idle_delay = '1h';
EOS
	is($node->safe_psql('quiet', 'SHOW pg_trim.idle_delay'), '1h', 'ALTER DATABASE SET');
	local $ENV{PGUSER} = 'app';
	my $session = session($node);
	delete local $ENV{PGUSER};
	left_alone($session, 0, 'events = none by ALTER ROLE SET');
}

# Asking for figures, as a monitor does, takes nothing from the session's own trim.
sub trimmed_though_figures_were_asked_for
{
	my $session = session($node, q{SET pg_trim.idle_delay = '2s'});
	my $from = leave_memory($session);

	is($node->safe_psql('postgres', "SELECT pg_trim_refresh($session->{pid}, 180000)"), 1, 'figures were asked for');
	trimmed_ok($session, $from, 'figures were asked for before');
}

sub trimmed_where_activities_are_not_tracked
{
	my $session = session($node, 'SET track_activities = off');

	trimmed_ok($session, leave_memory($session), 'track_activities = off');
	sleeps($session, 'track_activities = off');
}

trimmed_when_idle();
trimmed_after_planning_over_partitions();
heap_end_does_not_tell();
trimmed_at_once();
shorter_delay_counts_at_once();
left_alone(session($node, 'SET pg_trim.events = none'), 0, 'events = none');
left_alone(session($node, "SET pg_trim.threshold_kb = '10GB'"), 1, 'a threshold out of reach');
nothing_to_return();
sleeps_afterwards();
trimmed_though_figures_were_asked_for();
trimmed_where_activities_are_not_tracked();
set_for_a_role_or_a_database();
done_testing();
