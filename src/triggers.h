/*-------------------------------------------------------------------------
 *
 * triggers.h
 *		The server's hooks and callbacks.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_TRIGGERS_H
#define PGTRIM_TRIGGERS_H

extern void pgtrim_triggers_init(void);

#endif							/* PGTRIM_TRIGGERS_H */
