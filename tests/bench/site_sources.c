/* site_sources.c - every source of a table as a site that was not learned from
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site_sources.h"

#include <stdlib.h>
#include <string.h>

int bench_below (uint64_t *random, int n)
{
    /* xorshift64 (Marsaglia 2003) */
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (int) (*random % (uint64_t) n);
}

void bench_shuffle (uint64_t *random, int n, int *out)
{
    for (int i = 0; i < n; i++) { /* Fisher and Yates */
        int at = bench_below (random, i + 1);

        out[i] = out[at];
        out[at] = i;
    }
}

/* The place of a name among 'n', or n. */
static int find_name (const char *const names[], int n, const char *name)
{
    int at = 0;

    while (at < n && strcmp (names[at], name) != 0)
        at++;
    return at;
}

bool bench_source_has (const struct bench_source *source, const struct bench_run *run)
{
    return source->table == run->table && strcmp (source->name, run->source) == 0;
}

static struct bench_source *find_source (struct bench_sources *sources,
                                         const struct bench_run *run)
{
    struct bench_source *source;

    for (int i = 0; i < sources->n; i++)
        if (bench_source_has (&sources->sources[i], run))
            return &sources->sources[i];
    if (sources->n == BENCH_SOURCES_MAX)
        bench_die ("sources", "too many");
    source = &sources->sources[sources->n++];
    source->name = run->source;
    source->table = run->table;
    source->family = run->family;
    return source;
}

static void list_sources (struct bench_sources *sources)
{
    for (int i = 0; i < sources->set.n_runs; i++) {
        const struct bench_run *run = &sources->set.runs[i];
        struct bench_source *source = find_source (sources, run);
        int at = find_name (source->models, source->n_models, run->model);

        if (at == BENCH_MODELS_MAX)
            bench_die (source->name, "too many models");
        source->models[at] = run->model;
        source->n_models += at == source->n_models;
        source->n++;
    }
}

static void fit_source (struct bench_sources *sources,
                        int sweeps,
                        struct bench_source *source)
{
    struct bench_set *set = &sources->set;

    source->points = calloc ((size_t) source->n, sizeof (*source->points));
    if (!source->points)
        bench_die (source->name, "out of memory");
    for (int i = 0; i < set->n_runs; i++)
        set->runs[i].left_out = strcmp (set->runs[i].family, source->family) == 0;
    source->constants = dn_constants_default;
    bench_fit (set, sweeps, &source->constants);
    source->n = 0;
    for (int i = 0; i < set->n_runs; i++)
        if (bench_source_has (source, &set->runs[i]))
            bench_point_set (
                &set->runs[i], &source->constants, &source->points[source->n++]);
}

static void draw_sample (const struct bench_source *source,
                         uint64_t *random,
                         struct bench_sample *sample)
{
    int *order = calloc ((size_t) source->n, sizeof (*order));

    if (!order)
        bench_die (source->name, "out of memory");
    bench_shuffle (random, source->n, order);
    sample->family = source->family;
    sample->n = source->n < SAMPLE_RUNS ? source->n : SAMPLE_RUNS;
    for (int i = 0; i < sample->n; i++)
        sample->points[i] = &source->points[order[i]];
    bench_sample_set (sample);
    free (order);
}

void bench_sources_read (struct bench_sources *sources,
                         const char *hardware,
                         const char *families,
                         char *const tables[],
                         int n_tables,
                         int sweeps)
{
    uint64_t random = 88172645463325252u;

    memset (sources, 0, sizeof (*sources));
    bench_read_catalogue (hardware, &sources->set.catalogue);
    bench_read_table (families, dn_families_add, &sources->set.families);
    for (int t = 0; t < n_tables; t++) {
        sources->set.table = t;
        bench_read_table (tables[t], bench_add_run, &sources->set);
    }
    bench_weigh (&sources->set);
    list_sources (sources);
    sources->samples = calloc ((size_t) sources->n * SAMPLES_OF_A_SOURCE + 1,
                               sizeof (*sources->samples));
    if (!sources->samples)
        bench_die ("samples", "out of memory");
    for (int s = 0; s < sources->n; s++) {
        fit_source (sources, sweeps, &sources->sources[s]);
        for (int k = 0; k < SAMPLES_OF_A_SOURCE; k++)
            draw_sample (
                &sources->sources[s], &random, &sources->samples[sources->n_samples++]);
    }
}

void bench_sources_fit (const struct bench_sources *sources,
                        const struct bench_source *without,
                        struct bench_way *way)
{
    bench_way_fit (
        sources->samples, sources->n_samples, without ? without->family : "", way);
}
