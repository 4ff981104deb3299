/*-------------------------------------------------------------------------
 *
 * stats.c
 *		Counters per cause and per process, and a histogram, in shared memory.
 *
 * Locking.  The totals and each process's figures carry a change count that is
 * odd while they are written (as in PgBackendStatus): a reader copies them and
 * tries again if the count moved, so a reader never makes a trim wait.  Those
 * who add to the totals take turns by a spinlock, held for a few stores; a
 * process's figures are written by it alone.
 *
 * A process's slot is the one of its PGPROC, so none can be lost, whatever way
 * the process ends.  A slot whose pid is not that of the PGPROC is a dead
 * process's and is not shown.
 *
 * All views of one query see the totals of one moment.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "contexts.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "postmaster/bgworker.h"
#include "resident.h"
#include "shared.h"
#include "stats.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

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

typedef struct ProcessFigures
{
	int			pid;
	int64		in_use;
	int64		retained;
	ContextFigures contexts;
	TimestampTz checked_at;		/* 0: never */
	int64		checks;
	int64		trims;
	int64		released;
	double		trim_ms;
	TimestampTz last_trim;		/* 0: never */
	TrimCause	last_cause;
	int64		last_released;
	int64		holdoff_ms;
} ProcessFigures;

typedef struct ProcessSlot
{
	pg_atomic_uint32 changes;
	ProcessFigures figures;
} ProcessSlot;

typedef struct SharedStats
{
	slock_t		writers;
	pg_atomic_uint32 changes;
	Totals		totals;
	ProcessSlot slots[FLEXIBLE_ARRAY_MEMBER];
} SharedStats;

static SharedStats *shared = NULL;

static Size
stats_size(void)
{
	return add_size(offsetof(SharedStats, slots),
					mul_size(pgtrim_process_slots(), sizeof(ProcessSlot)));
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
	for (int i = 0; i < pgtrim_process_slots(); i++)
		pg_atomic_init_u32(&shared->slots[i].changes, 0);
}

/* Bracket what is written under a change count. */
static void
begin_change(pg_atomic_uint32 *changes)
{
	pg_atomic_fetch_add_u32(changes, 1);
}

static void
end_change(pg_atomic_uint32 *changes)
{
	pg_atomic_fetch_add_u32(changes, 1);
}

/* Copies what is written under a change count, as it was at one moment. */
static void
copy_unchanged(pg_atomic_uint32 *changes, void *to, const void *from, size_t size)
{
	for (;;)
	{
		uint32		before = pg_atomic_read_u32(changes);

		if (before % 2 == 0)
		{
			pg_read_barrier();
			memcpy(to, from, size);
			pg_read_barrier();
			if (pg_atomic_read_u32(changes) == before)
				return;
		}
		/* the writer may have been stopped in the middle */
		CHECK_FOR_INTERRUPTS();
		pg_usleep(10);
	}
}

/*
 * Writing
 */

static void
forget_process(int code, Datum arg)
{
	ProcessSlot *slot = &shared->slots[DatumGetInt32(arg)];

	begin_change(&slot->changes);
	memset(&slot->figures, 0, sizeof(slot->figures));
	end_change(&slot->changes);
}

/* This process's slot, taken at the first call; NULL without shared memory. */
static ProcessSlot *
my_slot(void)
{
	static int	slot_of = 0;
	int			number;
	ProcessSlot *slot;

	if (shared == NULL || MyProc == NULL)
		return NULL;
	number = pgtrim_proc_number(MyProc);
	slot = &shared->slots[number];
	if (slot_of != MyProcPid)
	{
		slot_of = MyProcPid;
		begin_change(&slot->changes);
		memset(&slot->figures, 0, sizeof(slot->figures));
		slot->figures.pid = MyProcPid;
		end_change(&slot->changes);
		on_shmem_exit(forget_process, Int32GetDatum(number));
	}
	return slot;
}

static void
begin_totals(void)
{
	SpinLockAcquire(&shared->writers);
	begin_change(&shared->changes);
}

static void
end_totals(void)
{
	end_change(&shared->changes);
	SpinLockRelease(&shared->writers);
}

/* Memory in use when the contexts were walked; -1: what they hold is unknown. */
static int64 walked_at_in_use = -1;

/* Less than this is not worth another walk. */
#define UNCHANGED_BYTES (256 * 1024)

static void
walk_contexts(ContextFigures *contexts, int64 in_use)
{
	pgtrim_contexts(contexts);
	walked_at_in_use = in_use;
}

/*
 * What contexts hold is part of what is in use, and to walk them costs more
 * than all the rest of a check: so they are not walked if that is what it was,
 * nor in checks on the query path.
 */
static void
update_contexts(ContextFigures *contexts, TrimCause cause, int64 in_use)
{
	const ContextFigures unknown = {-1, -1, -1};

	if (walked_at_in_use >= 0 && llabs(in_use - walked_at_in_use) < UNCHANGED_BYTES)
		return;
	if (cause == TRIM_QUERY || cause == TRIM_TRANSACTION)
	{
		walked_at_in_use = -1;
		*contexts = unknown;
	}
	else
		walk_contexts(contexts, in_use);
}

static void
publish(ProcessSlot *slot, const MemoryFigures *figures, const ContextFigures *contexts)
{
	slot->figures.in_use = figures->in_use;
	slot->figures.retained = figures->retained;
	slot->figures.contexts = *contexts;
	slot->figures.checked_at = GetCurrentTimestamp();
}

/* Counts a check and publishes what it saw. */
void
pgtrim_stats_check(TrimCause cause, const MemoryFigures *figures, int64 holdoff_ms)
{
	ProcessSlot *slot = my_slot();
	ContextFigures contexts;

	if (slot == NULL)
		return;
	contexts = slot->figures.contexts;
	update_contexts(&contexts, cause, figures->in_use);

	begin_change(&slot->changes);
	publish(slot, figures, &contexts);
	slot->figures.checks++;
	slot->figures.holdoff_ms = holdoff_ms;
	end_change(&slot->changes);

	begin_totals();
	shared->totals.causes[cause].checks++;
	end_totals();
}

/* Publishes figures that were asked for, without a check. */
void
pgtrim_stats_refresh(const MemoryFigures *figures)
{
	ProcessSlot *slot = my_slot();
	ContextFigures contexts;

	if (slot == NULL)
		return;
	walk_contexts(&contexts, figures->in_use);
	begin_change(&slot->changes);
	publish(slot, figures, &contexts);
	end_change(&slot->changes);
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
	ProcessSlot *slot = my_slot();
	CauseCounters *counters;

	if (slot == NULL)
		return;

	begin_change(&slot->changes);
	slot->figures.trims++;
	slot->figures.released += event->released;
	slot->figures.trim_ms += event->elapsed_ms;
	slot->figures.last_trim = GetCurrentTimestamp();
	slot->figures.last_cause = event->cause;
	slot->figures.last_released = event->released;
	end_change(&slot->changes);

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

	copy_unchanged(&shared->changes, totals, &shared->totals, sizeof(Totals));
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

static void
put_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(pg_trim_stats);
PG_FUNCTION_INFO_V1(pg_trim_histogram);
PG_FUNCTION_INFO_V1(pg_trim_processes);

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

		put_row(fcinfo, values, nulls);
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
				put_row(fcinfo, values, nulls);
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

static Datum
known(int64 bytes, bool *null)
{
	*null = bytes < 0;
	return Int64GetDatum(bytes);
}

/* The part of a row that a process published itself; NULL where it did not. */
static void
published_columns(const ProcessFigures *figures, Datum *values, bool *nulls)
{
	bool		checked = figures->checked_at != 0;
	bool		trimmed = figures->last_trim != 0;

	values[0] = known(checked ? figures->in_use : -1, &nulls[0]);
	values[1] = known(checked ? figures->retained : -1, &nulls[1]);
	values[2] = known(checked ? figures->contexts.total : -1, &nulls[2]);
	values[3] = known(checked ? figures->contexts.caches : -1, &nulls[3]);
	values[4] = known(checked ? figures->contexts.plans : -1, &nulls[4]);
	values[5] = TimestampTzGetDatum(figures->checked_at);
	nulls[5] = !checked;
	values[6] = Int64GetDatum(figures->checks);
	values[7] = Int64GetDatum(figures->trims);
	values[8] = Int64GetDatum(figures->released);
	values[9] = Float8GetDatum(figures->trim_ms);
	values[10] = TimestampTzGetDatum(figures->last_trim);
	nulls[10] = !trimmed;
	if (trimmed)
		values[11] = CStringGetTextDatum(pgtrim_cause_name(figures->last_cause));
	nulls[11] = !trimmed;
	values[12] = Int64GetDatum(figures->last_released);
	nulls[12] = !trimmed;
	values[13] = Int64GetDatum(figures->holdoff_ms);
}

#define PUBLISHED_COLUMNS 14

static int
compare_pids(const void *a, const void *b)
{
	int			x = (*(const PgBackendStatus *const *) a)->st_procpid;
	int			y = (*(const PgBackendStatus *const *) b)->st_procpid;

	return (x > y) - (x < y);
}

/*
 * What pg_stat_activity knows of each process, sorted by pid.  A join with that
 * view in SQL would cost as much as half of all the rest.
 */
static const PgBackendStatus **
server_processes(int *count)
{
	const PgBackendStatus **processes;

	*count = pgstat_fetch_stat_numbackends();
	processes = palloc(Max(*count, 1) * sizeof(*processes));
	for (int i = 0; i < *count; i++)
		processes[i] = pgtrim_backend_status(i + 1);
	qsort(processes, *count, sizeof(*processes), compare_pids);
	return processes;
}

/* The kind of a process as pg_stat_activity has it, NULL if it has none. */
static Datum
backend_type_column(int pid, const PgBackendStatus **processes, int count, bool *null)
{
	PgBackendStatus wanted;
	const PgBackendStatus *key = &wanted;
	const PgBackendStatus **found;
	const char *type = NULL;

	wanted.st_procpid = pid;
	found = bsearch(&key, processes, count, sizeof(*processes), compare_pids);
	if (found != NULL && (*found)->st_backendType == B_BG_WORKER)
		type = GetBackgroundWorkerTypeByPid(pid);
	else if (found != NULL)
		type = GetBackendTypeDesc((*found)->st_backendType);
	*null = type == NULL;
	return type == NULL ? (Datum) 0 : CStringGetTextDatum(type);
}

/*
 * A row per server process: what the kernel says of it now, and what it said
 * of itself at its last check.  Bytes and milliseconds.
 */
Datum
pg_trim_processes(PG_FUNCTION_ARGS)
{
	const PgBackendStatus **processes;
	int			count;

	pgtrim_require_shared_memory();
	InitMaterializedSRF(fcinfo, 0);
	processes = server_processes(&count);
	for (int i = 0; i < pgtrim_process_slots(); i++)
	{
		int			pid = pgtrim_proc_pid(&ProcGlobal->allProcs[i]);
		ResidentMemory memory;
		ProcessFigures figures;
		Datum		values[4 + PUBLISHED_COLUMNS];
		bool		nulls[4 + PUBLISHED_COLUMNS] = {false};

		CHECK_FOR_INTERRUPTS();
		/* a process that is gone by now has no row */
		if (pid == 0 || !pgtrim_resident_of(pid, &memory))
			continue;
		copy_unchanged(&shared->slots[i].changes, &figures,
					   &shared->slots[i].figures, sizeof(figures));
		if (figures.pid != pid)
			memset(&figures, 0, sizeof(figures));

		values[0] = Int32GetDatum(pid);
		values[1] = backend_type_column(pid, processes, count, &nulls[1]);
		values[2] = Int64GetDatum(memory.anonymous);
		values[3] = Int64GetDatum(memory.shared);
		published_columns(&figures, &values[4], &nulls[4]);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

void
pgtrim_stats_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		pgtrim_shared_add(stats_size, stats_startup);
}
