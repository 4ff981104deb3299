# A session idle in a transaction is reached by way of the server's dump of memory contexts. A dump that somebody asks for is
# written all the same, from its header to its end; ours never is.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgTrimTest;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node('interrupt', ['pg_trim.events = none']);

sub ask_for_dump
{
	my ($session) = @_;

	return $node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($session->{pid})");
}

# Asks for a trim and waits up to that many ms for the answer, if any: bytes.
sub ask_for_trim
{
	my ($session, $timeout) = @_;

	return $node->safe_psql('postgres', "SELECT pg_trim_backend($session->{pid}, $timeout)");
}

# Which parts of dumps the session has written since then, in their order.
sub dump_parts
{
	my ($session, $from) = @_;
	my @parts;

	for my $line (grep { /\[$session->{pid}\]/ } split /\n/, log_since($node, $from))
	{
		push @parts, 'header' if $line =~ /logging memory contexts of PID $session->{pid}$/;
		push @parts, 'top' if $line =~ /level: \d+; TopMemoryContext: /;
		push @parts, 'others' if $line =~ /level: \d+; (?!TopMemoryContext)/ && "@parts" !~ /others$/;
		push @parts, 'total' if $line =~ /Grand total: /;
	}
	return "@parts";
}

sub count_of_dumps
{
	my @totals = dump_parts(@_) =~ /total/g;

	return scalar @totals;
}

# Passes if the session writes so many dumps, each as a whole, and no other line of a dump.
sub dumps_ok
{
	my ($session, $from, $count, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	wait_until(sub { count_of_dumps($session, $from) >= $count });
	is(dump_parts($session, $from), join(' ', ('header top others total') x $count), "$name: dumps in the log: $count");
}

sub ours_is_not_written
{
	my $session = session($node, 'BEGIN');
	my $from = leave_memory($session);

	cmp_ok(ask_for_trim($session, 180_000), '>', 20_000_000, 'asked for a trim, the session answers what it returned');
	trimmed_ok($session, $from, 'asked for a trim', cause => 'request');
	$session->query_safe('SELECT 1');
	dumps_ok($session, $from, 0, 'asked for a trim');

	$session->query_safe('SET LOCAL pg_trim.events = idle');
	$from = leave_memory($session);
	trimmed_ok($session, $from, 'by itself');
	$session->query_safe('SELECT 1');
	dumps_ok($session, $from, 0, 'by itself');
}

sub somebodys_is_written
{
	my $session = session($node, 'BEGIN');
	my $from = log_end($node);

	ask_for_dump($session);
	dumps_ok($session, $from, 1, 'asked for a dump before any trim');
	$from = leave_memory($session);
	ask_for_trim($session, 180_000);
	ask_for_dump($session);
	dumps_ok($session, $from, 1, 'asked for a dump after a trim');
	ask_for_trim($session, 180_000);
	dumps_ok($session, $from, 1, 'asked for another trim after the dump');
}

# Both are asked for, in either order, while the process is stopped, so it finds both at once. Several dumps are then one.
sub asked_at_the_same_time
{
	my (@order) = @_;
	my $session = session($node, 'BEGIN');

	for my $round (1 .. 2)
	{
		my $from = leave_memory($session);

		kill STOP => $session->{pid};
		$_ eq 'dump' ? ask_for_dump($session) : ask_for_trim($session, 0) for @order;
		kill CONT => $session->{pid};
		trimmed_ok($session, $from, "@order, round $round", cause => 'request');
		dumps_ok($session, $from, 1, "@order, round $round");
		is($session->query_safe('SELECT 1'), 1, "@order, round $round: the session goes on");
	}
}

# The same with the session's own timer, which goes on while the process is stopped.
sub timer_at_the_same_time
{
	my $session = session($node, 'SET pg_trim.events = idle', q{SET pg_trim.idle_delay = '1s'}, 'BEGIN');
	my $from = leave_memory($session);

	kill STOP => $session->{pid};
	ask_for_dump($session);
	usleep(1_100_000);
	kill CONT => $session->{pid};
	trimmed_ok($session, $from, 'dump and timer');
	dumps_ok($session, $from, 1, 'dump and timer');
}

# Dumps are asked for one by one while trims are asked for all the time. None is lost; one that is asked for in the middle of
# ours may be written twice.
sub asked_all_the_time
{
	my $session = session($node, 'BEGIN');
	my $from = log_end($node);
	my $script = $node->basedir . '/trims.sql';
	PostgreSQL::Test::Utils::append_to_file($script, "SELECT pg_trim_backend($session->{pid}, 0)");
	my $asker = IPC::Run::start([ 'pgbench', '-n', '-T', '600', '-f', $script, $node->connstr('postgres') ],
		'>', \my $out, '2>', \my $err);

	for my $asked (1 .. 30)
	{
		my $written = count_of_dumps($session, $from);
		ask_for_dump($session);
		last unless wait_until(sub { count_of_dumps($session, $from) > $written });
	}
	$asker->kill_kill;
	cmp_ok(count_of_dumps($session, $from), '>=', 30, 'each of 30 dumps was written, with trims asked for all the time');
	like(dump_parts($session, $from), qr/^(header top others total ?)+$/, 'each as a whole');
	is($session->query_safe('SELECT 1'), 1, 'the session goes on');
}

# Where our way is closed, the session is served at the end of its next statement, and dumps are as ever.
sub no_way_in
{
	my ($setting) = @_;
	my $session = session($node, "SET $setting", 'BEGIN', 'SELECT leave_memory()');
	my $from = log_end($node);
	my $resident = resident($session->{pid});

	is(ask_for_trim($session, 500), '', "$setting: no answer from a session idle in a transaction");
	is(figure($session, 'trims'), 0, "$setting: no trim");
	ask_for_dump($session);
	dumps_ok($session, $from, $setting =~ /fatal/ ? 0 : 1, $setting);
	$session->query_safe('SELECT 1');
	is(figure($session, 'trims'), 1, "$setting: trimmed at the end of the next statement");
	cmp_ok(resident($session->{pid}), '<', $resident / 2, "$setting: its memory is gone");
}

ours_is_not_written();
somebodys_is_written();
asked_at_the_same_time('dump', 'trim');
asked_at_the_same_time('trim', 'dump');
asked_at_the_same_time('trim', 'dump', 'trim', 'dump');
timer_at_the_same_time();
asked_all_the_time();
no_way_in('pg_trim.interrupt = off');
no_way_in('log_min_messages = fatal');
done_testing();
