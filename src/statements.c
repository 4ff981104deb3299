/*-------------------------------------------------------------------------
 *
 * statements.c
 *		Which statement left the memory that a trim returned.
 *
 * Between two trims a session remembers the statement of its client that needed
 * most: the memory of its contexts when it ended, plus what it made the heap
 * grow by.  The next trim is put to that one's account.
 *
 * Locking.  One lock guards the entries.  A reader copies them out under it in
 * shared mode.  A trim takes it only if it is free at once, else it keeps the
 * account to itself until the next one: a trim never waits for a reader.
 *
 * Query identifiers are the server's (compute_query_id); statements without
 * one share an entry per user and database.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "rows.h"
#include "shared.h"
#include "statements.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "tcop/pquery.h"
#include "utils/backend_status.h"
#include "utils/portal.h"
#include "utils/timestamp.h"

typedef struct StatementKey
{
	Oid			userid;
	Oid			dbid;
	uint64		query_id;
} StatementKey;

typedef struct Statement
{
	StatementKey key;
	int64		trims;			/* 0: the entry is free */
	int64		released;
	int64		max_released;
	TimestampTz last_trim;
} Statement;

typedef struct SharedStatements
{
	LWLock	   *lock;
	Statement	entries[FLEXIBLE_ARRAY_MEMBER];
} SharedStatements;

static bool track_statements = true;

static int	max_statements = 1000;
static SharedStatements *shared = NULL;

/* The statement that needed most memory since the last trim. */
static StatementKey largest;
int64		pgtrim_largest_memory = -1;

/* The one that made the heap grow last, and by how much; in many steps, maybe. */
static StatementKey growing;
static int64 growing_by = 0;

static uint64 last_fetch = 0;

/*
 * Where the heap ends: glibc's __curbrk, which sbrk(0) reads at several times
 * the cost; where there is none, a constant.
 */
static char *no_heap_end = NULL;
char	   *const *pgtrim_heap_end = &no_heap_end;
char	   *pgtrim_highest_heap_end = NULL;

/* An account that found the lock taken. */
static Statement owed;

static Size
statements_size(void)
{
	return add_size(offsetof(SharedStatements, entries),
					mul_size(max_statements, sizeof(Statement)));
}

static void
statements_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_trim statements", statements_size(), &found);
	if (found)
		return;
	memset(shared, 0, statements_size());
	shared->lock = &GetNamedLWLockTranche(PGTRIM_TRANCHE)->lock;
}

/* Notes where the heap ends: how far it is beyond where it ever was. */
static int64
heap_growth(void)
{
	char	   *end = *pgtrim_heap_end;
	int64		growth = pgtrim_highest_heap_end == NULL ? 0 : end - pgtrim_highest_heap_end;

	if (growth > 0 || pgtrim_highest_heap_end == NULL)
		pgtrim_highest_heap_end = end;
	return Max(growth, 0);
}

static inline bool
is_close(CommandTag tag)
{
	return tag == CMDTAG_CLOSE_CURSOR || tag == CMDTAG_CLOSE_CURSOR_ALL;
}

/*
 * The statement to be named.  For what runs inside another one it is that of the
 * client, as pg_stat_statements knows no other by default.  A cursor ends while
 * CLOSE runs, or after COMMIT did, and what fetched from it is named: its query
 * has no identifier before PostgreSQL 18, and DECLARE took no memory.
 */
static uint64
named_query_id(uint64 query_id)
{
	uint64		running = pgstat_get_my_query_id();

	if (running == 0 || running == query_id)
		return query_id;
	if (ActivePortal != NULL && !is_close(ActivePortal->commandTag))
		return running;
	return last_fetch != 0 ? last_fetch : query_id;
}

/* A FETCH ended. */
void
pgtrim_statement_fetched(uint64 query_id)
{
	last_fetch = query_id;
}

static bool
same_key(const StatementKey *a, const StatementKey *b)
{
	return a->query_id == b->query_id && a->userid == b->userid && a->dbid == b->dbid;
}

/* Remembers a statement if it needed more than all since the last trim. */
void
pgtrim_remember_statement(uint64 query_id, int64 memory)
{
	/* not the owner of a function that the statement calls */
	StatementKey key = {
		.userid = GetOuterUserId(),
		.dbid = MyDatabaseId,
		.query_id = named_query_id(query_id)
	};

	if (!same_key(&key, &growing))
	{
		growing = key;
		growing_by = 0;
	}
	growing_by += heap_growth();
	if (memory + growing_by <= pgtrim_largest_memory)
		return;
	/* also where nobody will ask for it: smaller ones are not notable then */
	pgtrim_largest_memory = memory + growing_by;
	largest = key;
}

/* The statement's entry, else a free one, else the one trimmed longest ago. */
static Statement *
find_entry(const StatementKey *key)
{
	Statement  *oldest = &shared->entries[0];

	for (int i = 0; i < max_statements; i++)
	{
		Statement  *entry = &shared->entries[i];

		if (entry->trims == 0 || same_key(&entry->key, key))
			return entry;
		if (entry->last_trim < oldest->last_trim)
			oldest = entry;
	}
	memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

static void
add_up(Statement *sum, const Statement *trim)
{
	sum->key = trim->key;
	sum->trims += trim->trims;
	sum->released += trim->released;
	sum->max_released = Max(sum->max_released, trim->max_released);
	sum->last_trim = Max(sum->last_trim, trim->last_trim);
}

/* Puts what a trim returned to the account of the statement that left it. */
void
pgtrim_statements_trim(const TrimEvent *event)
{
	Statement	trim = {
		.key = largest,
		.trims = 1,
		.released = event->released,
		.max_released = event->released
	};

	if (shared == NULL || pgtrim_largest_memory < 0)
		return;
	pgtrim_largest_memory = -1;
	growing_by = 0;
	last_fetch = 0;
	pgtrim_highest_heap_end = *pgtrim_heap_end;
	/* while it is off, statements are remembered all the same: that costs less than to ask */
	if (!track_statements)
		return;
	trim.last_trim = GetCurrentTimestamp();
	if (!LWLockConditionalAcquire(shared->lock, LW_EXCLUSIVE))
	{
		if (owed.trims == 0 || same_key(&owed.key, &trim.key))
			add_up(&owed, &trim);
		return;
	}
	if (owed.trims > 0)
		add_up(find_entry(&owed.key), &owed);
	memset(&owed, 0, sizeof(owed));
	add_up(find_entry(&trim.key), &trim);
	LWLockRelease(shared->lock);
}

PG_FUNCTION_INFO_V1(pg_trim_statements);

/* A row per statement; bytes. */
Datum
pg_trim_statements(PG_FUNCTION_ARGS)
{
	Statement  *copy;

	pgtrim_require_shared_memory();
	InitMaterializedSRF(fcinfo, 0);
	copy = palloc(mul_size(max_statements, sizeof(Statement)));
	LWLockAcquire(shared->lock, LW_SHARED);
	memcpy(copy, shared->entries, max_statements * sizeof(Statement));
	LWLockRelease(shared->lock);

	for (int i = 0; i < max_statements; i++)
	{
		const Statement *entry = &copy[i];
		Datum		values[] = {
			ObjectIdGetDatum(entry->key.userid),
			ObjectIdGetDatum(entry->key.dbid),
			Int64GetDatum((int64) entry->key.query_id),
			Int64GetDatum(entry->trims),
			Int64GetDatum(entry->released),
			Int64GetDatum(entry->max_released),
			TimestampTzGetDatum(entry->last_trim)
		};
		bool		nulls[lengthof(values)] = {false};

		if (entry->trims == 0)
			continue;
		nulls[2] = entry->key.query_id == 0;
		pgtrim_put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/* Forgets all statements. */
void
pgtrim_statements_reset(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	memset(shared->entries, 0, max_statements * sizeof(Statement));
	LWLockRelease(shared->lock);
}

void
pgtrim_statements_init(void)
{
	DefineCustomBoolVariable("pg_trim.track_statements",
							 "Attributes what was returned to statements.",
							 NULL,
							 &track_statements, true,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	if (dlsym(RTLD_DEFAULT, "__curbrk") != NULL)
		pgtrim_heap_end = dlsym(RTLD_DEFAULT, "__curbrk");
	/*
	 * Without shared memory it does nothing, but must exist all the same: the
	 * server would warn every client that its configuration has an unknown
	 * setting.
	 */
	DefineCustomIntVariable("pg_trim.max_statements",
							"Number of statements kept.",
							NULL,
							&max_statements, 1000, 1, 100000,
							process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	pgtrim_shared_add(statements_size, statements_startup);
}
