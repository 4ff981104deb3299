/*-------------------------------------------------------------------------
 *
 * bench.h
 *		What the benchmarks share: arguments, time, rows.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_BENCH_H
#define PGTRIM_BENCH_H

#include "fmgr.h"
#include "portability/instr_time.h"

extern Size pgtrim_bench_size(int64 size, Size least, Size most);
extern void pgtrim_bench_require_memory(int64 count, Size each);
extern double pgtrim_bench_ms_since(instr_time start);
extern Datum pgtrim_bench_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

#endif							/* PGTRIM_BENCH_H */
