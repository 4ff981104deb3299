# Memory that is swapped out: what is free of it is returned, and none of it is taken for memory that came back after a trim.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $idle_delay = 300;

sub swapped_out
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/status") =~ /^VmSwap:\s+(\d+) kB$/m ? $1 : 0;
}

# The kernel is asked to swap out all private memory of the process.
sub create_page_out
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'EOS');
CREATE EXTENSION plpython3u;
CREATE FUNCTION page_out() RETURNS void LANGUAGE plpython3u AS $$
import ctypes
MADV_PAGEOUT = 21
libc = ctypes.CDLL(None)
for line in open('/proc/self/maps').read().splitlines():
    fields = line.split()
    if fields[1] == 'rw-p' and fields[4] == '0' and fields[-1] != '[stack]':
        start, end = (int(address, 16) for address in fields[0].split('-'))
        libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_PAGEOUT)
$$;
CREATE FUNCTION repeated(pattern text, times integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..times LOOP
		EXECUTE format(pattern, i);
	END LOOP;
END $$;
EOS
	return;
}

# A query that leaves garbage, and calls one more function. What it prepares last stays above it in the heap: malloc would
# return the top by itself.
sub garbage
{
	my ($name, $times, $more) = @_;

	return "SELECT repeated('PREPARE $name%s AS SELECT * FROM pg_stats', $times), "
	  . "repeated('PREPARE above_$name%s AS SELECT * FROM pg_stats', 1), repeated('DEALLOCATE $name%s', $times)"
	  . ($more ? ", $more" : '');
}

# The hold-off as the first check after the last trim left it: one that has a little to look at.
sub holdoff_after_next_check
{
	my ($session) = @_;
	my $trimmed = figure($session, 'last_trim');

	wait_until(sub {
		$session->query_safe(garbage('little', 30));
		$session->query_safe('DEALLOCATE above_little1');
		usleep(1000 * ($idle_delay + 50));
		figure($session, "checked_at > '$trimmed'") eq 't';
	});
	return figure($session, 'holdoff_ms');
}

sub live_memory_in_swap
{
	my ($session) = @_;
	my $from;

	$session->query_safe(q{SELECT repeated('PREPARE live%s AS SELECT * FROM pg_stats', 600)});
	$session->query_safe('SELECT page_out()');
	cmp_ok(swapped_out($session->{pid}), '>', 30_000, 'live memory is swapped out');
	$from = leave_memory($session, garbage('garbage', 600));
	ok(wait_for_trim($session->{node}, $session->{pid}, $from), 'the session is trimmed');
	cmp_ok(swapped_out($session->{pid}), '>', 30_000, 'which leaves live memory there');
	is(holdoff_after_next_check($session), $idle_delay, 'and it is not taken for memory that came back');
}

sub free_memory_in_swap
{
	my ($session) = @_;
	my $from = leave_memory($session, garbage('garbage', 1000, 'page_out()'));
	my $swapped = swapped_out($session->{pid});

	cmp_ok($swapped, '>', 60_000, 'free memory is swapped out');
	ok(wait_until(sub { swapped_out($session->{pid}) < $swapped - 40_000 }), 'it is returned');
	is(holdoff_after_next_check($session), $idle_delay, 'and that was worth it');
}

plan skip_all => 'this machine has no swap' if slurp_file('/proc/swaps') !~ /^\//m;

my $node = new_node('swap', ["pg_trim.idle_delay = $idle_delay"]);

create_page_out($node);
live_memory_in_swap(session($node));
# others return part of it by themselves, or none of it
free_memory_in_swap(session($node)) if allocator() eq 'glibc';
done_testing();
