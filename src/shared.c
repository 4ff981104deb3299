/*-------------------------------------------------------------------------
 *
 * shared.c
 *		The hook pair that asks for shared memory and attaches to it.
 *
 * Modules that keep something there add themselves.  Without
 * shared_preload_libraries none of it exists: what needs it says so, the rest
 * works.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "shared.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

typedef struct SharedUser
{
	shared_size_function size;
	shared_startup_function startup;
} SharedUser;

#define MAX_USERS 4

static SharedUser users[MAX_USERS];
static int	user_count = 0;
static bool attached = false;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/* Registers a module's part; to be called from its init. */
void
pgtrim_shared_add(shared_size_function size, shared_startup_function startup)
{
	if (user_count >= MAX_USERS)
		elog(FATAL, "too many parts of pg_trim use shared memory");
	users[user_count].size = size;
	users[user_count].startup = startup;
	user_count++;
}

/* Slots for an array with an element per process, by pgtrim_proc_number(). */
int
pgtrim_process_slots(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS;
}

void
pgtrim_require_shared_memory(void)
{
	if (attached)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("pg_trim has no shared memory"),
			 errhint("Add pg_trim to \"shared_preload_libraries\" and restart the server.")));
}

static void
shared_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	for (int i = 0; i < user_count; i++)
		RequestAddinShmemSpace(users[i].size());
	RequestNamedLWLockTranche(PGTRIM_TRANCHE, 1);
}

static void
shared_startup(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < user_count; i++)
		users[i].startup();
	LWLockRelease(AddinShmemInitLock);
	attached = true;
}

void
pgtrim_shared_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = shared_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shared_startup;
}
