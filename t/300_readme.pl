# The README's SQL does what the README says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('readme', ["shared_preload_libraries = 'pg_trim, pg_stat_statements'"]);
my $session = session($node, 'CREATE EXTENSION pg_stat_statements');

# The block after a line that begins so.
sub block
{
	my ($beginning) = @_;
	my $readme = slurp_file("$FindBin::RealBin/../README.md");

	return $readme =~ /^\Q$beginning\E[^`]*(?:`[^`]+`[^`]*)*?^```sql\n(.*?)^```$/ms ? $1 : die "no SQL after: $beginning";
}

sub last_rows
{
	my ($beginning) = @_;

	return $session->query_safe(block($beginning));
}

trimmed_ok($session, leave_memory($session), 'a session');
like(last_rows('The ten fattest processes'), qr/^$session->{pid}\|\d+ [kM]B\|/m, 'the fattest processes');
like(last_rows('How much all of them hold'), qr/^\d+ \w+\|\d+$/m, 'what all hold');
like(last_rows('How much was returned, and what'), qr/^idle\|[1-9]\d*\|\d+ MB\|/m, 'what was returned');
like(last_rows('How much was returned since yesterday'), qr/^\d+ MB$/m, 'since yesterday, where counting began later');
like(last_rows('Which statements left it'), allocator() eq 'glibc' ? qr/leave_memory/ : qr/^-?\d+\|/, 'which statements left it');
$session->{stderr} = '';
like($node->safe_psql('postgres', block('Take it back now')), qr/^[1-9]\d*\|/m, 'take it back now');
done_testing();
