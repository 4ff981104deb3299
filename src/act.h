/*-------------------------------------------------------------------------
 *
 * act.h
 *		The one way of every cause: gate, check, trim, record.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_ACT_H
#define PGTRIM_ACT_H

#include <signal.h>

#include "compat.h"
#include "policy.h"
#include "trim.h"

/* The causes for which a session trims by itself, as bits. */
#define PGTRIM_ON(cause) (1 << (cause))

extern PGTRIM_HIDDEN int pgtrim_events;

/* Has idle.c something to do at the next statement or transaction end? */
extern PGTRIM_HIDDEN volatile sig_atomic_t pgtrim_attention;

extern PolicySettings pgtrim_policy_settings(void);
extern int64 pgtrim_now_ms(void);
extern int64 pgtrim_next_look(int64 now, int64 idle_for, int64 active_since);

extern bool pgtrim_may_have_gained(int64 now);

extern PGTRIM_HIDDEN int64 pgtrim_gate_bytes;

/*
 * The blocks of small statements are the same ones again and again: malloc hands
 * out what the one before gave back, and nothing of it can be returned.
 */
#define PGTRIM_SMALL_STATEMENT (64 * 1024)

static inline bool
pgtrim_gate_counts(int64 bytes)
{
	return unlikely(bytes > PGTRIM_SMALL_STATEMENT);
}

/* Adds up what is about to be freed.  On the query path. */
static inline void
pgtrim_gate_add(int64 bytes)
{
	if (pgtrim_gate_counts(bytes))
		pgtrim_gate_bytes += bytes;
}

extern bool pgtrim_gate_passed(void);

extern bool pgtrim_act(TrimCause cause, size_t pad, TrimEvent *event);
extern void pgtrim_act_and_log(TrimCause cause, size_t pad, TrimEvent *event);
extern void pgtrim_publish(void);
extern void pgtrim_act_init(void);

#endif							/* PGTRIM_ACT_H */
