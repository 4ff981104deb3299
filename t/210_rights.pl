# Whose sessions who may trim, with real sessions: the rules of pg_cancel_backend().

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgTrimTest;
use Test::More;

my $node = new_node('rights');

$node->safe_psql('postgres', <<'EOS');
CREATE ROLE owner LOGIN;
CREATE ROLE stranger LOGIN;
CREATE ROLE member LOGIN IN ROLE owner;
CREATE ROLE outsider LOGIN NOINHERIT IN ROLE owner;
CREATE ROLE signaller LOGIN IN ROLE pg_signal_backend;
CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats;
CREATE ROLE dba LOGIN SUPERUSER;
EOS

sub session_of
{
	my ($role) = @_;

	local $ENV{PGUSER} = $role;
	return session($node);
}

my %sessions = map { $_ => session_of($_) } qw(owner stranger dba);
my $checkpointer = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});

my $not_superuser = qr/ERROR:  must be a superuser to trim a superuser's or the server's own process/;
my $not_member = qr/ERROR:  must be a member of the role whose process is being trimmed or member of pg_signal_backend/;

sub may
{
	my ($role, @whom) = @_;
	my $asker = session_of($role);

	like($asker->query_safe("SELECT pg_trim_backend($sessions{$_}->{pid}, 180000)"), qr/^\d+$/, "$role may trim a session of $_")
	  for @whom;
}

sub may_not
{
	my ($role, $error, @whom) = @_;
	my $asker = session_of($role);

	like(error_of($asker, "SELECT pg_trim_backend($sessions{$_}->{pid}, 180000)"), $error, "$role may not trim a session of $_")
	  for @whom;
}

sub may_not_touch_the_server
{
	my ($role) = @_;

	like(error_of(session_of($role), "SELECT pg_trim_backend($checkpointer, 180000)"), $not_superuser, "$role may not trim the checkpointer");
}

# pg_trim_all() asks the sessions of these roles, and no other process.
sub all_are
{
	my ($role, @whose) = @_;
	my $roles = join ', ', map { "'$_'" } @whose;

	is(session_of($role)->query_safe(<<"EOS"), 0, "$role asks all: those of @whose");
SELECT count(*)
FROM pg_trim_all(180000) a FULL JOIN (SELECT pid FROM pg_stat_activity WHERE usename IN ($roles)) s USING (pid)
WHERE a.pid IS NULL OR s.pid IS NULL
EOS
}

may('owner', 'owner');
may('stranger', 'stranger');
may('member', 'owner');
may('signaller', 'owner', 'stranger');
may('dba', 'owner', 'stranger', 'dba');
like(session_of('dba')->query_safe("SELECT pg_trim_backend($checkpointer, 180000)"), qr/^\d+$/, 'dba may trim the checkpointer');

may_not('owner', $not_member, 'stranger');
may_not('stranger', $not_member, 'owner');
may_not('member', $not_member, 'stranger');
may_not('outsider', $not_member, 'owner');
may_not('monitor', $not_member, 'owner');
may_not('reader', $not_member, 'owner');
may_not($_, $not_superuser, 'dba') for qw(owner member signaller monitor reader);
may_not_touch_the_server($_) for qw(owner signaller monitor);

all_are('owner', 'owner');
all_are('stranger', 'stranger');
all_are('member', 'member', 'owner');
all_are('signaller', qw(signaller owner stranger member outsider monitor reader));
all_are('monitor', 'monitor');

# Who may not ask disturbs nobody.
is(figure($sessions{dba}, 'last_event'), 'request', 'the superuser was asked');
is($sessions{dba}->query_safe('SELECT 1'), 1, 'and goes on');

# The views show all to who may read them.
is(session_of('monitor')->query_safe("SELECT backend_type FROM pg_trim_backends WHERE pid = $sessions{dba}->{pid}"),
	'client backend', "monitor sees a superuser's session");
is(session_of('monitor')->query_safe("SELECT count(*) FROM pg_trim_diagnosis WHERE pid = $sessions{dba}->{pid}"), 1, 'and its diagnosis');
is(session_of('monitor')->query_safe("SELECT pg_trim_refresh($sessions{dba}->{pid}, 180000)"), 1, 'and has it publish its figures');
done_testing();
