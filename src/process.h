/*-------------------------------------------------------------------------
 *
 * process.h
 *		What kind of process is this, and what is it doing?
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_PROCESS_H
#define PGTRIM_PROCESS_H

#include "datatype/timestamp.h"

typedef enum ProcessActivity
{
	PROCESS_IDLE,				/* waits for its client, outside a transaction */
	PROCESS_IDLE_IN_TRANSACTION,
	PROCESS_BUSY,
	PROCESS_UNKNOWN				/* no client, or track_activities is off */
} ProcessActivity;

extern bool pgtrim_has_client(void);
extern bool pgtrim_trims_by_itself(void);
extern ProcessActivity pgtrim_activity(TimestampTz *since);

#endif							/* PGTRIM_PROCESS_H */
