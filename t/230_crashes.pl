# A process that dies in the middle of a request, 50 times: the server starts again, and the views are as those of a new one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $connections = 20;
my $node = new_node('crashes',
	[ 'pg_trim.events = none', 'restart_after_crash = on', "max_connections = $connections", 'superuser_reserved_connections = 0',
	  'shared_buffers = 16MB', 'max_wal_senders = 0', 'autovacuum = on' ]);

# One asks the other without end.
sub requests
{
	my $target = session($node);
	my $asker = session($node);

	start($asker, "SELECT count(pg_trim_backend($target->{pid}, 180000)) FROM (SELECT generate_series(1, 1000000000)) s");
	wait_until(sub { figure($target, 'trims') > 10 }) or die 'no requests are served';
	return ($target->{pid}, $asker->{pid});
}

# Processes die at once, so the server is soon back.
sub is_back
{
	return $node->psql('postgres', 'SELECT 1', timeout => 180) == 0;
}

# What the views show that should not be there.
sub oddities
{
	my (@dead) = @_;

	return $node->safe_psql('postgres', <<"EOS");
SELECT concat_ws(', ',
	CASE WHEN EXISTS (SELECT FROM pg_trim_backends WHERE pid IN ($dead[0], $dead[1])) THEN 'a dead process' END,
	CASE WHEN EXISTS (SELECT FROM pg_trim_backends WHERE backend_type IS NULL) THEN 'an unknown process' END,
	CASE WHEN EXISTS (SELECT pid FROM pg_trim_backends GROUP BY pid HAVING count(*) > 1) THEN 'a process twice' END,
	CASE WHEN NOT EXISTS (SELECT FROM pg_trim_backends WHERE pid = pg_backend_pid()) THEN 'not this process' END,
	CASE WHEN (SELECT sum(trims) FROM pg_trim_backends) > 0 THEN 'trims of processes' END,
	CASE WHEN (SELECT sum(trims) FROM pg_trim_stats) > 0 THEN 'trims' END,
	CASE WHEN EXISTS (SELECT FROM pg_trim_histogram) THEN 'a histogram' END,
	CASE WHEN EXISTS (SELECT FROM pg_trim_statements) THEN 'statements' END)
EOS
}

my $rounds = 50;
my ($restarts, @odd) = (0);
for my $round (1 .. $rounds)
{
	my @pids = requests();
	kill KILL => $pids[ $round % 2 ];
	$restarts++ if wait_until(sub { !-e "/proc/$pids[0]" && !-e "/proc/$pids[1]" && is_back() });
	push @odd, oddities(@pids);
}
is($restarts, $rounds, "a process was killed in the middle of a request, and the server came back, $rounds times");
is_deeply([ grep { $_ ne '' } @odd ], [], 'the views were as new each time');
my $crashes = () = log_since($node, 0) =~ /was terminated by signal 9/g;
is($crashes, $rounds, "the log knows of $rounds crashes");

# Every connection that there may be has its place in the views, and answers.
my @sessions = map { session($node) } 2 .. $connections;
my $pids = join ', ', map { $_->{pid} } @sessions;
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_trim_all(180000) WHERE pid IN ($pids) AND released >= 0"),
	scalar @sessions, 'all connections answer');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_trim_backends WHERE pid IN ($pids) AND trims = 1"),
	scalar @sessions, 'and all are in the views');
done_testing();
