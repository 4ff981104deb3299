#!/usr/bin/perl
# Turns what a run left in a folder into CSV files in the same folder.
#
#   report.pl FOLDER CANDIDATE...
use strict;
use warnings;
use List::Util qw(sum max min first);

my ($raw, @candidates) = @ARGV;
my @burst = qw(planning cursors prepares arrays);
my @workloads = qw(select tpcb mixed);
# Seconds after the burst: until when a session is idle, and a busy one is looked at.
my ($idle, $busy) = (12, 20);

sub lines {
  my ($file) = @_;
  open my $in, '<', "$raw/$file" or return;
  return map { chomp; [split ' '] } <$in>;
}

sub write_csv {
  my ($name, @rows) = @_;
  open my $out, '>', "$raw/$name.csv" or die "$raw/$name.csv: $!";
  print $out join(',', @$_), "\n" for @rows;
  close $out;
}

sub quantile {
  my ($fraction, @sorted) = @_;
  return $sorted[int($fraction * $#sorted + 0.5)];
}

sub median {
  my @sorted = sort { $a <=> $b } @_;
  return @sorted % 2 ? $sorted[$#sorted / 2] : ($sorted[@sorted / 2 - 1] + $sorted[@sorted / 2]) / 2;
}

# --- memory: samples of all sessions, second 0 being the end of the burst -------------------------------------------

sub samples {
  my ($name) = @_;
  my ($released) = map { $_->[0] } lines("released.$name");
  my %at;
  $at{$_->[0]}{$_->[1]} = $_->[2] for lines("trace.$name");
  return map { { second => $_ - $released, kb => $at{$_} } } sort { $a <=> $b } keys %at;
}

# Resident MB of a session at a time; 0 where a pooler has closed its connection. Sessions notice the end of the burst some
# hundredths of a second late.
sub resident {
  my ($samples, $role, $second) = @_;
  my $sample = first { $_->{second} >= $second + 0.05 } @$samples;
  return ($sample->{kb}{$role} // 0) / 1024;
}

sub memory {
  my @rows = ['candidate', 'workload', 'MB after 0 s', '3 s', "$idle s", 'live MB', 'needed MB', 'resident/needed'];
  my (@trace, %summary);
  push @trace, ['candidate', 'seconds', 'MB per session'];
  for my $name (@candidates) {
    my @samples = samples($name);
    my %live = map { $_->[0] => $_->[1] / 1024 / 1024 } lines("live.$name");
    # the first sample may have come before it connected
    my $fresh = max(map { resident(\@samples, 'fresh', $_) } 0 .. 3);
    for my $role (@burst, 'busy', 'fresh') {
      my @after = map { resident(\@samples, $role, $_) } 0, 3, $role eq 'busy' ? $busy : $idle;
      # what a fresh session has resident, and what this one holds beyond it
      my $needed = $fresh + max(0, $live{$role} - $live{fresh});
      push @rows, [$name, $role, map({ sprintf '%.1f', $_ } @after, $live{$role}, $needed), $needed > 0 ? sprintf('%.2f', $after[2] / $needed) : '-'];
      next if $role eq 'fresh';
      $summary{$name}{$role} = [@after, $live{$role}];
    }
    for my $sample (grep { $_->{second} < $idle + 1 } @samples) {
      my $kb = sum map { $sample->{kb}{$_} // 0 } @burst;
      push @trace, [$name, map { sprintf '%.2f', $_ } $sample->{second}, $kb / 1024 / @burst];
    }
  }
  write_csv('memory', @rows);
  write_csv('trace', @trace);
  return \%summary;
}

# --- throughput -----------------------------------------------------------------------------------------------------

# A candidate's ratios to none, of each round: both ran at the same time, on either core.
sub ratios {
  my ($name, @runs) = @_;
  return 1 if $name eq 'none';
  my (%base, %own);
  for my $run (grep { $_->{pair} =~ /^\Q$name\E\.\d+$/ } @runs) {
    ($run->{name} eq 'none' ? \%base : \%own)->{ $run->{pair} } += $run->{tps};
  }
  return map { $own{$_} / $base{$_} } sort keys %own;
}

# In ms, of what a candidate did at the same time as another one; undef: at all times.
sub latencies {
  my ($name, $workload, $other) = @_;
  # the pause in the mixed workload is part of its script
  my $pause = $workload eq 'mixed' ? 1_500_000 : 0;
  my @files = map { m{([^/]+)$} } glob "$raw/latency.$name.$workload." . ($other // '*');
  return sort { $a <=> $b } map { ($_->[0] - $pause) / 1000 } map { lines($_) } @files;
}

sub throughput {
  my ($summary) = @_;
  my @keys = qw(workload name pair tps transactions faults cpu trims trim_ms);
  my @all = map { my %run; @run{@keys} = @$_; \%run } lines('runs');
  my @rows = ['candidate', 'workload', 'tps', 'ratio', 'lowest', 'highest', 'p50 ms', 'p99 ms', 'faults per transaction',
    'CPU s per million', 'trims', 'ms in trims'];
  for my $workload (@workloads) {
    my @runs = grep { $_->{workload} eq $workload } @all;
    for my $name (@candidates) {
      my @own = grep { $_->{name} eq $name } @runs;
      my @latencies = latencies($name, $workload);
      my @ratios = ratios($name, @runs);
      # a session that pauses does what it does in the time that its statements take
      @ratios = median(latencies('none', $workload, $name)) / median(@latencies) if $workload eq 'mixed' && $name ne 'none';
      my $transactions = sum map { $_->{transactions} } @own;
      my %total = map { my $key = $_; $key => sum map { $_->{$key} } @own } qw(faults cpu trims trim_ms);
      push @rows, [$name, $workload, sprintf('%.0f', median(map { $_->{tps} } @own)),
        map({ sprintf '%.3f', $_ } median(@ratios), min(@ratios), max(@ratios), quantile(0.5, @latencies), quantile(0.99, @latencies)),
        sprintf('%.2f', $total{faults} / $transactions), sprintf('%.0f', $total{cpu} / $transactions * 1e6),
        $total{trims}, sprintf('%.1f', $total{trim_ms})];
      $summary->{$name}{$workload} = median(@ratios);
      $summary->{$name}{p99} = quantile(0.99, @latencies) if $workload eq 'select';
    }
  }
  write_csv('throughput', @rows);
}

# --- a line per candidate -------------------------------------------------------------------------------------------

sub overview {
  my ($summary) = @_;
  my @rows = ['candidate', 'MB per session after 0 s', '3 s', "$idle s", 'live MB', "busy after $busy s", 'select tps ratio',
    'TPC-B', 'mixed', 'select p99 ms'];
  for my $name (@candidates) {
    my $own = $summary->{$name};
    my @mean = map { my $column = $_; sum(map { $own->{$_}[$column] } @burst) / @burst } 0 .. 3;
    push @rows, [$name, map({ sprintf '%.1f', $_ } @mean, $own->{busy}[2]), map { sprintf '%.3f', $own->{$_} } @workloads, 'p99'];
  }
  write_csv('overview', @rows);
}

# --- the same allocator without and with pg_trim --------------------------------------------------------------------

sub allocators {
  my ($summary) = @_;
  my %with = (none => 'pg_trim', map { $_ => "pg_trim-$_" } qw(jemalloc tcmalloc mimalloc));
  my @rows = ['allocator', 'workload', "MB after $idle s", 'with pg_trim', 'ratio'];
  for my $plain (grep { $with{$_} && $summary->{ $with{$_} } } @candidates) {
    for my $role (@burst) {
      my ($without, $with) = map { $summary->{$_}{$role}[2] } $plain, $with{$plain};
      push @rows, [$plain eq 'none' ? 'glibc' : $plain, $role, map { sprintf '%.1f', $_ } $without, $with];
      push @{ $rows[-1] }, sprintf '%.2f', $with / $without;
    }
  }
  write_csv('allocators', @rows) if @rows > 1;
}

my $summary = memory();
throughput($summary);
overview($summary);
allocators($summary);
