/*-------------------------------------------------------------------------
 *
 * allocator.h
 *		The malloc that runs this process, as one table of functions.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_ALLOCATOR_H
#define PGTRIM_ALLOCATOR_H

/* What an allocator says of its heap, in bytes; -1 where it has no figure. */
typedef struct HeapFigures
{
	int64		in_use;			/* handed out to the program */
	int64		free;			/* held by the allocator, given to nobody */
	int64		top_free;		/* of it, at the top of the heap */
	int64		mmapped;		/* in mappings of their own, part of in_use */
} HeapFigures;

/* Settings that an allocator may take. */
typedef enum AllocatorTunable
{
	TUNE_MMAP_THRESHOLD,
	TUNE_TRIM_THRESHOLD,
	TUNE_TOP_PAD
} AllocatorTunable;

typedef struct Allocator
{
	const char *name;

	/* Writes the version, or an empty string. */
	void		(*version) (char *buf, size_t size);

	/*
	 * Gives free memory back to the operating system, all but pad bytes where
	 * the allocator knows such a thing.  NULL: it cannot.
	 */
	void		(*release) (size_t pad);

	/* Fills in the figures.  NULL: there are none. */
	void		(*figures) (HeapFigures *figures);

	/*
	 * Bytes in use, -1 if unknown: what a check needs, at the least cost.
	 * NULL: there is no such figure.
	 */
	int64		(*in_use) (void);

	/* Is in_use() the same after release() as before? */
	bool		release_keeps_in_use;

	/*
	 * Sets one of the tunables; false if the allocator refused.  NULL: it has
	 * none.
	 */
	bool		(*tune) (AllocatorTunable tunable, int kilobytes);
} Allocator;

/* The tables; those of preloaded allocators are NULL-tested by their probe. */
extern const Allocator pgtrim_allocator_glibc;
extern const Allocator pgtrim_allocator_jemalloc;
extern const Allocator pgtrim_allocator_tcmalloc;
extern const Allocator pgtrim_allocator_mimalloc;
extern const Allocator pgtrim_allocator_unknown;

/* Each resolves the allocator's functions; false if they are not there. */
extern bool pgtrim_probe_jemalloc(void);
extern bool pgtrim_probe_tcmalloc(void);
extern bool pgtrim_probe_mimalloc(void);

extern const Allocator *pgtrim_allocator(void);
extern bool pgtrim_allocator_can_release(void);
extern void pgtrim_allocator_describe(char *buf, size_t size);
extern void pgtrim_require_release(void);
extern void pgtrim_allocator_init(void);

#endif							/* PGTRIM_ALLOCATOR_H */
