/*-------------------------------------------------------------------------
 *
 * process.c
 *		What kind of process is this, and what is it doing?
 *
 * The server keeps the latter for pg_stat_activity, so asking costs the query
 * path nothing.  All of this may be called in a signal handler.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "compat.h"
#include "miscadmin.h"
#include "process.h"
#include "utils/backend_status.h"

/* Does it read commands from a client, one after the other? */
bool
pgtrim_has_client(void)
{
	return MyBackendType == B_BACKEND;
}

/*
 * Sessions, and whatever else runs transactions.  Not parallel workers, which
 * end soon, nor auxiliary processes and a server in single-user mode.
 */
bool
pgtrim_trims_by_itself(void)
{
	switch (MyBackendType)
	{
		case B_BACKEND:
		case B_WAL_SENDER:
		case B_AUTOVAC_LAUNCHER:
		case B_AUTOVAC_WORKER:
		case B_BG_WORKER:
			return !IsParallelWorker();
		default:
			return pgtrim_is_slotsync_worker();
	}
}

/* What it is doing, and since when. */
ProcessActivity
pgtrim_activity(TimestampTz *since)
{
	*since = 0;
	if (!pgtrim_has_client() || MyBEEntry == NULL)
		return PROCESS_UNKNOWN;
	*since = MyBEEntry->st_state_start_timestamp;
	switch (MyBEEntry->st_state)
	{
		case STATE_IDLE:
			return PROCESS_IDLE;
		case STATE_IDLEINTRANSACTION:
		case STATE_IDLEINTRANSACTION_ABORTED:
			return PROCESS_IDLE_IN_TRANSACTION;
		case STATE_RUNNING:
		case STATE_FASTPATH:
			return PROCESS_BUSY;
		default:
			return PROCESS_UNKNOWN;
	}
}
