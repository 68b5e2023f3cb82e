/* site_solve.h - the equations of a site's fit
 *
 * In: the runs that take part, by user and application. Out: the most probable
 * constants and scales, what they leave of each run, and how far off a run is that was
 * left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_SOLVE_H
#define DN_SITE_SOLVE_H

#include "learn/site_fit.h"

/* Degrees of freedom of Student's t: at three standard deviations a run counts 0.3. */
#define DN_STUDENT 2.5

/* A logarithm that may move: of a constant, of all runs, or of those of a device. */
struct dn_site_parameter {
    int field;                      /* of a constant, or -1 */
    const struct dn_device *device; /* NULL: of none */
    double spread;
    double value; /* relative to what is shipped */
    double variance;
    int64_t runs;
};

/* A user, whose runs stand together. */
struct dn_site_user {
    int first; /* member */
    int n;
    int n_applications;
};

/* A run that takes part. */
struct dn_site_member {
    const struct dn_site_run *run;
    struct dn_trace trace;
    double shipped; /* ln (measured / predicted by what ships) */
    double error;   /* ln (measured / predicted by the parameters) */
    double noise;   /* variance of its own, larger far out */
    double scale;   /* of its application's covariance, larger far out */
    double vote;    /* what its user's runs of the application count */
    double weight;  /* of the inverse covariance times the errors */
    double inverse; /* diagonal of the inverse covariance */
};

struct dn_site_solution {
    struct dn_constants base;
    struct dn_likeness likeness;
    struct dn_site_parameter *parameters; /* constants, then scales; owned */
    int n_parameters;
    int n_constants;
    struct dn_site_member *members; /* by user and application; owned */
    int n_members;
    struct dn_site_user *users; /* owned */
    int n_users;
    double shared;  /* spread of predictions by what is not known of the parameters */
    double level;   /* factor on all spreads */
    double *slopes; /* of a member's logarithm, by rows of n_parameters; owned */
    double *solved; /* the inverse covariance times those; owned */
    double *normal; /* owned, as are the next two */
    double *factor;
    double *step;
};

/* The run by these constants. */
struct dn_case dn_site_case (const struct dn_constants *constants,
                             const struct dn_site_run *run);

/* Solve for the runs, which are sorted by user and application. Nothing moves, and
 * there are no parameters, unless 'moves' and there are two applications. NULL with
 * 'err'.
 */
struct dn_site_solution *dn_site_solve (const struct dn_constants *base,
                                        const struct dn_site_prior *prior,
                                        const struct dn_site_run *const *runs,
                                        int n,
                                        bool moves,
                                        struct dn_err *err);

/* The site's constants: those that are shipped, moved by the parameters. */
struct dn_constants dn_site_constants (const struct dn_site_solution *solution);

/* The runs of one application of a user begin at 'first'; return what comes after. */
int dn_site_block_end (const struct dn_site_solution *solution, int first);

/* The factor of the covariance of the block that begins at 'first' and ends before
 * 'end', without the parameters' part. False: it has none.
 */
bool dn_site_block_factor (const struct dn_site_solution *solution,
                           int first,
                           int end,
                           double *factor);

/* Would the runs of most applications have been predicted better by the constants and
 * scales that the runs of all others give, and in the mean by more than chance?
 */
bool dn_site_agrees (const struct dn_site_solution *solution);

void dn_site_solution_free (struct dn_site_solution **solution);

#endif
