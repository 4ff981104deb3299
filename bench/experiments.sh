# What the experiments share, besides script/lib.sh: to be sourced after it, with the script's arguments.
#
#   set_up [--quick] [--output DIR]   the private installation with pg_trim; $quick is empty or not, $results is a folder
#   sql, csv                          psql in the running cluster; csv prints a heading
#   median COLUMN                     SQL for the median of a column
#   plot NAME                         runs the gnuplot commands on standard input: $results/NAME.svg; for horizontal bars,
#                                     low(I, N) is where the I-th of N bars of a row begins, counted from 0

. "$top/bench/peers/lib.sh"

published=$top/bench/published

parse_arguments() {
  quick= results=
  while [ $# -gt 0 ]; do
    case $1 in
      --quick)  quick=yes ;;
      --output) [ $# -gt 1 ] || usage
                results=$(realpath -m "$2"); shift ;;
      *)        usage ;;
    esac
    shift
  done
  # A quick run is not to replace a recorded one.
  results=${results:-$top/bench/results${quick:+/quick}}
  mkdir -p "$results" 2>/dev/null && [ -w "$results" ] || die "cannot write to $results: choose a folder with --output"
}

set_up() {
  parse_arguments "$@"
  "$top/script/bootstrap" server build bench
  make_scratch
  make_prefix
  build_extension
}

sql() {
  as_server psql -XAtq -v ON_ERROR_STOP=1 "$@"
}

csv() {
  sql --csv -P tuples_only=off "$@"
}

median() {
  echo "percentile_cont(0.5) WITHIN GROUP (ORDER BY $1)"
}

plot() {
  { echo "set terminal svg size 860,480 font 'sans,13' background 'white'"
    echo "set output '$scratch/plot.svg'"
    echo "set datafile separator ','; set datafile columnheaders"
    echo "set grid lc 'gray80'"
    echo "low(i, n) = column(0) - 0.4 + 0.8 * i / n"
    cat
  } | gnuplot >&2
  cp "$scratch/plot.svg" "$results/$1.svg"
  progress "see $results/$1.svg"
}
