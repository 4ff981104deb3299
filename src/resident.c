/*-------------------------------------------------------------------------
 *
 * resident.c
 *		Resident memory of a process, read from /proc.
 *
 * /proc/PID/status is what an outside observer reads and names RssAnon, so
 * what a trim returned is measured there.  /proc/PID/statm is several times
 * cheaper and enough for a decision and for lists of processes.  smaps walks
 * the page tables and is not read here at all.  All of them: proc(5).
 *
 * Nothing here raises an error: these functions run in transaction callbacks.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "miscadmin.h"
#include "resident.h"

/* Longer than any file that is read here. */
#define PROC_FILE_SIZE 4096

/* Reads a whole file of /proc into buf, as a string; false on failure. */
static bool
read_proc(const char *path, char *buf)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		length;

	if (fd < 0)
		return false;
	length = read(fd, buf, PROC_FILE_SIZE - 1);
	close(fd);
	if (length <= 0)
		return false;
	buf[length] = '\0';
	return true;
}

/* The value of a line "Name:   123 kB" of /proc/PID/status in bytes, or -1. */
static int64
status_field(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	if (line == NULL)
		return -1;
	return (int64) strtoll(line + strlen(name), NULL, 10) * 1024;
}

/* "size resident shared text lib data dt", in pages. */
static bool
parse_statm(const char *statm, ResidentMemory *memory)
{
	static long page_size = 0;
	long long	resident;
	long long	shared;
	char	   *rest;

	if (page_size == 0)
		page_size = sysconf(_SC_PAGESIZE);
	/* sscanf() would cost more than the read */
	(void) strtoll(statm, &rest, 10);
	resident = strtoll(rest, &rest, 10);
	shared = strtoll(rest, &rest, 10);
	if (*rest != ' ')
		return false;
	memory->anonymous = (int64) (resident - shared) * page_size;
	memory->shared = (int64) shared * page_size;
	return true;
}

/*
 * Anonymous resident memory of this process in bytes, as /proc/PID/status
 * shows it; -1 if it cannot be read.
 */
int64
pgtrim_resident(void)
{
	char		status[PROC_FILE_SIZE];

	if (!read_proc("/proc/self/status", status))
		return -1;
	return status_field(status, "RssAnon:");
}

/*
 * This process's statm by a descriptor that stays open.  One inherited through
 * fork() would show the postmaster for ever.
 */
static bool
read_own_statm(ResidentMemory *memory)
{
	static int	fd = -1;
	static int	owner = 0;
	char		statm[PROC_FILE_SIZE];
	ssize_t		length;

	if (owner != MyProcPid)
	{
		if (fd >= 0)
			close(fd);
		fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
		owner = MyProcPid;
	}
	if (fd < 0)
		return false;
	length = pread(fd, statm, sizeof(statm) - 1, 0);
	if (length <= 0)
		return false;
	statm[length] = '\0';
	return parse_statm(statm, memory);
}

/* Does this machine use swap at all? */
static bool
swap_in_use(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 && info.freeswap < info.totalswap;
}

/*
 * Anonymous memory of this process in bytes wherever it is, for decisions: a
 * swapped-out page that is free is worth returning too.  -1 if unknown.
 */
int64
pgtrim_resident_or_swapped(void)
{
	ResidentMemory memory;
	char		status[PROC_FILE_SIZE];

	if (!swap_in_use())
		return read_own_statm(&memory) ? memory.anonymous : -1;
	if (!read_proc("/proc/self/status", status))
		return -1;
	return status_field(status, "RssAnon:") + Max(status_field(status, "VmSwap:"), 0);
}

/* Memory of any process; false if it is gone or cannot be read. */
bool
pgtrim_resident_of(int pid, ResidentMemory *memory)
{
	char		path[64];
	char		statm[PROC_FILE_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	return read_proc(path, statm) && parse_statm(statm, memory);
}

/* Where the heap begins: start_brk, field 47 of /proc/PID/stat; 0 if unknown. */
static unsigned long long
heap_start(void)
{
	char		stat[PROC_FILE_SIZE];
	char	   *field;

	if (!read_proc("/proc/self/stat", stat))
		return 0;
	/* Field 2, the name, may hold blanks: count from its closing parenthesis. */
	field = strrchr(stat, ')');
	for (int number = 2; field != NULL && number < 47; number++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field + 1, NULL, 10) : 0;
}

/* Size in bytes of the heap that sbrk() grows; -1 if unknown. */
int64
pgtrim_heap_size(void)
{
	/* fork() hands it on, so it may be the postmaster that found it */
	static unsigned long long start = 0;

	if (start == 0)
		start = heap_start();
	if (start == 0)
		return -1;
	return (int64) ((unsigned long long) (uintptr_t) sbrk(0) - start);
}
