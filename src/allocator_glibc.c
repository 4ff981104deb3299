/*-------------------------------------------------------------------------
 *
 * allocator_glibc.c
 *		The GNU C library's malloc.
 *
 * Compiled in only where the build found malloc_trim(), as Emacs' configure
 * does; musl has none.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef HAVE_MALLOC_TRIM

#include <gnu/libc-version.h>
#include <malloc.h>

#include "allocator.h"

static void
glibc_version(char *buf, size_t size)
{
	strlcpy(buf, gnu_get_libc_version(), size);
}

/* The return code is of no use: 1 also comes of calls that free nothing. */
static void
glibc_release(size_t pad)
{
	(void) malloc_trim(pad);
}

/* Sums over all arenas; the cost grows with the number of free chunks. */
static void
glibc_figures(HeapFigures *figures)
{
	struct mallinfo2 info = mallinfo2();

	figures->in_use = info.uordblks + info.hblkhd;
	figures->free = info.fordblks;
	figures->top_free = info.keepcost;
	figures->mmapped = info.hblkhd;
}

static int64
glibc_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static bool
glibc_tune(AllocatorTunable tunable, int kilobytes)
{
	static const int parameters[] = {
		[TUNE_MMAP_THRESHOLD] = M_MMAP_THRESHOLD,
		[TUNE_TRIM_THRESHOLD] = M_TRIM_THRESHOLD,
		[TUNE_TOP_PAD] = M_TOP_PAD
	};

	return mallopt(parameters[tunable], kilobytes * 1024) == 1;
}

const Allocator pgtrim_allocator_glibc = {
	.name = "glibc",
	.version = glibc_version,
	.release = glibc_release,
	.figures = glibc_figures,
	.in_use = glibc_in_use,
	/* what threads cache counts as in use, and malloc_trim() leaves it there */
	.release_keeps_in_use = true,
	.tune = glibc_tune
};

#endif							/* HAVE_MALLOC_TRIM */
