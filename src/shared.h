/*-------------------------------------------------------------------------
 *
 * shared.h
 *		Shared memory: who needs how much of it, and is it there?
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_SHARED_H
#define PGTRIM_SHARED_H

/* How much a module needs, and what attaches it, creating it the first time. */
typedef Size (*shared_size_function) (void);
typedef void (*shared_startup_function) (void);

/* The one lock, of statements.c. */
#define PGTRIM_TRANCHE "pg_trim"

extern void pgtrim_shared_add(shared_size_function size, shared_startup_function startup);
extern int	pgtrim_process_slots(void);
extern void pgtrim_require_shared_memory(void);
extern void pgtrim_shared_init(void);

#endif							/* PGTRIM_SHARED_H */
