/*-------------------------------------------------------------------------
 *
 * contexts.c
 *		What this process holds in PostgreSQL's memory contexts.
 *
 * The walk costs some ten nanoseconds a context, so it is left to idle moments
 * and to requests.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "contexts.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

/* Names given by plancache.c to what a prepared statement keeps. */
static bool
is_plan(const char *name)
{
	return strcmp(name, "CachedPlanSource") == 0 ||
		strcmp(name, "CachedPlanQuery") == 0 ||
		strcmp(name, "CachedPlan") == 0;
}

void
pgtrim_contexts(ContextFigures *figures)
{
	memset(figures, 0, sizeof(*figures));
	figures->total = MemoryContextMemAllocated(TopMemoryContext, true);
	if (CacheMemoryContext == NULL)
		return;
	for (MemoryContext child = CacheMemoryContext->firstchild; child != NULL; child = child->nextchild)
	{
		if (is_plan(child->name))
			figures->plans += MemoryContextMemAllocated(child, true);
	}
	figures->caches = MemoryContextMemAllocated(CacheMemoryContext, true) - figures->plans;
}
