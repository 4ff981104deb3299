/*-------------------------------------------------------------------------
 *
 * bench_palloc.c
 *		What palloc, pfree and a context reset cost.
 *
 * Each benchmark works in a context of its own, which is gone when it ends,
 * in whatever way.  A chunk's first byte is written, so that its allocation
 * has a use that the compiler must respect; the memory context itself has
 * written the chunk's header right before it, so this touches no new page but
 * by chance.
 *
 * The loops run in batches, with a look for interrupts before each: inside a
 * batch there is nothing but what is measured.  The looks add less than 0.1 %
 * to the shortest loop.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bench.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "rows.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(pg_trim_bench_palloc_pfree);
PG_FUNCTION_INFO_V1(pg_trim_bench_context_reset);
PG_FUNCTION_INFO_V1(pg_trim_bench_window);
PG_FUNCTION_INFO_V1(pg_trim_bench_table);

/* Looks for interrupts come after so many chunks, or so many bytes. */
#define BATCH_CHUNKS 1024
#define BATCH_BYTES (64 * 1024 * 1024)

/* A slab's blocks are made to hold at least this many chunks. */
#define SLAB_CHUNKS_PER_BLOCK 8
#define SLAB_MAX_CHUNK ((Size) 1024 * 1024)

/* The least that a slab takes, in any version. */
#define SLAB_MIN_CHUNK 8

/* At least what any kind of context puts before a chunk or a block. */
#define CHUNK_HEADER 16
#define BLOCK_HEADER 256

/* An allocation set rounds chunks of up to this size up to a power of two. */
#define ASET_ROUNDED_LIMIT 8192

typedef struct ContextKind
{
	const char *name;
	Size		min_chunk;
	Size		max_chunk;
	bool		rounds_up;
	MemoryContext (*create) (MemoryContext parent, Size chunk);
} ContextKind;

/* A benchmark: its arguments, and where it stands. */
typedef struct Bench
{
	const ContextKind *kind;
	Size		size;
	int64		count;
	int64		live;			/* of the window */
	MemoryContext chunks;		/* where palloc allocates */
	char	  **window;			/* the live chunks, a ring */
	int64		next;			/* the oldest of them */
	double		pairs_ms;
	double		palloc_ms;
	double		reset_ms;
} Bench;

#define CHUNKS_NAME "pg_trim benchmark chunks"

static MemoryContext
create_aset(MemoryContext parent, Size chunk)
{
	return AllocSetContextCreate(parent, CHUNKS_NAME, ALLOCSET_DEFAULT_SIZES);
}

static MemoryContext
create_generation(MemoryContext parent, Size chunk)
{
	return GenerationContextCreate(parent, CHUNKS_NAME, ALLOCSET_DEFAULT_SIZES);
}

static MemoryContext
create_slab(MemoryContext parent, Size chunk)
{
	Size		block = SLAB_CHUNKS_PER_BLOCK * (MAXALIGN(chunk) + CHUNK_HEADER) + BLOCK_HEADER;

	return SlabContextCreate(parent, CHUNKS_NAME,
							 Max(pg_nextpower2_size_t(block), SLAB_DEFAULT_BLOCK_SIZE),
							 chunk);
}

static const ContextKind kinds[] = {
	{"aset", 1, MaxAllocSize, true, create_aset},
	{"generation", 1, MaxAllocSize, false, create_generation},
	{"slab", SLAB_MIN_CHUNK, SLAB_MAX_CHUNK, false, create_slab},
};

static const ContextKind *
find_kind(const char *name)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		if (pg_strcasecmp(name, kinds[i].name) == 0)
			return &kinds[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized kind of memory context: \"%s\"", name),
			 errhint("Allowed are \"aset\", \"generation\" and \"slab\".")));
	return NULL;				/* keep compiler quiet */
}

/* What a chunk takes of a block. */
static Size
footprint(const ContextKind *kind, Size size)
{
	if (kind->rounds_up && size <= ASET_ROUNDED_LIMIT)
		size = pg_nextpower2_size_t(Max(size, CHUNK_HEADER));
	return MAXALIGN(size) + CHUNK_HEADER;
}

static int64
check_count(int64 count)
{
	if (count < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count must be greater than zero")));
	return count;
}

/* For those that hold so many chunks at a time, maybe with a pointer to each. */
static void
require_memory(const Bench *bench, int64 chunks)
{
	pgtrim_bench_require_memory(chunks, footprint(bench->kind, bench->size) + sizeof(char *));
}

/* The arguments count, size and context, which all of them have. */
static void
set_up(Bench *bench, int64 count, int64 size, const char *context)
{
	memset(bench, 0, sizeof(*bench));
	bench->kind = find_kind(context);
	bench->size = pgtrim_bench_size(size, bench->kind->min_chunk, bench->kind->max_chunk);
	bench->count = check_count(count);
	require_memory(bench, 1);
}

static inline void
use(char *chunk)
{
	*(volatile char *) chunk = 0;
}

static void
loop_pairs(Bench *bench, int n)
{
	Size		size = bench->size;

	while (n-- > 0)
	{
		char	   *chunk = palloc(size);

		use(chunk);
		pfree(chunk);
	}
}

static void
loop_palloc(Bench *bench, int n)
{
	Size		size = bench->size;

	while (n-- > 0)
		use(palloc(size));
}

static void
advance(Bench *bench)
{
	if (++bench->next == bench->live)
		bench->next = 0;
}

static void
loop_window(Bench *bench, int n)
{
	Size		size = bench->size;

	while (n-- > 0)
	{
		char	  **slot = &bench->window[bench->next];

		if (*slot != NULL)
			pfree(*slot);
		*slot = palloc(size);
		use(*slot);
		advance(bench);
	}
}

static void
loop_drain(Bench *bench, int n)
{
	while (n-- > 0)
	{
		pfree(bench->window[bench->next]);
		advance(bench);
	}
}

/* Has a loop do count steps, heeding interrupts: ms. */
static double
time_loop(Bench *bench, void (*loop) (Bench *bench, int n), int64 count)
{
	int64		batch = Min(BATCH_CHUNKS, BATCH_BYTES / bench->size + 1);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (count > 0)
	{
		CHECK_FOR_INTERRUPTS();
		loop(bench, (int) Min(batch, count));
		count -= batch;
	}
	return pgtrim_bench_ms_since(start);
}

static void
bench_pairs(Bench *bench)
{
	bench->pairs_ms = time_loop(bench, loop_pairs, bench->count);
}

static void
bench_reset(Bench *bench)
{
	instr_time	start;

	bench->palloc_ms = time_loop(bench, loop_palloc, bench->count);
	INSTR_TIME_SET_CURRENT(start);
	MemoryContextReset(bench->chunks);
	bench->reset_ms = pgtrim_bench_ms_since(start);
}

/* As many pairs, but each chunk lives until live others have been made. */
static void
bench_window(Bench *bench)
{
	bench->window = MemoryContextAllocExtended(MemoryContextGetParent(bench->chunks),
											   bench->live * sizeof(char *),
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	bench->pairs_ms = time_loop(bench, loop_window, bench->count);
	bench->pairs_ms += time_loop(bench, loop_drain, bench->live);
}

/*
 * Runs a benchmark in a context of its own.  An error, and be it a cancel, may
 * be caught by a caller that goes on for long: so that context must go at once.
 */
static void
run(Bench *bench, void (*body) (Bench *bench))
{
	MemoryContext outside = CurrentMemoryContext;
	MemoryContext ours = AllocSetContextCreate(outside, "pg_trim benchmark",
											   ALLOCSET_DEFAULT_SIZES);

	PG_TRY();
	{
		bench->chunks = bench->kind->create(ours, bench->size);
		MemoryContextSwitchTo(bench->chunks);
		body(bench);
	}
	PG_FINALLY();
	{
		MemoryContextSwitchTo(outside);
		MemoryContextDelete(ours);
	}
	PG_END_TRY();
}

/* count times palloc and pfree, one after the other: ms. */
Datum
pg_trim_bench_palloc_pfree(PG_FUNCTION_ARGS)
{
	Bench		bench;

	set_up(&bench, PG_GETARG_INT64(0), PG_GETARG_INT64(1),
		   text_to_cstring(PG_GETARG_TEXT_PP(2)));
	run(&bench, bench_pairs);
	PG_RETURN_FLOAT8(bench.pairs_ms);
}

/* count times palloc, and one reset: ms. */
Datum
pg_trim_bench_context_reset(PG_FUNCTION_ARGS)
{
	Bench		bench;

	set_up(&bench, PG_GETARG_INT64(0), PG_GETARG_INT64(1),
		   text_to_cstring(PG_GETARG_TEXT_PP(2)));
	require_memory(&bench, bench.count);
	run(&bench, bench_reset);
	PG_RETURN_FLOAT8(bench.palloc_ms + bench.reset_ms);
}

/* count times palloc, each freed after live others have been made: ms. */
Datum
pg_trim_bench_window(PG_FUNCTION_ARGS)
{
	Bench		bench;

	set_up(&bench, PG_GETARG_INT64(0), PG_GETARG_INT64(1),
		   text_to_cstring(PG_GETARG_TEXT_PP(3)));
	bench.live = PG_GETARG_INT64(2);
	if (bench.live < 1 || bench.live > bench.count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("live must be between 1 and count")));
	require_memory(&bench, bench.live);
	run(&bench, bench_window);
	PG_RETURN_FLOAT8(bench.pairs_ms);
}

/* The array's elements, each of them valid as a count. */
static int64 *
counts_argument(ArrayType *array, int *n)
{
	Datum	   *elements;
	int64	   *counts;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("counts must be a one-dimensional array")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("counts must not contain nulls")));
	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elements, NULL, n);
	counts = palloc(Max(*n, 1) * sizeof(int64));
	for (int i = 0; i < *n; i++)
		counts[i] = check_count(DatumGetInt64(elements[i]));
	return counts;
}

/* A row per count: the pairs, the palloc loop alone, and the reset after it. */
Datum
pg_trim_bench_table(PG_FUNCTION_ARGS)
{
	int			n;
	int64	   *counts = counts_argument(PG_GETARG_ARRAYTYPE_P(0), &n);
	Bench		bench;

	set_up(&bench, 1, PG_GETARG_INT64(1), text_to_cstring(PG_GETARG_TEXT_PP(2)));
	for (int i = 0; i < n; i++)
		require_memory(&bench, counts[i]);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < n; i++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		bench.count = counts[i];
		run(&bench, bench_pairs);
		run(&bench, bench_reset);
		values[0] = Int64GetDatum(bench.count);
		values[1] = Float8GetDatum(bench.pairs_ms);
		values[2] = Float8GetDatum(bench.palloc_ms);
		values[3] = Float8GetDatum(bench.reset_ms);
		pgtrim_put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}
