/*-------------------------------------------------------------------------
 *
 * compat.h
 *		Everything that differs between the server versions pg_trim builds on.
 *
 * The rest of the code has no version test: what a version lacks or names
 * differently is given one name here.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_COMPAT_H
#define PGTRIM_COMPAT_H

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#if PG_VERSION_NUM < 150000
#error "pg_trim needs PostgreSQL 15 or later"
#endif

/* PostgreSQL 18 dropped execute_once from ExecutorRun. */
#if PG_VERSION_NUM >= 180000
#define PGTRIM_RUN_ARGS QueryDesc *desc, ScanDirection direction, uint64 count
#define PGTRIM_RUN_PASS desc, direction, count
#else
#define PGTRIM_RUN_ARGS QueryDesc *desc, ScanDirection direction, uint64 count, bool once
#define PGTRIM_RUN_PASS desc, direction, count, once
#endif

/*
 * For variables of the query path: without it each access loads the address
 * first.  The server's own build flags hide everything since 16.
 */
#define PGTRIM_HIDDEN __attribute__((visibility("hidden")))

/* A check hook's extra has come from the GUC memory context since 16. */
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#endif

/* The index of a process in ProcGlobal->allProcs, the same for its lifetime. */
static inline int
pgtrim_proc_number(const PGPROC *proc)
{
	return (int) (proc - ProcGlobal->allProcs);
}

/*
 * The pid of the process that has this PGPROC, 0 if none has.  Before 17, a
 * PGPROC keeps the pid of a process that is gone; its latch never does.
 */
static inline int
pgtrim_proc_pid(const PGPROC *proc)
{
	int			pid = proc->pid;

	return proc->procLatch.owner_pid == pid ? pid : 0;
}

/* Is this the process that keeps a standby's replication slots in step? */
static inline bool
pgtrim_is_slotsync_worker(void)
{
#if PG_VERSION_NUM >= 170000
	return MyBackendType == B_SLOTSYNC_WORKER;
#else
	return false;
#endif
}

/* What pg_stat_activity knows of its n-th process, counted from 1. */
static inline const PgBackendStatus *
pgtrim_backend_status(int n)
{
#if PG_VERSION_NUM >= 160000
	return &pgstat_get_local_beentry_by_index(n)->backendStatus;
#else
	return &pgstat_fetch_stat_local_beentry(n)->backendStatus;
#endif
}

/* Would a message of level LOG reach the server log, and so emit_log_hook? */
static inline bool
pgtrim_log_reaches_server(void)
{
#if PG_VERSION_NUM >= 190000
	return log_min_messages[MyBackendType] <= ERROR;
#else
	return log_min_messages <= ERROR;
#endif
}

/* What pg_log_backend_memory_contexts() writes after its header. */
static inline void
pgtrim_dump_memory_contexts(void)
{
#if PG_VERSION_NUM >= 170000
	MemoryContextStatsDetail(TopMemoryContext, 100, 100, false);
#else
	MemoryContextStatsDetail(TopMemoryContext, 100, false);
#endif
}

#endif							/* PGTRIM_COMPAT_H */
