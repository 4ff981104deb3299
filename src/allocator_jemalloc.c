/*-------------------------------------------------------------------------
 *
 * allocator_jemalloc.c
 *		jemalloc, reached by mallctl().
 *
 * Names of the controls: jemalloc(3), "MALLCTL NAMESPACE".
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "allocator.h"

typedef int (*mallctl_function) (const char *name, void *oldp, size_t *oldlenp,
								 void *newp, size_t newlen);

static mallctl_function mallctl_call = NULL;

bool
pgtrim_probe_jemalloc(void)
{
	mallctl_call = (mallctl_function) dlsym(RTLD_DEFAULT, "mallctl");
	return mallctl_call != NULL;
}

static void
jemalloc_version(char *buf, size_t size)
{
	const char *version = "";
	size_t		length = sizeof(version);

	if (mallctl_call("version", &version, &length, NULL, 0) != 0)
		version = "";
	strlcpy(buf, version, size);
	/* "5.3.0-0-g54eaed1d...": the commit is of no use to a reader */
	buf[strcspn(buf, "-")] = '\0';
}

/* The thread's cache goes to the arenas first; 4096 names all of them. */
static void
jemalloc_release(size_t pad)
{
	(void) mallctl_call("thread.tcache.flush", NULL, NULL, NULL, 0);
	(void) mallctl_call("arena.4096.purge", NULL, NULL, NULL, 0);
}

/* One of stats.*, -1 where jemalloc was built without statistics. */
static int64
statistic(const char *name)
{
	size_t		value = 0;
	size_t		length = sizeof(value);

	if (mallctl_call(name, &value, &length, NULL, 0) != 0)
		return -1;
	return value;
}

/* The statistics stand still until the epoch moves. */
static void
advance_epoch(void)
{
	uint64		epoch = 1;

	(void) mallctl_call("epoch", NULL, NULL, &epoch, sizeof(epoch));
}

static int64
jemalloc_in_use(void)
{
	advance_epoch();
	return statistic("stats.allocated");
}

static void
jemalloc_figures(HeapFigures *figures)
{
	int64		mapped;

	figures->in_use = jemalloc_in_use();
	mapped = statistic("stats.mapped");
	figures->free = figures->in_use < 0 || mapped < 0 ? -1 : Max(mapped - figures->in_use, 0);
	figures->top_free = -1;
	figures->mmapped = -1;
}

const Allocator pgtrim_allocator_jemalloc = {
	.name = "jemalloc",
	.version = jemalloc_version,
	.release = jemalloc_release,
	.figures = jemalloc_figures,
	.in_use = jemalloc_in_use
};
