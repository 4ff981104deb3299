/*-------------------------------------------------------------------------
 *
 * statements.h
 *		Which statement left the memory that a trim returned.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_STATEMENTS_H
#define PGTRIM_STATEMENTS_H

#include "compat.h"
#include "trim.h"

/* For the functions below alone. */
extern PGTRIM_HIDDEN int64 pgtrim_largest_memory;
extern PGTRIM_HIDDEN char *const *pgtrim_heap_end;
extern PGTRIM_HIDDEN char *pgtrim_highest_heap_end;
extern void pgtrim_remember_statement(uint64 query_id, int64 memory);

/*
 * A statement is about to end, with so many bytes in its contexts: is it the
 * one that needed most so far?  On the query path.
 */
static inline bool
pgtrim_statement_is_notable(int64 memory)
{
	return unlikely(memory > pgtrim_largest_memory || *pgtrim_heap_end > pgtrim_highest_heap_end);
}

/* Remembers it if it is. */
static inline void
pgtrim_statement_ended(uint64 query_id, int64 memory)
{
	if (pgtrim_statement_is_notable(memory))
		pgtrim_remember_statement(query_id, memory);
}

extern void pgtrim_statement_fetched(uint64 query_id);
extern void pgtrim_statements_trim(const TrimEvent *event);
extern void pgtrim_statements_reset(void);
extern void pgtrim_statements_init(void);

#endif							/* PGTRIM_STATEMENTS_H */
