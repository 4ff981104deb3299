# Without shared_preload_libraries: LOAD and session_preload_libraries do for the session itself, and what needs shared
# memory says so.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('load', [ "shared_preload_libraries = ''", q{session_preload_libraries = ''} ]);

sub loaded_in_a_running_session
{
	my $session = session($node);

	leave_memory($session);
	my $resident = resident($session->{pid});
	my $from = leave_memory($session, q{LOAD 'pg_trim'});
	trimmed_ok($session, $from, 'LOAD in a session that left memory before');
	trimmed_ok($session, leave_memory($session), 'and once more');
	trimmed_ok($session, leave_memory($session, 'BEGIN\; SELECT leave_memory()'), 'idle in transaction');
	$session->query_safe('ROLLBACK');

	$from = leave_memory($session, q{SET pg_trim.events = transaction\; SELECT leave_memory()});
	$from = leave_memory($session, 'SELECT pg_trim_now()');
	trimmed_ok($session, $from, 'pg_trim_now()', cause => 'manual');
}

# A function of the extension loads the library, too.
sub loaded_by_a_function
{
	my $session = session($node, 'SELECT pg_trim_heap()');

	trimmed_ok($session, leave_memory($session), 'loaded by calling a function');
}

sub loaded_at_the_start_of_each_session
{
	$node->safe_psql('postgres', q{ALTER DATABASE postgres SET session_preload_libraries = 'pg_trim'});
	my $session = session($node);

	trimmed_ok($session, leave_memory($session), 'session_preload_libraries');
	$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET session_preload_libraries');
}

sub needs_shared_memory
{
	my $session = session($node, q{LOAD 'pg_trim'}, '\set VERBOSITY verbose');

	for my $statement (
		'SELECT pg_trim_backend(pg_backend_pid())', 'SELECT * FROM pg_trim_all()',
		'SELECT pg_trim_refresh()', 'SELECT pg_trim_reset()',
		map { "TABLE $_" } qw(pg_trim_backends pg_trim_stats pg_trim_histogram pg_trim_statements))
	{
		like(
			error_of($session, $statement),
			qr/ERROR:  55000: pg_trim has no shared memory\nHINT:  Add pg_trim to "shared_preload_libraries" and restart/,
			"$statement without shared memory");
	}
	is($session->query_safe('SELECT pg_trim_now() >= 0'), 't', 'what needs none works after that');
}

# The server says nothing to clients about a setting in its configuration that does nothing.
sub configured
{
	$node->append_conf('postgresql.conf', "pg_trim.max_statements = 5\nsession_preload_libraries = 'pg_trim'");
	$node->reload;
	my ($status, $out, $err) = $node->psql('postgres', 'SHOW pg_trim.max_statements');
	is("$out$err", '5', 'max_statements in the configuration');
}

sub settings
{
	my $session = session($node);

	like(error_of($session, q{LOAD 'pg_trim'\; SET pg_trim.max_statements = 10}),
		qr/ERROR: .*pg_trim.max_statements/, 'max_statements cannot be set without shared memory');
	like(error_of($session, 'SET pg_trim.no_such_thing = 1'), qr/invalid configuration parameter name/,
		'the prefix is reserved');
	$session = session($node, q{SET pg_trim.threshold_kb = '7MB'}, q{LOAD 'pg_trim'});
	is($session->query_safe('SHOW pg_trim.threshold_kb'), '7MB', 'what was set before LOAD is kept');
}

loaded_in_a_running_session();
loaded_by_a_function();
loaded_at_the_start_of_each_session();
needs_shared_memory();
settings();
configured();
done_testing();
