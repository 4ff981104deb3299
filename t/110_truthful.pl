# What pg_trim says it returned is what an observer outside sees; and the log line is one that the experiment on
# pgsql-hackers would have understood.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('truthful', ['pg_trim.events = none']);

# Within 2 % or 64 kB, whichever is more.
sub close_to
{
	my ($got, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $allowed = $expected / 50 > 64 ? $expected / 50 : 64;

	ok(abs($got - $expected) <= $allowed, "$name: $got kB, seen from outside $expected kB");
}

sub pg_trim_now
{
	my $session = session($node, 'SELECT pg_trim_now()');

	for my $statements (1000, 300, 30, 0)
	{
		leave_memory($session, "SELECT leave_memory($statements)");
		my $before = resident($session->{pid});
		my $released = $session->query_safe('SELECT pg_trim_now() / 1024');
		close_to($released, $before - resident($session->{pid}), "pg_trim_now() after $statements statements");
	}
}

sub pg_trim_now_verbose
{
	my $session = session($node, 'SELECT pg_trim_now_verbose()');
	leave_memory($session);

	my $outside_before = resident($session->{pid});
	my $row = $session->query_safe('SELECT resident_before / 1024, resident_after / 1024, released / 1024,
		resident_before - resident_after = released, elapsed_ms > 0 FROM pg_trim_now_verbose()');
	my $outside_after = resident($session->{pid});
	my ($before, $after, $released, $adds_up, $took_time) = split /\|/, $row;
	close_to($before, $outside_before, 'resident_before');
	close_to($after, $outside_after, 'resident_after');
	close_to($released, $outside_before - $outside_after, 'released');
	is("$adds_up $took_time", 't t', 'the figures add up, and it took some time');
}

sub pg_trim_heap
{
	my $session = session($node, 'SELECT pg_trim_heap()');

	leave_memory($session);
	close_to($session->query_safe('SELECT resident / 1024 FROM pg_trim_heap()'), resident($session->{pid}), 'pg_trim_heap().resident');
	my $retained = $session->query_safe('SELECT retained FROM pg_trim_heap()');
	my $released = $session->query_safe('SELECT pg_trim_now()');
	cmp_ok(abs($retained - $released), '<=', $released / 2, "retained, $retained, promises what a trim returns, $released");
}

sub log_line
{
	my $session = session($node, 'SET pg_trim.events = idle');
	my $from = leave_memory($session);
	my $before = resident($session->{pid});
	my $trim = wait_for_trim($node, $session->{pid}, $from);

	close_to($trim->{before}, $before, 'logged before') if $before > 20_000;
	close_to($trim->{after}, resident($session->{pid}), 'logged after');
	is($trim->{saved}, $trim->{before} - $trim->{after}, 'logged as saved');
	cmp_ok(figure($session, 'retained') / 1024, '<', $trim->{saved} / 10, 'the view does not promise it once more');
	is($trim->{heap_fell}, $trim->{heap_before} - $trim->{heap_after}, 'logged as what the heap end fell by');
}

sub log_min
{
	my $session = session($node, q{SET pg_trim.log_min_kb = '10MB'});

	is(scalar trims($node, $session->{pid}, leave_memory($session, 'SELECT leave_memory()\; SELECT pg_trim_now()')), 1,
		'a large trim is logged');
	is(scalar trims($node, $session->{pid}, leave_memory($session, 'SELECT leave_memory(30)\; SELECT pg_trim_now()')), 0,
		'a small one is not');
	$session->query_safe('SET pg_trim.log_min_kb = -1');
	is(scalar trims($node, $session->{pid}, leave_memory($session, 'SELECT leave_memory()\; SELECT pg_trim_now()')), 0,
		'log_min_kb = -1: none is');
}

# The pipeline of the experiment: how often was how much saved?
sub historic_pipeline
{
	my $session = session($node);

	leave_memory($session, "SELECT leave_memory($_)\\; SELECT pg_trim_now()") for 30, 300, 0, 0;
	my $log = $node->logfile;
	my @lines = split /\n/, qx{grep malloc_trim '$log' | sed 's/.*LOG:/LOG:/' | sort -k4n | uniq -c};
	my $total = 0;
	my $last = -1;
	my $sorted = 1;

	for (@lines)
	{
		if (!/^ +(\d+) LOG:  malloc_trim saved (\d+) kB$/ || $2 <= $last)
		{
			$sorted = 0;
			diag("unexpected: $_");
			next;
		}
		$total += $1;
		$last = $2;
	}
	ok($sorted, 'the historic pipeline gives a histogram');
	is($total, scalar trims($node, undef, 0), 'in which each trim is counted');
}

sub dry_run
{
	my $session = session($node, 'SET pg_trim.dry_run = on', 'SET pg_trim.events = idle');
	my $from = leave_memory($session);
	my $resident = resident($session->{pid});
	my $would = wait_until(sub { log_since($node, $from) =~
		/\[$session->{pid}\] .*LOG:  malloc_trim would save about (\d+) kB\n.*DETAIL:  Resident memory is (\d+) kB, the heap \(sbrk\) \d+ kB, at idle; "pg_trim.dry_run" is on\.$/m && $1 });

	cmp_ok($would, '>', 20_000, "dry_run: the log says that $would kB would be saved");
	is(scalar trims($node, $session->{pid}, $from), 0, 'dry_run: not that they were');
	close_to(resident($session->{pid}), $resident, 'dry_run: all is still there');
	is(figure($session, q{trims > 0 AND released = 0 AND last_event = 'idle'}), 't', 'dry_run: it is counted, with nothing released');
	is($session->query_safe('SELECT pg_trim_now()'), 0, 'dry_run: pg_trim_now() returns nothing either');
	$session->query_safe('SET pg_trim.dry_run = off');
	my $released = $session->query_safe('SELECT pg_trim_now() / 1024');
	cmp_ok(abs($would - $released), '<=', $released / 2, "$released kB, when it is done");
}

pg_trim_now();
pg_trim_now_verbose();
pg_trim_heap();
log_line();
log_min();
historic_pipeline();
dry_run();
done_testing();
