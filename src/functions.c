/*-------------------------------------------------------------------------
 *
 * functions.c
 *		SQL functions for the calling session.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "act.h"
#include "allocator.h"
#include "fmgr.h"
#include "funcapi.h"
#include "resident.h"
#include "rows.h"
#include "shared.h"
#include "statements.h"
#include "stats.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(pg_trim_now);
PG_FUNCTION_INFO_V1(pg_trim_now_verbose);
PG_FUNCTION_INFO_V1(pg_trim_heap);
PG_FUNCTION_INFO_V1(pg_trim_reset);

/* kB of the argument as bytes. */
static size_t
pad_argument(int pad_kb)
{
	if (pad_kb < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("pad must not be negative")));
	return (size_t) pad_kb * 1024;
}

static void
trim_now(FunctionCallInfo fcinfo, TrimEvent *event)
{
	size_t		pad = pad_argument(PG_GETARG_INT32(0));

	pgtrim_require_release();
	pgtrim_act_and_log(TRIM_MANUAL, pad, event);
}

static Datum
allocator_column(void)
{
	char		description[128];

	pgtrim_allocator_describe(description, sizeof(description));
	return CStringGetTextDatum(description);
}

static Datum
make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * Trims this session, all but pad_kb at the top of the heap: bytes of resident
 * memory that were returned.
 */
Datum
pg_trim_now(PG_FUNCTION_ARGS)
{
	TrimEvent	event;

	trim_now(fcinfo, &event);
	PG_RETURN_INT64(event.released);
}

/* The same, with what was measured; bytes and milliseconds. */
Datum
pg_trim_now_verbose(PG_FUNCTION_ARGS)
{
	TrimEvent	event;
	Datum		values[7];
	bool		nulls[7] = {false};

	trim_now(fcinfo, &event);
	values[0] = allocator_column();
	values[1] = pgtrim_known(event.resident_before, &nulls[1]);
	values[2] = pgtrim_known(event.resident_after, &nulls[2]);
	values[3] = pgtrim_known(event.heap_before, &nulls[3]);
	values[4] = pgtrim_known(event.heap_after, &nulls[4]);
	values[5] = Int64GetDatum(event.released);
	values[6] = Float8GetDatum(event.elapsed_ms);
	return make_row(fcinfo, values, nulls);
}

/* This session's heap, in bytes; NULL where the allocator has no figure. */
Datum
pg_trim_heap(PG_FUNCTION_ARGS)
{
	const Allocator *allocator = pgtrim_allocator();
	HeapFigures heap = {-1, -1, -1, -1};
	MemoryFigures memory;
	Datum		values[8];
	bool		nulls[8] = {false};

	pgtrim_look(&memory);
	if (allocator->figures != NULL)
		allocator->figures(&heap);
	values[0] = allocator_column();
	values[1] = pgtrim_known(pgtrim_resident(), &nulls[1]);
	values[2] = pgtrim_known(pgtrim_heap_size(), &nulls[2]);
	values[3] = pgtrim_known(heap.in_use, &nulls[3]);
	values[4] = pgtrim_known(heap.free, &nulls[4]);
	values[5] = pgtrim_known(heap.top_free, &nulls[5]);
	values[6] = pgtrim_known(heap.mmapped, &nulls[6]);
	values[7] = pgtrim_known(memory.retained, &nulls[7]);
	return make_row(fcinfo, values, nulls);
}

/* Sets the counters per event, the histogram and the statements back. */
Datum
pg_trim_reset(PG_FUNCTION_ARGS)
{
	pgtrim_require_shared_memory();
	pgtrim_stats_reset();
	pgtrim_statements_reset();
	PG_RETURN_VOID();
}
