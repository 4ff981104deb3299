/*-------------------------------------------------------------------------
 *
 * bench.c
 *		What the benchmarks share: arguments, time, rows.
 *
 * The benchmarks take memory on purpose, in amounts that the caller chooses.
 * One that asks for more than the machine has to give would end in the kernel
 * killing the process, and with it every session of the server: so the demand
 * is held against what is available before anything is allocated.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/htup_details.h"
#include "bench.h"
#include "funcapi.h"
#include "storage/fd.h"

/* The size of a chunk, within its limits. */
Size
pgtrim_bench_size(int64 size, Size least, Size most)
{
	if (size < (int64) least || size > (int64) most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size must be between %zu and %zu bytes", least, most)));
	return (Size) size;
}

/*
 * Bytes that processes can have without the machine swapping, by the kernel's
 * own estimate; all that is built in where there is no estimate.
 */
static int64
available_memory(void)
{
	FILE	   *file = AllocateFile("/proc/meminfo", "r");
	char		line[128];
	long long	kilobytes = -1;

	if (file != NULL)
	{
		while (kilobytes < 0 && fgets(line, sizeof(line), file) != NULL)
		{
			if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) != 1)
				kilobytes = -1;
		}
		FreeFile(file);
	}
	if (kilobytes >= 0)
		return (int64) kilobytes * 1024;
	return (int64) sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* Raises an error if count chunks, of so many bytes each, would not fit. */
void
pgtrim_bench_require_memory(int64 count, Size each)
{
	int64		available = available_memory();

	if (count <= available / (int64) each)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("benchmark would need more memory than there is"),
			 errdetail("%lld chunks of %zu bytes each, headers included, do not fit into the %lld MB available.",
					   (long long) count, each, (long long) (available / (1024 * 1024)))));
}

double
pgtrim_bench_ms_since(instr_time start)
{
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	return INSTR_TIME_GET_MILLISEC(elapsed);
}

/* The result of a function with several OUT parameters. */
Datum
pgtrim_bench_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
