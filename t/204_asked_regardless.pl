# A request is served whatever the session's own events, threshold and hold-off are; pg_trim.dry_run still holds.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('asked_regardless');

sub returns_much
{
	my ($session, $name) = @_;
	my $answer = ask($node, $session->{pid});

	cmp_ok($answer, '>', 20_000, "$name: returned $answer kB");
	is(figure($session, 'last_event'), 'request', "$name: that was the request");
}

sub threshold
{
	my $session = session($node, q{SET pg_trim.threshold_kb = '10GB'}, 'SELECT leave_memory()');

	returns_much($session, 'below the threshold');
}

sub events
{
	my $session = session($node, 'SET pg_trim.events = none', 'SELECT leave_memory()');

	returns_much($session, 'events = none');
}

sub holdoff
{
	my $session = session($node);
	trimmed_ok($session, leave_memory($session), 'trimmed by itself');
	$session->query_safe(q{SET pg_trim.idle_delay = '1h'});
	$session->query_safe('SELECT leave_memory()');
	returns_much($session, 'holding off for an hour');
	my $holdoff = figure($session, 'holdoff_ms');
	ask($node, $session->{pid}) for 1 .. 10;
	is(figure($session, 'holdoff_ms'), $holdoff, 'requests that return little do not lengthen it');
}

sub log_messages_off
{
	my $session = session($node, 'SET pg_trim.events = none', 'SET log_min_messages = panic', 'SELECT leave_memory()');

	returns_much($session, 'without a server log, idle');
	$session->query_safe('BEGIN\; SELECT leave_memory()');
	is(ask($node, $session->{pid}, 300), undef, 'without a server log, in a transaction: no answer yet');
	$session->query_safe('COMMIT');
	ok(wait_until(sub { figure($session, 'trims') == 2 }), 'without a server log, in a transaction: served at its end');
}

sub track_activities_off
{
	my $session = session($node, 'SET pg_trim.events = none', 'SET track_activities = off', 'SELECT leave_memory()');

	returns_much($session, 'without pg_stat_activity, idle');
	$session->query_safe('BEGIN\; SELECT leave_memory()');
	returns_much($session, 'without pg_stat_activity, idle in transaction');
	start($session, 'ROLLBACK; SELECT leave_memory(); SELECT pg_sleep(1000)');
	wait_until(sub { $node->safe_psql('postgres', "SELECT 1 FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event = 'PgSleep'") });
	returns_much($session, 'without pg_stat_activity, active');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
}

sub dry_run
{
	my $session = session($node, 'SET pg_trim.dry_run = on', 'SET pg_trim.events = none', 'SELECT leave_memory()');
	my $before = resident($session->{pid});

	is(ask($node, $session->{pid}), 0, 'dry run: nothing returned');
	cmp_ok(resident($session->{pid}), '>', 0.9 * $before, 'dry run: nothing is gone');
}

threshold();
events();
holdoff();
log_messages_off();
track_activities_off();
dry_run();
done_testing();
