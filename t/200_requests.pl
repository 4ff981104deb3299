# A request reaches a session whatever it is doing, and the answer is what an observer outside sees.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('requests', ['pg_trim.events = none']);

# The session is in that state, and still is when it has answered.
sub answers_truthfully
{
	my ($session, $state, $name) = @_;

	ok(wait_until(sub { activity($session) =~ $state }), $name);
	my $before = resident($session->{pid});
	my $answer = ask($node, $session->{pid});
	my $fell = $before - resident($session->{pid});

	cmp_ok($answer, '>', 20_000, "returned $answer kB");
	cmp_ok(abs($answer - $fell), '<=', 1024 + $answer / 50, "of $before kB, $fell kB are gone");
	cmp_ok(ask($node, $session->{pid}), '<', $answer / 10, 'asked again, there is little left');
	like(activity($session), $state, 'it goes on with what it did');
}

sub idle
{
	my $session = session($node, 'SELECT leave_memory()');

	answers_truthfully($session, qr/^idle, ClientRead$/, 'idle');
}

sub idle_in_transaction
{
	my $session = session($node, 'CREATE TEMP TABLE kept ()', 'BEGIN', 'DROP TABLE kept', 'SELECT leave_memory()');

	answers_truthfully($session, qr/^idle in transaction, ClientRead$/, 'idle in transaction');
	$session->query_safe('ROLLBACK');
	is($session->query_safe('SELECT count(*) FROM kept'), 0, 'it rolls back');
}

sub aborted
{
	my $session = session($node, 'BEGIN', 'SELECT leave_memory()');

	error_of($session, 'SELECT 1 / 0');
	answers_truthfully($session, qr/^idle in transaction \(aborted\), ClientRead$/, 'idle in an aborted transaction');
}

sub active
{
	my ($statement, $state, $name) = @_;
	my $session = session($node, 'SELECT leave_memory()');

	start($session, $statement);
	answers_truthfully($session, $state, $name);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	like(error_of($session, ''), qr/canceling statement/, 'it can still be canceled');
}

sub lock_wait
{
	my $session = session($node, 'CREATE TABLE locked ()', 'SELECT leave_memory()');
	my $holder = session($node, 'BEGIN', 'LOCK locked');

	start($session, 'SELECT count(*) FROM locked');
	answers_truthfully($session, qr/^active, relation$/, 'waiting for a lock');
	$holder->query_safe('COMMIT');
	is(result($session), 0, 'it gets the lock');
}

# Also if it waits for the answer to a request of its own.
sub waiting_for_an_answer
{
	my $stopped = session($node);
	my $session = session($node, 'SELECT leave_memory()');

	kill STOP => $stopped->{pid};
	start($session, "SELECT pg_trim_backend($stopped->{pid}, 180000) >= 0");
	answers_truthfully($session, qr/^active, Extension$/, 'waiting for an answer');
	kill CONT => $stopped->{pid};
	is(result($session), 't', 'it gets its answer');
}

idle();
idle_in_transaction();
aborted();
active('SELECT pg_sleep(1000)', qr/^active, PgSleep$/, 'sleeping in a query');
active('SELECT count(*) FROM (SELECT generate_series(1, 10000000000)) s', qr/^active/, 'computing');
lock_wait();
waiting_for_an_answer();
done_testing();
