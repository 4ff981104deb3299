/*-------------------------------------------------------------------------
 *
 * trim.h
 *		One trim: what was resident before and after.
 *
 * Copyright (c) 2026, pg_trim contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGTRIM_TRIM_H
#define PGTRIM_TRIM_H

/* What made a process look at its memory. */
typedef enum TrimCause
{
	TRIM_QUERY,
	TRIM_TRANSACTION,
	TRIM_IDLE,
	TRIM_REQUEST,
	TRIM_MANUAL
} TrimCause;

#define TRIM_CAUSES (TRIM_MANUAL + 1)

/* Bytes; -1 where a figure could not be had. */
typedef struct TrimEvent
{
	TrimCause	cause;
	bool		dry_run;		/* decided but not done: nothing was released */
	int64		promised;		/* what the check thought would come back */
	int64		resident_before;
	int64		resident_after;
	int64		heap_before;
	int64		heap_after;
	int64		released;		/* resident memory that went, at least 0 */
	int64		heap_released;	/* how far the heap end fell, at least 0 */
	double		elapsed_ms;
} TrimEvent;

/* What a check sees, in bytes; -1 where it could not be had. */
typedef struct MemoryFigures
{
	int64		resident;		/* anonymous, swapped pages included */
	int64		in_use;
	int64		retained;		/* what a trim promises to return */
} MemoryFigures;

extern const char *pgtrim_cause_name(TrimCause cause);
extern void pgtrim_note_overhead(void);
extern void pgtrim_look(MemoryFigures *figures);
extern void pgtrim_look_after_trim(MemoryFigures *figures, size_t pad);
extern void pgtrim_trim(TrimCause cause, size_t pad, TrimEvent *event);
extern void pgtrim_dry_trim(TrimCause cause, const MemoryFigures *figures,
							TrimEvent *event);
extern void pgtrim_log_text(const TrimEvent *event, char *message, char *detail, size_t size);
extern bool pgtrim_worth_logging(const TrimEvent *event);
extern void pgtrim_log(const TrimEvent *event);
extern size_t pgtrim_pad(void);
extern void pgtrim_trim_init(void);

#endif							/* PGTRIM_TRIM_H */
