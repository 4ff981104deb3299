/*-------------------------------------------------------------------------
 *
 * policy.c
 *		Unit test of src/policy.c: no server, no clock, TAP on stdout.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../src/policy.h"

/* the server's replacements of these live in libpgport */
#undef printf
#undef vprintf

#define MB INT64CONST(1048576)
#define NOON INT64CONST(43200000)

static const PolicySettings defaults = {
	.threshold = MB,
	.idle_delay = 1000,
	.busy_delay = 10000
};

static int	test_count = 0;
static int	failure_count = 0;

static void
ok(bool passed, const char *name)
{
	test_count++;
	if (!passed)
		failure_count++;
	printf("%sok %d - %s\n", passed ? "" : "not ", test_count, name);
}

static void
is(int64 got, int64 expected, const char *name)
{
	ok(got == expected, name);
	if (got != expected)
		printf("#   got %lld, expected %lld\n", (long long) got, (long long) expected);
}

/* A session that trimmed 50 MB at noon. */
static PolicyState
trimmed_at_noon(void)
{
	PolicyState state = {0};

	pgtrim_policy_trimmed(&state, NOON, 50 * MB);
	return state;
}

/* The first check after that, ms later, with so many bytes taken again. */
static void
learn(PolicyState *state, int64 later, int64 taken_again)
{
	pgtrim_policy_learn(state, &defaults, NOON + later, taken_again);
}

static PolicySettings
with_threshold(int64 threshold)
{
	PolicySettings settings = defaults;

	settings.threshold = threshold;
	return settings;
}

static void
test_threshold(void)
{
	PolicyState fresh = {0};
	PolicyState trimmed = trimmed_at_noon();
	PolicySettings always = with_threshold(0);

	is(pgtrim_policy_decide(&fresh, &defaults, NOON, MB), POLICY_TRIM, "the threshold is enough");
	is(pgtrim_policy_decide(&fresh, &defaults, NOON, MB - 1), POLICY_NOT_WORTH_IT, "a byte less is not");
	is(pgtrim_policy_decide(&fresh, &defaults, NOON, -1), POLICY_NOT_WORTH_IT, "nor is an unknown amount");
	is(pgtrim_policy_decide(&fresh, &always, NOON, 0), POLICY_TRIM, "threshold 0 trims for nothing");
	is(pgtrim_policy_decide(&fresh, &always, NOON, -1), POLICY_TRIM, "threshold 0 trims without figures");
	is(pgtrim_policy_decide(&trimmed, &always, NOON, 0), POLICY_TRIM, "threshold 0 is never held off");
}

static void
test_holdoff(void)
{
	PolicyState fresh = {0};
	PolicyState state = trimmed_at_noon();

	is(pgtrim_policy_held_until(&fresh, &defaults, NOON), NOON, "a session that never trimmed is not held off");
	is(pgtrim_policy_held_until(&state, &defaults, NOON), NOON + 1000, "one that did is, for idle_delay");
	is(pgtrim_policy_decide(&state, &defaults, NOON + 999, 9 * MB), POLICY_HELD_OFF, "held off before it is over");
	is(pgtrim_policy_decide(&state, &defaults, NOON + 999, 0), POLICY_NOT_WORTH_IT, "whatever is held off, nothing is not worth it");
	is(pgtrim_policy_decide(&state, &defaults, NOON + 1000, 9 * MB), POLICY_TRIM, "trimmed once it is");
}

static void
test_verdict(void)
{
	PolicyState state = trimmed_at_noon();

	learn(&state, 999, 50 * MB);
	ok(state.trimmed && state.holdoff == 0, "no verdict before the hold-off is over");
	learn(&state, 1000, 25 * MB);
	ok(!state.trimmed, "a verdict when it is");
	is(state.holdoff, 2000, "half of it came back: twice as long");

	state = trimmed_at_noon();
	state.holdoff = 8000;
	learn(&state, 32000, 24 * MB);
	is(state.holdoff, 4000, "fewer came back: half as long");

	state = trimmed_at_noon();
	state.holdoff = 8000;
	learn(&state, 32000, 50 * MB);
	is(state.holdoff, 16000, "they came back within four hold-offs: twice as long");

	state = trimmed_at_noon();
	state.holdoff = 8000;
	learn(&state, 32001, 50 * MB);
	is(state.holdoff, 4000, "they came back later: half as long");

	state = trimmed_at_noon();
	state.released = MB - 1;
	learn(&state, 1000, 0);
	is(state.holdoff, 2000, "less than the threshold was returned: twice as long");
}

static void
test_bounds(void)
{
	PolicyState state = {0};
	int64		now = NOON;
	int64		holdoff = 1000;
	bool		doubled = true;

	for (int i = 0; i < 5; i++)
	{
		pgtrim_policy_trimmed(&state, now, 50 * MB);
		now += holdoff;
		pgtrim_policy_learn(&state, &defaults, now, 50 * MB);
		holdoff *= 2;
		doubled = doubled && state.holdoff == holdoff;
	}
	ok(doubled && holdoff == POLICY_MAX_HOLDOFF * 1000, "the hold-off doubles each time, up to 32 times idle_delay");
	pgtrim_policy_trimmed(&state, now, 50 * MB);
	now += holdoff;
	pgtrim_policy_learn(&state, &defaults, now, 50 * MB);
	is(state.holdoff, holdoff, "and no further");

	for (int i = 0; i < 7; i++)
	{
		pgtrim_policy_trimmed(&state, now, 50 * MB);
		now += 60000;
		pgtrim_policy_learn(&state, &defaults, now, 0);
	}
	is(state.holdoff, 1000, "it halves down to idle_delay");
}

static void
test_changed_settings(void)
{
	PolicyState state = trimmed_at_noon();
	PolicySettings quick = defaults;

	state.holdoff = 32000;
	quick.idle_delay = 100;
	is(pgtrim_policy_held_until(&state, &quick, NOON), NOON + 3200, "a shorter idle_delay bounds what was learnt");
	state.holdoff = 0;
	quick.idle_delay = 0;
	is(pgtrim_policy_held_until(&state, &quick, NOON), NOON + 1, "without any delay the hold-off is 1 ms");
	quick.idle_delay = 60000;
	is(pgtrim_policy_held_until(&state, &quick, NOON), NOON + 60000, "a longer one counts at once");
}

/* It is an hour earlier than at the trim: the hold-off still ends. */
static void
test_clock_set_back(void)
{
	PolicyState state = trimmed_at_noon();
	int64		now = NOON - 3600000;

	ok(pgtrim_policy_decide(&state, &defaults, now, 50 * MB) == POLICY_TRIM ||
	   pgtrim_policy_decide(&state, &defaults, now + 1000, 50 * MB) == POLICY_TRIM,
	   "a clock that was set back does not hold off for longer");
	ok(pgtrim_policy_next_look(&state, &defaults, now + 1000, 1000, NOON) <= now + 1000,
	   "nor keep an idle session from looking");
	ok(pgtrim_policy_next_look(&state, &defaults, now + 10000, -1, NOON) <= now + 10000,
	   "nor a busy one");
	pgtrim_policy_learn(&state, &defaults, now + 1000, 0);
	ok(!state.trimmed, "nor keep the verdict back");
}

static void
test_next_look(void)
{
	PolicyState fresh = {0};
	PolicyState state = trimmed_at_noon();
	PolicySettings settings = defaults;
	int64		now = NOON + 500;

	is(pgtrim_policy_next_look(&fresh, &defaults, now, 0, now), now + 1000, "a session going idle: after idle_delay");
	is(pgtrim_policy_next_look(&fresh, &defaults, now, 400, now - 400), now + 600, "idle for a while: the rest of it");
	is(pgtrim_policy_next_look(&fresh, &defaults, now, 1000, now - 1000), now, "idle for idle_delay: now");
	state.holdoff = 8000;
	is(pgtrim_policy_next_look(&state, &defaults, now, 1000, now - 1000), NOON + 8000, "held off: when that ends");

	is(pgtrim_policy_next_look(&fresh, &defaults, now, -1, now - 10000), now, "busy for busy_delay: now");
	is(pgtrim_policy_next_look(&fresh, &defaults, now, 3, now - 10000), now, "at rest for a moment only: likewise");
	is(pgtrim_policy_next_look(&fresh, &defaults, now, -1, now - 9999), now + 1000, "less: it may go idle in a moment");
	is(pgtrim_policy_next_look(&state, &defaults, now, -1, now - 10000), now + 1000, "busy and held off: likewise");
	settings.busy_delay = -1;
	is(pgtrim_policy_next_look(&fresh, &settings, now, -1, 0), now + 1000, "busy_delay -1: never while busy");
	is(pgtrim_policy_next_look(&fresh, &settings, now, 3, 0), now + 997, "nor at a moment's rest");
	settings.busy_delay = 0;
	is(pgtrim_policy_next_look(&fresh, &settings, now, -1, now), now, "busy_delay 0: at each chance");
	settings.busy_delay = -1;
	settings.idle_delay = 0;
	is(pgtrim_policy_next_look(&fresh, &settings, now, 0, now), now, "idle_delay 0: as soon as it is idle");
	is(pgtrim_policy_next_look(&fresh, &settings, now, -1, 0), now, "busy: as soon as its statement ends");
}

/*
 * A session that runs a query every two seconds, each of which takes no time
 * and leaves 50 MB, as far as they were not there still.
 */
typedef struct Session
{
	PolicyState policy;
	int64		retained;
	int64		taken;			/* since the last trim */
	int64		active_since;	/* 0: nothing happened since the last look */
	int			trims;
} Session;

static void
run_query(Session *session, int64 now)
{
	if (session->active_since == 0)
		session->active_since = now;
	session->taken += 50 * MB - session->retained;
	session->retained = 50 * MB;
}

static void
look(Session *session, int64 now)
{
	session->active_since = 0;
	pgtrim_policy_learn(&session->policy, &defaults, now, session->taken);
	if (pgtrim_policy_decide(&session->policy, &defaults, now, session->retained) != POLICY_TRIM)
		return;
	pgtrim_policy_trimmed(&session->policy, now, session->retained);
	session->retained = session->taken = 0;
	session->trims++;
}

/* Lets the time pass in steps of 100 ms, for queries so far apart, 0: none. */
static void
live(Session *session, int64 from, int64 until, int64 apart)
{
	int64		query_at = from;

	for (int64 now = from; now < until; now += 100)
	{
		if (apart > 0 && (now - from) % apart == 0)
		{
			run_query(session, now);
			query_at = now;
		}
		if (session->active_since != 0 &&
			pgtrim_policy_next_look(&session->policy, &defaults, now, now - query_at,
									session->active_since) <= now)
			look(session, now);
	}
}

static void
test_alternating_session(void)
{
	const int64 minute = 60000;
	Session		session = {0};
	int			trims;
	int64		now = NOON;

	live(&session, now, now + minute, 2000);
	trims = session.trims;
	ok(trims >= 3 && trims <= 7, "a heavy query every 2 s, 1st minute: soon fewer trims");
	now += minute;
	session.trims = 0;
	live(&session, now, now + 10 * minute, 2000);
	ok(session.trims >= 10 && session.trims <= 20, "next 10 minutes: a trim or two a minute");
	printf("# %d trims in the 1st minute, %d in the next 10\n", trims, session.trims);

	now += 10 * minute;
	run_query(&session, now);
	session.trims = 0;
	live(&session, now, now + POLICY_MAX_HOLDOFF * defaults.idle_delay + 100, 0);
	ok(session.trims >= 1 && session.retained == 0, "then idle: trimmed within the longest hold-off");

	for (int i = 0; i < 10; i++)
	{
		now += 10 * minute;
		live(&session, now, now + 10 * minute, 10 * minute);
	}
	is(session.policy.holdoff, defaults.idle_delay, "a query every 10 minutes: back to the shortest hold-off");
	session.trims = 0;
	now += 10 * minute;
	live(&session, now, now + 1100, minute);
	is(session.trims, 1, "and trimmed after idle_delay again");
}

int
main(void)
{
	test_threshold();
	test_holdoff();
	test_verdict();
	test_bounds();
	test_changed_settings();
	test_clock_set_back();
	test_next_look();
	test_alternating_session();
	printf("1..%d\n", test_count);
	return failure_count > 0;
}
