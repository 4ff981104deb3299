/*-------------------------------------------------------------------------
 *
 * contexts.h
 *		What this process holds in PostgreSQL's memory contexts.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_CONTEXTS_H
#define PGTRIM_CONTEXTS_H

/* Bytes that contexts took from malloc, used or not. */
typedef struct ContextFigures
{
	int64		total;
	int64		caches;			/* of it, catalog and relation caches */
	int64		plans;			/* of it, prepared statements and cached plans */
} ContextFigures;

extern void pgtrim_contexts(ContextFigures *figures);

#endif							/* PGTRIM_CONTEXTS_H */
