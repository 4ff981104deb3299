/*-------------------------------------------------------------------------
 *
 * pg_trim.c
 *		Gives memory that a process no longer uses back to the operating system.
 *
 * What is where: README.md, "Development".
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "src/act.h"
#include "src/allocator.h"
#include "src/backends.h"
#include "src/idle.h"
#include "src/shared.h"
#include "src/statements.h"
#include "src/stats.h"
#include "src/triggers.h"
#include "src/trim.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	pgtrim_allocator_init();
	pgtrim_trim_init();
	pgtrim_stats_init();
	pgtrim_backends_init();
	pgtrim_statements_init();
	pgtrim_act_init();
	pgtrim_idle_init();
	pgtrim_shared_init();
	pgtrim_triggers_init();
	MarkGUCPrefixReserved("pg_trim");
}
