/*-------------------------------------------------------------------------
 *
 * requests.h
 *		Asking another process to trim, or to publish its figures.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_REQUESTS_H
#define PGTRIM_REQUESTS_H

#include "trim.h"

/* What a process does when it is signalled; runs in a signal handler. */
typedef void (*request_signal_function) (void);

extern bool pgtrim_request_waits(void);
extern bool pgtrim_request_serve(TrimEvent *event);
extern void pgtrim_requests_init(request_signal_function on_signal);

#endif							/* PGTRIM_REQUESTS_H */
