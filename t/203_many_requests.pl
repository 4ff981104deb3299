# Requests that meet: many for one process, of two processes to each other, of a process to itself, one after the other.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max);
use PgTrimTest;
use Test::More;

my $node = new_node('many_requests', ['pg_trim.events = none']);

sub many_for_one
{
	my $session = session($node, 'SELECT leave_memory()');
	my @askers = map { session($node) } 1 .. 20;
	my $before = resident($session->{pid});

	# it cannot answer before all have asked
	kill STOP => $session->{pid};
	start($_, "SELECT pg_trim_backend($session->{pid}, 180000)") for @askers;
	wait_until(sub { activity($askers[-1]) eq 'active, Extension' });
	kill CONT => $session->{pid};
	my @answers = map { result($_) } @askers;

	is(scalar(grep { $_ ne '' } @answers), 20, '20 sessions ask one, and all are answered');
	my $fell = $before - resident($session->{pid});
	my $answer = max(@answers) / 1024;
	cmp_ok(abs($answer - $fell), '<=', 1024 + $answer / 50, "they are told of the $fell kB that are gone");
}

# Nor is an answer lost if the next one comes before it was read.
sub answers_keep_apart
{
	my $session = session($node, 'SELECT leave_memory()');
	my $asker = session($node);
	my $before = resident($session->{pid});

	kill STOP => $session->{pid};
	start($asker, "SELECT pg_trim_backend($session->{pid}, 180000)");
	wait_until(sub { activity($asker) eq 'active, Extension' });
	kill STOP => $asker->{pid};
	kill CONT => $session->{pid};
	wait_until(sub { figure($session, 'trims') == 1 });
	ask($node, $session->{pid}) for 1 .. 5;
	kill CONT => $asker->{pid};

	my $fell = $before - resident($session->{pid});
	my $answer = result($asker) / 1024;
	cmp_ok(abs($answer - $fell), '<=', 1024 + $answer / 50, "who reads late is told of its own trim, $answer kB");
}

sub each_other
{
	my @sessions = map { session($node) } 1 .. 2;
	my $times = 500;

	start($sessions[$_], "SELECT count(pg_trim_backend($sessions[1 - $_]->{pid}, 180000)) FROM generate_series(1, $times)")
	  for 0, 1;
	is(result($_), $times, "two sessions ask each other $times times, and are answered") for @sessions;
	cmp_ok(figure($_, 'trims'), '>=', 1, 'both trimmed') for @sessions;
}

sub in_a_ring
{
	my @sessions = map { session($node) } 1 .. 5;
	my $times = 100;

	start($sessions[$_], "SELECT count(pg_trim_backend($sessions[$_ - 1]->{pid}, 180000)) FROM generate_series(1, $times)")
	  for 0 .. $#sessions;
	is(result($_), $times, "sessions ask in a ring, $times times") for @sessions;
}

sub all_ask_all
{
	my @sessions = map { session($node) } 1 .. 5;
	my $times = 20;

	start($_, "SELECT count(*) FROM generate_series(1, $times) i, pg_trim_all(180000 + 0 * i) WHERE released IS NULL") for @sessions;
	is(result($_), 0, "sessions ask all at once, $times times") for @sessions;
}

sub oneself
{
	my $session = session($node, 'SELECT leave_memory()');
	my $before = resident($session->{pid});
	my $answer = $session->query_safe('SELECT pg_trim_backend(pg_backend_pid())') / 1024;
	my $fell = $before - resident($session->{pid});

	cmp_ok($answer, '>', 20_000, "a session asks itself: $answer kB");
	cmp_ok(abs($answer - $fell), '<=', 1024 + $answer / 50, "$fell kB are gone");
	is(figure($session, 'last_event'), 'request', 'that was a request');
}

# Trims that are asked for do not teach the back-off, and refreshes are no trims.
sub refreshes_between
{
	my $session = session($node, 'SELECT leave_memory()', 'BEGIN', 'SELECT');
	my $asker = session($node);

	is($asker->query_safe("SELECT sum(pg_trim_refresh($session->{pid}, 180000)) FROM generate_series(1, 100)"),
		100, 'asked 100 times, a session publishes its figures');
	is(figure($session, 'trims'), 0, 'without a trim');
	cmp_ok(figure($session, 'retained'), '>', 20_000_000, 'they say what a trim would return');
	my $before = figure($session, 'resident');
	cmp_ok(ask($node, $session->{pid}), '>', 20_000, 'it does');
	cmp_ok(figure($session, 'resident'), '<', $before - 20_000_000, 'the view sees it at once');
}

many_for_one();
answers_keep_apart();
each_other();
in_a_ring();
all_ask_all();
oneself();
refreshes_between();
done_testing();
