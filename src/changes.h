/*-------------------------------------------------------------------------
 *
 * changes.h
 *		Figures in shared memory that are read without a lock.
 *
 * They carry a change count that is odd while they are written, as in
 * PgBackendStatus: a reader copies them and tries again if the count moved, so
 * a reader never makes a trim wait.  Writers must take turns.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_CHANGES_H
#define PGTRIM_CHANGES_H

#include "miscadmin.h"
#include "port/atomics.h"

/* Bracket what is written under a change count. */
static inline void
pgtrim_begin_change(pg_atomic_uint32 *changes)
{
	pg_atomic_fetch_add_u32(changes, 1);
}

static inline void
pgtrim_end_change(pg_atomic_uint32 *changes)
{
	pg_atomic_fetch_add_u32(changes, 1);
}

/* Copies what is written under a change count, as it was at one moment. */
static inline void
pgtrim_copy_unchanged(pg_atomic_uint32 *changes, void *to, const void *from, size_t size)
{
	for (;;)
	{
		uint32		before = pg_atomic_read_u32(changes);

		if (before % 2 == 0)
		{
			pg_read_barrier();
			memcpy(to, from, size);
			pg_read_barrier();
			if (pg_atomic_read_u32(changes) == before)
				return;
		}
		/* the writer may have been stopped in the middle */
		CHECK_FOR_INTERRUPTS();
		pg_usleep(10);
	}
}

#endif							/* PGTRIM_CHANGES_H */
