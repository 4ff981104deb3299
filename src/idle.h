/*-------------------------------------------------------------------------
 *
 * idle.h
 *		Looking at a process's memory while it is idle, or between statements.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_IDLE_H
#define PGTRIM_IDLE_H

extern void pgtrim_touch(void);
extern void pgtrim_between_statements(void);
extern bool pgtrim_at_transaction_end(void);
extern void pgtrim_idle_init(void);

#endif							/* PGTRIM_IDLE_H */
