/*-------------------------------------------------------------------------
 *
 * interrupt.c
 *		Running our code in a process at its next safe point.
 *
 * An idle session outside a transaction is reached by the catchup interrupt,
 * which its callers raise themselves.  This file is for everything else: a
 * session idle in a transaction, one in the middle of a query, a walsender,
 * an auxiliary process.
 *
 * The server offers no hook in CHECK_FOR_INTERRUPTS(), but one of the things
 * done there writes log messages: the dump of memory contexts that
 * pg_log_backend_memory_contexts() asks for.  A log message calls
 * emit_log_hook.  So pgtrim_interrupt() asks for such a dump, our code runs
 * when its first line reaches the hook, and the lines are kept out of the log.
 * The first one becomes the log line of our trim, where there is one.
 *
 * A dump that somebody else asked for must be written all the same.  It is
 * asked for by SIGUSR1, whose handler sets the same flag as we do, and it may
 * come before, together with, or in the middle of ours.  Therefore, from our
 * first interrupt on, a handler in front of the server's own notes whether
 * that one set the flag.  Whenever we cannot be sure that a dump is ours
 * alone, it is written.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/xlogrecovery.h"
#include "compat.h"
#include "interrupt.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* The untranslated texts of the dump (mcxt.c). */
#define DUMP_HEADER "logging memory contexts of PID %d"
#define DUMP_LINE "level: "
#define DUMP_END "Grand total: "

static bool interrupt_enabled = true;

static safe_point_function safe_point = NULL;
static emit_log_hook_type prev_emit_log_hook = NULL;

/* Set by signal handlers. */
static volatile sig_atomic_t ours_asked = false;
static volatile sig_atomic_t dumps_asked = 0;	/* by somebody else */

/* How many of those a dump has answered. */
static sig_atomic_t dumps_answered = 0;

/* Are the lines that come from the dump now under way ours to hide? */
static bool hiding = false;

static struct sigaction server_sigusr1;

static void
call_server_sigusr1(int signo, siginfo_t *info, void *context)
{
	if (server_sigusr1.sa_flags & SA_SIGINFO)
		server_sigusr1.sa_sigaction(signo, info, context);
	else if (server_sigusr1.sa_handler != SIG_DFL && server_sigusr1.sa_handler != SIG_IGN)
		server_sigusr1.sa_handler(signo);
}

/* In front of the server's handler: did it ask for a dump? */
static void
watch_sigusr1(int signo, siginfo_t *info, void *context)
{
	sig_atomic_t before = LogMemoryContextPending;

	LogMemoryContextPending = false;
	call_server_sigusr1(signo, info, context);
	if (LogMemoryContextPending)
		dumps_asked++;
	else
		LogMemoryContextPending = before;
}

static bool
is_watching(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == watch_sigusr1;
}

/*
 * Is the server's handler under way?  Then its signal is blocked; those who
 * call us do not block it.
 */
static bool
within_server_sigusr1(void)
{
	sigset_t	blocked;

	return sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGUSR1);
}

/*
 * Puts our handler in front.  Until then we saw nothing, so a dump that is
 * pending already may be somebody's, and so may be one that a handler which we
 * interrupted is going to ask for.  Called in signal handlers: no lock, no
 * allocation, only functions of signal-safety(7).
 */
static void
watch(void)
{
	struct sigaction current;
	struct sigaction ours;

	if (sigaction(SIGUSR1, NULL, &current) != 0 || is_watching(&current))
		return;
	memset(&ours, 0, sizeof(ours));
	ours.sa_sigaction = watch_sigusr1;
	ours.sa_flags = SA_SIGINFO | SA_RESTART;
	/* none of the handlers that set the flag may come in between */
	sigfillset(&ours.sa_mask);
	server_sigusr1 = current;
	if (sigaction(SIGUSR1, &ours, NULL) == 0 &&
		(LogMemoryContextPending || within_server_sigusr1()))
		dumps_asked++;
}

static bool
watching(void)
{
	struct sigaction current;

	return sigaction(SIGUSR1, NULL, &current) == 0 && is_watching(&current);
}

/*
 * May pgtrim_interrupt() be used?  Not where the setting forbids it, nor where
 * log messages of level LOG are not written, since the hook is not called then.
 */
bool
pgtrim_interrupt_possible(void)
{
	return interrupt_enabled && safe_point != NULL && pgtrim_log_reaches_server();
}

/* Has the safe-point function run at the next CHECK_FOR_INTERRUPTS(). */
void
pgtrim_interrupt(void)
{
	int			save_errno = errno;

	watch();
	ours_asked = true;
	LogMemoryContextPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
	/* while it waits for WAL, it looks at a latch of its own */
	if (AmStartupProcess())
		WakeupRecovery();
	errno = save_errno;
}

/* Copies a string to where errfinish() frees it; NULL without memory. */
static char *
copy_for(const ErrorData *edata, const char *string)
{
	size_t		size = strlen(string) + 1;
	char	   *copy = MemoryContextAllocExtended(edata->assoc_context, size, MCXT_ALLOC_NO_OOM);

	if (copy != NULL)
		memcpy(copy, string, size);
	return copy;
}

/* Makes the dump's first line ours; without memory for it, hides the line. */
static void
replace_header(ErrorData *edata, const TrimEvent *event)
{
	char		message[256];
	char		detail[256];
	char	   *message_copy;

	pgtrim_log_text(event, message, detail, sizeof(message));
	message_copy = copy_for(edata, message);
	if (message_copy == NULL)
	{
		edata->output_to_server = false;
		return;
	}
	pfree(edata->message);
	edata->message = message_copy;
	edata->message_id = "malloc_trim saved %lld kB";
	edata->detail = copy_for(edata, detail);
}

/* The first line of a dump: our code runs here if it was asked for. */
static void
at_header(ErrorData *edata)
{
	TrimEvent	event;
	bool		log_it;

	sig_atomic_t asked = dumps_asked;

	hiding = ours_asked && asked == dumps_answered && watching();
	dumps_answered = asked;
	if (!ours_asked)
		return;
	ours_asked = false;

	log_it = safe_point(&event) && pgtrim_worth_logging(&event);
	if (!hiding)
	{
		/* The dump keeps its header, so ours has to be a message of its own. */
		if (log_it)
			pgtrim_log(&event);
	}
	else if (log_it)
		replace_header(edata, &event);
	else
		edata->output_to_server = false;
}

/*
 * Somebody asked for a dump while ours ran: the server takes the one under way
 * for the answer, but its lines were hidden.  So write it now.
 */
static void
dump_for_somebody(void)
{
	dumps_answered = dumps_asked;
	ereport(LOG_SERVER_ONLY,
			(errhidestmt(true), errhidecontext(true),
			 errmsg_internal(DUMP_HEADER, MyProcPid)));
	pgtrim_dump_memory_contexts();
}

static bool
starts_with(const char *string, const char *prefix)
{
	return strncmp(string, prefix, strlen(prefix)) == 0;
}

/*
 * The last line.  Until here the server takes no other dump in hand, and drops
 * what it was asked for meanwhile, ours too.
 */
static void
at_end(ErrorData *edata)
{
	TrimEvent	event;

	if (hiding)
	{
		edata->output_to_server = hiding = false;
		if (dumps_asked != dumps_answered)
			dump_for_somebody();
	}
	if (ours_asked)
	{
		ours_asked = false;
		if (safe_point(&event))
			pgtrim_log(&event);
	}
}

static void
interrupt_emit_log(ErrorData *edata)
{
	static bool nested = false;

	/* An error ends the dump, and our own messages, wherever they were. */
	if (edata->elevel >= ERROR)
		nested = hiding = false;
	else if (!nested && edata->message_id != NULL && edata->elevel == LOG_SERVER_ONLY)
	{
		nested = true;
		/* a cancel in one of our own messages would leave us nested */
		HOLD_INTERRUPTS();
		if (strcmp(edata->message_id, DUMP_HEADER) == 0)
			at_header(edata);
		else if (starts_with(edata->message_id, DUMP_END))
			at_end(edata);
		else if (hiding && starts_with(edata->message_id, DUMP_LINE))
			edata->output_to_server = false;
		RESUME_INTERRUPTS();
		nested = false;
	}
	if (prev_emit_log_hook && edata->output_to_server)
		prev_emit_log_hook(edata);
}

void
pgtrim_interrupt_init(safe_point_function run)
{
	safe_point = run;

	DefineCustomBoolVariable("pg_trim.interrupt",
							 "Reaches sessions idle in a transaction, busy ones and processes without a client.",
							 "If off, they are served at their next statement or transaction end.",
							 &interrupt_enabled, true,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);

	prev_emit_log_hook = emit_log_hook;
	emit_log_hook = interrupt_emit_log;
}
