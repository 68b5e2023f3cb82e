/* store_jobs.c - puts a CSV table of finished jobs, from stdin, into a store: a tool of
 * tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>

#include "jobs/store.h"

static int take (const struct dn_row *row, void *store, struct dn_err *err)
{
    struct dn_finished job;

    if (dn_finished_read (row, &job, err) < 0)
        return -1;
    return dn_store_add (store, &job, err);
}

static int fill (struct dn_store *store, struct dn_err *err)
{
    dn_cleanup (dn_table_cleanup) struct dn_table *table = dn_table_new (take, store);
    char piece[65536];
    size_t len;

    if (!table)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    do {
        len = fread (piece, 1, sizeof (piece), stdin);
        if (dn_table_feed (table, piece, len, err) < 0)
            return -1;
    } while (len > 0);
    return dn_store_commit (store, err);
}

int main (int argc, char **argv)
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_err err = {0};

    if (argc != 2) {
        fprintf (stderr, "usage: store_jobs STORE < TABLE\n");
        return 2;
    }
    store = dn_store_open (argv[1], true, &err);
    if (store && fill (store, &err) == 0)
        return 0;
    fprintf (stderr, "store_jobs: %s\n", err.text);
    return 1;
}
