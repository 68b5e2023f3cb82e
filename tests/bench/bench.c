/* bench.c - shared by the programs of this folder: measured runs, exit
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/run_spec.h"
#include "tests/unit/networks.h"

_Noreturn void bench_die (const char *what, const char *why)
{
    fprintf (stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit (1);
}

static int is_conf (const struct dirent *entry)
{
    const char *dot = strrchr (entry->d_name, '.');

    return dot && strcmp (dot, ".conf") == 0;
}

static void read_catalogue (const char *folder, struct dn_catalogue *catalogue)
{
    struct dirent **entries = NULL;
    int n = scandir (folder, &entries, is_conf, alphasort);

    struct dn_err err = {0};

    if (n < 1)
        bench_die (folder, "has no *.conf");
    for (int i = 0; i < n; i++) {
        char path[4096];
        char text[65536];
        FILE *file;
        size_t len;

        snprintf (path, sizeof (path), "%s/%s", folder, entries[i]->d_name);
        file = fopen (path, "r");
        len = file ? fread (text, 1, sizeof (text), file) : 0;
        if (len == 0 || len == sizeof (text))
            bench_die (path, "cannot be read");
        fclose (file);
        if (dn_catalogue_add (catalogue, (struct dn_span){text, len}, path, false, &err)
            < 0)
            bench_die (path, err.text);
        free (entries[i]);
    }
    free (entries);
    if (dn_catalogue_link (catalogue, &err) < 0)
        bench_die (folder, err.text);
}

static void read_table (const char *path, dn_row_f row, void *context)
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

/* Keep the run of a row, if it has what the fit needs. */
static int add_run (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct bench_set *set = context;
    const char *quality = dn_row_get (row, "quality");
    const char *step = dn_row_get (row, "step_ms");
    double step_s = step ? strtod (step, NULL) / 1000 : 0;
    struct dn_run_case found;
    struct bench_run *run;
    int n = set->examples->n;

    if (!dn_catalogue_find (&set->catalogue, dn_row_get (row, "gpu")) || step_s <= 0)
        return 0;
    if (dn_run_case_read (row, DN_RUN_LEARN, &set->examples->tables, &found, err) < 0) {
        dn_run_case_free (&found);
        set->n_refused++;
        set->refused = *err;
        return 0;
    }
    if (dn_runs_add (set->examples, row, err) < 0)
        return -1;
    if (set->examples->n == n)
        bench_die ("rows", "the white box and the trees differ in what they can use");
    if (dn_rows_grow (&set->runs, set->n_runs, sizeof (*set->runs), err) < 0)
        return -1;
    run = &set->runs[set->n_runs++];
    *run = (struct bench_run){.spec = found.spec,
                              .graph = found.graph,
                              .device = found.device,
                              .step_s = step_s,
                              .several = found.spec.gpus > 1,
                              .fitted = quality && quality[0] != 'C'};
    memcpy (run->label, set->examples->runs[n].label, sizeof (run->label));
    return 0;
}

void bench_read (struct bench_set *set,
                 struct dn_runs *examples,
                 const char *hardware,
                 const char *families,
                 char *const *tables)
{
    static const struct dn_datasets no_datasets;

    set->examples = examples;
    examples->tables =
        (struct dn_run_tables){&set->catalogue, &no_datasets, shipped_networks ()};
    examples->families = &set->families;
    read_catalogue (hardware, &set->catalogue);
    if (families[0] != '\0')
        read_table (families, dn_families_add, &set->families);
    while (*tables)
        read_table (*tables++, add_run, set);
}

const char *bench_name (const struct bench_set *set,
                        const struct bench_run *run,
                        enum dn_label label)
{
    return set->examples->labels[label].names[run->label[label]];
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
