/* sums.h - what finished jobs requested, were granted and used, and what dnnest saved
 *
 * In: finished jobs in any order, one at a time. Out: the sums of a report. Pure.
 * Memory is bounded: groups up to DN_SUMS_GROUPS_MAX, a year of weeks, samples of the
 * points.
 *
 * Definitions. A job counts in the amounts if it ran.
 *   requested: limit that the user asked for, times what the job was allocated. The
 * limit is 'asked_limit_s', or where that is unknown or UNLIMITED 'limit_s', or where
 * that is so too the run time. The CPUs are 'asked_cpus', else 'cpus'.
 *   granted: 'limit_s' at the end of the job, with extensions, times what it was
 *     allocated; where that limit is unknown or UNLIMITED, the run time.
 *   used: run time times what it was allocated.
 *   saved: requested minus granted, of the jobs that dnnest changed; negative where the
 *     job was granted more. A saved hour is one that the scheduler need not reserve.
 *   money: sites bill run time, not limits. Granted and used are the charge of the run:
 *     its time times its GPUs times the price of their type. Requested is the charge
 *     that would have been billed: with the GPUs and the type that were requested, and
 *     for a job that was moved with its time over the slowdown that was said. Without
 *     that slowdown nothing is saved.
 *   stranded by CPUs (by memory): GPU hours of run time, of the GPUs beside those of a
 *     job that have no CPUs (memory) any more, if all GPUs of the type had equal shares
 *     of its nodes: the shares that the job had beyond its own GPUs. Requested and
 *     granted are by what it asked for and what it had, used is granted. Without the
 *     nodes of the type in 'cluster', or the memory of the job, they are not counted.
 * Energy is not reserved: it is only used, and known of measured jobs alone.
 *
 * dnnest changed a job when the mode was enforce and the verdict change. A prediction
 * is judged by the jobs that completed, and by those that a limit, a deadline or their
 * user ended after the predicted time: these count as if they had ended then, so that
 * errors are at least so large and the shares within a quantile at most so. Of all
 * others the time of the whole work is not known. idle: GPUs that a completed job had
 * and, as it has said itself, did not use. An application is listed if two of its runs
 * did so after the last one that used all. Of these jobs the order matters: those of an
 * application, the oldest first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SUMS_H
#define DN_SUMS_H

#include "hardware/cluster.h"
#include "jobs/finished.h"
#include "jobs/worth/sample.h"
#include "predict/apps.h"

/* Groups of one kind; jobs of further ones are summed as DN_SUMS_OTHERS: 16 MB. */
#define DN_SUMS_GROUPS_MAX 20000
#define DN_SUMS_OTHERS     "(others)"

/* Applications that leave GPUs idle; further ones are not listed: 3 MB. */
#define DN_IDLE_APPS_MAX 10000

/* Weeks of a report: two years, the newest are kept. */
#define DN_SUMS_WEEKS_MAX 104

/* Reasons why jobs were kept, with numbers and quoted parts taken out. */
#define DN_SUMS_REASONS_MAX 32
#define DN_SUMS_TEXT_MAX    100

/* Points of the picture of predicted against measured times. */
#define DN_SUMS_POINTS_MAX 400

/* clang-format off */
#define DN_MEASURES(ROW)                                                               \
    ROW (MEASURE_HOURS, "hours")                                                       \
    ROW (MEASURE_GPU_HOURS, "gpu_hours")                                               \
    ROW (MEASURE_CPU_HOURS, "cpu_hours")                                               \
    ROW (MEASURE_MONEY, "money")                                                       \
    ROW (MEASURE_BY_CPUS, "stranded_by_cpus") /* stranded GPU hours */                 \
    ROW (MEASURE_BY_MEMORY, "stranded_by_memory")
DN_ENUM (dn_measure, MEASURES);
/* clang-format on */
extern const struct dn_names dn_measure_names;

struct dn_amount {
    double requested;
    double granted;
    double used;
    double saved;
};

/* What was requested and not used. */
/* clang-format off */
#define DN_WASTES(ROW)                                                                 \
    /* GPU hours (of a job without GPUs, CPU hours / 64) of the requested limit after  \
     * the end of the run */                                                           \
    ROW (WASTE_TIME, "time")                                                           \
    /* CPU hours: allocated and not busy, of jobs whose CPU time is known */           \
    ROW (WASTE_CPUS, "cpus")                                                           \
    /* GPU hours: allocated and not busy, of jobs with utilisation */                  \
    ROW (WASTE_GPUS, "gpus")
DN_ENUM (dn_waste, WASTES);
/* clang-format on */
extern const struct dn_names dn_waste_names;

/* What changed jobs are compared with the control group by. */
/* clang-format off */
#define DN_EFFECTS(ROW)                                                                \
    ROW (EFFECT_WAIT, "wait_s") /* mean seconds in the queue */                        \
    ROW (EFFECT_TURNAROUND, "turnaround_s") /* mean seconds from then to the end */    \
    /* share that failed, ran out of memory, or was killed at a limit of dnnest */     \
    ROW (EFFECT_FAILED, "failed")                                                      \
    ROW (EFFECT_ACCURACY, "limit_per_run") /* geometric mean of limit / run time */    \
    /* GPU hours granted per GPU hour used */                                          \
    ROW (EFFECT_HELD, "gpu_hours_granted_per_used")
DN_ENUM (dn_effect_of, EFFECTS);
/* clang-format on */

enum dn_side {
    DN_SIDE_CONTROL, /* that would have been changed */
    DN_SIDE_CHANGED,
    DN_N_SIDES
};

/* Of a figure that is a quotient of two sums. */
struct dn_side_sums {
    int64_t n;
    double over;
    double under;
};

/* Of all jobs, or of those of some applications. */
struct dn_sides {
    struct dn_side_sums of[DN_N_SIDES][DN_N_EFFECTS];
};

/* Applications of a user share one of these by chance where there are many: 4 MB. */
#define DN_CLUSTERS 16384

/* Sums of any set of jobs. */
struct dn_sums_part {
    int64_t seen;
    int64_t ran;
    int64_t described; /* with a record that dnnest predicted or was asked to */
    int64_t changed;
    int64_t extended;   /* jobs */
    int64_t extensions; /* of limits */
    int64_t rescued;
    int64_t killed_user;    /* at their users' own limit */
    int64_t forecasts;      /* jobs of which a start was expected */
    int64_t forecasts_near; /* at half to twice the wait, or both within five minutes */
    int64_t measured;       /* jobs whose energy is known */
    double energy_kwh;
    struct dn_amount amounts[DN_N_MEASURES];
    double wasted[DN_N_WASTES];
};

struct dn_sums_group {
    char name[DN_NAME_MAX];
    int64_t number; /* in the order of first occurrence, from 1; of the others 0 */
    struct dn_sums_part part;
};

struct dn_groups {
    struct dn_sums_group
        *groups; /* in order of first occurrence, the first is the others */
    int64_t n;
    int32_t *slots; /* hash table of indices */
};

/* An application of a user that leaves GPUs idle. */
struct dn_idle_app {
    dn_app_key key;
    char user[DN_NAME_MAX];
    char app[DN_NAME_MAX];
    char job[DN_NAME_MAX]; /* the newest of them */
    int64_t gpus;          /* that it had, and used */
    int64_t used;
    int64_t runs;
    double gpu_hours; /* of idle GPUs, of all 'runs' */
};

/* Zeroed at first. */
struct dn_idle {
    struct dn_idle_app *apps;
    int64_t n;
    int32_t *slots; /* hash table of indices + 1 */
};

/* Of which jobs predictions are judged. */
enum dn_sums_of {
    DN_SUMS_OF_NEW,   /* without history of the application */
    DN_SUMS_OF_KNOWN, /* with it */
    DN_SUMS_OF_ALL,
    DN_N_SUMS_OF
};

/* How good predictions were. */
struct dn_sums_judged {
    int64_t predicted;      /* jobs with a median that ran */
    int64_t n;              /* of these, with a known error */
    struct dn_spread error; /* |ln (median / run time)| */
    int64_t n_bound;
    int64_t within_bound;
    double promised; /* sum of the stated shares */
    int64_t n_promised;
    int64_t n_p95;
    int64_t within_p95;
};

struct dn_week {
    int64_t start_s; /* Monday 00:00 UTC */
    int64_t jobs;
    int64_t changed;
    double saved_gpu_hours;
    double saved_hours;
    int64_t n_bound;
    int64_t within_bound;
    int64_t n_p95;
    int64_t within_p95;
    int64_t n_error;
    double error; /* sum of |ln (median / run time)| */
    /* by requested GPU hours: the limits that were requested and granted; */
    struct dn_listing listed;
    struct dn_listing beyond; /* of that quantile, by how much: it, and the run time */
};

struct dn_point {
    float measured_s;
    float predicted_s;
    bool known; /* its application had a history */
    char job[24];
};

struct dn_kept {
    char why[DN_SUMS_TEXT_MAX];
    int64_t jobs;
};

/* clang-format off */
#define DN_GROUPED_BYS(ROW)                                                            \
    ROW (GROUPED_BY_NONE, "none")                                                      \
    ROW (GROUPED_BY_USER, "user")                                                      \
    ROW (GROUPED_BY_ACCOUNT, "account")                                                \
    ROW (GROUPED_BY_PARTITION, "partition")                                            \
    ROW (GROUPED_BY_MODEL, "model")                                                    \
    ROW (GROUPED_BY_APP, "app")                                                        \
    ROW (GROUPED_BY_TYPE, "type")
DN_ENUM (dn_grouped_by, GROUPED_BYS);
/* clang-format on */
extern const struct dn_names dn_by_names;

/* The price of a GPU hour of a type. NULL: there are no prices. */
typedef double (*dn_price_f) (const void *prices, const char *type);

struct dn_sums {
    dn_price_f price;
    const void *prices;
    const struct dn_cluster *cluster; /* with the nodes; borrowed, NULL at first */
    enum dn_grouped_by by;
    int64_t first_s; /* ends of the first and last job */
    int64_t last_s;
    struct dn_sums_part all;
    struct dn_groups groups; /* of 'by' */
    struct dn_groups users;
    struct dn_idle idle;
    struct dn_kept kept[DN_SUMS_REASONS_MAX];
    int n_kept;
    struct dn_sums_judged judged[DN_N_SUMS_OF];
    struct dn_sides sides;
    struct dn_sides *clusters; /* DN_CLUSTERS of them; owned */
    /* Waits and run times of the jobs: by the wait, by both, and failed ones by their
     * GPU hours. */
    struct dn_listing listed[DN_N_SIDES][DN_EFFECT_FAILED + 1];
    struct dn_spread medians[DN_N_SIDES][2]; /* of the waits, and ln (limit / run) */
    struct dn_week weeks[DN_SUMS_WEEKS_MAX]; /* by start */
    int n_weeks;
    struct dn_point points[DN_SUMS_POINTS_MAX];
    int n_points;
    int64_t points_seen;
    uint64_t random;
};

/* NULL without memory. 'prices' is borrowed. */
struct dn_sums *dn_sums_new (enum dn_grouped_by by,
                             dn_price_f price,
                             const void *prices);
void dn_sums_free (struct dn_sums *sums);
void dn_sums_cleanup (struct dn_sums **sums);

/* Add a job. -1 with DN_E_NOMEM. */
int dn_sums_add (struct dn_sums *sums,
                 const struct dn_finished *job,
                 struct dn_err *err);

/* Seconds that the job waited: start - eligible, not below 0. NaN if unknown. */
double dn_sums_wait_s (const struct dn_finished *job);

/* Add to the group of that name, and sort groups: by 'compare', the others last. */
struct dn_sums_part *dn_groups_get (struct dn_groups *groups,
                                    const char *name,
                                    struct dn_err *err);
typedef double (*dn_sums_part_size_f) (const struct dn_sums_part *part, int which);
void dn_groups_sort (struct dn_groups *groups, dn_sums_part_size_f size, int which);
double dn_sums_part_gpu_hours (const struct dn_sums_part *part,
                               int which); /* requested */
double dn_sums_part_wasted (const struct dn_sums_part *part, int which);

/* Add a completed job, and after the last one sort: return how many of the first
 * applications leave GPUs idle, those with the most hours first.
 */
int dn_idle_add (struct dn_idle *idle,
                 const struct dn_finished *job,
                 struct dn_err *err);
int64_t dn_idle_end (struct dn_idle *idle);
void dn_idle_free (struct dn_idle *idle);

/* The effect of dnnest on a figure: changed jobs against those of the control group
 * that would have been changed. The interval of 95 % takes the jobs of an application
 * of a user for one draw (jobs/worth/sample.h), which they are with ControlBy=app;
 * of ratios, it is that of their logarithms.
 */
struct dn_effect {
    bool known; /* at least DN_EFFECT_MIN jobs on both sides, of two clusters */
    int64_t n_control;
    int64_t n_changed;
    int64_t n_clusters; /* applications */
    double control;     /* the figure of each side */
    double changed;
    double control_median; /* NaN where it has none */
    double changed_median;
    double value; /* difference or ratio */
    double low;
    double high;
    double needed; /* jobs to see a tenth of the control's figure in 4 of 5 cases */
};
#define DN_EFFECT_MIN 10

extern const struct dn_names dn_effect_names;

/* Is it a difference, else a ratio? */
bool dn_effect_is_difference (enum dn_effect_of which);
struct dn_effect dn_sums_effect (struct dn_sums *sums, enum dn_effect_of which);

#endif
