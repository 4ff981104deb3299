# Draws both plots as SVG and PNG: gnuplot -e "raw = 'FOLDER'; out = 'FOLDER'; candidates = 'NAME NAME'" plot.gp
set datafile separator ','
set style line 100 lc rgb '#dddddd'
set grid back ls 100
set tics nomirror
set border 3

color(name) = name eq 'none' ? 0x000000 : name[1:7] eq 'pg_trim' ? 0xd62728 : 0x1f77b4
width(name) = name[1:7] eq 'pg_trim' ? 3 : 1.5
dashes(name) = name[1:8] eq 'pg_trim-' ? 2 : 1
# Labels stand on either side of their points, so that few overlap.
left(name) = name[1:8] eq 'pg_trim-' && column(7) > 0.5
right(name) = !left(name) && name ne 'pg_trim'
label_if(condition) = condition ? strcol(1) : ''
of(name, column) = sprintf("<awk -F, '$1 == \"%s\"' %s/%s", name, raw, column)

do for [type in 'svg png'] {
  if (type eq 'svg') { set terminal svg size 1000,560 font 'sans,13' background 'white' }
  else { set terminal pngcairo size 1500,840 font 'sans,18' }

  set output out.'/memory.'.type
  set title 'Resident memory of a session, the burst ending at 0 s'
  set xlabel 'seconds'
  set ylabel 'MB'
  set key outside right
  set autoscale
  set xrange [-5:13]
  set yrange [0:*]
  plot for [name in candidates] of(name, 'trace.csv') using 2:3 with lines \
    lw width(name) dt dashes(name) title name noenhanced

  set output out.'/tradeoff.'.type
  set title 'Resident memory of an idle session 12 s after a burst, against throughput'
  set xlabel 'tps of pgbench -S against no extension, run at the same time'
  set ylabel 'MB'
  set nokey
  set xrange [0:1.4]
  set yrange [0:*]
  set offsets 0, 0, graph 0.1, 0
  plot raw.'/overview.csv' skip 1 using 7:4:(color(strcol(1))) with points pt 7 ps 1.5 lc rgb variable title '', \
    '' skip 1 using 7:4:(label_if(right(strcol(1)))) with labels left offset 1,0.3 noenhanced title '', \
    '' skip 1 using 7:4:(label_if(left(strcol(1)))) with labels right offset -1,0.3 noenhanced title '', \
    '' skip 1 using 7:4:(label_if(strcol(1) eq 'pg_trim')) with labels center offset 0,-1 noenhanced title ''
  unset offsets
}
