/*-------------------------------------------------------------------------
 *
 * bench_overhead.c
 *		What a trim after each run adds to a query.
 *
 * A trim costs twice: the time it takes, and the page faults of whoever needs
 * the memory next.  So a run with a trim begins where the trim before it left
 * off, and ends after its own; and a run without one begins where another one
 * ended, for which an untimed run comes before it.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "allocator.h"
#include "bench.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "trim.h"
#include "utils/builtins.h"
#include "utils/guc.h"

PG_FUNCTION_INFO_V1(pg_trim_bench_overhead);

#define MAX_RUNS 1000000

/*
 * Parses, plans and executes the query as if a client had sent it: the plan's
 * memory is a good part of what a trim is for.  Its rows are thrown away.
 */
static double
run(const char *query)
{
	SPIExecuteOptions options = {0};
	instr_time	start;
	double		elapsed;
	int			code;

	CHECK_FOR_INTERRUPTS();
	options.dest = None_Receiver;
	INSTR_TIME_SET_CURRENT(start);
	code = SPI_execute_extended(query, &options);
	elapsed = pgtrim_bench_ms_since(start);
	if (code == SPI_OK_REWRITTEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must not be empty or rewritten to nothing")));
	if (code < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a transaction command, or a COPY from or to the client"),
				 errdetail("The server's programming interface said %s.",
						   SPI_result_code_string(code))));
	return elapsed;
}

static double
trim(void)
{
	TrimEvent	event;

	pgtrim_trim(TRIM_MANUAL, pgtrim_pad(), &event);
	return event.elapsed_ms;
}

static int
compare_times(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

static double
median(double *times, int n)
{
	qsort(times, n, sizeof(double), compare_times);
	return (times[n / 2] + times[(n - 1) / 2]) / 2;
}

/* The session's own trims would spoil the runs without one. */
static void
measure(const char *query, int runs, double *plain, double *trimmed)
{
	int			nest_level = NewGUCNestLevel();

	(void) set_config_option("pg_trim.events", "none", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	SPI_connect();
	for (int i = 0; i < runs; i++)
	{
		(void) run(query);
		plain[i] = run(query);
		(void) trim();
		trimmed[i] = run(query);
		trimmed[i] += trim();
	}
	SPI_finish();
	AtEOXact_GUC(true, nest_level);
}

/* Medians in ms of so many runs with and without a trim, and their ratio. */
Datum
pg_trim_bench_overhead(PG_FUNCTION_ARGS)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			runs = PG_GETARG_INT32(1);
	double	   *plain;
	double	   *trimmed;
	double		medians[2];
	Datum		values[3];
	bool		nulls[3] = {false};

	if (runs < 1 || runs > MAX_RUNS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("runs must be between 1 and %d", MAX_RUNS)));
	pgtrim_require_release();

	plain = palloc(runs * sizeof(double));
	trimmed = palloc(runs * sizeof(double));
	measure(query, runs, plain, trimmed);
	medians[0] = median(plain, runs);
	medians[1] = median(trimmed, runs);
	values[0] = Float8GetDatum(medians[0]);
	values[1] = Float8GetDatum(medians[1]);
	values[2] = Float8GetDatum(medians[1] / medians[0]);
	return pgtrim_bench_row(fcinfo, values, nulls);
}
