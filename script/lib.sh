# What the scripts share: a temp folder that cleans up after itself, a private copy of a server's installation into which
# the extension is installed, and clusters in it that only their own socket reaches. Nothing outside the temp folder is
# written, and neither root nor a port is needed. To be sourced by bash under `set -euo pipefail`:
#
#   . script/lib.sh
#   make_scratch                  the temp folder $scratch, removed at exit with all that runs in it
#   make_prefix                   $pg_config, $bindir, $pg_major: the private installation
#   copy_sources NAME             a copy of the checkout, $scratch/NAME, owned by the user who runs servers
#   copy_checkout NAME            the same, cleaned for the private installation
#   make_in NAME ARGUMENT...      make in that copy, for the private installation
#   install_extension NAME        builds that copy and installs it into the private installation
#   start_cluster NAME LINE...    a running cluster with these postgresql.conf lines; libpq's variables lead to it
#   stop_cluster NAME
#   as_server COMMAND...          runs a command as the user who runs servers
#
# PG_CONFIG chooses the server; without it, the newest in Debian's place, else the one in PATH.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
clusters=()

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# A server refuses to run as root, so root hands everything that runs one to another user.
as_server() {
  if [ "$(id -u)" -eq 0 ]; then
    runuser -u postgres -- "$@"
  else
    "$@"
  fi
}

# Sockets have short names only, and the checkout or $TMPDIR may be closed to the user who runs servers: so the folder lies
# under /tmp unless that user can reach $TMPDIR.
make_scratch() {
  local parent=${TMPDIR:-/tmp} name
  as_server test -w "$parent" && [ ${#parent} -lt 40 ] || parent=/tmp
  scratch=$(as_server mktemp -d "$parent/pg_trim.XXXXXX")
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  chmod 755 "$scratch"
  cd "$scratch"
  # The caller's own connection settings and start-up files are not for these servers.
  for name in "${!PG@}"; do
    [[ $name == PG_* || $name == PGTRIM_* ]] || unset "$name"
  done
  export HOME=$scratch LC_ALL=C
}

clean_up() {
  local status=$? name
  trap '' INT TERM HUP
  for name in ${clusters[@]+"${clusters[@]}"}; do
    stop_cluster "$name" immediate || true
  done
  cd /
  rm -rf "$scratch"
  exit "$status"
}

find_pg_config() {
  local newest
  newest=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -1 || true)
  if [ -n "${PG_CONFIG:-}" ]; then
    echo "$PG_CONFIG"
  elif [ -n "$newest" ]; then
    echo "${newest%/*}/pg_config"
  else
    command -v pg_config || die "no PostgreSQL here: run script/bootstrap, or set PG_CONFIG"
  fi
}

# A server finds its libraries and its share folder relative to where its own binary really lies, and pg_config does the
# same for make. So a copy of the binaries, beside links to everything else in the same layout, is an installation of its
# own, to which files can be added.
make_prefix() {
  local real dir
  real=$(find_pg_config)
  prefix=$scratch/prefix
  pg_major=$("$real" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
  bindir=$prefix$("$real" --bindir)
  pg_config=$bindir/pg_config

  mkdir -p "$bindir"
  cp -L "$("$real" --bindir)"/* "$bindir"
  for dir in "$("$real" --pkglibdir)" "$("$real" --sharedir)"; do
    mkdir -p "$prefix$dir"
    cp -rsn "$dir/." "$prefix$dir"
  done
  for dir in "$("$real" --includedir)" "$("$real" --libdir)"; do
    [ -e "$prefix$dir" ] || { mkdir -p "$prefix${dir%/*}" && ln -s "$dir" "$prefix$dir"; }
  done
  # An extension of that name that is installed already must not take part.
  find "$prefix" -name 'pg_trim*' -delete
  give_to_server "$prefix"
  export PATH=$bindir:$PATH
}

give_to_server() {
  [ "$(id -u)" -ne 0 ] || chown -RhP postgres: "$@"
}

checkout_tar() {
  tar -C "$top" -c --exclude=./.git --exclude=./dist .
}

copy_sources() {
  mkdir "$scratch/$1"
  checkout_tar | tar -C "$scratch/$1" -x --no-same-owner
  chmod -R u+rwX "$scratch/$1"
  give_to_server "$scratch/$1"
}

# What was built in the checkout may belong to another server or compiler, so the copy starts clean.
copy_checkout() {
  copy_sources "$1"
  make_in "$1" clean
}

# make in a copy of the checkout, for the private installation. JIT bitcode is of no use here and needs one exact clang.
make_in() {
  local name=$1
  shift
  as_server make -s -C "$scratch/$name" PG_CONFIG="$pg_config" with_llvm=no "$@"
}

install_extension() {
  make_in "$1" -j"$(nproc)" all
  make_in "$1" install
}

start_cluster() {
  local name=$1 dir=$scratch/$1
  shift
  as_server mkdir "$dir"
  as_server "$bindir/initdb" -D "$dir/data" -A trust -U postgres -E UTF8 --no-locale --no-sync >"$dir.log" 2>&1 ||
    { cat "$dir.log" >&2; return 1; }
  printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir'" "port = 65432" "fsync = off" "$@" |
    as_server tee -a "$dir/data/postgresql.conf" >/dev/null
  clusters+=("$name")
  as_server "$bindir/pg_ctl" start -w -s -t 120 -D "$dir/data" -l "$dir/server.log" </dev/null ||
    { tail -20 "$dir/server.log" >&2; return 1; }
  export PGHOST=$dir PGPORT=65432 PGUSER=postgres PGDATABASE=postgres
}

stop_cluster() {
  local data=$scratch/$1/data
  [ ! -e "$data/postmaster.pid" ] || as_server "$bindir/pg_ctl" stop -w -s -t 120 -m "${2:-fast}" -D "$data"
}
