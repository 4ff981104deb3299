# A session that needs again what was returned pays less and less for it; one that then stays idle is trimmed all the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node('backoff', ['pg_trim.idle_delay = 300ms']);
my $session = session($node);
my $longest = 32 * 300;

# Heavy, then idle for a little longer than idle_delay.
sub heavy_and_idle
{
	leave_memory($session);
	usleep(350_000);
}

# Repeats that until a figure of the session is what is asked for: how often.
sub rounds_until
{
	my ($condition) = @_;
	my $rounds = 0;

	wait_until(sub { $rounds++; heavy_and_idle(); figure($session, $condition) eq 't' });
	return $rounds;
}

my $rounds = rounds_until("holdoff_ms = $longest");
my $trims = figure($session, 'trims');
is(figure($session, 'holdoff_ms'), $longest, 'the hold-off grew to 32 times idle_delay');
cmp_ok($trims, '>', 1, 'it was trimmed meanwhile');
cmp_ok($trims, '<', $rounds, "but not after each query: $trims times in $rounds rounds");

my $last = figure($session, 'last_trim');
$rounds = rounds_until("last_trim > '$last'");
cmp_ok($rounds, '>', 2, "the next trim took $rounds rounds");
# The hold-off counts from the beginning of a trim, last_trim is its end.
cmp_ok(figure($session, "extract(epoch FROM last_trim - '$last') * 1000"), '>', $longest / 2,
	'namely more than any shorter hold-off');
is(figure($session, 'holdoff_ms'), $longest, 'which did not grow any more');

trimmed_ok($session, leave_memory($session), 'then idle');
done_testing();
