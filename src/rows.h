/*-------------------------------------------------------------------------
 *
 * rows.h
 *		Rows that functions return.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_ROWS_H
#define PGTRIM_ROWS_H

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

/* A figure as a column, NULL if it is not known. */
static inline Datum
pgtrim_known(int64 figure, bool *null)
{
	*null = figure < 0;
	return Int64GetDatum(figure);
}

/* Adds a row to what InitMaterializedSRF() prepared. */
static inline void
pgtrim_put_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

#endif							/* PGTRIM_ROWS_H */
