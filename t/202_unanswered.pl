# A request that is not answered in time stands until it is; whoever waits for it is told when nobody will.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('unanswered', ['pg_trim.events = none']);

sub stop
{
	my ($session) = @_;

	kill STOP => $session->{pid};
	return;
}

sub go_on
{
	my ($session) = @_;

	kill CONT => $session->{pid};
	return;
}

# It was trimmed by requests this often, and the last one returned much.
sub served_ok
{
	my ($session, $name, %params) = @_;
	my $times = $params{times} // 1;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ok(wait_until(sub { figure($session, 'trims') == $times }), "$name: served");
	is(figure($session, 'last_event'), 'request', "$name: it was a request");
	cmp_ok(figure($session, 'last_released'), '>', 20_000_000, "$name: its memory is gone");
}

sub stopped
{
	my $session = session($node, 'SELECT leave_memory()');

	stop($session);
	is(ask($node, $session->{pid}, 0), undef, 'stopped process: no answer at once');
	is(ask($node, $session->{pid}, 300), undef, 'stopped process: no answer in time');
	is($node->safe_psql('postgres', "SELECT count(released) FROM pg_trim_all(300) WHERE pid = $session->{pid}"),
		0, 'stopped process: none to pg_trim_all() either');
	is($node->safe_psql('postgres', 'SELECT count(*) > 3 FROM pg_trim_all(300) WHERE released IS NOT NULL'),
		't', 'but others answer');
	is($node->safe_psql('postgres', "SELECT pg_trim_refresh($session->{pid}, 300)"), 0, 'nor does it publish figures');
	is(figure($session, 'trims'), 0, 'stopped process: not trimmed');
	go_on($session);
	served_ok($session, 'continued process');
	cmp_ok(ask($node, $session->{pid}), '>=', 0, 'continued process: it answers again');
}

sub asker_is_canceled
{
	my $session = session($node, 'SELECT leave_memory()');
	my $asker = session($node);

	stop($session);
	start($asker, "SELECT pg_trim_backend($session->{pid}, 1000000)");
	wait_until(sub { activity($asker) eq 'active, Extension' });
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($asker->{pid})");
	like(error_of($asker, ''), qr/canceling statement/, 'whoever waits for an answer can be canceled');
	go_on($session);
	served_ok($session, 'canceled request');
	is($asker->query_safe("SELECT pg_trim_backend($session->{pid}, 180000) >= 0"), 't', 'canceled, the asker can ask again');
}

# It ends before it gets to the request.
sub process_ends
{
	my $session = session($node);
	my ($one, $all) = (session($node), session($node));

	stop($session);
	start($one, "SELECT pg_trim_backend($session->{pid}, 1000000)");
	start($all, "SELECT count(*) FROM pg_trim_all(1000000) WHERE pid = $session->{pid}");
	wait_until(sub { activity($one) eq 'active, Extension' && activity($all) eq 'active, Extension' });
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($session->{pid})");
	go_on($session);
	like(error_of($one, ''), qr/WARNING:  process with PID $session->{pid} ended before it answered/,
		'a process that ends while it is asked');
	is(result($all), 0, 'pg_trim_all() leaves it out');
	my (undef, undef, $warning) = $node->psql('postgres', "SELECT pg_trim_backend($session->{pid}, 180000)");
	like($warning, qr/WARNING:  PID $session->{pid} is not a PostgreSQL server process/, 'asked once more, it is no process');
}

sub ask_for_figures
{
	my ($session) = @_;

	$node->safe_psql('postgres', "SELECT pg_trim_refresh($session->{pid}, 180000)");
}

# A request to a process that is gone is not taken for one to the next process in its place.
sub request_is_not_inherited
{
	my $session = session($node);

	stop($session);
	ask($node, $session->{pid}, 0);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($session->{pid})");
	go_on($session);
	wait_until(sub { figure($session, 'pid') eq '' });
	my @next = map { session($node, 'BEGIN', 'SELECT', 'COMMIT') } 1 .. 5;
	ask_for_figures($_) for @next;
	is(figure($_, 'trims'), 0, 'the request to a dead process trims no new one') for @next;
}

# Without the interrupt, only the ends of statements and transactions will do.
sub interrupt_off
{
	my $session = session($node, 'SET pg_trim.interrupt = off', 'SELECT leave_memory()');
	cmp_ok(ask($node, $session->{pid}), '>', 20_000, 'interrupt = off: an idle session answers');

	$session->query_safe('BEGIN\; SELECT leave_memory()');
	is(ask($node, $session->{pid}, 300), undef, 'interrupt = off: none in a transaction');
	$session->query_safe('SELECT 1');
	served_ok($session, 'interrupt = off: after its next statement', times => 2);

	$session->query_safe('SELECT leave_memory()');
	is(ask($node, $session->{pid}, 300), undef, 'interrupt = off: none in the same transaction');
	$session->query_safe('COMMIT');
	served_ok($session, 'interrupt = off: after the transaction', times => 3);

	$session->query_safe('SELECT leave_memory()');
	start($session, 'SELECT pg_advisory_lock(1) FROM pg_sleep(1000)');
	wait_until(sub { activity($session) eq 'active, PgSleep' });
	is(ask($node, $session->{pid}, 300), undef, 'interrupt = off: none in a statement');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	error_of($session, '');
	served_ok($session, 'interrupt = off: once the statement is canceled', times => 4);
}

stopped();
asker_is_canceled();
process_ends();
request_is_not_inherited();
interrupt_off();
done_testing();
