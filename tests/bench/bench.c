/* bench.c - shared by the programs of this folder: reading files, exit
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void bench_die (const char *what, const char *why)
{
    fprintf (stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit (1);
}

char *bench_read_file (const char *path, size_t *len)
{
    char *text = malloc (DN_FILE_MAX);
    FILE *file = fopen (path, "r");

    if (!text || !file)
        bench_die (path, "cannot be read");
    *len = fread (text, 1, DN_FILE_MAX, file);
    fclose (file);
    return text;
}

static int is_conf (const struct dirent *entry)
{
    const char *dot = strrchr (entry->d_name, '.');

    return dot && strcmp (dot, ".conf") == 0;
}

void bench_read_catalogue (const char *folder, struct dn_catalogue *catalogue)
{
    struct dirent **entries = NULL;
    int n = scandir (folder, &entries, is_conf, alphasort);

    struct dn_err err = {0};

    if (n < 1)
        bench_die (folder, "has no *.conf");
    for (int i = 0; i < n; i++) {
        char path[4096];
        size_t len;
        char *text;

        snprintf (path, sizeof (path), "%s/%s", folder, entries[i]->d_name);
        text = bench_read_file (path, &len);
        if (dn_catalogue_add (catalogue, (struct dn_span){text, len}, path, false, &err)
            < 0)
            bench_die (path, err.text);
        free (text);
        free (entries[i]);
    }
    free (entries);
    if (dn_catalogue_link (catalogue, &err) < 0)
        bench_die (folder, err.text);
}

void bench_read_table (const char *path, dn_row_f row, void *context)
{
    struct dn_table *table = dn_table_new (row, context);
    FILE *file = fopen (path, "r");
    struct dn_err err = {0};
    char piece[65536];
    size_t len;

    if (!table || !file)
        bench_die (path, "cannot be read");
    do {
        len = fread (piece, 1, sizeof (piece), file);
        if (dn_table_feed (table, piece, len, &err) < 0)
            bench_die (path, err.text);
    } while (len > 0);
    fclose (file);
    dn_table_free (table);
}

void bench_print_bin (const struct dn_reliability *bin, int b)
{
    printf ("| %d to %d %% | %d | %.1f | %.1f %% | %.1f %% |\n",
            100 * b / DN_RELIABILITY_BINS,
            100 * (b + 1) / DN_RELIABILITY_BINS,
            bin->n,
            bin->votes,
            100 * bin->stated,
            100 * bin->within);
}
