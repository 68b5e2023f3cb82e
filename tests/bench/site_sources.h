/* site_sources.h - every source of a table as a site that was not learned from
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_SOURCES_H
#define DN_SITE_SOURCES_H

#include "site_parts.h"

#define BENCH_SOURCES_MAX 64
#define BENCH_MODELS_MAX  64 /* of a source */

struct bench_source {
    const char *name;
    int table;
    const char *family;            /* of code */
    struct dn_constants constants; /* fitted to the other families */
    struct bench_point *points;    /* its runs by these; owned */
    int n;
    const char *models[BENCH_MODELS_MAX];
    int n_models;
};

struct bench_sources {
    struct bench_set set;
    struct bench_source sources[BENCH_SOURCES_MAX];
    int n;
    struct bench_sample *samples; /* of all sources; owned */
    int n_samples;
};

/* Read catalogue, families and tables of runs, in each of which a source is a site of
 * its own. Fit the constants without each family, in so many sweeps; with 0 they are
 * those that ship.
 */
void bench_sources_read (struct bench_sources *sources,
                         const char *hardware,
                         const char *families,
                         char *const tables[],
                         int n_tables,
                         int sweeps);

/* The parts of 'way' fitted to all sources but those of the family of this one;
 * NULL: to all. */
void bench_sources_fit (const struct bench_sources *sources,
                        const struct bench_source *without,
                        struct bench_way *way);

/* Is it a run of the source? */
bool bench_source_has (const struct bench_source *source, const struct bench_run *run);

/* A number below 'n'. */
int bench_below (uint64_t *random, int n);

/* The numbers 0 to n - 1 in random order. */
void bench_shuffle (uint64_t *random, int n, int *out);

#endif
