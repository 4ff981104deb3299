/*-------------------------------------------------------------------------
 *
 * stats.h
 *		Counters per cause, and a histogram, in shared memory.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_STATS_H
#define PGTRIM_STATS_H

#include "trim.h"

extern void pgtrim_stats_check(TrimCause cause);
extern void pgtrim_stats_trim(const TrimEvent *event);
extern void pgtrim_stats_reset(void);
extern void pgtrim_stats_init(void);

#endif							/* PGTRIM_STATS_H */
