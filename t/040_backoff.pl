# A session that needs again what was returned pays less and less for it; one that then stays idle is trimmed all the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;
use Time::HiRes qw(usleep);

my $idle_delay = 300;
my $longest = 32 * $idle_delay;

# Repeats what is heavy, then idle for a little longer than idle_delay, until a figure of the session is what is asked for:
# how often.
sub rounds_until
{
	my ($session, $condition) = @_;
	my $rounds = 0;

	wait_until(sub {
		$rounds++;
		leave_memory($session);
		usleep(1000 * ($idle_delay + 50));
		figure($session, $condition) eq 't';
	});
	return $rounds;
}

sub holdoff_grows
{
	my ($session, $name) = @_;
	my $rounds = rounds_until($session, "holdoff_ms = $longest");
	my $trims = figure($session, 'trims');

	is(figure($session, 'holdoff_ms'), $longest, "$name: the hold-off grew to 32 times idle_delay");
	cmp_ok($trims, '>', 1, "$name: the session was trimmed meanwhile");
	cmp_ok($trims, '<', $rounds, "$name: but not after each query, $trims times in $rounds rounds");
}

sub longest_holdoff
{
	my ($session) = @_;
	my $last = figure($session, 'last_trim');
	my $rounds = rounds_until($session, "last_trim > '$last'");

	cmp_ok($rounds, '>', 2, "the next trim took $rounds rounds");
	# The hold-off counts from the beginning of a trim, last_trim is its end.
	cmp_ok(figure($session, "extract(epoch FROM last_trim - '$last') * 1000"), '>', $longest / 2,
		'namely more than any shorter hold-off');
	is(figure($session, 'holdoff_ms'), $longest, 'which did not grow any more');
}

# There one page fault brings in as much as 512 elsewhere.
sub huge_pages
{
	local $ENV{GLIBC_TUNABLES} = 'glibc.malloc.hugetlb=1';
	my $node = new_node('huge_pages', ["pg_trim.idle_delay = $idle_delay"]);

	holdoff_grows(session($node), 'huge pages, where there are any');
}

my $session = session(new_node('backoff', ["pg_trim.idle_delay = $idle_delay"]));

holdoff_grows($session, 'heavy and idle');
longest_holdoff($session);
trimmed_ok($session, leave_memory($session), 'then idle');
huge_pages() if allocator() eq 'glibc';
done_testing();
