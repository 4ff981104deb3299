/*-------------------------------------------------------------------------
 *
 * trim.c
 *		Measure, release, measure; and the log line about it.
 *
 * Resident memory is the figure: the heap end (sbrk) does not move when
 * malloc_trim() returns pages in the middle of the heap, malloc_trim()'s
 * return code is 1 for calls that free nothing, and mallinfo2() still counts
 * pages as free that were returned.
 *
 * Nothing here allocates or raises an error: trims run in transaction
 * callbacks, where an error is a PANIC.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "allocator.h"
#include "portability/instr_time.h"
#include "resident.h"
#include "trim.h"
#include "utils/guc.h"

static int	pad_kb = 0;
static int	log_min_kb = -1;

/*
 * What is resident without being in use, and no trim returns: stack, data,
 * pages inherited from the postmaster, fragmentation.  Until a process finds its
 * own, it has the postmaster's, whose pages it began with.
 */
static int64 overhead = 0;

static const char *const cause_names[TRIM_CAUSES] = {
	[TRIM_QUERY] = "query",
	[TRIM_TRANSACTION] = "transaction",
	[TRIM_IDLE] = "idle",
	[TRIM_REQUEST] = "request",
	[TRIM_MANUAL] = "manual"
};

const char *
pgtrim_cause_name(TrimCause cause)
{
	return cause_names[cause];
}

/* The setting pad_kb in bytes. */
size_t
pgtrim_pad(void)
{
	return (size_t) pad_kb * 1024;
}

static int64
bytes_in_use(void)
{
	const Allocator *allocator = pgtrim_allocator();

	return allocator->in_use ? allocator->in_use() : -1;
}

static void
set_overhead(int64 resident, int64 in_use)
{
	overhead = resident < 0 || in_use < 0 ? 0 : Max(resident - in_use, 0);
}

/*
 * Takes this moment's difference between resident memory and memory in use as
 * what cannot be returned: right for a process that has just started.
 */
void
pgtrim_note_overhead(void)
{
	set_overhead(pgtrim_resident_or_swapped(), bytes_in_use());
}

/* What a trim promises to return. */
static int64
promise(int64 resident, int64 in_use)
{
	return resident < 0 || in_use < 0 ? -1 : Max(resident - in_use - overhead, 0);
}

/* Fills in what a check needs. */
void
pgtrim_look(MemoryFigures *figures)
{
	figures->resident = pgtrim_resident_or_swapped();
	figures->in_use = bytes_in_use();
	figures->retained = promise(figures->resident, figures->in_use);
}

/*
 * Renews the figures of the look before a trim.  What is left now, no trim
 * returns; but for what a larger pad than the setting left behind.
 */
void
pgtrim_look_after_trim(MemoryFigures *figures, size_t pad)
{
	figures->resident = pgtrim_resident_or_swapped();
	if (!pgtrim_allocator()->release_keeps_in_use)
		figures->in_use = bytes_in_use();
	if (pad <= pgtrim_pad())
		set_overhead(figures->resident, figures->in_use);
	figures->retained = promise(figures->resident, figures->in_use);
}

/* How far a figure fell, 0 if it rose or is not known. */
static int64
fall(int64 before, int64 after)
{
	return before < 0 || after < 0 ? 0 : Max(before - after, 0);
}

/*
 * Trims, all but pad bytes at the top of the heap, and tells what came back.
 * Nothing else is done here that takes longer in a larger heap.
 */
void
pgtrim_trim(TrimCause cause, size_t pad, TrimEvent *event)
{
	instr_time	start;
	instr_time	elapsed;

	memset(event, 0, sizeof(*event));
	event->cause = cause;
	event->resident_before = pgtrim_resident();
	event->heap_before = pgtrim_heap_size();

	INSTR_TIME_SET_CURRENT(start);
	pgtrim_allocator()->release(pad);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);

	event->elapsed_ms = INSTR_TIME_GET_MILLISEC(elapsed);
	event->resident_after = pgtrim_resident();
	event->heap_after = pgtrim_heap_size();
	event->released = fall(event->resident_before, event->resident_after);
	event->heap_released = fall(event->heap_before, event->heap_after);
}

/* The event of a trim that was decided, and left undone. */
void
pgtrim_dry_trim(TrimCause cause, const MemoryFigures *figures, TrimEvent *event)
{
	memset(event, 0, sizeof(*event));
	event->cause = cause;
	event->dry_run = true;
	event->promised = Max(figures->retained, 0);
	event->resident_before = event->resident_after = pgtrim_resident();
	event->heap_before = event->heap_after = pgtrim_heap_size();
}

#define KB(bytes) ((long long) ((bytes) / 1024))

/*
 * Writes the log line and its detail, each into size bytes.
 *
 * The line's wording is that of the experiment on pgsql-hackers ("Trim the
 * heap free memory", 2024), so that its pipeline works on our log.
 */
void
pgtrim_log_text(const TrimEvent *event, char *message, char *detail, size_t size)
{
	const char *cause = pgtrim_cause_name(event->cause);

	if (event->dry_run)
	{
		snprintf(message, size, "malloc_trim would save about %lld kB", KB(event->promised));
		snprintf(detail, size, "Resident memory is %lld kB, the heap (sbrk) %lld kB, at %s; \"pg_trim.dry_run\" is on.",
				 KB(event->resident_before), KB(event->heap_before), cause);
		return;
	}
	snprintf(message, size, "malloc_trim saved %lld kB", KB(event->released));
	snprintf(detail, size, "Resident memory fell from %lld kB to %lld kB, the heap end (sbrk) by %lld kB from %lld kB to %lld kB, in %.1f ms, at %s.",
			 KB(event->resident_before), KB(event->resident_after),
			 KB(event->heap_released), KB(event->heap_before), KB(event->heap_after),
			 event->elapsed_ms, cause);
}

/* Does log_min_kb ask for a line about this trim? */
bool
pgtrim_worth_logging(const TrimEvent *event)
{
	int64		bytes = event->dry_run ? event->promised : event->released;

	return log_min_kb >= 0 && bytes >= (int64) log_min_kb * 1024;
}

/*
 * Writes the log line, if one is asked for; to the server log alone.
 *
 * The statement and its context are as long as the client likes.  Where memory
 * does not suffice to write them, that is an error, and in a transaction
 * callback a PANIC: so not even the context's callbacks are called.
 */
void
pgtrim_log(const TrimEvent *event)
{
	ErrorContextCallback *context = error_context_stack;
	char		message[256];
	char		detail[256];

	if (!pgtrim_worth_logging(event))
		return;
	pgtrim_log_text(event, message, detail, sizeof(message));
	error_context_stack = NULL;
	ereport(LOG_SERVER_ONLY,
			(errhidestmt(true), errmsg_internal("%s", message), errdetail_internal("%s", detail)));
	error_context_stack = context;
}

void
pgtrim_trim_init(void)
{
	DefineCustomIntVariable("pg_trim.pad_kb",
							"Memory left untrimmed at the top of the heap.",
							NULL,
							&pad_kb, 0, 0, MAX_KILOBYTES,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("pg_trim.log_min_kb",
							"Logs trims that returned at least this much.",
							"0 logs every trim, -1 none.",
							&log_min_kb, -1, -1, MAX_KILOBYTES,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}
