# At an error the server forgets all timers, and not every error ends a transaction: the session is trimmed all the same.
# The server's own timeouts fire as ever.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('errors_and_timeouts');

$node->safe_psql('postgres', 'CREATE TABLE locked ()');

# The error follows at once, so that it finds the timer running.
sub error_outside_a_transaction
{
	my $session = session($node);

	for my $statement ('SELECT 1 / 0', 'SELEKT', 'PREPARE p AS SELECT no_such_column', 'VACUUM no_such_table')
	{
		my $from = log_end($node);
		like(error_of($session, "SELECT leave_memory();\n$statement"), qr/ERROR/, "$statement fails");
		trimmed_ok($session, $from, 'error outside a transaction block');
	}
}

sub errors_in_an_aborted_block
{
	my $session = session($node);
	my $from = log_end($node);

	error_of($session, 'BEGIN\; SELECT leave_memory()\; SELECT 1 / 0');
	like(error_of($session, "SELECT 1;\nSELECT 1"), qr/transaction is aborted/, 'more errors follow');
	trimmed_ok($session, $from, 'errors in an aborted transaction block');
	$session->query_safe('ROLLBACK');
}

# No error reaches the log there, so nothing tells that the timers are forgotten.
sub errors_that_are_not_logged
{
	my $session = session($node, 'SET log_min_messages = fatal', 'SET pg_trim.busy_delay = -1');
	my $pid = $session->{pid};

	leave_memory($session);
	my $most = resident($pid);
	error_of($session, 'BEGIN\; SELECT 1 / 0');
	error_of($session, "SELECT 1;\nSELECT 1");
	$session->query_safe('ROLLBACK');
	ok(wait_until(sub { resident($pid) <= 0.5 * $most }), 'errors that are not logged');
}

# What psql cannot do: Bind to a statement that does not exist. The server begins no transaction for that.
sub failed_bind
{
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $socket = $node->raw_connect;
	my $message = sub { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body };
	my $from = log_end($node);

	$socket->send(
		$message->('', pack('N(Z*)4x', 196608, 'user', $user, 'database', 'postgres'))
		  . $message->('Q', pack('Z*', 'SELECT leave_memory()'))
		  . $message->('B', pack('Z*Z*nnn', '', 'nope', 0, 0, 0))
		  . $message->('S', ''));
	my $pid = wait_until(sub { log_since($node, $from) =~ /\[(\d+)\].* prepared statement "nope" does not exist/ && $1 });
	trimmed_ok({ node => $node, pid => $pid }, $from, 'a failed Bind');
}

sub statement_timeout
{
	my $session = session($node);
	my $from = leave_memory($session);
	my $start = time;

	like(error_of($session, q{SET statement_timeout = '1s'; SELECT pg_sleep(600)}), qr/due to statement timeout/, 'statement_timeout');
	cmp_ok(time - $start, '>=', 1, 'not too early');
	trimmed_ok($session, $from, 'a statement that timed out');

	$session = session($node, 'BEGIN');
	$from = leave_memory($session, q{SELECT leave_memory(); SET statement_timeout = '1s'});
	trimmed_ok($session, $from, 'statement_timeout is set, idle in transaction');
	like(error_of($session, 'SELECT pg_sleep(600)'), qr/due to statement timeout/, 'statement_timeout after a trim');
}

sub lock_timeout
{
	my $holder = session($node, 'BEGIN', 'LOCK locked');
	my $session = session($node, q{SET lock_timeout = '1s'});
	my $from = leave_memory($session);

	like(error_of($session, 'TABLE locked'), qr/due to lock timeout/, 'lock_timeout');
	trimmed_ok($session, $from, 'a statement that got no lock');
}

# A timeout that ends a session which idles: after the trim, and no matter what that does to timers.
sub ends_idle_session
{
	my ($timeout, $message, @before) = @_;
	my $session = session($node, @before);
	my $from = leave_memory($session, "SELECT leave_memory(); SET $timeout = '2s'");

	ok(wait_for_trim($node, $session->{pid}, $from), "$timeout: trimmed before");
	ok(wait_until(sub { log_since($node, $from) =~ /\[$session->{pid}\] .*FATAL:  .*due to $message timeout/ }),
		"$timeout: ended by the server");
}

error_outside_a_transaction();
errors_in_an_aborted_block();
errors_that_are_not_logged();
failed_bind();
statement_timeout();
lock_timeout();
ends_idle_session('idle_session_timeout', 'idle-session');
ends_idle_session('idle_in_transaction_session_timeout', 'idle-in-transaction', 'BEGIN');
ends_idle_session('transaction_timeout', 'transaction', 'BEGIN') if $node->pg_version >= 17;
done_testing();
