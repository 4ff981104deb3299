/*-------------------------------------------------------------------------
 *
 * policy.c
 *		When is a trim worth it, and how long to hold off after one.
 *
 * Memory that comes back at once was not worth returning: each page costs a
 * fault and is zeroed again.  So a session whose trims are undone, or return
 * little, holds off twice as long each time, and half as long after a trim
 * that lasted.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "policy.h"

/*
 * The shortest hold-off.  Without any delay there would be nothing to double,
 * and a session that trims after every statement would never learn.
 */
static int64
shortest_holdoff(const PolicySettings *settings)
{
	return Max(settings->idle_delay, 1);
}

static int64
current_holdoff(const PolicyState *state, const PolicySettings *settings)
{
	int64		shortest = shortest_holdoff(settings);

	/* idle_delay may have changed since */
	return Min(Max(state->holdoff, shortest), shortest * POLICY_MAX_HOLDOFF);
}

/*
 * The time until which this session holds off; now or earlier if it does not.
 * A clock that was set back ends it, or it could last for hours.
 */
int64
pgtrim_policy_held_until(const PolicyState *state, const PolicySettings *settings,
						 int64 now)
{
	if (!state->trimmed || settings->threshold == 0 || state->trimmed_at > now)
		return now;
	return state->trimmed_at + current_holdoff(state, settings);
}

/*
 * When should a session that did something since the last check look again?
 * Now or earlier: at once.
 *
 * idle_for is the time since it went idle, -1 if it is busy; active_since the
 * time of the first thing that it did since the last check.
 */
int64
pgtrim_policy_next_look(const PolicyState *state, const PolicySettings *settings,
						int64 now, int64 idle_for, int64 active_since)
{
	int64		held_until = pgtrim_policy_held_until(state, settings, now);

	/*
	 * Never idle for long, be it at rest for this moment or not; or the clock
	 * was set back.
	 */
	if (settings->busy_delay >= 0 && held_until <= now &&
		(active_since + settings->busy_delay <= now || active_since > now))
		return now;
	if (idle_for >= 0)
		return Max(now - idle_for + settings->idle_delay, held_until);
	/* it may go idle in a moment; without any delay, as its statement ends */
	return settings->idle_delay > 0 ? now + settings->idle_delay : held_until;
}

/* The check.  retained is what a trim promises to return, -1 if unknown. */
PolicyDecision
pgtrim_policy_decide(const PolicyState *state, const PolicySettings *settings,
					 int64 now, int64 retained)
{
	if (settings->threshold == 0)
		return POLICY_TRIM;
	if (retained < settings->threshold)
		return POLICY_NOT_WORTH_IT;
	if (pgtrim_policy_held_until(state, settings, now) > now)
		return POLICY_HELD_OFF;
	return POLICY_TRIM;
}

/*
 * At the first check after a trim: was it worth it?  taken_again is what the
 * process took from the operating system since, in bytes.
 */
void
pgtrim_policy_learn(PolicyState *state, const PolicySettings *settings,
					int64 now, int64 taken_again)
{
	int64		shortest = shortest_holdoff(settings);
	int64		holdoff = current_holdoff(state, settings);
	bool		came_back;

	if (!state->trimmed || (state->trimmed_at <= now && state->trimmed_at + holdoff > now))
		return;
	came_back = taken_again * 2 >= state->released &&
		now - state->trimmed_at <= holdoff * POLICY_SOON;
	if (came_back || state->released < settings->threshold)
		state->holdoff = Min(holdoff * 2, shortest * POLICY_MAX_HOLDOFF);
	else
		state->holdoff = Max(holdoff / 2, shortest);
	state->trimmed = false;
}

/* After a trim that this session did by itself. */
void
pgtrim_policy_trimmed(PolicyState *state, int64 now, int64 released)
{
	state->trimmed = true;
	state->trimmed_at = now;
	state->released = released;
}
