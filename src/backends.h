/*-------------------------------------------------------------------------
 *
 * backends.h
 *		What each process of the server says of its memory, in shared memory.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_BACKENDS_H
#define PGTRIM_BACKENDS_H

#include "trim.h"

extern void pgtrim_backend_checked(TrimCause cause, const MemoryFigures *figures, int64 holdoff_ms);
extern void pgtrim_backend_refreshed(const MemoryFigures *figures);
extern void pgtrim_backend_trimmed(const TrimEvent *event, const MemoryFigures *figures);
extern void pgtrim_backends_init(void);

#endif							/* PGTRIM_BACKENDS_H */
