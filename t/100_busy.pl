# A session that is never idle for long is served between two of its statements, at most once per busy_delay.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgTrimTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('busy', [ 'pg_trim.idle_delay = 300ms', 'pg_trim.busy_delay = 1s', 'log_statement = none' ]);
my @clients;

# A client that sends these statements again and again, without a pause, with such settings: as if it were a session.
sub busy_client
{
	my ($name, $settings, $statements) = @_;
	my $script = $node->basedir . "/$name.sql";
	append_to_file($script, $statements);

	local $ENV{PGOPTIONS} = $settings;
	local $ENV{PGAPPNAME} = $name;
	push @clients, IPC::Run::start([ 'pgbench', '-n', '-T', '300', '-f', $script, $node->connstr('postgres') ],
		'>', \my $out, '2>', \my $err);
	delete local $ENV{PGAPPNAME};
	# pgbench opens another connection before
	my $pid = wait_until(sub { $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = '$name' AND query LIKE 'SELECT leave%'") });
	return { node => $node, pid => $pid };
}

sub trimmed_between_statements
{
	my ($client, $name) = @_;

	ok(wait_until(sub { figure($client, 'trims >= 3') eq 't' }), "$name: trimmed while it is busy");
	is($node->safe_psql('postgres', <<EOS), 't', "$name: looked once per busy_delay at most");
SELECT checks <= 1 + extract(epoch FROM clock_timestamp() - backend_start)
FROM pg_trim_backends JOIN pg_stat_activity USING (pid) WHERE pid = $client->{pid}
EOS
	ok((grep { $_->{cause} eq 'idle' } trims($node, $client->{pid}, 0)), "$name: by itself");
}

my $one_by_one = busy_client('one_by_one', '', 'SELECT leave_memory(300);');
my $in_blocks = busy_client('in_blocks', '', "BEGIN;\nSELECT leave_memory(300);\nSELECT 1;\nCOMMIT;");
my $left_alone = busy_client('left_alone', '-c pg_trim.busy_delay=-1 -c pg_trim.idle_delay=3s', 'SELECT leave_memory(300);');

trimmed_between_statements($one_by_one, 'a statement at a time');
trimmed_between_statements($in_blocks, 'in transaction blocks');
is(figure($left_alone, 'trims'), 0, 'busy_delay = -1: left alone');
is(figure($left_alone, 'checks'), 0, 'it did not even look');

$_->kill_kill for @clients;
done_testing();
