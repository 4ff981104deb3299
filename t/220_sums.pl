# The views agree with each other while 20 sessions work, and with the server log.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use List::Util qw(sum0);
use PgTrimTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Only pgbench's sessions trim by themselves, whenever they may.
my $node = new_node('sums', ['pg_trim.events = none']);
my $events = '-c pg_trim.events=query,transaction,idle -c pg_trim.threshold_kb=0 -c pg_trim.idle_delay=1ms';
my $script = PostgreSQL::Test::Utils::tempdir . '/work.sql';

append_to_file($script, <<'EOS');
SELECT count(*) FROM (SELECT repeat(i::text, 100) s FROM generate_series(1, 5000) i ORDER BY s) t;
SELECT leave_memory(20);
BEGIN; SELECT pg_trim_now(); COMMIT;
SELECT count(*) FROM pg_trim_all(180000);
\sleep 10 ms
EOS

# The same moment: one statement.
sub views_agree
{
	return $node->safe_psql('postgres', <<'EOS') eq 't';
SELECT trims = resident AND trims = sbrk
FROM (SELECT sum(trims) AS trims FROM pg_trim_stats) s,
	 (SELECT coalesce(sum(trims) FILTER (WHERE metric = 'resident'), 0) AS resident,
			 coalesce(sum(trims) FILTER (WHERE metric = 'sbrk'), 0) AS sbrk
	  FROM pg_trim_histogram) h
EOS
}

# kB by event, as the log and as the view have it.
sub logged
{
	my %events;

	for my $trim (trims($node, undef, 0))
	{
		my $event = $events{ $trim->{cause} } //= { trims => 0, released => 0, heap_released => 0 };
		$event->{trims}++;
		$event->{released} += $trim->{saved};
		$event->{heap_released} += $trim->{heap_fell};
	}
	return join "\n", map { "$_: " . join ', ', @{ $events{$_} }{qw(trims released heap_released)} } sort keys %events;
}

sub counted
{
	return $node->safe_psql('postgres', <<'EOS');
SELECT format('%s: %s, %s, %s', event, trims, released / 1024, heap_released / 1024)
FROM pg_trim_stats WHERE trims > 0 ORDER BY event COLLATE "C"
EOS
}

local $ENV{PGOPTIONS} = $events;
my $work = IPC::Run::start([ 'pgbench', '-n', '-c', 20, '-j', 2, '-t', 20, '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $err);
delete $ENV{PGOPTIONS};
my ($rounds, $agreed) = (0, 0);
while ($work->pumpable)
{
	$rounds++;
	$agreed++ if views_agree();
	$work->pump_nb;
}
ok($work->finish, 'pgbench') || diag $err;
cmp_ok($rounds, '>', 5, "looked at the views $rounds times while 20 sessions worked");
is($agreed, $rounds, 'the histograms have as many trims as there were, each time');

my $views;
ok(wait_until(sub { $views = counted(); logged() eq $views }), 'the views have what the log has');
note $views;
like($views, qr/^$_: /m, "there were trims at $_") for qw(idle manual query request transaction);

# A session's own row, too.
my $session = session($node, 'SET pg_trim.events = query', 'SELECT leave_memory()', 'SELECT pg_trim_now()', 'SELECT leave_memory()');
ask($node, $session->{pid});
my @own = trims($node, $session->{pid}, 0);
is(figure($session, 'trims'), scalar @own, "a session's trims are counted: " . @own);
is(figure($session, 'released / 1024'), sum0(map { $_->{saved} } @own), 'and what they returned');
is(figure($session, 'last_released / 1024'), $own[-1]{saved}, 'the last one, too');
cmp_ok(abs(figure($session, 'trim_ms') - sum0(map { $_->{ms} } @own)), '<=', 0.05 * @own + 0.01, 'and the time they took');

# Reset while others work: nothing is half gone.
my $quiet = session($node);
my @workers = map { session($node) } 1 .. 4;
start($_, 'SELECT sum(pg_trim_now()) FROM generate_series(1, 500)') for @workers;
my $disagreed = 0;
for (1 .. 50)
{
	$quiet->query_safe('SELECT pg_trim_reset()');
	$disagreed++ unless views_agree();
}
is($disagreed, 0, 'reset 50 times while others trim, the views still agree');
result($_) for @workers;
$quiet->query_safe('SELECT pg_trim_reset()');
is($quiet->query_safe('SELECT sum(trims), sum(released) FROM pg_trim_stats'), '0|0', 'reset: no trims');
is($quiet->query_safe('SELECT count(*) FROM pg_trim_histogram'), 0, 'reset: an empty histogram');
is($quiet->query_safe('SELECT count(*) FROM pg_trim_statements'), 0, 'reset: no statements');
is(figure($session, 'trims'), scalar @own, "reset: a process's figures stay");
done_testing();
