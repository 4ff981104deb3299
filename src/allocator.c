/*-------------------------------------------------------------------------
 *
 * allocator.c
 *		Which malloc runs this process, and the settings passed to it.
 *
 * An allocator may be linked in, preloaded, or brought along by some library
 * that uses it for itself under prefixed names.  So a name that can be found
 * proves nothing: the object that defines the allocator's own functions must
 * be the one that serves malloc().
 *
 * The answer cannot change during a process's life, and fork() hands it on.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <limits.h>

#include "access/xact.h"
#include "allocator.h"
#include "miscadmin.h"
#include "utils/guc.h"

typedef struct Candidate
{
	const char *symbol;			/* a function only this allocator defines */
	bool		(*probe) (void);
	const Allocator *allocator;
} Candidate;

static const Candidate candidates[] = {
	{"mallctl", pgtrim_probe_jemalloc, &pgtrim_allocator_jemalloc},
	{"MallocExtension_ReleaseFreeMemory", pgtrim_probe_tcmalloc, &pgtrim_allocator_tcmalloc},
	{"mi_collect", pgtrim_probe_mimalloc, &pgtrim_allocator_mimalloc},
#ifdef HAVE_MALLOC_TRIM
	{"malloc_trim", NULL, &pgtrim_allocator_glibc},
#endif
};

static int	mmap_threshold_kb = -1;
static int	trim_threshold_kb = -1;
static int	top_pad_kb = -1;

static void
unknown_version(char *buf, size_t size)
{
	if (size > 0)
		buf[0] = '\0';
}

const Allocator pgtrim_allocator_unknown = {
	.name = "unknown",
	.version = unknown_version
};

/* The loaded object that defines a symbol; NULL if there is none. */
static void *
object_of(const char *symbol)
{
	void	   *address = dlsym(RTLD_DEFAULT, symbol);
	Dl_info		info;

	if (address == NULL || dladdr(address, &info) == 0)
		return NULL;
	return info.dli_fbase;
}

static const Allocator *
detect(void)
{
	void	   *serving = object_of("malloc");

	for (size_t i = 0; serving != NULL && i < lengthof(candidates); i++)
	{
		const Candidate *candidate = &candidates[i];

		if (object_of(candidate->symbol) == serving &&
			(candidate->probe == NULL || candidate->probe()))
			return candidate->allocator;
	}
	return &pgtrim_allocator_unknown;
}

/* The allocator of this process; never NULL. */
const Allocator *
pgtrim_allocator(void)
{
	static const Allocator *allocator = NULL;

	if (allocator == NULL)
		allocator = detect();
	return allocator;
}

/* Can a trim be asked of this process's allocator? */
bool
pgtrim_allocator_can_release(void)
{
	return pgtrim_allocator()->release != NULL;
}

/* Name and, where known, version: "glibc 2.36". */
void
pgtrim_allocator_describe(char *buf, size_t size)
{
	const Allocator *allocator = pgtrim_allocator();
	char		version[64];

	allocator->version(version, sizeof(version));
	snprintf(buf, size, "%s%s%s", allocator->name, version[0] ? " " : "", version);
}

/* Raises feature_not_supported where no trim is to be had. */
void
pgtrim_require_release(void)
{
	if (pgtrim_allocator_can_release())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("memory cannot be trimmed under this memory allocator"),
			 errhint("pg_trim works with malloc_trim() of the GNU C library, jemalloc, tcmalloc and mimalloc.")));
}

/*
 * Says that a setting does nothing, to who makes it: not again when a value
 * comes back as a transaction ends, where an error is a PANIC, nor in each
 * process when the configuration is read again.
 */
static void
warn_of_tunable(const char *setting, const char *allocator, int kilobytes)
{
	if (IsTransactionState() || !IsUnderPostmaster)
		ereport(WARNING,
				(errmsg("memory allocator %s does not take %d kB for setting \"%s\"",
						allocator, kilobytes, setting)));
}

/*
 * Passes a tunable on.  -1 leaves the allocator alone; glibc has no way back
 * to its dynamic thresholds, which the settings' description says.
 */
static void
assign_tunable(const char *setting, AllocatorTunable tunable, int kilobytes)
{
	const Allocator *allocator = pgtrim_allocator();

	if (kilobytes >= 0 && (allocator->tune == NULL || !allocator->tune(tunable, kilobytes)))
		warn_of_tunable(setting, allocator->name, kilobytes);
}

static void
assign_mmap_threshold(int newval, void *extra)
{
	assign_tunable("pg_trim.mmap_threshold_kb", TUNE_MMAP_THRESHOLD, newval);
}

static void
assign_trim_threshold(int newval, void *extra)
{
	assign_tunable("pg_trim.trim_threshold_kb", TUNE_TRIM_THRESHOLD, newval);
}

static void
assign_top_pad(int newval, void *extra)
{
	assign_tunable("pg_trim.top_pad_kb", TUNE_TOP_PAD, newval);
}

/* mallopt() takes bytes in an int. */
#define MAX_TUNABLE_KB (INT_MAX / 1024)

/* glibc refuses a higher one: DEFAULT_MMAP_THRESHOLD_MAX of its malloc.c. */
#define MAX_MMAP_THRESHOLD_KB (32 * 1024)

void
pgtrim_allocator_init(void)
{
	DefineCustomIntVariable("pg_trim.mmap_threshold_kb",
							"Allocations from this size on get a mapping of their own (M_MMAP_THRESHOLD); -1 leaves glibc's own.",
							"Setting it ends glibc's dynamic adjustment for the rest of the process's life.",
							&mmap_threshold_kb, -1, -1, MAX_MMAP_THRESHOLD_KB,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, assign_mmap_threshold, NULL);
	DefineCustomIntVariable("pg_trim.trim_threshold_kb",
							"Free memory at the top of the heap from which free() returns it (M_TRIM_THRESHOLD); -1 leaves glibc's own.",
							"Setting it ends glibc's dynamic adjustment for the rest of the process's life.",
							&trim_threshold_kb, -1, -1, MAX_TUNABLE_KB,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, assign_trim_threshold, NULL);
	DefineCustomIntVariable("pg_trim.top_pad_kb",
							"Memory requested beyond need each time the heap grows (M_TOP_PAD); -1 leaves glibc's own.",
							"Setting it ends glibc's dynamic adjustment for the rest of the process's life.",
							&top_pad_kb, -1, -1, MAX_TUNABLE_KB,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, assign_top_pad, NULL);
}
