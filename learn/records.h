/* records.h - the store of measured runs: records.db, on SQLite
 *
 * In: measured runs (measured_run.h). Out: rows with the columns of a run, in the order
 * in which they came, each number in the form of a table's cell; so whatever reads
 * tables reads a store. A sidecar is kept with the run that it describes, equal ones
 * once.
 *
 * Several programs may add at the same time, from several nodes: each waits for the
 * others, and a row is there whole or not at all. The journal is SQLite's rollback
 * journal and never its write-ahead log, whose shared memory does not work across nodes
 * on NFS, where home directories are.
 *
 * A store may come from anybody: what is not as a version up to this one makes it is an
 * error, and whatever is in it, memory stays bounded. A store of an older version is
 * read as it is, and becomes one of this version with the first record that is added.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_H
#define DN_RECORDS_H

#include "learn/measured_run.h"

/* A row's texts, and its sidecar with equal operators put together: with every quote
 * doubled the row is still one of a table (DN_FILE_MAX).
 */
#define DN_RECORD_TEXT_MAX    8192
#define DN_RECORD_SIDECAR_MAX (256 * 1024)

/* Is the file a store, by its first bytes? False where it cannot be read. */
bool dn_records_is (const char *path);

enum dn_records_use {
    DN_RECORDS_READ,
    DN_RECORDS_ADD /* make the file if there is none */
};

struct dn_records;
struct dn_records_schema;

/* Open a store: a regular file of ours or of root, not writable by others, in a
 * directory that not everybody may write to. To add is one transaction, from here to
 * dn_records_commit (): another one is waited for, up to a minute. -1 with 'err', which
 * names the path. Closed with dn_records_close ().
 */
int dn_records_open (const char *path,
                     enum dn_records_use use,
                     struct dn_records **out,
                     struct dn_err *err);

/* The same with the versions of another program: what a later one will do (tests). */
int dn_records_open_as (const char *path,
                        enum dn_records_use use,
                        const struct dn_records_schema *schema,
                        struct dn_records **out,
                        struct dn_err *err);

/* NULL-safe. What was not committed is gone. */
void dn_records_close (struct dn_records *records);

/* dn_records_close () for dn_cleanup. */
void dn_records_cleanup (struct dn_records **records);

/* Add a run. -1 with 'err', which names the column, and nothing added. */
int dn_records_add (struct dn_records *records,
                    const struct dn_run *run,
                    struct dn_err *err);

/* Make what was added last; nothing can be added any more. */
int dn_records_commit (struct dn_records *records, struct dn_err *err);

/* Which rows; NULL: all. */
struct dn_records_filter {
    const char *group;
    const char *gpu;
    const char *source;
    int64_t last; /* no more than so many, the newest; 0: all */
};

/* Called behind every piece of rows: their texts, each with its NUL, and the share of
 * the store that has been read.
 */
typedef void (*dn_records_piece_f) (struct dn_span texts, double share, void *context);

/* Call 'row' for every record that was there when this began. The store is not locked
 * meanwhile. 'piece' may be NULL. -1 with 'err': a record is not as it must be, or what
 * 'row' says.
 */
int dn_records_read (struct dn_records *records,
                     const struct dn_records_filter *filter,
                     dn_row_f row,
                     dn_records_piece_f piece,
                     void *context,
                     struct dn_err *err);

#endif
