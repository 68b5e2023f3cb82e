/* site_prior.h - how alike runs of one site are, from sources that were each a site
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_PRIOR_H
#define DN_SITE_PRIOR_H

#include "learn/site_fit.h"
#include "step_fit.h"

#define BENCH_SOURCES_MAX 16

/* Constants fitted without one source or two, once each. */
struct bench_fits {
    struct bench_set *set;
    int sweeps;
    const char *sources[BENCH_SOURCES_MAX];
    int n_sources;
    struct dn_constants fits[BENCH_SOURCES_MAX][BENCH_SOURCES_MAX];
    bool done[BENCH_SOURCES_MAX][BENCH_SOURCES_MAX];
};

/* Find the sources of the runs. */
void bench_fits_start (struct bench_fits *fits, struct bench_set *set, int sweeps);

/* The number of a source. */
int bench_fits_source (const struct bench_fits *fits, const char *source);

/* The constants without the sources 'a' and 'b', which may be one. */
const struct dn_constants *bench_fits_without (struct bench_fits *fits, int a, int b);

/* The kernel and the laws of a site's prior from all sources but 'left_out' (-1: all),
 * each against the constants of the others.
 */
void bench_prior_fit (struct bench_fits *fits,
                      int left_out,
                      struct dn_site_prior *prior);

/* As learn/site_fit.c has them. */
void bench_prior_print (const struct dn_site_prior *prior);

#endif
