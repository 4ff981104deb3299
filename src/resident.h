/*-------------------------------------------------------------------------
 *
 * resident.h
 *		Memory of a process as the kernel counts it.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_RESIDENT_H
#define PGTRIM_RESIDENT_H

/* In bytes. */
typedef struct ResidentMemory
{
	int64		anonymous;		/* RssAnon */
	int64		shared;			/* RssFile + RssShmem */
} ResidentMemory;

extern int64 pgtrim_resident(void);
extern int64 pgtrim_resident_or_swapped(void);
extern bool pgtrim_resident_of(int pid, ResidentMemory *memory);
extern int64 pgtrim_heap_size(void);

#endif							/* PGTRIM_RESIDENT_H */
