# A session that idles inside a transaction block is trimmed too, and its transaction does not notice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('in_transaction');

sub state_of
{
	my ($session) = @_;

	return $node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $session->{pid}");
}

sub transaction_goes_on
{
	my $session = session($node, 'CREATE TEMP TABLE kept (i integer)', 'BEGIN',
		'INSERT INTO kept SELECT generate_series(1, 10)', 'DECLARE c CURSOR FOR TABLE kept', 'FETCH 3 FROM c');

	trimmed_ok($session, leave_memory($session), 'idle in transaction');
	is(state_of($session), 'idle in transaction', 'it still is');
	is($session->query_safe('FETCH 1 FROM c'), 4, 'its cursor stands where it stood');
	trimmed_ok($session, leave_memory($session), 'once more in the same transaction');
	$session->query_safe('COMMIT');
	is($session->query_safe('SELECT count(*) FROM kept'), 10, 'it commits');
}

sub aborted_block
{
	my $session = session($node, 'BEGIN');
	my $from = leave_memory($session);

	like(error_of($session, 'SELECT 1 / 0'), qr/division by zero/, 'an error in a transaction block');
	trimmed_ok($session, $from, 'idle in the aborted block');
	is(state_of($session), 'idle in transaction (aborted)', 'it still is');
	like(error_of($session, 'SELECT 1'), qr/current transaction is aborted/, 'the block refuses statements');
	$session->query_safe('ROLLBACK');
	is($session->query_safe('SELECT 1'), 1, 'until it ends');
}

sub subtransaction
{
	my $session = session($node, 'BEGIN', 'SAVEPOINT a', 'CREATE TEMP TABLE gone ()');
	my $from = leave_memory($session);

	trimmed_ok($session, $from, 'idle in a subtransaction');
	$session->query_safe('ROLLBACK TO a');
	is($session->query_safe(q{SELECT to_regclass('gone') IS NULL}), 't', 'it rolls back');
	trimmed_ok($session, leave_memory($session), 'idle after the rollback to a savepoint');
}

# Without the interrupt there is no way in before the next statement ends.
sub without_interrupt
{
	my $session = session($node, 'SET pg_trim.interrupt = off', 'BEGIN');
	my $from = leave_memory($session);
	my $other = session($node);

	trimmed_ok($other, leave_memory($other), 'interrupt = off: another session, outside a transaction');
	is(figure($session, 'trims'), 0, 'interrupt = off: not while it is idle in the transaction');
	$session->query_safe('SELECT 1');
	trimmed_ok($session, $from, 'interrupt = off: at the end of the next statement');
	trimmed_ok($session, leave_memory($session, 'SELECT leave_memory()\; COMMIT'), 'interrupt = off: outside a transaction');
}

transaction_goes_on();
aborted_block();
subtransaction();
without_interrupt();
done_testing();
