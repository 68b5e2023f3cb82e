/* counters.h - what the plugin has done since it was loaded, for Prometheus
 *
 * Counting is only an addition to an atomic; another thread writes the text. Labels
 * have few values, which are fixed here: users cannot add values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COUNTERS_H
#define DN_COUNTERS_H

#include <stdatomic.h>

#include "policy/policy.h"

typedef atomic_ullong dn_counter;

/* clang-format off */
#define DN_COUNTED(ROW)                                                                \
    ROW (CHANGE_NONE, "none")                                                          \
    ROW (CHANGE_TIME, "time_limit")                                                    \
    ROW (CHANGE_TIME_MIN, "time_min")                                                  \
    ROW (CHANGE_GPU, "gpu_type")                                                       \
    ROW (CHANGE_CPUS, "cpus")
DN_ENUM (dn_counted, COUNTED);

#define DN_DROPS(ROW)                                                                  \
    ROW (DROP_NONE, "none")                                                            \
    ROW (DROP_FULL, "full") /* the queue was full */                                   \
    ROW (DROP_MEMORY, "memory") /* no memory for the line */
DN_ENUM (dn_drop, DROPS);

#define DN_RESULTS(ROW)                                                                \
    ROW (RESULT_NONE, "none")                                                          \
    ROW (RESULT_SUCCESS, "success")                                                    \
    ROW (RESULT_FAILURE, "failure")
DN_ENUM (dn_result, RESULTS);
/* clang-format on */

/* Number of latency buckets with an upper bound; one more is unbounded. */
#define DN_LATENCY_BUCKETS 10

/* Index 0 of the arrays, except latency, is "none" and is not written. */
struct dn_counters {
    dn_counter submissions;   /* calls of job_submit () */
    dn_counter modifications; /* calls of job_modify () */
    dn_counter described;     /* jobs with a description, understood or not */
    dn_counter opted_out;
    dn_counter estimates_reused; /* decisions with the estimates of an earlier job */
    dn_counter verdicts[DN_N_VERDICTS];
    dn_counter abstained[DN_N_ABSTAIN];
    dn_counter changed[DN_N_COUNTED]; /* fields that were rewritten */
    dn_counter advised[DN_N_COUNTED]; /* fields that would have been rewritten in mode
                                         enforce */
    dn_counter errors[DN_N_ERRORS];
    dn_counter lines; /* of the decision log */
    dn_counter dropped[DN_N_DROPS];
    dn_counter loads[DN_N_RESULTS];
    dn_counter latency[DN_LATENCY_BUCKETS + 1];
    dn_counter latency_us; /* sum */
};

static inline void dn_count (dn_counter *counter)
{
    atomic_fetch_add_explicit (counter, 1, memory_order_relaxed);
}

/* Count a job that concerns dnnest and took 'us' microseconds. */
void dn_counters_took (struct dn_counters *counters, int64_t us);

/* Values that are not counters. */
struct dn_gauges {
    const char *slurm;    /* version */
    int64_t started_s;    /* start of the plugin, since 1970 */
    int64_t configured_s; /* load of the configuration in force */
};

/* Replace the file 'path' atomically, mode 0644, by all counters and gauges in
 * Prometheus' text format 0.0.4. A symbolic link there is replaced, not followed.
 * Return 0, or -1 with 'err'.
 */
int dn_counters_write (struct dn_counters *counters,
                       const struct dn_gauges *gauges,
                       const char *path,
                       struct dn_err *err) DN_COLD;

#endif
