/*-------------------------------------------------------------------------
 *
 * stats.c
 *		Counters per cause, and a histogram, in shared memory.
 *
 * Those who add to them take turns by a spinlock, held for a few stores; see
 * changes.h for the readers.  All views of one query see the counters of one
 * moment.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "changes.h"
#include "compat.h"
#include "funcapi.h"
#include "nodes/execnodes.h"
#include "port/pg_bitutils.h"
#include "rows.h"
#include "shared.h"
#include "stats.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Bucket 0 holds 0 kB, bucket n holds 2^(n-1) to 2^n - 1 kB. */
#define HISTOGRAM_BUCKETS 44

typedef enum HistogramMetric
{
	METRIC_RESIDENT,
	METRIC_SBRK
} HistogramMetric;

#define HISTOGRAM_METRICS (METRIC_SBRK + 1)

static const char *const metric_names[HISTOGRAM_METRICS] = {
	[METRIC_RESIDENT] = "resident",
	[METRIC_SBRK] = "sbrk"
};

typedef struct CauseCounters
{
	int64		checks;
	int64		trims;
	int64		released;
	int64		heap_released;
	double		trim_ms;
	double		max_trim_ms;
} CauseCounters;

typedef struct Totals
{
	CauseCounters causes[TRIM_CAUSES];
	int64		histogram[HISTOGRAM_METRICS][HISTOGRAM_BUCKETS];
	TimestampTz reset_at;
} Totals;

typedef struct SharedStats
{
	slock_t		writers;
	pg_atomic_uint32 changes;
	Totals		totals;
} SharedStats;

static SharedStats *shared = NULL;

static Size
stats_size(void)
{
	return sizeof(SharedStats);
}

static void
stats_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_trim stats", stats_size(), &found);
	if (found)
		return;
	memset(shared, 0, stats_size());
	SpinLockInit(&shared->writers);
	pg_atomic_init_u32(&shared->changes, 0);
	shared->totals.reset_at = GetCurrentTimestamp();
}

/*
 * Writing
 */

static void
begin_totals(void)
{
	SpinLockAcquire(&shared->writers);
	pgtrim_begin_change(&shared->changes);
}

static void
end_totals(void)
{
	pgtrim_end_change(&shared->changes);
	SpinLockRelease(&shared->writers);
}

/* Counts a check. */
void
pgtrim_stats_check(TrimCause cause)
{
	if (shared == NULL)
		return;
	begin_totals();
	shared->totals.causes[cause].checks++;
	end_totals();
}

static int
histogram_bucket(int64 bytes)
{
	uint64		kilobytes = bytes / 1024;

	if (kilobytes == 0)
		return 0;
	return Min(pg_leftmost_one_pos64(kilobytes) + 1, HISTOGRAM_BUCKETS - 1);
}

/* Counts a trim. */
void
pgtrim_stats_trim(const TrimEvent *event)
{
	CauseCounters *counters;

	if (shared == NULL)
		return;
	counters = &shared->totals.causes[event->cause];
	begin_totals();
	counters->trims++;
	counters->released += event->released;
	counters->heap_released += event->heap_released;
	counters->trim_ms += event->elapsed_ms;
	counters->max_trim_ms = Max(counters->max_trim_ms, event->elapsed_ms);
	shared->totals.histogram[METRIC_RESIDENT][histogram_bucket(event->released)]++;
	shared->totals.histogram[METRIC_SBRK][histogram_bucket(event->heap_released)]++;
	end_totals();
}

/*
 * Reading
 */

static const Totals *query_totals = NULL;
static MemoryContext query_totals_context = NULL;

static void
forget_query_totals(void *arg)
{
	query_totals = NULL;
	query_totals_context = NULL;
}

static Totals *
copy_totals(MemoryContext context)
{
	Totals	   *totals = MemoryContextAlloc(context, sizeof(Totals));

	pgtrim_copy_unchanged(&shared->changes, totals, &shared->totals, sizeof(Totals));
	return totals;
}

/* The totals as this query sees them: copied once, kept to its end. */
static const Totals *
totals_for(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	EState	   *estate = result->econtext->ecxt_estate;
	MemoryContextCallback *callback;

	if (estate == NULL)
		return copy_totals(CurrentMemoryContext);
	if (query_totals_context == estate->es_query_cxt)
		return query_totals;

	callback = MemoryContextAllocZero(estate->es_query_cxt, sizeof(*callback));
	query_totals = copy_totals(estate->es_query_cxt);
	query_totals_context = estate->es_query_cxt;
	callback->func = forget_query_totals;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, callback);
	return query_totals;
}

PG_FUNCTION_INFO_V1(pg_trim_stats);
PG_FUNCTION_INFO_V1(pg_trim_histogram);

/* A row per cause; bytes and milliseconds. */
Datum
pg_trim_stats(PG_FUNCTION_ARGS)
{
	const Totals *totals;

	pgtrim_require_shared_memory();
	InitMaterializedSRF(fcinfo, 0);
	totals = totals_for(fcinfo);
	for (int cause = 0; cause < TRIM_CAUSES; cause++)
	{
		const CauseCounters *counters = &totals->causes[cause];
		Datum		values[] = {
			CStringGetTextDatum(pgtrim_cause_name(cause)),
			Int64GetDatum(counters->checks),
			Int64GetDatum(counters->trims),
			Int64GetDatum(counters->released),
			Int64GetDatum(counters->heap_released),
			Float8GetDatum(counters->trim_ms),
			Float8GetDatum(counters->max_trim_ms),
			TimestampTzGetDatum(totals->reset_at)
		};
		bool		nulls[lengthof(values)] = {false};

		pgtrim_put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/* A row per metric and bucket that holds anything; bounds in kB, inclusive. */
Datum
pg_trim_histogram(PG_FUNCTION_ARGS)
{
	const Totals *totals;

	pgtrim_require_shared_memory();
	InitMaterializedSRF(fcinfo, 0);
	totals = totals_for(fcinfo);
	for (int metric = 0; metric < HISTOGRAM_METRICS; metric++)
	{
		for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
		{
			int64		trims = totals->histogram[metric][bucket];
			Datum		values[] = {
				CStringGetTextDatum(metric_names[metric]),
				Int64GetDatum(bucket == 0 ? 0 : INT64CONST(1) << (bucket - 1)),
				Int64GetDatum(bucket == 0 ? 0 : (INT64CONST(1) << bucket) - 1),
				Int64GetDatum(trims)
			};
			bool		nulls[lengthof(values)] = {false};

			if (trims > 0)
				pgtrim_put_row(fcinfo, values, nulls);
		}
	}
	return (Datum) 0;
}

/* Sets the totals back; the figures of processes are theirs and stay. */
void
pgtrim_stats_reset(void)
{
	TimestampTz now = GetCurrentTimestamp();

	begin_totals();
	memset(&shared->totals, 0, sizeof(shared->totals));
	shared->totals.reset_at = now;
	end_totals();
}

void
pgtrim_stats_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		pgtrim_shared_add(stats_size, stats_startup);
}
