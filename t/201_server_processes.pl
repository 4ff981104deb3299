# A request reaches every process of the server, of whatever kind, and the answer is what an observer outside sees.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgTrimTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('server_processes',
	[ 'pg_trim.events = none', 'autovacuum = on', 'wal_level = logical', 'logical_decoding_work_mem = 1GB' ],
	init => { allows_streaming => 'logical', has_archiving => 1 });

sub wait_for_process
{
	my ($condition) = @_;

	return wait_until(sub { $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $condition") })
	  || die "no process where $condition";
}

sub start_physical_walsender
{
	my $folder = PostgreSQL::Test::Utils::tempdir;
	my $client = IPC::Run::start([ 'pg_receivewal', '-D', $folder, '-d', $node->connstr . ' application_name=pg_receivewal' ], '>', \my $out, '2>', \my $err);

	wait_for_process(q{application_name = 'pg_receivewal'});
	return $client;
}

# A subscription to a database of the same server.
sub start_logical_replication
{
	$node->safe_psql('postgres', <<'EOS');
CREATE TABLE replicated (t text);
CREATE PUBLICATION p FOR TABLE replicated;
SELECT pg_create_logical_replication_slot('s', 'pgoutput');
CREATE DATABASE subscriber;
EOS
	$node->safe_psql('subscriber', 'CREATE TABLE replicated (t text)');
	$node->safe_psql('subscriber',
		sprintf q{CREATE SUBSCRIPTION s CONNECTION '%s' PUBLICATION p WITH (create_slot = false, slot_name = s, copy_data = false)},
		$node->connstr('postgres') =~ s/'/''/gr);
	wait_for_process(q{application_name = 's'});
	wait_for_process(q{backend_type LIKE 'logical replication%worker'});
}

sub asked_it_trims
{
	my ($pid, $kind) = @_;
	my $before = resident($pid);
	my $answer = ask($node, $pid);

	ok(defined $answer, "$kind answers");
	my $fell = $before - resident($pid);
	cmp_ok(abs($answer - $fell), '<=', 1024 + $answer / 50, "$kind returned $answer kB, and of $before kB $fell kB are gone");
	is(last_event($pid), 'request', "$kind counted it");
}

sub last_event
{
	my ($pid) = @_;

	return $node->safe_psql('postgres', "SELECT last_event FROM pg_trim_backends WHERE pid = $pid");
}

# What a process has from its beginning is not retained, though it never took stock of that itself.
sub auxiliary_processes_retain_nothing
{
	$node->safe_psql('postgres', 'SELECT pg_trim_refresh(timeout_ms => 180000)');
	is($node->safe_psql('postgres', <<'EOS'), '', 'auxiliary processes retain nothing before their first trim');
SELECT backend_type, retained FROM pg_trim_backends
WHERE backend_type IN ('background writer', 'checkpointer', 'walwriter') AND coalesce(retained, 1e9) > 512 * 1024
EOS
}

# Those that a server of this version happens to have. Workers come and go.
sub every_kind
{
	my @processes = split /\n/, $node->safe_psql('postgres', <<'EOS');
SELECT pid, concat_ws(' ', backend_type, nullif(application_name, ''))
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type NOT IN ('autovacuum worker', 'parallel worker')
ORDER BY 2
EOS
	my $kinds = join "\n", @processes;

	like($kinds, qr/\|$_$/m, "processes: $_")
	  for 'archiver', 'autovacuum launcher', 'background writer', 'checkpointer', 'logical replication launcher',
	  'logical replication (apply )?worker', 'walsender pg_receivewal', 'walsender s', 'walwriter';
	asked_it_trims(split /\|/) for @processes;
}

# It has decoded a large transaction, which it keeps until the next one.
sub logical_walsender_returns_much
{
	my $pid = wait_for_process(q{application_name = 's'});

	$node->safe_psql('postgres', q{INSERT INTO replicated SELECT repeat('x', 100) FROM generate_series(1, 200000)});
	$node->wait_for_catchup('s');
	asked_it_trims($pid, 'walsender that decoded a large transaction');
	cmp_ok($node->safe_psql('postgres', "SELECT last_released FROM pg_trim_backends WHERE pid = $pid"),
		'>', 20_000_000, 'it returned much');
}

sub all_at_once
{
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_trim_all(180000) WHERE released IS NULL'), 0, 'all answer at once');
	is($node->safe_psql('postgres', <<'EOS'), 't', 'and all publish their figures');
SELECT pg_trim_refresh(timeout_ms => 180000) >= count(*)
FROM pg_trim_backends WHERE backend_type NOT IN ('autovacuum worker', 'parallel worker')
EOS
}

my $client = start_physical_walsender();
start_logical_replication();
auxiliary_processes_retain_nothing();
every_kind();
logical_walsender_returns_much();
all_at_once();
$client->signal('TERM');
$client->finish;
done_testing();
