/*-------------------------------------------------------------------------
 *
 * act.c
 *		The one way of every cause: gate, check, trim, record.
 *
 * Nothing here allocates or raises an error: it runs in transaction callbacks
 * and at other processes' requests.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "act.h"
#include "allocator.h"
#include "backends.h"
#include "compat.h"
#include "resident.h"
#include "statements.h"
#include "stats.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

/* A day; who wants to wait longer wants "none". */
#define MAX_DELAY_MS (24 * 60 * 60 * 1000)

int			pgtrim_events = 0;
volatile sig_atomic_t pgtrim_attention = true;

static char *events_string = NULL;
static int	threshold_kb = 1024;
static int	idle_delay = 1000;
static int	busy_delay = 10000;
static bool dry_run = false;

/* What this process learned of its trims. */
static PolicyState policy;

/* Page faults and resident memory just after the last trim that it did by itself. */
static int64 faults_after_trim = 0;
static int64 resident_after_trim = 0;

/* What it saw at its last check. */
static MemoryFigures last_seen;

static int64 looked_at = 0;

/* Bytes in use at its first check, and checks since they last changed. */
static int64 first_in_use = -1;
static int	unchanged_checks = 0;

/* What it freed since the last check of the query and transaction events. */
int64		pgtrim_gate_bytes = 0;

PolicySettings
pgtrim_policy_settings(void)
{
	PolicySettings settings = {
		.threshold = (int64) threshold_kb * 1024,
		.idle_delay = idle_delay,
		.busy_delay = busy_delay
	};

	return settings;
}

/* The clock of the policy. */
int64
pgtrim_now_ms(void)
{
	return GetCurrentTimestamp() / 1000;
}

/* When to look again; see pgtrim_policy_next_look(). */
int64
pgtrim_next_look(int64 now, int64 idle_for, int64 active_since)
{
	PolicySettings settings = pgtrim_policy_settings();

	return pgtrim_policy_next_look(&policy, &settings, now, idle_for, active_since);
}

/* What a process at rest may gain or lose without having done anything. */
#define NOISE_KB 256

/*
 * Could a check see more to return than the last one did?  So it is if resident
 * memory is not what it was; or if much of it was in use then, which is asked
 * less and less often while that does not change either.
 */
bool
pgtrim_may_have_gained(int64 now)
{
	int64		threshold = (int64) Max(threshold_kb, NOISE_KB) * 1024;
	int64		change = pgtrim_resident_or_swapped() - last_seen.resident;

	if (llabs(change) >= threshold / 4)
		return true;
	return busy_delay >= 0 && last_seen.in_use - first_in_use >= threshold &&
		now - looked_at >= (int64) busy_delay << Min(unchanged_checks, 8);
}

/* Was enough freed since the last check to make another one? */
bool
pgtrim_gate_passed(void)
{
	if (pgtrim_gate_bytes < (int64) threshold_kb * 1024)
		return false;
	pgtrim_gate_bytes = 0;
	return true;
}

static int64
minor_faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

/*
 * What this process took from the operating system since its last trim, in
 * bytes.  A fault may bring in a huge page, so faults tell the least that it
 * is; what it freed since is no longer resident, but was faulted in.
 */
static int64
taken_since_trim(void)
{
	return Max((minor_faults() - faults_after_trim) * sysconf(_SC_PAGESIZE),
			   last_seen.resident - resident_after_trim);
}

static bool
is_asked_for(TrimCause cause)
{
	return cause == TRIM_REQUEST || cause == TRIM_MANUAL;
}

/* Is a trim to be made?  Learns from the one before, and publishes. */
static bool
check(TrimCause cause, int64 now)
{
	PolicySettings settings = pgtrim_policy_settings();
	MemoryFigures figures;

	pgtrim_look(&figures);
	if (first_in_use < 0)
		first_in_use = figures.in_use;
	unchanged_checks = llabs(figures.in_use - last_seen.in_use) < NOISE_KB * 1024 ?
		unchanged_checks + 1 : 0;
	last_seen = figures;
	looked_at = now;
	if (policy.trimmed)
		pgtrim_policy_learn(&policy, &settings, now, taken_since_trim());
	pgtrim_backend_checked(cause, &last_seen, policy.holdoff);
	pgtrim_stats_check(cause);
	return is_asked_for(cause) ||
		pgtrim_policy_decide(&policy, &settings, now, last_seen.retained) == POLICY_TRIM;
}

static void
trim(TrimCause cause, size_t pad, int64 now, TrimEvent *event)
{
	int64		before = last_seen.resident;

	pgtrim_trim(cause, pad, event);
	pgtrim_look_after_trim(&last_seen, pad);
	if (is_asked_for(cause))
		return;
	/* what was freed while swapped out was worth it, too */
	pgtrim_policy_trimmed(&policy, now, Max(event->released, before - last_seen.resident));
	faults_after_trim = minor_faults();
	resident_after_trim = last_seen.resident;
}

/*
 * Check, trim, record; true if the event holds a trim, for the caller to log.
 * A trim that was asked for is made whatever the check says.
 */
bool
pgtrim_act(TrimCause cause, size_t pad, TrimEvent *event)
{
	int64		now = pgtrim_now_ms();

	if (!pgtrim_allocator_can_release() || !check(cause, now))
		return false;
	if (dry_run)
		pgtrim_dry_trim(cause, &last_seen, event);
	else
		trim(cause, pad, now, event);
	pgtrim_backend_trimmed(event, &last_seen);
	pgtrim_stats_trim(event);
	pgtrim_statements_trim(event);
	return true;
}

/* The same, with the log line; the event is all zero if there was no trim. */
void
pgtrim_act_and_log(TrimCause cause, size_t pad, TrimEvent *event)
{
	if (pgtrim_act(cause, pad, event))
		pgtrim_log(event);
	else
		memset(event, 0, sizeof(*event));
}

/* Publishes this process's figures, without a check. */
void
pgtrim_publish(void)
{
	MemoryFigures figures;

	pgtrim_look(&figures);
	pgtrim_backend_refreshed(&figures);
}

/* The bit of a word of the setting "events"; -1 if there is no such word. */
static int
event_bit(const char *word)
{
	for (TrimCause cause = TRIM_QUERY; cause <= TRIM_IDLE; cause++)
	{
		if (pg_strcasecmp(word, pgtrim_cause_name(cause)) == 0)
			return PGTRIM_ON(cause);
	}
	return -1;
}

static bool
parse_events(List *words, int *mask)
{
	ListCell   *cell;

	*mask = 0;
	if (list_length(words) == 1 && pg_strcasecmp(linitial(words), "none") == 0)
		return true;
	foreach(cell, words)
	{
		const char *word = lfirst(cell);
		int			bit = event_bit(word);

		if (bit < 0)
		{
			if (pg_strcasecmp(word, "none") == 0)
				GUC_check_errdetail("\"none\" must stand alone.");
			else
				GUC_check_errdetail("Unrecognized event: \"%s\".", word);
			return false;
		}
		*mask |= bit;
	}
	return *mask != 0;
}

static bool
check_events(char **newval, void **extra, GucSource source)
{
	char	   *copy = pstrdup(*newval);
	List	   *words = NIL;
	int			mask;
	bool		valid;

	if (!SplitIdentifierString(copy, ',', &words))
	{
		GUC_check_errdetail("List syntax is invalid.");
		valid = false;
	}
	else
		valid = parse_events(words, &mask);
	list_free(words);
	pfree(copy);
	if (!valid)
	{
		GUC_check_errhint("Allowed are a list of \"query\", \"transaction\" and \"idle\", or \"none\".");
		return false;
	}
	*extra = guc_malloc(LOG, sizeof(int));
	if (*extra == NULL)
		return false;
	*(int *) *extra = mask;
	return true;
}

/* Where no trim is to be had, no event does anything. */
static void
assign_events(const char *newval, void *extra)
{
	pgtrim_events = pgtrim_allocator_can_release() ? *(int *) extra : 0;
	pgtrim_attention = true;
}

/* A timer that runs may be too late now. */
static void
assign_idle_delay(int newval, void *extra)
{
	pgtrim_attention = true;
}

void
pgtrim_act_init(void)
{
	DefineCustomStringVariable("pg_trim.events",
							   "When a session trims by itself.",
							   "A list of \"query\", \"transaction\" and \"idle\", or \"none\".",
							   &events_string, "idle",
							   PGC_SUSET, GUC_LIST_INPUT,
							   check_events, assign_events, NULL);
	DefineCustomIntVariable("pg_trim.threshold_kb",
							"The least that a trim must promise to return.",
							"0 trims always.",
							&threshold_kb, 1024, 0, MAX_KILOBYTES,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("pg_trim.idle_delay",
							"Time a session must have been idle before it is trimmed.",
							"0 trims as soon as the reply is sent.",
							&idle_delay, 1000, 0, MAX_DELAY_MS,
							PGC_SUSET, GUC_UNIT_MS,
							NULL, assign_idle_delay, NULL);
	DefineCustomIntVariable("pg_trim.busy_delay",
							"Least time between two checks of a session that never idles that long.",
							"-1 leaves such a session alone.",
							&busy_delay, 10000, -1, MAX_DELAY_MS,
							PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_trim.dry_run",
							 "Decides, logs and counts, but does not trim.",
							 NULL,
							 &dry_run, false,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
}
