/*-------------------------------------------------------------------------
 *
 * backends.c
 *		What each process of the server says of its memory, in shared memory.
 *
 * A process's figures are written by it alone; see changes.h for the readers.
 * Its slot is the one of its PGPROC, so none can be lost, whatever way the
 * process ends.  A slot whose pid is not that of the PGPROC is a dead
 * process's and is not shown.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "backends.h"
#include "changes.h"
#include "compat.h"
#include "contexts.h"
#include "funcapi.h"
#include "postmaster/bgworker.h"
#include "resident.h"
#include "rows.h"
#include "shared.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

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

static ProcessSlot *slots = NULL;

static Size
slots_size(void)
{
	return mul_size(pgtrim_process_slots(), sizeof(ProcessSlot));
}

static void
slots_startup(void)
{
	bool		found;

	slots = ShmemInitStruct("pg_trim backends", slots_size(), &found);
	if (found)
		return;
	memset(slots, 0, slots_size());
	for (int i = 0; i < pgtrim_process_slots(); i++)
		pg_atomic_init_u32(&slots[i].changes, 0);
}

static void
forget_process(int code, Datum arg)
{
	ProcessSlot *slot = &slots[DatumGetInt32(arg)];

	pgtrim_begin_change(&slot->changes);
	memset(&slot->figures, 0, sizeof(slot->figures));
	pgtrim_end_change(&slot->changes);
}

/* This process's slot, taken at the first call; NULL without shared memory. */
static ProcessSlot *
my_slot(void)
{
	static int	slot_of = 0;
	int			number;
	ProcessSlot *slot;

	if (slots == NULL || MyProc == NULL)
		return NULL;
	number = pgtrim_proc_number(MyProc);
	slot = &slots[number];
	if (slot_of != MyProcPid)
	{
		slot_of = MyProcPid;
		pgtrim_begin_change(&slot->changes);
		memset(&slot->figures, 0, sizeof(slot->figures));
		slot->figures.pid = MyProcPid;
		pgtrim_end_change(&slot->changes);
		on_shmem_exit(forget_process, Int32GetDatum(number));
	}
	return slot;
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

/* Publishes what a check saw. */
void
pgtrim_backend_checked(TrimCause cause, const MemoryFigures *figures, int64 holdoff_ms)
{
	ProcessSlot *slot = my_slot();
	ContextFigures contexts;

	if (slot == NULL)
		return;
	contexts = slot->figures.contexts;
	update_contexts(&contexts, cause, figures->in_use);

	pgtrim_begin_change(&slot->changes);
	publish(slot, figures, &contexts);
	slot->figures.checks++;
	slot->figures.holdoff_ms = holdoff_ms;
	pgtrim_end_change(&slot->changes);
}

/* Publishes figures that were asked for, without a check. */
void
pgtrim_backend_refreshed(const MemoryFigures *figures)
{
	ProcessSlot *slot = my_slot();
	ContextFigures contexts;

	if (slot == NULL)
		return;
	walk_contexts(&contexts, figures->in_use);
	pgtrim_begin_change(&slot->changes);
	publish(slot, figures, &contexts);
	pgtrim_end_change(&slot->changes);
}

/* Publishes a trim, and what is seen after it. */
void
pgtrim_backend_trimmed(const TrimEvent *event, const MemoryFigures *figures)
{
	ProcessSlot *slot = my_slot();

	if (slot == NULL)
		return;

	pgtrim_begin_change(&slot->changes);
	publish(slot, figures, &slot->figures.contexts);
	slot->figures.trims++;
	slot->figures.released += event->released;
	slot->figures.trim_ms += event->elapsed_ms;
	slot->figures.last_trim = GetCurrentTimestamp();
	slot->figures.last_cause = event->cause;
	slot->figures.last_released = event->released;
	pgtrim_end_change(&slot->changes);
}

/* The part of a row that a process published itself; NULL where it did not. */
static void
published_columns(const ProcessFigures *figures, Datum *values, bool *nulls)
{
	bool		checked = figures->checked_at != 0;
	bool		trimmed = figures->last_trim != 0;

	values[0] = pgtrim_known(checked ? figures->in_use : -1, &nulls[0]);
	values[1] = pgtrim_known(checked ? figures->retained : -1, &nulls[1]);
	values[2] = pgtrim_known(checked ? figures->contexts.total : -1, &nulls[2]);
	values[3] = pgtrim_known(checked ? figures->contexts.caches : -1, &nulls[3]);
	values[4] = pgtrim_known(checked ? figures->contexts.plans : -1, &nulls[4]);
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

PG_FUNCTION_INFO_V1(pg_trim_processes);

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
		pgtrim_copy_unchanged(&slots[i].changes, &figures,
							  &slots[i].figures, sizeof(figures));
		if (figures.pid != pid)
			memset(&figures, 0, sizeof(figures));

		values[0] = Int32GetDatum(pid);
		values[1] = backend_type_column(pid, processes, count, &nulls[1]);
		values[2] = Int64GetDatum(memory.anonymous);
		values[3] = Int64GetDatum(memory.shared);
		published_columns(&figures, &values[4], &nulls[4]);
		pgtrim_put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

void
pgtrim_backends_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		pgtrim_shared_add(slots_size, slots_startup);
}
