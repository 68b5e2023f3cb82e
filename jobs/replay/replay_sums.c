/* replay_sums.c - sums of what a policy would have done
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay.h"

#include <math.h>
#include <string.h>

static const char *const fate_text[] = {
    [DN_REPLAY_SILENT] = "silent",
    [DN_REPLAY_REFUSED] = "refused",
    [DN_REPLAY_ABSTAINED] = "abstained",
    [DN_REPLAY_KEPT] = "kept",
    [DN_REPLAY_CONTROL] = "control",
    [DN_REPLAY_CHANGED] = "changed",
};

const char *dn_replay_fate_text (enum dn_replay_fate fate)
{
    static const struct dn_names names = DN_NAMES (fate_text, DN_N_REPLAY_FATES);

    return dn_names_get (&names, (int) fate);
}

#define RATIO_MIN 0.01
#define STEP      0.02 /* of ln (ratio) */

static int class_of (double ratio)
{
    double i = floor (log (ratio / RATIO_MIN) / STEP);

    return i < 0 ? 0 : i >= DN_REPLAY_CLASSES ? DN_REPLAY_CLASSES - 1 : (int) i;
}

double dn_replay_median (const int64_t classes[DN_REPLAY_CLASSES])
{
    int64_t n = 0, below = 0;

    for (int i = 0; i < DN_REPLAY_CLASSES; i++)
        n += classes[i];
    for (int i = 0; i < DN_REPLAY_CLASSES; i++) {
        below += classes[i];
        if (2 * below >= n && n > 0)
            return RATIO_MIN * exp ((i + 0.5) * STEP);
    }
    return NAN;
}

/* The limit with the policy; that of the user where it is unchanged. */
static double limit_after (const struct dn_replayed *job)
{
    return job->n_limits > 0 ? job->limits_s[0] : (double) job->limit_s;
}

static void count_limits (struct dn_replay_sums *sums, const struct dn_replayed *job)
{
    double after = limit_after (job), before = (double) job->limit_s;
    double gpus = (double) job->gpus / 3600;

    sums->lowered += job->n_limits > 0 && (before < 0 || after < before);
    sums->raised += job->n_limits > 0 && before >= 0 && after > before;
    sums->extended += job->extended;
    sums->killed += job->killed;
    if (before <= 0 || after <= 0)
        return;
    sums->used_gpu_h += job->ran_s * gpus;
    sums->asked_gpu_h += before * gpus;
    sums->set_gpu_h += after * gpus;
    if (job->evidence != DN_EVIDENCE_EXACT || job->ran_s <= 0 || job->runs_s <= 0
        || job->fate < DN_REPLAY_KEPT)
        return;
    sums->ratios++;
    sums->asked[class_of (before / job->ran_s)]++;
    sums->set[class_of (after / job->runs_s)]++;
}

static double gib_hours (const struct dn_replayed *job, int64_t mem_mb, double run_s)
{
    return (double) mem_mb / 1024 * (double) job->nodes * run_s / 3600;
}

void dn_replay_count (struct dn_replay_sums *sums, const struct dn_replayed *job)
{
    sums->jobs++;
    sums->fates[job->fate]++;
    if (job->fate >= DN_REPLAY_KEPT && job->runs > 0)
        sums->with_history++;
    count_limits (sums, job);
    sums->moved += strcmp (job->from, job->gpu) != 0;
    sums->fewer_cpus += job->cpus_after < job->cpus;
    sums->asked_cpu_h += (double) job->cpus * job->ran_s / 3600;
    sums->set_cpu_h += (double) job->cpus_after * job->runs_s / 3600;
    sums->less_memory += job->mem_after_mb < job->mem_mb;
    sums->asked_mem_h += gib_hours (job, job->mem_mb, job->ran_s);
    sums->set_mem_h += gib_hours (job, job->mem_after_mb, job->runs_s);
}
