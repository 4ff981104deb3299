/*-------------------------------------------------------------------------
 *
 * triggers.c
 *		The server's hooks and callbacks.
 *
 * All of this is on the query path, where at the default settings nothing may
 * cost more than some tens of instructions: no system call, no allocation.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "act.h"
#include "compat.h"
#include "idle.h"
#include "nodes/memnodes.h"
#include "process.h"
#include "statements.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "triggers.h"

static ExecutorRun_hook_type prev_ExecutorRun = NULL;
static ExecutorFinish_hook_type prev_ExecutorFinish = NULL;
static ExecutorEnd_hook_type prev_ExecutorEnd = NULL;
static ProcessUtility_hook_type prev_ProcessUtility = NULL;
static emit_log_hook_type prev_emit_log = NULL;

/* How deep queries are nested; counted only where the query event is on. */
static int	nesting_level = 0;

#define EXPERIMENTS (PGTRIM_ON(TRIM_QUERY) | PGTRIM_ON(TRIM_TRANSACTION))

/* Bytes of a context itself; planners and parsers fill few but MessageContext. */
static inline int64
own_memory(MemoryContext context)
{
	return context == NULL ? 0 : context->mem_allocated;
}

/* What a query holds when it ends: its own contexts, and its plan's. */
static int64
query_memory(QueryDesc *desc)
{
	return own_memory(MessageContext) +
		MemoryContextMemAllocated(desc->estate->es_query_cxt, true);
}

/* A statement is about to free so much. */
static inline void
note_memory(uint64 query_id, int64 memory)
{
	pgtrim_statement_ended(query_id, memory);
	pgtrim_gate_add(memory);
}

/* The experiments' events: trim right here, if enough was freed. */
static pg_noinline void
trim_at(TrimCause cause)
{
	TrimEvent	event;

	if (IsParallelWorker() || proc_exit_inprogress || !pgtrim_gate_passed())
		return;
	pgtrim_act_and_log(cause, pgtrim_pad(), &event);
}

static void
triggers_ExecutorRun(PGTRIM_RUN_ARGS)
{
	nesting_level++;
	PG_TRY();
	{
		if (prev_ExecutorRun)
			prev_ExecutorRun(PGTRIM_RUN_PASS);
		else
			standard_ExecutorRun(PGTRIM_RUN_PASS);
	}
	PG_FINALLY();
	{
		nesting_level--;
	}
	PG_END_TRY();
}

static void
triggers_ExecutorFinish(QueryDesc *desc)
{
	nesting_level++;
	PG_TRY();
	{
		if (prev_ExecutorFinish)
			prev_ExecutorFinish(desc);
		else
			standard_ExecutorFinish(desc);
	}
	PG_FINALLY();
	{
		nesting_level--;
	}
	PG_END_TRY();
}

/*
 * Nesting costs a setjmp per query, so it is counted only once a session has
 * asked for the query event.
 */
static void
count_nesting(void)
{
	static bool counting = false;

	if (counting)
		return;
	counting = true;
	prev_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = triggers_ExecutorRun;
	prev_ExecutorFinish = ExecutorFinish_hook;
	ExecutorFinish_hook = triggers_ExecutorFinish;
}

static inline void
end_query(QueryDesc *desc)
{
	if (prev_ExecutorEnd)
		prev_ExecutorEnd(desc);
	else
		standard_ExecutorEnd(desc);
}

/* Do the experiments' events want to know of a query that ends? */
static inline bool
concerns_experiments(int64 memory)
{
	return (pgtrim_events & EXPERIMENTS) &&
		((pgtrim_events & PGTRIM_ON(TRIM_QUERY)) || pgtrim_gate_counts(memory));
}

/*
 * Is the end of this query worth a closer look?  A small query's contexts have
 * no children of their own; nothing is called for it.
 */
static inline bool
is_notable(QueryDesc *desc)
{
	MemoryContext query = desc->estate->es_query_cxt;
	int64		memory = own_memory(MessageContext) + query->mem_allocated;

	for (MemoryContext child = query->firstchild; child != NULL; child = child->nextchild)
	{
		if (unlikely(child->firstchild != NULL))
			return true;
		memory += child->mem_allocated;
	}
	return pgtrim_statement_is_notable(memory) || unlikely(concerns_experiments(memory));
}

/* The end of a query that is worth it. */
static pg_noinline void
end_notable_query(QueryDesc *desc, bool needs_attention)
{
	note_memory(desc->plannedstmt->queryId, query_memory(desc));
	end_query(desc);
	if (needs_attention || pgtrim_attention)
		pgtrim_attend_statement();
	if (pgtrim_events & PGTRIM_ON(TRIM_QUERY))
	{
		count_nesting();
		if (nesting_level == 0)
			trim_at(TRIM_QUERY);
	}
}

/*
 * Of most queries it calls nothing but what it took the place of, and that
 * last: a look that comes due meanwhile waits for the next end of a statement
 * or transaction.
 */
static void
triggers_ExecutorEnd(QueryDesc *desc)
{
	bool		needs_attention = pgtrim_statement_needs_attention();

	if (unlikely(needs_attention || is_notable(desc)))
		end_notable_query(desc, needs_attention);
	else
		end_query(desc);
}

static void
triggers_ProcessUtility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
						ProcessUtilityContext context, ParamListInfo params,
						QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	uint64		query_id = pstmt->queryId;
	bool		is_fetch = IsA(pstmt->utilityStmt, FetchStmt);

	if (prev_ProcessUtility)
		prev_ProcessUtility(pstmt, query_string, read_only_tree, context, params,
							query_env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query_string, read_only_tree, context, params,
								query_env, dest, qc);

	/* pstmt may be gone: COMMIT inside a procedure frees it */
	if (is_fetch)
		pgtrim_statement_fetched(query_id);
	note_memory(query_id, own_memory(MessageContext));
	pgtrim_statement_done();
	/* it may have been the SET that asks for the event */
	if (pgtrim_events & PGTRIM_ON(TRIM_QUERY))
		count_nesting();
}

/*
 * An error that reaches the top level made the server forget all timers, and
 * not every one ends a transaction.
 */
static void
triggers_emit_log(ErrorData *edata)
{
	if (edata->elevel == ERROR && MyProc != NULL && pgtrim_has_client())
	{
		pgtrim_timers_forgotten();
		pgtrim_statement_done();
	}
	if (prev_emit_log)
		prev_emit_log(edata);
}

/*
 * A process's first transaction is the time to see what is resident without
 * being anybody's.  In a session it is that of InitPostgres(), before
 * MessageContext exists.  True if it is that one, in which nothing happened.
 */
static bool
is_first_transaction(void)
{
	static int	first_seen_in = 0;	/* a pid; fork() hands it on */

	if (first_seen_in == MyProcPid)
		return false;
	first_seen_in = MyProcPid;
	return !pgtrim_has_client() || MessageContext == NULL;
}

/* A transaction ended, and needs attention or is to be trimmed after. */
static pg_noinline void
transaction_ended(void)
{
	if (is_first_transaction())
	{
		pgtrim_note_overhead();
		return;
	}
	if (pgtrim_attention && !pgtrim_attend_transaction())
		return;
	if (pgtrim_events & PGTRIM_ON(TRIM_TRANSACTION))
	{
		pgtrim_gate_add(own_memory(TopTransactionContext));
		trim_at(TRIM_TRANSACTION);
	}
}

/* Runs where an error is a PANIC. */
static void
triggers_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_ABORT:
			pgtrim_timers_forgotten();
			transaction_ended();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			if (unlikely(pgtrim_attention || (pgtrim_events & PGTRIM_ON(TRIM_TRANSACTION))))
				transaction_ended();
			break;
		default:
			break;
	}
}

void
pgtrim_triggers_init(void)
{
	prev_ExecutorEnd = ExecutorEnd_hook;
	ExecutorEnd_hook = triggers_ExecutorEnd;
	prev_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = triggers_ProcessUtility;
	prev_emit_log = emit_log_hook;
	emit_log_hook = triggers_emit_log;
	RegisterXactCallback(triggers_transaction, NULL);

	/* the postmaster, or session_preload_libraries: nothing has been done yet */
	if (MessageContext == NULL)
		pgtrim_note_overhead();
}
