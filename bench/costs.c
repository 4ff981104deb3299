/*-------------------------------------------------------------------------
 *
 * costs.c
 *		What bench/costs measures inside a server process.  It is built into a
 *		copy of pg_trim, and is no part of the extension.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <malloc.h>
#include <sys/resource.h>

#include "act.h"
#include "fmgr.h"
#include "portability/instr_time.h"

/* malloc() gives larger chunks a mapping of their own. */
#define MAX_CHUNK (64 * 1024)
#define LIVE_SIZE 64

/* What all chunks begin with. */
typedef struct Chunk
{
	struct Chunk *next;
} Chunk;

static Chunk *live_chunks = NULL;

PG_FUNCTION_INFO_V1(bench_fill);
PG_FUNCTION_INFO_V1(bench_drop);
PG_FUNCTION_INFO_V1(bench_malloc_trim);
PG_FUNCTION_INFO_V1(bench_trim);
PG_FUNCTION_INFO_V1(bench_check);
PG_FUNCTION_INFO_V1(bench_faults);

static void
add(Chunk **list, size_t size)
{
	Chunk	   *chunk = malloc(size);

	if (chunk == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	memset(chunk, 1, size);
	chunk->next = *list;
	*list = chunk;
}

static void
free_all(Chunk **list)
{
	while (*list != NULL)
	{
		Chunk	   *chunk = *list;

		*list = chunk->next;
		free(chunk);
	}
}

/* Makes chunks small; they stay where they are. */
static void
shrink_all(Chunk *chunk)
{
	while (chunk != NULL)
	{
		Chunk	   *next = chunk->next;
		uintptr_t	place = (uintptr_t) chunk;

		if ((uintptr_t) realloc(chunk, LIVE_SIZE) != place)
			elog(ERROR, "realloc() moved a chunk");
		chunk = next;
	}
}

/*
 * bench_fill(bytes, live): a heap of so many bytes, all free but for a number
 * of small chunks at equal distances, the last one near its end.
 *
 * Small ones would go into holes that the heap has already, so all are made
 * large and those that are to live shrink when the heap is full.
 */
Datum
bench_fill(PG_FUNCTION_ARGS)
{
	int64		bytes = PG_GETARG_INT64(0);
	int64		live = PG_GETARG_INT64(1);
	int64		distance = bytes / live;
	int64		size = Max(Min(distance, MAX_CHUNK), LIVE_SIZE);
	Chunk	   *others = NULL;

	for (int64 i = 0; i < live; i++)
	{
		for (int64 j = 1; j < distance / size; j++)
			add(&others, size);
		add(&live_chunks, size);
	}
	shrink_all(live_chunks);
	free_all(&others);
	PG_RETURN_VOID();
}

/* bench_drop(): frees what bench_fill() left. */
Datum
bench_drop(PG_FUNCTION_ARGS)
{
	free_all(&live_chunks);
	malloc_trim(0);
	PG_RETURN_VOID();
}

static double
ms_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* bench_malloc_trim(): ms that a bare malloc_trim(0) takes. */
Datum
bench_malloc_trim(PG_FUNCTION_ARGS)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	malloc_trim(0);
	PG_RETURN_FLOAT8(ms_since(start));
}

/* bench_trim(): ms that pg_trim takes for all it does about a trim. */
Datum
bench_trim(PG_FUNCTION_ARGS)
{
	TrimEvent	event;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	pgtrim_act_and_log(TRIM_MANUAL, 0, &event);
	PG_RETURN_FLOAT8(ms_since(start));
}

/* bench_check(runs): microseconds of a check that decides not to trim. */
Datum
bench_check(PG_FUNCTION_ARGS)
{
	int32		runs = PG_GETARG_INT32(0);
	TrimEvent	event;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (int32 i = 0; i < runs; i++)
	{
		if (pgtrim_act(TRIM_IDLE, 0, &event))
			ereport(ERROR, (errmsg("the check decided to trim")));
	}
	PG_RETURN_FLOAT8(ms_since(start) * 1000 / runs);
}

/* bench_faults(): page faults of this process so far. */
Datum
bench_faults(PG_FUNCTION_ARGS)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	PG_RETURN_INT64(usage.ru_minflt);
}
