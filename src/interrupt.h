/*-------------------------------------------------------------------------
 *
 * interrupt.h
 *		Running our code in a process at its next safe point.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_INTERRUPT_H
#define PGTRIM_INTERRUPT_H

#include "trim.h"

/*
 * What runs there.  It must neither raise an error nor write a log message;
 * it returns true and fills in the event if there is one to log.
 */
typedef bool (*safe_point_function) (TrimEvent *event);

extern bool pgtrim_interrupt_possible(void);
extern void pgtrim_interrupt(void);
extern void pgtrim_interrupt_init(safe_point_function run);

#endif							/* PGTRIM_INTERRUPT_H */
