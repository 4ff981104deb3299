/*-------------------------------------------------------------------------
 *
 * idle.h
 *		Looking at a process's memory while it is idle, or between statements.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_IDLE_H
#define PGTRIM_IDLE_H

#include <signal.h>

#include "compat.h"

/* For the functions below alone. */
extern PGTRIM_HIDDEN volatile uint32 pgtrim_happened;
extern PGTRIM_HIDDEN volatile sig_atomic_t pgtrim_attention;
extern void pgtrim_attend_statement(void);
extern bool pgtrim_attend_transaction(void);

/* How often to see whether the timer is still there, in things that happened. */
#define PGTRIM_VERIFY_TIMER 256

/*
 * Something happened that may have left memory: does it need attention, since
 * no timer is set, or a look is due?  On the query path, so this costs a few
 * instructions.
 */
static inline bool
pgtrim_touch(void)
{
	return unlikely(++pgtrim_happened % PGTRIM_VERIFY_TIMER == 0 || pgtrim_attention);
}

/* A statement ended. */
static inline void
pgtrim_statement_done(void)
{
	if (pgtrim_touch())
		pgtrim_attend_statement();
}

/*
 * A transaction ended; false if it was the empty one of a catchup interrupt of
 * ours, in which nothing happened.
 */
static inline bool
pgtrim_transaction_done(void)
{
	return !pgtrim_touch() || pgtrim_attend_transaction();
}

extern void pgtrim_timers_forgotten(void);
extern void pgtrim_idle_init(void);

#endif							/* PGTRIM_IDLE_H */
