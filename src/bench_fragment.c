/*-------------------------------------------------------------------------
 *
 * bench_fragment.c
 *		A heap that one chunk keeps from shrinking.
 *
 * Chunks are taken from malloc one after the other and freed but for the first
 * or the last, as two programs of 2011 on libc-alpha did.  They come from
 * malloc itself, not from a memory context, so that nothing lies between them;
 * what an error leaves is freed all the same.
 *
 * Under glibc, chunks from the mmap threshold on (128 kB to begin with) are
 * not in the heap, and show nothing.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "allocator.h"
#include "bench.h"
#include "miscadmin.h"
#include "resident.h"
#include "rows.h"
#include "trim.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(pg_trim_bench_fragment);

/* At least what malloc adds to a chunk. */
#define MALLOC_HEADER 16

typedef struct Heap
{
	char	  **chunks;			/* NULL: not there, or freed */
	int			count;
	Size		size;
	int			keep;			/* index of the chunk that stays */
} Heap;

/* Every page is written, or it would not be resident. */
static void
fill(Heap *heap)
{
	for (int i = 0; i < heap->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		heap->chunks[i] = malloc(heap->size);
		if (heap->chunks[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed on chunk %d of %d, of %zu bytes.",
							   i + 1, heap->count, heap->size)));
		memset(heap->chunks[i], 1, heap->size);
	}
}

static void
free_chunk(Heap *heap, int i)
{
	free(heap->chunks[i]);
	heap->chunks[i] = NULL;
}

static void
free_all_but_one(Heap *heap)
{
	for (int i = 0; i < heap->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i != heap->keep)
			free_chunk(heap, i);
	}
}

static void
free_all(Heap *heap)
{
	for (int i = 0; i < heap->count; i++)
		free_chunk(heap, i);
}

static void
set_up(Heap *heap, int count, int64 size, const char *keep)
{
	if (count < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("chunks must be at least 2")));
	heap->count = count;
	heap->size = pgtrim_bench_size(size, 1, MaxAllocSize);
	if (pg_strcasecmp(keep, "first") == 0)
		heap->keep = 0;
	else if (pg_strcasecmp(keep, "last") == 0)
		heap->keep = count - 1;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized chunk to keep: \"%s\"", keep),
				 errhint("Allowed are \"first\" and \"last\".")));
	pgtrim_require_release();
	pgtrim_bench_require_memory(count, MAXALIGN(heap->size) + MALLOC_HEADER + sizeof(char *));
	heap->chunks = MemoryContextAllocExtended(CurrentMemoryContext, count * sizeof(char *),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Resident memory now, as a column. */
static Datum
resident_column(bool *null)
{
	return pgtrim_known(pgtrim_resident(), null);
}

/*
 * Resident memory in bytes with all chunks, after all but one were freed, and
 * after a trim; and what that took.
 */
Datum
pg_trim_bench_fragment(PG_FUNCTION_ARGS)
{
	Heap		heap;
	TrimEvent	event;
	Datum		values[4];
	bool		nulls[4] = {false};

	set_up(&heap, PG_GETARG_INT32(0), PG_GETARG_INT64(1),
		   text_to_cstring(PG_GETARG_TEXT_PP(2)));
	PG_TRY();
	{
		fill(&heap);
		values[0] = resident_column(&nulls[0]);
		free_all_but_one(&heap);
		values[1] = resident_column(&nulls[1]);
		pgtrim_trim(TRIM_MANUAL, 0, &event);
		values[2] = resident_column(&nulls[2]);
	}
	PG_FINALLY();
	{
		free_all(&heap);
		pfree(heap.chunks);
	}
	PG_END_TRY();
	values[3] = Float8GetDatum(event.elapsed_ms);
	return pgtrim_bench_row(fcinfo, values, nulls);
}
