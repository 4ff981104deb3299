/*-------------------------------------------------------------------------
 *
 * requests.c
 *		Asking another process to trim, or to publish its figures.
 *
 * A request is a ticket drawn from the target's counter in shared memory, and
 * a signal.  The target answers all tickets drawn so far at once, at its next
 * safe point, and wakes those who wait.  A request that nobody waits for any
 * more stands until it is served; one that its process did not live to serve
 * is void, since it names the pid.
 *
 * The signal is a real-time one that nobody uses: SIGUSR1 and the reasons
 * multiplexed on it are the server's.  The postmaster installs the handler, so
 * every process has it from its first moment.
 *
 * Locking.  All of it is atomic variables.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "act.h"
#include "allocator.h"
#include "catalog/pg_authid.h"
#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "port/atomics.h"
#include "requests.h"
#include "rows.h"
#include "shared.h"
#include "storage/condition_variable.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

typedef enum RequestKind
{
	REQUEST_TRIM,
	REQUEST_REFRESH
} RequestKind;

#define REQUEST_KINDS (REQUEST_REFRESH + 1)

/* Those who are slow to read an answer find it while so many follow. */
#define ANSWERS_KEPT 32

typedef struct RequestSlot
{
	pg_atomic_uint32 pid[REQUEST_KINDS];	/* whom the last one was for */
	pg_atomic_uint64 asked[REQUEST_KINDS];
	pg_atomic_uint64 answered[REQUEST_KINDS];
	pg_atomic_uint64 released[ANSWERS_KEPT];	/* bytes, by ticket */
} RequestSlot;

typedef struct SharedRequests
{
	ConditionVariable answers;
	RequestSlot slots[FLEXIBLE_ARRAY_MEMBER];
} SharedRequests;

/* A request as its sender keeps it. */
typedef struct Request
{
	RequestKind kind;
	int			pid;
	int			number;			/* of the process */
	uint64		ticket;
} Request;

static SharedRequests *shared = NULL;
static int	request_signal = 0;
static request_signal_function on_request = NULL;

static Size
requests_size(void)
{
	return add_size(offsetof(SharedRequests, slots),
					mul_size(pgtrim_process_slots(), sizeof(RequestSlot)));
}

static void
requests_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_trim requests", requests_size(), &found);
	if (found)
		return;
	ConditionVariableInit(&shared->answers);
	for (int i = 0; i < pgtrim_process_slots(); i++)
	{
		RequestSlot *slot = &shared->slots[i];

		for (int kind = 0; kind < REQUEST_KINDS; kind++)
		{
			pg_atomic_init_u32(&slot->pid[kind], 0);
			pg_atomic_init_u64(&slot->asked[kind], 0);
			pg_atomic_init_u64(&slot->answered[kind], 0);
		}
		for (int ticket = 0; ticket < ANSWERS_KEPT; ticket++)
			pg_atomic_init_u64(&slot->released[ticket], 0);
	}
}

/*
 * The asked process
 */

static RequestSlot *
my_slot(void)
{
	if (shared == NULL || MyProc == NULL)
		return NULL;
	return &shared->slots[pgtrim_proc_number(MyProc)];
}

static bool
waits(RequestSlot *slot, RequestKind kind)
{
	return pg_atomic_read_u32(&slot->pid[kind]) == MyProcPid &&
		pg_atomic_read_u64(&slot->asked[kind]) != pg_atomic_read_u64(&slot->answered[kind]);
}

/* Does a request to this process wait? */
bool
pgtrim_request_waits(void)
{
	RequestSlot *slot = my_slot();

	return slot != NULL && (waits(slot, REQUEST_TRIM) || waits(slot, REQUEST_REFRESH));
}

/* Answers all tickets up to this one with so many bytes. */
static void
put_answers(RequestSlot *slot, uint64 last, int64 released)
{
	uint64		ticket = pg_atomic_read_u64(&slot->answered[REQUEST_TRIM]) + 1;

	if (last >= ANSWERS_KEPT)
		ticket = Max(ticket, last - ANSWERS_KEPT + 1);
	for (; ticket <= last; ticket++)
		pg_atomic_write_u64(&slot->released[ticket % ANSWERS_KEPT], released);
}

/*
 * Serves the requests that wait; true if the event holds a trim to log.  Those
 * asked meanwhile remain.
 */
bool
pgtrim_request_serve(TrimEvent *event)
{
	RequestSlot *slot = my_slot();
	uint64		asked[REQUEST_KINDS];
	bool		waiting[REQUEST_KINDS];
	bool		trimmed = false;

	if (slot == NULL || !pgtrim_request_waits())
		return false;
	for (int kind = 0; kind < REQUEST_KINDS; kind++)
	{
		asked[kind] = pg_atomic_read_u64(&slot->asked[kind]);
		waiting[kind] = waits(slot, kind);
	}

	if (waiting[REQUEST_TRIM])
	{
		trimmed = pgtrim_act(TRIM_REQUEST, pgtrim_pad(), event);
		put_answers(slot, asked[REQUEST_TRIM], trimmed ? event->released : 0);
	}
	if (waiting[REQUEST_REFRESH])
		pgtrim_publish();

	pg_memory_barrier();
	for (int kind = 0; kind < REQUEST_KINDS; kind++)
	{
		if (waiting[kind])
			pg_atomic_write_u64(&slot->answered[kind], asked[kind]);
	}
	ConditionVariableBroadcast(&shared->answers);
	return trimmed;
}

static void
handle_request_signal(int signo)
{
	int			save_errno = errno;

	if (pgtrim_request_waits())
		on_request();
	errno = save_errno;
}

/*
 * The asking process
 */

static bool
is_gone(const Request *request)
{
	return pgtrim_proc_pid(&ProcGlobal->allProcs[request->number]) != request->pid;
}

/*
 * Has the process look; false if it is gone.  Naming it again mends what an
 * asker of its predecessor wrote too late.
 */
static bool
knock(const Request *request)
{
	if (is_gone(request))
		return false;
	pg_atomic_write_u32(&shared->slots[request->number].pid[request->kind], request->pid);
	return kill(request->pid, request_signal) == 0;
}

/* Asks; false if the process is gone. */
static bool
ask(Request *request, RequestKind kind, const PGPROC *proc, int pid)
{
	request->kind = kind;
	request->pid = pid;
	request->number = pgtrim_proc_number(proc);
	if (is_gone(request))
		return false;
	request->ticket = pg_atomic_fetch_add_u64(&shared->slots[request->number].asked[kind], 1) + 1;
	return knock(request);
}

static bool
is_answered(const Request *request)
{
	RequestSlot *slot = &shared->slots[request->number];

	return pg_atomic_read_u32(&slot->pid[request->kind]) == (uint32) request->pid &&
		pg_atomic_read_u64(&slot->answered[request->kind]) >= request->ticket;
}

/* Waits for the answer until the deadline; false if there is none by then. */
static bool
wait_for(const Request *request, TimestampTz deadline)
{
	/*
	 * Nobody wakes us when the process ends; and a signal that reaches it
	 * just as it has served others may be lost.
	 */
	const long	look_again_ms = 100;
	bool		answered;

	ConditionVariablePrepareToSleep(&shared->answers);
	while (!(answered = is_answered(request)) && !is_gone(request))
	{
		long		left_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left_ms <= 0)
			break;
		if (ConditionVariableTimedSleep(&shared->answers, Min(left_ms, look_again_ms),
										PG_WAIT_EXTENSION))
			(void) knock(request);
	}
	ConditionVariableCancelSleep();
	return answered;
}

static int64
answer(const Request *request)
{
	RequestSlot *slot = &shared->slots[request->number];

	pg_read_barrier();
	return pg_atomic_read_u64(&slot->released[request->ticket % ANSWERS_KEPT]);
}

/* The process of that pid, of whatever kind; NULL if there is none. */
static PGPROC *
find_process(int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);

	return proc != NULL ? proc : AuxiliaryPidGetProc(pid);
}

/*
 * The rules of pg_cancel_backend(): a process without a role may be as
 * important as a superuser's.
 */
static bool
may_signal(const PGPROC *proc, bool *needs_superuser)
{
	Oid			role = proc->roleId;

	*needs_superuser = !OidIsValid(role) || superuser_arg(role);
	if (*needs_superuser)
		return superuser();
	return has_privs_of_role(GetUserId(), role) ||
		has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND);
}

static void
require_may_signal(const PGPROC *proc)
{
	bool		needs_superuser;

	if (may_signal(proc, &needs_superuser))
		return;
	if (needs_superuser)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be a superuser to trim a superuser's or the server's own process")));
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be a member of the role whose process is being trimmed or member of pg_signal_backend")));
}

static TimestampTz
deadline_after(int timeout_ms)
{
	if (timeout_ms < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timeout must not be negative")));
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);
}

/* Trims the calling process at its own request. */
static int64
trim_self(void)
{
	TrimEvent	event;

	pgtrim_act_and_log(TRIM_REQUEST, pgtrim_pad(), &event);
	return event.released;
}

PG_FUNCTION_INFO_V1(pg_trim_backend);
PG_FUNCTION_INFO_V1(pg_trim_all);
PG_FUNCTION_INFO_V1(pg_trim_refresh);

/*
 * Asks a process to trim: bytes that it returned; NULL, with the request left
 * standing, if it does not answer in time.
 */
Datum
pg_trim_backend(PG_FUNCTION_ARGS)
{
	int			pid = PG_GETARG_INT32(0);
	TimestampTz deadline = deadline_after(PG_GETARG_INT32(1));
	PGPROC	   *proc;
	Request		request;

	pgtrim_require_shared_memory();
	pgtrim_require_release();
	proc = find_process(pid);
	if (proc == NULL)
	{
		/* just a warning, so that a loop over a result set goes on */
		ereport(WARNING, (errmsg("PID %d is not a PostgreSQL server process", pid)));
		PG_RETURN_NULL();
	}
	require_may_signal(proc);
	if (pid == MyProcPid)
		PG_RETURN_INT64(trim_self());
	if (!ask(&request, REQUEST_TRIM, proc, pid) || !wait_for(&request, deadline))
	{
		if (is_gone(&request))
			ereport(WARNING, (errmsg("process with PID %d ended before it answered", pid)));
		PG_RETURN_NULL();
	}
	PG_RETURN_INT64(answer(&request));
}

/* Asks every other process that pick() takes; returns how many were asked. */
static int
ask_all(RequestKind kind, bool (*pick) (const PGPROC *proc), Request *requests)
{
	int			count = 0;

	for (int i = 0; i < pgtrim_process_slots(); i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		int			pid = pgtrim_proc_pid(proc);

		if (pid != 0 && pid != MyProcPid && pick(proc) &&
			ask(&requests[count], kind, proc, pid))
			count++;
	}
	return count;
}

static Request *
make_requests(void)
{
	return palloc(mul_size(pgtrim_process_slots(), sizeof(Request)));
}

static bool
is_mine_to_signal(const PGPROC *proc)
{
	bool		needs_superuser;

	return may_signal(proc, &needs_superuser);
}

static bool
is_any(const PGPROC *proc)
{
	return true;
}

static void
put_released(FunctionCallInfo fcinfo, int pid, bool answered, int64 released)
{
	Datum		values[] = {Int32GetDatum(pid), Int64GetDatum(released)};
	bool		nulls[] = {false, !answered};

	pgtrim_put_row(fcinfo, values, nulls);
}

/*
 * Asks every process that the caller may signal to trim, itself included: all
 * at once, so that the slowest one sets the time.
 */
Datum
pg_trim_all(PG_FUNCTION_ARGS)
{
	TimestampTz deadline = deadline_after(PG_GETARG_INT32(0));
	Request    *requests;
	int			count;

	pgtrim_require_shared_memory();
	pgtrim_require_release();
	InitMaterializedSRF(fcinfo, 0);
	requests = make_requests();
	count = ask_all(REQUEST_TRIM, is_mine_to_signal, requests);
	put_released(fcinfo, MyProcPid, true, trim_self());
	for (int i = 0; i < count; i++)
	{
		bool		answered = wait_for(&requests[i], deadline);

		if (answered || !is_gone(&requests[i]))
			put_released(fcinfo, requests[i].pid, answered,
						 answered ? answer(&requests[i]) : 0);
	}
	return (Datum) 0;
}

/* Has one process refresh its figures; 1 if it answered in time. */
static int
refresh_one(int pid, TimestampTz deadline)
{
	PGPROC	   *proc = find_process(pid);
	Request		request;

	if (proc == NULL)
	{
		ereport(WARNING, (errmsg("PID %d is not a PostgreSQL server process", pid)));
		return 0;
	}
	if (pid == MyProcPid)
	{
		pgtrim_publish();
		return 1;
	}
	return ask(&request, REQUEST_REFRESH, proc, pid) && wait_for(&request, deadline) ? 1 : 0;
}

static int
refresh_all(TimestampTz deadline)
{
	Request    *requests = make_requests();
	int			asked = ask_all(REQUEST_REFRESH, is_any, requests);
	int			answered = 1;

	pgtrim_publish();
	for (int i = 0; i < asked; i++)
		answered += wait_for(&requests[i], deadline) ? 1 : 0;
	return answered;
}

/*
 * Asks a process, or all if the pid is NULL, to publish its figures: how many
 * answered in time.
 */
Datum
pg_trim_refresh(PG_FUNCTION_ARGS)
{
	TimestampTz deadline;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("timeout must not be null")));
	deadline = deadline_after(PG_GETARG_INT32(1));
	pgtrim_require_shared_memory();
	PG_RETURN_INT32(PG_ARGISNULL(0) ? refresh_all(deadline) :
					refresh_one(PG_GETARG_INT32(0), deadline));
}

/* Takes the highest real-time signal that nobody handles; 0 if none is left. */
static int
install_signal_handler(void)
{
	for (int signo = SIGRTMAX - 1; signo >= SIGRTMIN; signo--)
	{
		struct sigaction action;

		if (sigaction(signo, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) ||
			action.sa_handler != SIG_DFL)
			continue;
		memset(&action, 0, sizeof(action));
		action.sa_handler = handle_request_signal;
		action.sa_flags = SA_RESTART;
		sigfillset(&action.sa_mask);
		/* interrupt.c sees by that one whether its handler is under way */
		sigdelset(&action.sa_mask, SIGUSR1);
		if (sigaction(signo, &action, NULL) == 0)
			return signo;
	}
	return 0;
}

void
pgtrim_requests_init(request_signal_function on_signal)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	on_request = on_signal;
	request_signal = install_signal_handler();
	if (request_signal == 0)
		ereport(FATAL,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("pg_trim found no free real-time signal")));
	pgtrim_shared_add(requests_size, requests_startup);
}
