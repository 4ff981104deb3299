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

#include "trim.h"

extern bool pgtrim_track_statements;

extern void pgtrim_statement_ended(uint64 query_id, int64 memory);
extern void pgtrim_statements_trim(const TrimEvent *event);
extern void pgtrim_statements_reset(void);
extern void pgtrim_statements_init(void);

#endif							/* PGTRIM_STATEMENTS_H */
