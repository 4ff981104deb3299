# What these benchmarks share, besides script/lib.sh: to be sourced after it.

usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

progress() {
  printf '%(%T)T  %s\n' -1 "$*" >&2
}

# as_server for commands in the background: $! is then a process that hands signals on to the command, or is it.
exec_as_server() {
  if [ "$(id -u)" -eq 0 ]; then
    exec runuser -u postgres -- "$@"
  else
    exec "$@"
  fi
}

build_extension() {
  progress "building pg_trim for $("$pg_config" --version)"
  copy_checkout build
  install_extension build >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log" >&2; die "pg_trim does not build"; }
}

# restart_cluster NAME [COMMAND...]: starts a cluster that is stopped, its server being run by a command.
restart_cluster() {
  local name=$1 wrapper=$scratch/$1/postgres
  shift
  printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$*" "$bindir/postgres" | as_server tee "$wrapper" >/dev/null
  as_server chmod +x "$wrapper"
  as_server "$bindir/pg_ctl" start -w -s -t 600 -p "$wrapper" -D "$scratch/$name/data" -l "$scratch/$name/server.log" </dev/null ||
    { tail -20 "$scratch/$name/server.log" >&2; return 1; }
  export PGHOST=$scratch/$name
}

# pin NAME CORE [PID...]: a cluster's processes, those of its sessions to come, and other processes run on that core alone.
pin() {
  local cluster=$1 core=$2 postmaster pid
  shift 2
  postmaster=$(head -1 "$scratch/$cluster/data/postmaster.pid")
  for pid in "$postmaster" $(perl "$top/bench/peers/proc.pl" children "$postmaster") "$@"; do
    # a session may have ended meanwhile
    taskset -apc "$core" "$pid" >/dev/null 2>&1 || true
  done
}

# Throughput of two servers is compared at once, each on a core of its own, the cores being swapped in the middle: what else
# happens on the machine then hits both.
require_two_cores() {
  [ "$(nproc)" -ge 2 ] || die "needs two cores"
}

# The machine and its software in one line.
machine() {
  local os cpu memory libc
  os=$(. /etc/os-release && echo "$PRETTY_NAME")
  cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
  memory=$(awk '/^MemTotal/ { printf "%.0f GB", $2 / 1024 / 1024 }' /proc/meminfo)
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || echo "unknown C library")
  echo "$("$pg_config" --version | sed 's/ (.*//'), $os, Linux $(uname -r | sed 's/-.*//'), $libc, $(nproc) x ${cpu:-$(uname -m)}, $memory"
}

# A CSV file on standard input as a markdown table.
markdown() {
  awk -F, '{
    row = "|"
    line = "|"
    for (i = 1; i <= NF; i++) { row = row " " $i " |"; line = line (i == 1 ? " --- |" : " ---: |") }
    print row
    if (NR == 1) print line
  }'
}

# publish NAME TITLE: the CSV file on standard input becomes results/NAME.csv and, with a title and the machine's
# description, NAME.md, which is also printed. Only complete results replace older ones.
publish() {
  local folder=$results/$1
  mkdir -p "$results"
  cat >"$scratch/publish.csv"
  { echo "$2"; echo; echo "$(machine); $(date -u +%F)."; echo; markdown <"$scratch/publish.csv"; } >"$scratch/publish.md"
  cp "$scratch/publish.csv" "$folder.csv"
  cp "$scratch/publish.md" "$folder.md"
  cat "$scratch/publish.md"
}
