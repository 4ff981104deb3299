/*-------------------------------------------------------------------------
 *
 * policy.h
 *		When is a trim worth it, and how long to hold off after one.
 *
 * Pure functions of their arguments: times come in as milliseconds of any
 * clock, so that tests need no waiting.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_POLICY_H
#define PGTRIM_POLICY_H

typedef struct PolicySettings
{
	int64		threshold;		/* bytes; 0: a trim is always worth it */
	int64		idle_delay;		/* ms */
	int64		busy_delay;		/* ms; -1: never while busy */
} PolicySettings;

/* A session's memory of its trims; all zero to begin with. */
typedef struct PolicyState
{
	bool		trimmed;		/* a trim awaits its verdict */
	int64		trimmed_at;		/* ms */
	int64		released;		/* bytes that it returned */
	int64		holdoff;		/* ms; 0: idle_delay, the least */
} PolicyState;

typedef enum PolicyDecision
{
	POLICY_TRIM,
	POLICY_NOT_WORTH_IT,
	POLICY_HELD_OFF
} PolicyDecision;

/* No session holds off longer than this many times idle_delay. */
#define POLICY_MAX_HOLDOFF 32

/* Memory taken again within this many hold-offs "came back at once". */
#define POLICY_SOON 4

extern int64 pgtrim_policy_held_until(const PolicyState *state,
									  const PolicySettings *settings, int64 now);
extern int64 pgtrim_policy_next_look(const PolicyState *state,
									 const PolicySettings *settings,
									 int64 now, int64 idle_for, int64 active_since);
extern PolicyDecision pgtrim_policy_decide(const PolicyState *state,
										   const PolicySettings *settings,
										   int64 now, int64 retained);
extern void pgtrim_policy_learn(PolicyState *state, const PolicySettings *settings,
								int64 now, int64 taken_again);
extern void pgtrim_policy_trimmed(PolicyState *state, int64 now, int64 released);

#endif							/* PGTRIM_POLICY_H */
