# A benchmark can be canceled, and leaves nothing behind: no memory context, no memory of malloc's. And facts about them for
# which a session must be fresh.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('bench');

# Endless, each of them: where one call cannot be, calls follow each other.
my %benchmarks = (
	palloc_pfree => q{r := pg_trim_bench_palloc_pfree(9223372036854775807, 100)},
	palloc_pfree_of_large_chunks => q{r := pg_trim_bench_palloc_pfree(9223372036854775807, 100000000)},
	palloc_pfree_in_a_slab => q{r := pg_trim_bench_palloc_pfree(9223372036854775807, 100, 'slab')},
	palloc_pfree_in_a_generation => q{r := pg_trim_bench_palloc_pfree(9223372036854775807, 100, 'generation')},
	window => q{r := pg_trim_bench_window(9223372036854775807, 1000, 100000)},
	context_reset => q{LOOP r := pg_trim_bench_context_reset(5000000, 8); END LOOP},
	table => q{LOOP PERFORM FROM pg_trim_bench_table(ARRAY[1000, 5000000], 8); END LOOP},
	fragment => q{LOOP r := pg_trim_bench_fragment(2000, 120000, 'last'); END LOOP},
	overhead => q{r := pg_trim_bench_overhead('SELECT count(*) FROM generate_series(1, 1000)', 1000000)},
	overhead_of_a_long_query => q{r := pg_trim_bench_overhead('SELECT pg_sleep(1000000)', 1)});

# Runs a benchmark until it is canceled: the error, the contexts that are there when the error is caught, and whether memory
# is in use that was not before.
sub block
{
	my ($call) = @_;

	return <<"EOS";
DO \$\$
DECLARE
	r text;
	before bigint := (SELECT in_use FROM pg_trim_heap());
BEGIN
	$call;
EXCEPTION WHEN query_canceled THEN
	RAISE EXCEPTION '%, % contexts, %', SQLSTATE,
		(SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'pg_trim benchmark%'),
		(SELECT CASE WHEN in_use - before > 4000000 THEN in_use - before || ' bytes left' ELSE 'nothing left' END
		 FROM pg_trim_heap());
END \$\$;
EOS
}

# Is it at it, for more than a moment?
sub is_running
{
	my ($pid) = @_;

	return $node->safe_psql('postgres',
		qq{SELECT 1 FROM pg_stat_activity WHERE pid = $pid AND state = 'active' AND query LIKE 'DO%'
		   AND clock_timestamp() > query_start + interval '0.5 s'});
}

sub canceled
{
	my ($name) = @_;
	my $session = session($node);

	$session->query_until(qr/started/, "\\echo started\n" . block($benchmarks{$name}));
	ok(wait_until(sub { is_running($session->{pid}) }), "$name runs");
	my $asked = time;
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	like(error_of($session, 'SELECT'), qr/ERROR:  57014, 0 contexts, nothing left/,
		"$name: canceled, and nothing left behind");
	note(sprintf '%s: it took %.0f ms', $name, 1000 * (time - $asked));
	is($session->query_safe('SELECT pg_backend_pid()'), $session->{pid}, "$name: the session goes on");
	$session->quit;
}

# The figures of 2011: one chunk at the end pins all that was freed before it, one at the beginning nothing.
sub pinned_heap
{
  SKIP:
	{
		skip 'only glibc has a heap with an end', 3 if allocator() ne 'glibc';
		my $from = 'FROM pg_trim_bench_fragment(2000, 120000,';

		is($node->safe_psql('postgres', "SELECT resident_freed > 0.9 * resident_full $from 'last')"),
			't', 'the last chunk keeps the memory of those before it');
		is($node->safe_psql('postgres', "SELECT resident_trimmed < 0.1 * resident_full $from 'last')"),
			't', 'a trim returns it');
		is($node->safe_psql('postgres', "SELECT resident_freed < 0.1 * resident_full $from 'first')"),
			't', 'the first chunk keeps nothing');
	}
}

# Even where nothing happened before in the session that would let it know that it is inside a query.
sub own_trims_keep_still
{
	my $from = log_end($node);
	my $pid = $node->safe_psql('postgres',
		q{SELECT pg_backend_pid() FROM pg_trim_bench_overhead('SELECT count(*) FROM generate_series(1, 1000)', 5)},
		connstr => $node->connstr('postgres') . q{ options='-cpg_trim.events=query -cpg_trim.threshold_kb=0'});

	is(join(' ', map { $_->{cause} } trims($node, $pid, $from)), 'query', 'of the trims by itself, only that of the whole query');
}

canceled($_) for sort keys %benchmarks;
pinned_heap();
own_trims_keep_still();

done_testing();
