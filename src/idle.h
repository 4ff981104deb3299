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

#include "act.h"

/* For the functions below alone. */
extern PGTRIM_HIDDEN volatile uint32 pgtrim_happened;
extern void pgtrim_attend_statement(void);

/* How often to see whether the timer is still there, in statements. */
#define PGTRIM_VERIFY_TIMER 256

/*
 * Counts a statement that ends, or is about to: does it need attention, as no
 * timer is set or a look is due?  On the query path, so it costs a few
 * instructions.
 */
static inline bool
pgtrim_statement_needs_attention(void)
{
	return unlikely(++pgtrim_happened % PGTRIM_VERIFY_TIMER == 0 || pgtrim_attention);
}

/* A statement ended, and may have left memory. */
static inline void
pgtrim_statement_done(void)
{
	if (pgtrim_statement_needs_attention())
		pgtrim_attend_statement();
}

extern bool pgtrim_attend_transaction(void);
extern void pgtrim_timers_forgotten(void);
extern void pgtrim_idle_init(void);

#endif							/* PGTRIM_IDLE_H */
