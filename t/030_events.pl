# Each event trims where it says, and nowhere else: the log names it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

# With a threshold of 0, every chance is taken.
my $node = new_node('events', [ 'pg_trim.events = none', 'pg_trim.threshold_kb = 0', 'max_prepared_transactions = 1' ]);

$node->safe_psql('postgres', <<'EOS');
CREATE TABLE lines (i integer);
CREATE FUNCTION nested(depth integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 / depth;
	RETURN CASE WHEN depth <> 1 THEN nested(depth - 1) END;
END $$;
EOS

# Its hash table is freed with the contexts of the query.
my $large_query = 'SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) i GROUP BY i OFFSET 0) s';

# The causes of the trims that a statement makes in a session.
sub causes
{
	my ($session, $statement) = @_;
	my $from = log_end($node);

	$session->query($statement);
	$session->{stderr} = '';
	return join ' ', map { $_->{cause} } trims($node, $session->{pid}, $from);
}

sub none
{
	my $session = session($node);

	is(causes($session, 'SELECT 1'), '', 'none: no trim at a statement');
	is(causes($session, 'BEGIN\; SELECT 1\; COMMIT'), '', 'none: no trim at a transaction');
	is(causes($session, 'SELECT pg_trim_now()'), 'manual', 'pg_trim_now() trims whatever the events are');
}

sub query
{
	my $session = session($node, 'SET pg_trim.events = query');

	is(causes($session, 'SELECT 1'), 'query', 'query: a trim at a query end');
	is(causes($session, 'SELECT 1\; SELECT 2'), 'query query', 'query: one for each query');
	is(causes($session, 'INSERT INTO lines VALUES (1)'), 'query', 'query: also if it writes');
	is(causes($session, 'SELECT nested(3)'), 'query', 'query: nested ones count as one');
	is(causes($session, 'SELECT 1 / (i - i) FROM lines'), '', 'query: a failed one has no end');
	is(causes($session, 'SELECT nested(3)'), 'query', 'query: nesting is still counted after an error');
	is(causes($session, 'SELECT nested(0)'), '', 'query: nor one that fails in a nested one');
	is(causes($session, 'SELECT nested(3)'), 'query', 'query: nesting is still counted after that');
	is(causes($session, 'CREATE TEMP TABLE t ()'), '', 'query: a utility statement is none');
	is(causes($session, 'BEGIN\; SELECT 1\; COMMIT'), 'query', 'query: no trim at the transaction end');
}

sub transaction
{
	my $session = session($node, 'SET pg_trim.events = transaction');

	is(causes($session, 'SELECT 1'), 'transaction', 'transaction: a trim at the end of a statement outside a block');
	is(causes($session, 'BEGIN\; SELECT 1\; SELECT 2\; COMMIT'), 'transaction', 'transaction: one at commit');
	is(causes($session, 'BEGIN\; SELECT 1\; ROLLBACK'), 'transaction', 'transaction: one at rollback');
	is(causes($session, 'SELECT 1 / 0'), 'transaction', 'transaction: one after an error');
	is(causes($session, 'BEGIN\; SAVEPOINT a\; SELECT 1\; ROLLBACK TO a\; COMMIT'), 'transaction', 'transaction: none for a savepoint');
	is(causes($session, q{BEGIN\; INSERT INTO lines VALUES (1)\; PREPARE TRANSACTION 'a'}),
		'transaction', 'transaction: one at PREPARE TRANSACTION');
	is(causes($session, q{COMMIT PREPARED 'a'}), 'transaction', 'transaction: one at COMMIT PREPARED');
}

sub both
{
	my $session = session($node, 'SET pg_trim.events = query, transaction');

	is(causes($session, 'BEGIN\; SELECT 1\; SELECT 2\; COMMIT'), 'query query transaction', 'query, transaction: both');
}

# With a threshold, these events do not even look unless that much was freed.
sub gate
{
	my $session = session($node, q{SET pg_trim.threshold_kb = '1MB'}, 'SET pg_trim.events = query, transaction');
	my $checks = figure($session, 'checks');

	is(causes($session, 'SELECT 1'), '', 'with a threshold: no trim after a small query');
	is(figure($session, 'checks'), $checks, 'nor was there a check');
	$session->query_safe($large_query);
	cmp_ok(figure($session, 'checks'), '>', $checks, 'a check after a large one');
}

sub gate_lets_a_large_query_through
{
	my $session = session($node, q{SET pg_trim.threshold_kb = '1MB'}, 'SET pg_trim.events = transaction');
	my $from = leave_memory($session, "SELECT leave_memory()\\; $large_query");

	trimmed_ok($session, $from, 'with a threshold: after a large transaction', cause => 'transaction');
}

sub idle
{
	my $session = session($node, q{SET pg_trim.idle_delay = '1h'}, 'SET pg_trim.events = idle');

	is(causes($session, 'SELECT 1'), '', 'idle: no trim at a statement end');
	$session = session($node, 'SET pg_trim.events = idle');
	trimmed_ok($session, leave_memory($session), 'idle: a trim afterwards');
}

sub request
{
	my $session = session($node);
	my $from = leave_memory($session);

	$node->safe_psql('postgres', "SELECT pg_trim_backend($session->{pid}, 180000)");
	trimmed_ok($session, $from, 'request: whatever the events are', cause => 'request');
}

none();
query();
transaction();
both();
gate();
gate_lets_a_large_query_through();
idle();
request();
done_testing();
