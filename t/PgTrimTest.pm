# What the TAP tests share: a server with pg_trim, sessions that leave memory behind, how much of it there is, as seen from
# outside, and what the log says of it. Whoever waits here waits for a fact, and gives up after 180 s.

package PgTrimTest;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  allocator new_node create_leave_memory session error_of leave_memory resident wait_until
  log_end log_since trims wait_for_trim trimmed_ok figure
  start result activity ask
);

# The allocator that the servers run under.
sub allocator
{
	return $ENV{PGTRIM_TEST_ALLOCATOR} || 'glibc';
}

# A running server with pg_trim and these lines in its configuration; init => what the node's init() takes.
sub new_node
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%{ $params{init} // {} });
	$node->append_conf('postgresql.conf', join "\n",
		"shared_preload_libraries = 'pg_trim'",
		# what trims() reads; PostgreSQL 19's tests have another one
		"log_line_prefix = '%m [%p] %q%a '",
		'pg_trim.idle_delay = 100ms',
		'pg_trim.log_min_kb = 0',
		'autovacuum = off',
		'jit = off',
		'max_parallel_workers_per_gather = 0',
		'max_locks_per_transaction = 512',
		@{ $conf // [] });
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_trim');
	create_leave_memory($node);
	return $node;
}

# What people suffer from: many small things that outlive their statement, and a few of them stay, all over the heap.
# Prepared statements are such things. 1,000 of them leave about 100 MB within 0.3 s. mimalloc 2 returns only what lies in
# segments of 32 MB that are free as a whole, so there more of them come and none stays.
sub create_leave_memory
{
	my ($node, $database) = @_;
	my ($times, $kept) = allocator() eq 'mimalloc' ? (3, 1_000_000) : (1, 100);

	$node->safe_psql($database // 'postgres', <<"EOS");
CREATE FUNCTION leave_memory(statements integer DEFAULT 1000) RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	DEALLOCATE ALL;
	FOR i IN 1..$times * statements LOOP
		EXECUTE format('PREPARE p%s AS SELECT * FROM pg_stats', i);
	END LOOP;
	FOR i IN 1..$times * statements LOOP
		IF i % $kept > 0 THEN
			EXECUTE format('DEALLOCATE p%s', i);
		END IF;
	END LOOP;
END \$\$;
EOS
}

# A session that ran these statements; its server process is $session->{pid}. The 180 s are for each query.
sub session
{
	my ($node, @statements) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->set_query_timer_restart;
	$session->{node} = $node;
	$session->{pid} = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_safe($_) for @statements;
	return $session;
}

# Runs what must fail: the message.
sub error_of
{
	my ($session, $statement) = @_;

	$session->query($statement);
	my $message = $session->{stderr};
	$session->{stderr} = '';
	return $message;
}

# Runs a statement that leaves memory; where the log ended before it.
sub leave_memory
{
	my ($session, $statement) = @_;
	my $from = log_end($session->{node});

	$session->query_safe($statement // 'SELECT leave_memory()');
	return $from;
}

# Anonymous resident memory of a process in kB, as the kernel shows it to anybody.
sub resident
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB$/m ? $1 : die "process $pid has no RssAnon";
}

# Waits until the code returns true; what it returned last.
sub wait_until
{
	my ($code) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	my $result;

	until ($result = $code->() or time > $deadline)
	{
		usleep(100_000);
	}
	return $result;
}

sub log_end
{
	my ($node) = @_;

	return -s $node->logfile;
}

sub log_since
{
	my ($node, $from) = @_;

	return slurp_file($node->logfile, $from);
}

# The trims of a process (undef: of all) that were logged since then, oldest first.
sub trims
{
	my ($node, $pid, $from) = @_;
	my $log = log_since($node, $from);
	my @trims;

	while ($log =~ /
		^\S+\s\S+\s\S+\s\[(?<pid>\d+)\]\s.*LOG:\s\smalloc_trim\ssaved\s(?<saved>\d+)\skB\n
		.*\[\g{pid}\]\s.*DETAIL:\s\sResident\smemory\sfell\sfrom\s(?<before>\d+)\skB\sto\s(?<after>\d+)\skB,
		\sthe\sheap\send\s\(sbrk\)\sby\s(?<heap_fell>\d+)\skB\sfrom\s(?<heap_before>\d+)\skB\sto\s(?<heap_after>\d+)\skB,
		\sin\s(?<ms>[\d.]+)\sms,\sat\s(?<cause>\w+)\.$/mgx)
	{
		push @trims, {%+} if !defined $pid || $+{pid} == $pid;
	}
	return @trims;
}

# Waits for a trim of that process to be logged; undef if there is none.
sub wait_for_trim
{
	my ($node, $pid, $from) = @_;

	return wait_until(sub { (trims($node, $pid, $from))[0] });
}

# Passes if the session, without its client doing anything, was trimmed since then, and of at least so many kB at most that
# ratio is left.
sub trimmed_ok
{
	my ($session, $from, $name, %params) = @_;
	my $cause = $params{cause} // 'idle';
	my $least = $params{least} // 20_000;
	my $resident;
	my $trim = wait_until(sub {
		$resident = resident($session->{pid});
		(grep { $_->{cause} eq $cause && $_->{before} > $least && $resident <= ($params{ratio} // 0.5) * $_->{before} }
			  trims($session->{node}, $session->{pid}, $from))[0];
	});
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok(1, "$name: $trim->{before} kB fell to $resident kB at $cause") if $trim;
	diag "trim: $_->{before} kB to $_->{after} kB at $_->{cause}" for trims($session->{node}, $session->{pid}, $from);
	return ok(0, "$name: $resident kB are resident");
}

# A figure of pg_trim_backends about a session.
sub figure
{
	my ($session, $column) = @_;

	return $session->{node}
	  ->safe_psql('postgres', "SELECT $column FROM pg_trim_backends WHERE pid = $session->{pid}");
}

# Starts a statement; result() is what it gives, or error_of($session, '') its error.
sub start
{
	my ($session, $statement) = @_;
	my $output = $session->query_until(qr/^started\n/m, "\\echo started\n$statement;\n");

	$session->{stdout} = $output =~ s/^started\n//mr;
	return;
}

sub result
{
	my ($session) = @_;

	return $session->query_safe('');
}

# What a session does, as others see it, and what it waits for.
sub activity
{
	my ($session) = @_;

	return $session->{node}->safe_psql('postgres',
		"SELECT concat_ws(', ', state, wait_event) FROM pg_stat_activity WHERE pid = $session->{pid}");
}

# Asks a process to trim: kB that it says it returned; undef if it did not answer in time.
sub ask
{
	my ($node, $pid, $timeout_ms) = @_;
	my $bytes = $node->safe_psql('postgres',
		"SELECT pg_trim_backend($pid, " . ($timeout_ms // 180_000) . ')');

	return $bytes eq '' ? undef : $bytes / 1024;
}

1;
