/*-------------------------------------------------------------------------
 *
 * allocator_mimalloc.c
 *		mimalloc.
 *
 * It keeps no total of the bytes in use, so they are added up over the areas
 * of the default heap: a server process has one thread, hence one heap.
 * Names and the layout of an area: mimalloc.h, the same from 2.0 on.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "allocator.h"

typedef struct Area
{
	void	   *blocks;
	size_t		reserved;
	size_t		committed;
	size_t		used;			/* blocks, not bytes */
	size_t		block_size;
	size_t		full_block_size;
} Area;

typedef bool (*visitor_function) (const void *heap, const Area *area, void *block,
								  size_t block_size, void *arg);
typedef void (*collect_function) (bool force);
typedef int (*version_function) (void);
typedef void *(*default_heap_function) (void);
typedef bool (*visit_function) (const void *heap, bool all_blocks,
								visitor_function visitor, void *arg);

#define FIRST_KNOWN_LAYOUT 200	/* 2.0.0 */

static collect_function collect = NULL;
static version_function version = NULL;
static default_heap_function default_heap = NULL;
static visit_function visit = NULL;

bool
pgtrim_probe_mimalloc(void)
{
	collect = (collect_function) dlsym(RTLD_DEFAULT, "mi_collect");
	version = (version_function) dlsym(RTLD_DEFAULT, "mi_version");
	default_heap = (default_heap_function) dlsym(RTLD_DEFAULT, "mi_heap_get_default");
	visit = (visit_function) dlsym(RTLD_DEFAULT, "mi_heap_visit_blocks");
	return collect != NULL && version != NULL && default_heap != NULL && visit != NULL;
}

static void
mimalloc_version(char *buf, size_t size)
{
	int			number = version();

	snprintf(buf, size, "%d.%d.%d", number / 100, number / 10 % 10, number % 10);
}

static void
mimalloc_release(size_t pad)
{
	collect(true);
}

static bool
add_area(const void *heap, const Area *area, void *block, size_t block_size, void *arg)
{
	HeapFigures *sum = arg;
	int64		used = (int64) area->used * area->block_size;

	sum->in_use += used;
	sum->free += Max((int64) area->committed - used, 0);
	return true;
}

static void
mimalloc_figures(HeapFigures *figures)
{
	figures->in_use = figures->free = figures->top_free = figures->mmapped = -1;
	if (version() < FIRST_KNOWN_LAYOUT)
		return;
	figures->in_use = figures->free = 0;
	(void) visit(default_heap(), false, add_area, figures);
}

static int64
mimalloc_in_use(void)
{
	HeapFigures figures;

	mimalloc_figures(&figures);
	return figures.in_use;
}

const Allocator pgtrim_allocator_mimalloc = {
	.name = "mimalloc",
	.version = mimalloc_version,
	.release = mimalloc_release,
	.figures = mimalloc_figures,
	.in_use = mimalloc_in_use
};
