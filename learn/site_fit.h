/* site_fit.h - fit the white box to one site's runs, with the shipped values as prior
 *
 * In: runs that the site has measured. Out: struct dn_tuning: constants, scales of the
 * site and per device, each user's runs of each application, and how much is still not
 * known.
 *
 * ln (measured) = ln (white box with the site's constants) + residual of the bundle
 *     + scales + what runs of the application that are alike have in common
 *     (predict/history.h) + noise. Every logarithm that may move is drawn from a normal
 * law around the shipped value; the spread of that law is how much sites differ, found
 * on the sources of both tables of runs. A value that the runs
 * do not determine keeps the shipped one: three runs move it a little, fifty decide it.
 * Outliers count less (Student's t), and similar runs of one application do not count
 * once per run.
 *
 * One application cannot separate the site from itself, nor can two that disagree:
 * constants and scales stay as shipped until most applications would have gained by
 * what the others say (site_agree.c).
 *
 * Users may lie, in any number of runs and applications, and one user may write as much
 * as all others. So each user's runs of an application are a history of their own,
 * which is fitted without the runs of others; the votes of a user on constants and
 * scales are bounded (site_solve.c); of memory the site can only learn that more is
 * needed; and room is shared among users, so that the runs of one never displace those
 * of another with fewer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_FIT_H
#define DN_SITE_FIT_H

#include "predict/tuning.h"

/* Runs that are kept; of more, those of the users with most of them make room, and
 * every run of a user has the same chance to be among them.
 */
#define DN_SITE_RUNS_MAX 2048

/* Users that are told apart; more are one. */
#define DN_SITE_USERS_MAX 4096

/* How far sites are from one another: standard deviations of logarithms. */
struct dn_site_prior {
    double constants[DN_CONSTANT_FIELDS]; /* 0: does not move */
    double site;                          /* of the scale of all runs */
    double device;                        /* of that of a device */
    struct dn_likeness likeness;          /* of what they leave over */
    /* Of errors in units of the stated spread: of applications that are among the
     * runs, and of others. */
    struct dn_quantiles seen;
    struct dn_quantiles unseen;
    double n_level; /* the stated spread is worth so many runs */
    double memory;  /* of a site's scale of GPU memory, and of power */
    double power;
};

/* One measured run; 0 where something was not measured. */
struct dn_site_run {
    int64_t user; /* numeric id; DN_UNSET: unknown, below: no user of the system */
    struct dn_spec spec;
    struct dn_graph graph; /* owned by the run */
    const struct dn_device *device;
    double cpus_per_gpu; /* 0 unknown */
    double step_s;
    double gpu_mem; /* bytes on one device */
    enum dn_memory_count memory_count;
    double power_w;
    /* What the bundle's residuals add to the logarithms of the white box. */
    double step_residual;
    double memory_residual;
    double power_residual;
};

struct dn_site_fit;

/* A fit around the constants that ship. NULL without memory. Freed with
 * dn_site_fit_free ().
 */
struct dn_site_fit *dn_site_fit_new (void);
void dn_site_fit_free (struct dn_site_fit *fit);

/* Take a run over, graph included; it is empty afterwards. -1 with DN_E_NOMEM. */
int dn_site_fit_add (struct dn_site_fit *fit,
                     struct dn_site_run *run,
                     struct dn_err *err);

/* Find the most probable constants and scales; without runs what is shipped. NULL with
 * 'err'. Freed with dn_tuning_free ().
 */
struct dn_tuning *dn_site_fit_solve (struct dn_site_fit *fit, struct dn_err *err);

#endif
