# The statement that left the memory is named, and the view keeps the latest max_statements of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('statements', [ 'pg_trim.events = none', 'work_mem = 64MB', 'compute_query_id = on', 'pg_trim.max_statements = 2' ]);

# Its sort needs some 20 MB. The aggregate tells one from another.
sub heavy
{
	my ($aggregate) = @_;

	return "SELECT $aggregate(s) FROM (SELECT repeat(i::text, 100) AS s FROM generate_series(1, 30000) i ORDER BY s) t";
}

# As the server calls it.
sub query_id
{
	my ($statement) = @_;

	return $node->safe_psql('postgres', "EXPLAIN (VERBOSE) $statement") =~ /Query Identifier: (-?\d+)/ ? $1 : die 'no query identifier';
}

# The statements of the view, by their last trim.
sub statements
{
	return $node->safe_psql('postgres', q{SELECT string_agg(queryid::text, ' ' ORDER BY last_trim) FROM pg_trim_statements});
}

sub of
{
	my ($statement, $column) = @_;

	return $node->safe_psql('postgres', "SELECT $column FROM pg_trim_statements WHERE queryid = " . query_id($statement));
}

my $session = session($node);
my ($first, $second, $third) = map { heavy($_) } qw(count min max);

# Among small statements; the trim is made by another one.
$session->query_safe($_) for 'SELECT 1', $first, 'SELECT 2', 'BEGIN', 'SELECT 3', 'COMMIT';
my $released = $session->query_safe('SELECT pg_trim_now()');
is(statements(), query_id($first), 'the heavy statement is named');
is(of($first, 'trims'), 1, 'with its trim');
is(of($first, 'released'), $released, 'and what that returned');
is(of($first, 'max_released'), $released, 'which is the most so far');
is($node->safe_psql('postgres', <<'EOS'), 'postgres', 'in its database and by its user');
SELECT datname FROM pg_trim_statements s JOIN pg_database d ON d.oid = s.dbid JOIN pg_roles r ON r.oid = s.userid
WHERE rolsuper
EOS

# Adds up.
$session->query_safe($first);
my $again = $session->query_safe('SELECT pg_trim_now()');
is(of($first, 'trims'), 2, 'the same one again: two trims');
is(of($first, 'released'), $released + $again, 'and the sum of what they returned');
is(of($first, 'max_released'), $released > $again ? $released : $again, 'and the most');

# Whatever makes the trim.
$session->query_safe($second);
ask($node, $session->{pid});
is(statements(), join(' ', query_id($first), query_id($second)), 'a request names the statement, too');

# The one trimmed longest ago goes.
$session->query_safe($third);
$session->query_safe('SELECT pg_trim_now()');
is(statements(), join(' ', query_id($second), query_id($third)), 'there is room for two: the oldest one goes');
$session->query_safe($second);
$session->query_safe('SELECT pg_trim_now()');
is(statements(), join(' ', query_id($third), query_id($second)), 'a new trim makes it the youngest');
$session->query_safe($first);
$session->query_safe('SELECT pg_trim_now()');
is(statements(), join(' ', query_id($second), query_id($first)), 'the oldest one goes again');
is(of($first, 'trims'), 1, 'who comes back begins anew');

# Each session knows its own.
my @sessions = map { session($node) } 1 .. 2;
$sessions[0]->query_safe($second);
$sessions[1]->query_safe($third);
ask($node, $sessions[0]->{pid});
ask($node, $sessions[1]->{pid});
is(statements(), join(' ', query_id($second), query_id($third)), 'each session names its own');

# What the client sent is named, not what runs inside it.
$node->safe_psql('postgres', <<"EOS");
CREATE ROLE owner;
CREATE FUNCTION query_inside() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
AS \$\$ BEGIN PERFORM * FROM ($third) t; END \$\$;
ALTER FUNCTION query_inside() OWNER TO owner;
EOS
# Many small ones are added up by what they make glibc's heap grow.
for my $statement ('SELECT query_inside()', allocator() eq 'glibc' ? 'SELECT leave_memory()' : ())
{
	$session->query_safe($statement);
	$session->query_safe('SELECT pg_trim_now()');
	is(of($statement, '(SELECT rolsuper FROM pg_roles WHERE oid = userid)'), 't', "$statement is named, and its user");
}

# What fetches from a cursor is named, not what comes after that, or ends it.
for my $end ('CLOSE c', 'COMMIT')
{
	$session->query_safe($_) for 'BEGIN', "DECLARE c CURSOR FOR $third", 'FETCH c';
	my $fetch = $node->safe_psql('postgres', "SELECT query_id FROM pg_stat_activity WHERE pid = $session->{pid}");
	$session->query_safe($_) for 'SELECT 4', $end;
	$session->query_safe('COMMIT') if $end ne 'COMMIT';
	$session->query_safe('SELECT pg_trim_now()');
	is((split / /, statements())[-1], $fetch, "FETCH from a cursor that $end ends");
}
my $named = statements();

# Off for a session.
$session->query_safe('SET pg_trim.track_statements = off');
$session->query_safe($first);
$session->query_safe('SELECT pg_trim_now()');
is(statements(), $named, 'track_statements = off: not named');

# Without identifiers, statements share an entry per user and database.
$session->query_safe('SET pg_trim.track_statements = on');
$session->query_safe('SET compute_query_id = off');
for my $statement ($first, $second)
{
	$session->query_safe($statement);
	$session->query_safe('SELECT pg_trim_now()');
}
is($node->safe_psql('postgres', 'SELECT trims FROM pg_trim_statements WHERE queryid IS NULL'), 2, 'without identifiers: one entry for all');

# Room for one.
$node->append_conf('postgresql.conf', 'pg_trim.max_statements = 1');
$node->restart;
is(statements(), '', 'a restart forgets them');
$session = session($node);
for my $statement ($first, $second, $second)
{
	$session->query_safe($statement);
	$session->query_safe('SELECT pg_trim_now()');
}
is(statements(), query_id($second), 'there is room for one: the last one stays');
is(of($second, 'trims'), 2, 'with its trims');
$node->safe_psql('postgres', 'SELECT pg_trim_reset()');
is(statements(), '', 'a reset forgets it');
done_testing();
