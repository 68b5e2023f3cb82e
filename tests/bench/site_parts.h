/* site_parts.h - what the errors of one site's runs have in common, part by part
 *
 * A way to learn from a site's runs is a set of parts. Each part adds its share to the
 * covariance of two runs' errors, ln (measured / white box), and a run is predicted by
 * those that the site has (Rasmussen and Williams 2006, 2.2). A scale that is shrunk
 * towards 1 is such a part; so are the constants of the white box, whose logarithms
 * count as linear here. learn/site_fit.h has PART_SITE, PART_DEVICE, PART_CONSTANTS and
 * PART_HISTORY; the others were tried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_PARTS_H
#define DN_SITE_PARTS_H

#include "predict/history.h"
#include "step_fit.h"

enum bench_part {
    PART_SITE,
    PART_DEVICE,
    PART_APPLICATION,
    PART_APPLICATION_GPUS, /* per doubling of the GPUs */
    PART_PRECISION,
    PART_APPLICATION_DEVICE,
    PART_APPLICATION_PRECISION,
    PART_CELL,      /* application, device and precision */
    PART_CONSTANTS, /* each as far as dn_constant_fields has it */
    N_LINEAR_PARTS,
    PART_HISTORY = N_LINEAR_PARTS, /* smooth over the axes of predict/history.h, of one
                                      application */
    PART_SMOOTH, /* smooth over 33 features of predict/features.h, of all */
    N_PARTS
};

/* A part of a set. */
#define WITH(part) (1U << (PART_##part))

/* Groups of axes that have one length: those of the history, then of the smooth part.
 */
#define N_HISTORY_LENGTHS 6
#define N_LENGTHS         15

/* Parameters: logarithms of the parts' spreads, of the noise's, and of lengths. */
#define AT_NOISE     N_PARTS
#define AT_LENGTHS   (N_PARTS + 1)
#define N_PARAMETERS (AT_LENGTHS + N_LENGTHS)

/* A run as it is compared with others of its source. */
struct bench_point {
    const struct bench_run *run;
    double error;     /* ln (measured / white box) */
    double doubt;     /* variance that the specification leaves */
    double doublings; /* of the GPUs */
    float features[DN_N_FEATURES];
    float slopes[DN_CONSTANT_FIELDS]; /* times how far sites are apart */
};

struct bench_way {
    unsigned parts;
    double parameters[N_PARAMETERS];
    /* Of errors in units of the stated spread: of applications that are among the
     * site's runs, and of others. */
    struct dn_quantiles seen;
    struct dn_quantiles unseen;
};

/* The run against these constants. */
void bench_point_set (const struct bench_run *run,
                      const struct dn_constants *constants,
                      struct bench_point *point);

/* Runs of one source, as many as a site may have at first, and how many such samples of
 * each source the parameters are fitted to.
 */
#define SAMPLE_RUNS         40
#define SAMPLES_OF_A_SOURCE 8

struct bench_sample {
    int n;
    const char *family; /* of the source */
    const struct bench_point *points[SAMPLE_RUNS];
    struct bench_pair *pairs; /* owned by the caller; bench_sample_set () */
};

/* What the points have in common. */
void bench_sample_set (struct bench_sample *sample);

/* The most probable parameters of the parts in 'way', and the laws of errors, by the
 * samples that are not of the family 'without'.
 */
void bench_way_fit (const struct bench_sample *samples,
                    int n_samples,
                    const char *without,
                    struct bench_way *way);

/* What some runs say of others of their source. */
struct bench_learned;

/* Learn from 'n' runs. Freed with bench_learned_free (). */
struct bench_learned *bench_learn (const struct bench_way *way,
                                   const struct bench_point *const *points,
                                   int n);
void bench_learned_free (struct bench_learned *learned);

/* Factor on all spreads by the runs themselves. */
double bench_level (const struct bench_learned *learned);

/* The error to be expected of a run, and its spread. */
double bench_expect (const struct bench_learned *learned,
                     const struct bench_point *point,
                     double *spread);

/* The history's part as learn/site_fit.c takes it. */
struct dn_likeness bench_likeness (const struct bench_way *way);

#endif
