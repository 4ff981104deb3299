/*-------------------------------------------------------------------------
 *
 * allocator_tcmalloc.c
 *		tcmalloc of gperftools, reached by its C interface.
 *
 * Names of the properties: gperftools, malloc_extension.h.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "allocator.h"

typedef void (*plain_function) (void);
typedef int (*property_function) (const char *property, size_t *value);
typedef const char *(*version_function) (int *major, int *minor, const char **patch);

static plain_function release_free_memory = NULL;
static plain_function mark_thread_idle = NULL;
static property_function numeric_property = NULL;

bool
pgtrim_probe_tcmalloc(void)
{
	release_free_memory = (plain_function)
		dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
	mark_thread_idle = (plain_function)
		dlsym(RTLD_DEFAULT, "MallocExtension_MarkThreadIdle");
	numeric_property = (property_function)
		dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
	return release_free_memory != NULL && numeric_property != NULL;
}

static void
tcmalloc_version(char *buf, size_t size)
{
	version_function version = (version_function) dlsym(RTLD_DEFAULT, "tc_version");
	int			major;
	int			minor;
	const char *patch = "";

	buf[0] = '\0';
	if (version != NULL)
	{
		(void) version(&major, &minor, &patch);
		snprintf(buf, size, "%d.%d%s", major, minor, patch ? patch : "");
	}
}

/*
 * A thread's cache may hold 32 MB, which count as free and are not released; an
 * idle thread hands it back, and gets another one when it allocates.
 */
static void
tcmalloc_release(size_t pad)
{
	if (mark_thread_idle != NULL)
		mark_thread_idle();
	release_free_memory();
}

static int64
property(const char *name)
{
	size_t		value = 0;

	return numeric_property(name, &value) ? (int64) value : -1;
}

static int64
tcmalloc_in_use(void)
{
	return property("generic.current_allocated_bytes");
}

static void
tcmalloc_figures(HeapFigures *figures)
{
	int64		heap = property("generic.heap_size");
	int64		unmapped = property("tcmalloc.pageheap_unmapped_bytes");

	figures->in_use = tcmalloc_in_use();
	figures->free = figures->in_use < 0 || heap < 0 ? -1 :
		Max(heap - Max(unmapped, 0) - figures->in_use, 0);
	figures->top_free = -1;
	figures->mmapped = -1;
}

const Allocator pgtrim_allocator_tcmalloc = {
	.name = "tcmalloc",
	.version = tcmalloc_version,
	.release = tcmalloc_release,
	.figures = tcmalloc_figures,
	.in_use = tcmalloc_in_use
};
