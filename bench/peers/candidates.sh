# What is compared: to be sourced after lib.sh.

candidates=(none glibc-128kB jemalloc jemalloc-decay tcmalloc mimalloc pgbouncer
  pg_trim pg_trim-every-time pg_trim-transaction pg_trim-jemalloc pg_trim-tcmalloc pg_trim-mimalloc)

# The environment of a candidate's server, as words NAME=VALUE.
environment_of() {
  case $1 in
    glibc-128kB)    echo MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072 ;;
    *jemalloc)      echo "LD_PRELOAD=$(library libjemalloc)" ;;
    jemalloc-decay) echo "LD_PRELOAD=$(library libjemalloc)" MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:1000 ;;
    *tcmalloc)      echo "LD_PRELOAD=$(library libtcmalloc_minimal)" ;;
    *mimalloc)      echo "LD_PRELOAD=$(library libmimalloc)" ;;
  esac
}

# The lines of its postgresql.conf.
settings_of() {
  case $1 in
    pg_trim*) echo "shared_preload_libraries = 'pg_trim'" ;;
  esac
  case $1 in
    pg_trim-every-time)  echo "pg_trim.events = 'query,transaction'"; echo "pg_trim.threshold_kb = 0" ;;
    pg_trim-transaction) echo "pg_trim.events = 'transaction'" ;;
  esac
}

library() {
  local path
  path=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v n="$1" '$1 ~ "^" n "\\.so\\." && !found++ { print $NF }')
  [ -n "$path" ] || die "$1 is not installed: run script/bootstrap allocators"
  echo "$path"
}

# A pooler that recycles connections, in front of the cluster of that name. Only its own socket reaches it.
start_pooler() {
  local dir=$scratch/$1 role
  as_server mkdir "$dir/pool"
  {
    echo '[databases]'
    echo "postgres = host=$dir port=65432"
    echo '[pgbouncer]'
    printf '%s\n' "unix_socket_dir = $dir/pool" "listen_port = 65432" "auth_type = trust" "auth_file = $dir/users" \
      "pool_mode = transaction" "server_lifetime = 5" "default_pool_size = 50" "max_client_conn = 100" \
      "logfile = $dir/pool.log" "pidfile = $dir/pool.pid" "log_connections = 0" "log_disconnections = 0"
    ! pooler_prepares || echo 'max_prepared_statements = 100'
  } | as_server tee "$dir/pool.ini" >/dev/null
  for role in postgres "${roles[@]}"; do
    echo "\"$role\" \"\""
  done | as_server tee "$dir/users" >/dev/null
  as_server "$(PATH=$PATH:/usr/sbin command -v pgbouncer)" -q -d "$dir/pool.ini" || die "pgbouncer does not start"
}

# Its process, if the candidate of that name has one.
pooler_of() {
  [ ! -e "$scratch/$1/pool.pid" ] || cat "$scratch/$1/pool.pid"
}

stop_poolers() {
  local file
  for file in "$scratch"/*/pool.pid; do
    [ ! -e "$file" ] || kill "$(cat "$file")" 2>/dev/null || true
  done
}

# Does this pgbouncer pass prepared statements from one connection to the next?
pooler_prepares() {
  PATH=$PATH:/usr/sbin pgbouncer --version | awk '/^PgBouncer/ { split($2, v, "."); exit !(v[1] > 1 || v[2] >= 21) }'
}

# go_to NAME: libpq's variables lead to this candidate, as a client would reach it.
go_to() {
  export PGHOST=$scratch/$1
  [ "$1" != pgbouncer ] || PGHOST+=/pool
}
