# A process that is gone leaves nothing behind in the views, and the next one in its place begins anew.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('slots', ['pg_trim.events = none']);
my $figures = 'checks + trims + released + trim_ms + holdoff_ms + coalesce(in_use, 0) + coalesce(last_released, 0)';

# Sessions that have figures in the views.
sub trimmed_sessions
{
	return map { session($node, 'SELECT leave_memory(100)', 'SELECT pg_trim_now()') } 1 .. 10;
}

sub pids
{
	return join ', ', map { $_->{pid} } @_;
}

# How many of them the views show.
sub shown
{
	my ($pids) = @_;

	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_trim_backends WHERE pid IN ($pids)");
}

# Sessions that end in this way, and those that take their place.
sub replaced
{
	my ($name, $end) = @_;
	my @sessions = trimmed_sessions();
	my $pids = pids(@sessions);

	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_trim_backends WHERE pid IN ($pids) AND trims = 1 AND in_use > 0"),
		scalar @sessions, "$name: the views show sessions");
	$end->($_) for @sessions;
	ok(wait_until(sub { shown($pids) == 0 }), "$name: they are gone");
	my @next = map { session($node) } @sessions;
	is(figure($_, $figures), 0, "$name: the next one has no figures") for @next;
	is(shown($pids), 0, "$name: the others are still gone");
	$_->quit for @next;
}

replaced('quit', sub { $_[0]->quit });
replaced('terminated', sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0]->{pid})") });

# Where no process is, there is no row: the views show those that the server knows of.
is($node->safe_psql('postgres', <<'EOS'), 0, 'the rows are the processes');
SELECT count(*) FROM pg_trim_backends b FULL JOIN pg_stat_activity a USING (pid)
WHERE b.pid IS NULL OR a.pid IS NULL OR a.backend_type <> b.backend_type
EOS
done_testing();
