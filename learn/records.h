/* records.h - the store of measured runs: records.db, on SQLite
 *
 * In: measured runs (measured_run.h). Out: rows with the columns of a run, in the order
 * in which they were added, each number in the form of a table's cell. So all code that
 * reads tables can read a store. A sidecar is stored with the run that it describes;
 * equal sidecars are stored once.
 *
 * Several programs on several nodes may add at the same time. Each waits for the
 * others, and a row is added whole or not at all. The journal is SQLite's rollback
 * journal, not its write-ahead log, whose shared memory does not work across nodes on
 * NFS, which often holds home directories.
 *
 * A store may come from any user. Content that no version up to this one writes is an
 * error, and memory is bounded for any content. A store of an older version can be read
 * unchanged. It is upgraded to this version when the first record is added.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_H
#define DN_RECORDS_H

#include "learn/measured_run.h"

/* The limits of a row's texts, and of its sidecar with equal operators merged. With
 * every quote doubled the row still fits into a row of a table (DN_FILE_MAX).
 */
#define DN_RECORD_SIDECAR_MAX (256 * 1024)

/* Check by its first bytes whether a file is a store. False if it cannot be read. */
bool dn_records_is (const char *path);

enum dn_records_use {
    DN_RECORDS_READ,
    DN_RECORDS_ADD /* create the file if there is none */
};

struct dn_records;

/* Open a store: a regular file owned by the caller, root or the owner of its directory,
 * not writable by others, in a directory that is not writable by everybody. Adding is
 * one transaction, from here to dn_records_commit (). It waits up to a minute for
 * another one. -1 with 'err', which names the path. Closed with dn_records_close ().
 */
int dn_records_open (const char *path,
                     enum dn_records_use use,
                     struct dn_records **out,
                     struct dn_err *err);

/* NULL-safe. Uncommitted records are discarded. */
void dn_records_close (struct dn_records *records);

/* dn_records_close () for dn_cleanup. */
void dn_records_cleanup (struct dn_records **records);

/* Add a run. On error -1 with 'err', which names the column, and no change. */
int dn_records_add (struct dn_records *records,
                    const struct dn_run *run,
                    struct dn_err *err);

/* Make the added records permanent. No more can be added. */
int dn_records_commit (struct dn_records *records, struct dn_err *err);

/* Which rows; NULL: all. */
struct dn_records_filter {
    const char *group;
    const char *gpu;
    const char *source;
    int64_t last; /* only this many, the newest; 0: all */
};

/* Called after each piece of rows with their texts, each with its NUL, and the share of
 * the store that has been read.
 */
typedef void (*dn_records_piece_f) (struct dn_span texts, double share, void *context);

/* Call 'row' for every record that the store has when this begins. The store is not
 * locked during the calls. 'piece' may be NULL. -1 with 'err': a record is invalid, or
 * the error that 'row' has set.
 */
int dn_records_read (struct dn_records *records,
                     const struct dn_records_filter *filter,
                     dn_row_f row,
                     dn_records_piece_f piece,
                     void *context,
                     struct dn_err *err);

#endif
