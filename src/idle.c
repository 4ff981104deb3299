/*-------------------------------------------------------------------------
 *
 * idle.c
 *		Looking at a process's memory while it is idle, or between statements.
 *
 * Something happened, so a timer is armed, once for many statements.  When it
 * fires, its handler sees how long the process has been idle, or that it never
 * is for long, and either lets it look at its memory or sets the timer again.  An idle process in
 * which nothing happened since the last look has no timer.
 *
 * How the process is brought to look depends on what it is doing:
 *
 *	idle session				the catchup interrupt: it runs an empty
 *								transaction, whose callback is ours
 *	session idle in transaction	pgtrim_interrupt()
 *	busy session				the catchup interrupt, which it heeds before it
 *								reads its next command; inside a transaction
 *								block, its next statement end
 *	process without a client	pgtrim_interrupt() while it waits, else its next
 *								transaction end
 *
 * Requests from other processes come the same way, by their signal.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "act.h"
#include "compat.h"
#include "idle.h"
#include "interrupt.h"
#include "process.h"
#include "requests.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/sinval.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

/* Registered when first needed: not in the postmaster, nor where nothing runs. */
static TimeoutId timer = MAX_TIMEOUTS;

/*
 * Counts what happened: statements that ended, and transactions where that was
 * noticed.
 */
volatile uint32 pgtrim_happened = 0;

/* Where it stood at the last look, and when the timer last fired. */
static volatile uint32 happened_at_look = 0;
static volatile uint32 happened_at_timer = 0;

/* When the first thing after the last look happened; 0: not yet. */
static int64 active_since = 0;

/*
 * Set by the handlers: a look is due; and, is it due even at the end of a
 * statement, before the reply?
 */
static volatile sig_atomic_t due = false;
static volatile sig_atomic_t due_at_statement_end = false;

/* Is it due because of the timer, and not only because somebody asked? */
static volatile sig_atomic_t due_by_itself = false;

/*
 * pgtrim_attention is false while no look is due and the timer is running, as
 * far as we know, or never will.
 */
static void
set_due(bool at_statement_end)
{
	due = true;
	if (at_statement_end)
		due_at_statement_end = true;
	pgtrim_attention = true;
}

/*
 * No attention is needed any more, unless a handler says otherwise in between,
 * or errors that make the server forget the timer do not reach the log's hook.
 */
static void
need_no_attention(void)
{
	pgtrim_attention = false;
	if (due || !pgtrim_log_reaches_server())
		pgtrim_attention = true;
}

static void
set_timer(int64 at_ms)
{
	enable_timeout_at(timer, (TimestampTz) at_ms * 1000);
	need_no_attention();
}

/* How long this process has been idle, in ms; -1 if it is busy. */
static int64
idle_for(ProcessActivity activity, TimestampTz since, int64 now)
{
	switch (activity)
	{
		case PROCESS_IDLE:
		case PROCESS_IDLE_IN_TRANSACTION:
			return Max(now - since / 1000, 0);
		case PROCESS_BUSY:
			return -1;
		default:
			/* nothing told us, so judge by what ended since the last time */
			return pgtrim_happened == happened_at_timer ?
				pgtrim_policy_settings().idle_delay : -1;
	}
}

/* Is this a session that would heed a catchup interrupt at once? */
static bool
is_at_rest(ProcessActivity activity)
{
	return activity == PROCESS_IDLE ||
		(activity == PROCESS_UNKNOWN && pgtrim_has_client() && !IsTransactionOrTransactionBlock());
}

/* PostgreSQL 19 leaves it to the caller to wake the process. */
static void
raise_catchup(void)
{
	HandleCatchupInterrupt();
	SetLatch(MyLatch);
}

/*
 * Has this process look between two statements.  Outside a transaction block
 * that is after the reply; if busy_delay is over and it did not get there since
 * we last asked, one long statement is running, and what ends inside it must do.
 */
static void
look_between_statements(bool busy_too_long)
{
	set_due(busy_too_long && (due || IsTransactionBlock() || !pgtrim_has_client()));
	if (pgtrim_has_client())
		raise_catchup();
}

/* Brings this process, in which a look is due, to it; false if it cannot. */
static bool
bring_to_look(ProcessActivity activity, bool busy, bool busy_too_long)
{
	due_by_itself = true;
	if (busy)
		look_between_statements(busy_too_long);
	else if (is_at_rest(activity))
	{
		set_due(false);
		raise_catchup();
	}
	else if (pgtrim_interrupt_possible())
	{
		set_due(false);
		pgtrim_interrupt();
	}
	else
	{
		set_due(true);
		return false;
	}
	return true;
}

static void
handle_timer(void)
{
	PolicySettings settings = pgtrim_policy_settings();
	int64		now = pgtrim_now_ms();
	TimestampTz since;
	ProcessActivity activity = pgtrim_activity(&since);
	int64		idle = idle_for(activity, since, now);
	int64		next = pgtrim_next_look(now, idle, active_since);
	bool		busy_too_long = settings.busy_delay >= 0 &&
		active_since + settings.busy_delay <= now;

	pgtrim_attention = true;
	happened_at_timer = pgtrim_happened;
	if (pgtrim_happened == happened_at_look)
		return;
	if (next <= now)
	{
		/* one that cannot be reached finds this at its next statement */
		if (!bring_to_look(activity, idle < 0, busy_too_long))
			return;
		/* until it looked, see to it that it is not forgotten */
		next = now + Max(settings.idle_delay, 1000);
	}
	set_timer(next);
}

/* In a signal handler: somebody asked. */
static void
handle_request(void)
{
	TimestampTz since;
	ProcessActivity activity = pgtrim_activity(&since);

	set_due(false);
	if (is_at_rest(activity))
		raise_catchup();
	else if (pgtrim_interrupt_possible())
		pgtrim_interrupt();
	else
	{
		set_due(true);
		if (pgtrim_has_client())
			raise_catchup();
	}
}

/*
 * A timer also sets the latch.  A process without a client may take that for
 * its next round, run a transaction, and so have the timer set again, for ever.
 * So in one that is at rest there has to be something to look for.
 */
static bool
is_worth_waking(int64 now)
{
	static int64 asked_at = 0;
	bool		hurried = now - asked_at < pgtrim_policy_settings().idle_delay;

	asked_at = now;
	return pgtrim_has_client() || hurried || pgtrim_may_have_gained(now);
}

/*
 * An error made the server forget all timers, and maybe ours; it is looked for
 * at the next occasion.
 */
void
pgtrim_timers_forgotten(void)
{
	pgtrim_attention = true;
}

/* Arms the timer, if this process is one to be trimmed while it is idle. */
static void
arm(void)
{
	int64		now;
	int64		next;

	if (!(pgtrim_events & PGTRIM_ON(TRIM_IDLE)) || !pgtrim_trims_by_itself() || proc_exit_inprogress)
	{
		need_no_attention();
		return;
	}
	if (timer == MAX_TIMEOUTS)
		timer = RegisterTimeout(USER_TIMEOUT, handle_timer);
	now = pgtrim_now_ms();
	if (active_since == 0)
		active_since = now;
	next = pgtrim_next_look(now, 0, active_since);
	if (get_timeout_active(timer))
	{
		/* idle_delay may be shorter than when it was set */
		if (get_timeout_finish_time(timer) > (TimestampTz) next * 1000)
			set_timer(next);
		need_no_attention();
		return;
	}
	if (!is_worth_waking(now))
		return;
	happened_at_timer = pgtrim_happened;
	set_timer(next);
}

/*
 * Looks, at a safe point; true if the event holds a trim to log.  If others
 * only asked for figures, its own look is still to come.
 */
static bool
look(TrimEvent *event)
{
	bool		by_itself = due_by_itself && pgtrim_happened != happened_at_look;
	bool		trimmed = false;

	due = due_by_itself = due_at_statement_end = false;
	pgtrim_attention = true;
	if (proc_exit_inprogress)
		return false;
	if (pgtrim_request_waits())
		trimmed = pgtrim_request_serve(event);
	if (!trimmed && !by_itself)
		return false;
	if (!trimmed && (pgtrim_events & PGTRIM_ON(TRIM_IDLE)))
		trimmed = pgtrim_act(TRIM_IDLE, pgtrim_pad(), event);

	if (timer != MAX_TIMEOUTS)
		disable_timeout(timer, false);
	happened_at_look = pgtrim_happened;
	active_since = 0;
	return trimmed;
}

static void
look_and_log(void)
{
	TrimEvent	event;

	if (look(&event))
		pgtrim_log(&event);
}

/* A statement ended, and needs attention. */
void
pgtrim_attend_statement(void)
{
	if (due_at_statement_end)
		look_and_log();
	else
		arm();
}

/*
 * Is this the end of the empty transaction of a catchup interrupt of ours?  In
 * a real one a statement would have ended.
 */
static bool
is_catchup(ProcessActivity activity)
{
	return activity == PROCESS_IDLE ||
		(activity == PROCESS_UNKNOWN && pgtrim_has_client() && pgtrim_happened == happened_at_timer);
}

/*
 * A transaction ended, and needs attention.  Was it the empty one of a catchup
 * interrupt of ours, after the reply is on the wire?  Or one of a process
 * without a client, in which nobody waits for a reply?  Then look, if that is
 * due; false if it was the former.
 */
bool
pgtrim_attend_transaction(void)
{
	TimestampTz since;
	ProcessActivity activity = pgtrim_activity(&since);

	if (due && (activity != PROCESS_BUSY || due_at_statement_end))
	{
		look_and_log();
		if (is_catchup(activity))
			return false;
	}
	pgtrim_happened++;
	arm();
	return true;
}

void
pgtrim_idle_init(void)
{
	pgtrim_requests_init(handle_request);
	pgtrim_interrupt_init(look);
}
