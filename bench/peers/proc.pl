#!/usr/bin/perl
# Looks at the processes of a server from outside, in /proc.
#
#   proc.pl sample POSTMASTER INTERVAL   lines "TIME ROLE RESIDENT" for each session until the server is gone; resident is
#                                        RssAnon in kB, INTERVAL is in seconds
#   proc.pl children POSTMASTER          the pids of the server's processes
#   proc.pl usage POSTMASTER [PID...]    "FAULTS SECONDS": minor page faults and CPU time of the server's processes so far,
#                                        those that ended included, and of other processes
use strict;
use warnings;
use POSIX      qw(sysconf _SC_CLK_TCK);
use Time::HiRes qw(time sleep);

# The fields of /proc/PID/stat from the third on, by proc(5)'s number minus 3.
sub stat_of {
  my ($pid) = @_;
  open my $file, '<', "/proc/$pid/stat" or return;
  my $line = <$file> // return;
  return split ' ', $line =~ s/^.*\) //sr;
}

sub slurp {
  my ($path) = @_;
  open my $file, '<', $path or return '';
  local $/ = undef;
  return <$file> // '';
}

sub children {
  my ($parent) = @_;
  return grep { my @stat = stat_of($_); @stat && $stat[1] == $parent } map { m{(\d+)} } glob '/proc/[0-9]*';
}

sub sample {
  my ($postmaster, $interval) = @_;
  $| = 1;
  while (-d "/proc/$postmaster") {
    my ($now, $lines) = (time, '');
    for my $pid (children($postmaster)) {
      my ($role) = slurp("/proc/$pid/cmdline") =~ /^postgres: (\w+) \w+ \[local\] / or next;
      my ($resident) = slurp("/proc/$pid/status") =~ /^RssAnon:\s*(\d+)/m or next;
      $lines .= sprintf "%.3f %s %d\n", $now, $role, $resident;
    }
    print $lines;
    sleep $interval;
  }
}

sub usage_of {
  my ($postmaster, @others) = @_;
  my ($faults, $ticks) = (0, 0);
  for my $pid ($postmaster, @others, children($postmaster)) {
    my @stat = stat_of($pid) or next;
    my @fields = $pid == $postmaster ? (7, 8, 11, 12, 13, 14) : (7, 11, 12);
    $_ < 11 ? ($faults += $stat[$_]) : ($ticks += $stat[$_]) for @fields;
  }
  printf "%d %.2f\n", $faults, $ticks / sysconf(_SC_CLK_TCK);
}

my ($mode, @arguments) = @ARGV;
my %modes = (sample => \&sample, usage => \&usage_of, children => sub { print join("\n", children(@_)), "\n" });
($modes{$mode} // die "proc.pl: no mode $mode\n")->(@arguments);
