/* submit.c - one submission from end to end: read, advise, edit, tell
 *
 * slurmctld holds its locks meanwhile, so the call is timed: it takes less than a
 * millisecond, and one that takes 50 is reported. Everything large is on the heap, for
 * the stack of a controller's thread may be small.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/submit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "advise.h"
#include "conf/carry.h"
#include "graph/sidecar.h"
#include "submit/adapter.h"
#include "submit/host.h"
#include "submit/state.h"

#define SLOW_US          50000
#define SLOW_INTERVAL_US 60000000 /* between two reports */

static atomic_llong slow_reported_us; /* when; 0 never */

static long long now_us (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (long long) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* One thread reports, and not more often than the interval. */
static void report_if_slow (long long start_us)
{
    long long end_us = now_us ();
    long long reported_us = atomic_load (&slow_reported_us);

    if (end_us - start_us <= SLOW_US
        || (reported_us != 0 && end_us - reported_us < SLOW_INTERVAL_US))
        return;
    if (atomic_compare_exchange_strong (&slow_reported_us, &reported_us, end_us))
        slurm_error (DN_LOG_PREFIX "a submission took %lld ms",
                     (end_us - start_us) / 1000);
}

/* The job stays as it is. A user whose metadata was not understood is told so, unless
 * the site wants dnnest to be silent.
 */
static void refuse (const struct dn_site *site,
                    const struct dn_job *job,
                    const struct dn_err *err,
                    char **err_msg)
{
    const struct dn_submitter submitter = dn_submitter_of (job);
    const struct dn_rules rules = dn_site_rules (site, &submitter, NULL);
    char line[DN_ERR_TEXT_MAX + 64];

    slurm_info (DN_LOG_PREFIX "uid=%lld %s; job left as it is",
                (long long) job->user_id,
                err->text);
    if (rules.message == DN_MESSAGE_NEVER || rules.mode == DN_MODE_OBSERVE)
        return;
    snprintf (line, sizeof (line), "dnnest: %s; job submitted as written", err->text);
    dn_host_append_line (err_msg, line);
}

static void follow (const struct dn_patch *patch,
                    int64_t user_id,
                    job_desc_msg_t *desc,
                    char **err_msg)
{
    struct dn_err err = {.code = DN_E_NONE};

    if (dn_adapter_apply (desc, patch, &err) < 0) {
        slurm_error (DN_LOG_PREFIX "uid=%lld %s; job left as it is",
                     (long long) user_id,
                     err.text);
        return;
    }
    slurm_info (DN_LOG_PREFIX "%s", patch->log_text);
    if (patch->user_text[0] != '\0')
        dn_host_append_line (err_msg, patch->user_text);
}

/* Judge the sidecar that came with the job, or read the one that its comment names;
 * '*text' is what was read, or NULL.
 */
static int find_sidecar (const struct dn_site *site,
                         struct dn_job *job,
                         char **text,
                         struct dn_err *err)
{
    const size_t max = DN_SIDECAR_HANDOVER_MAX;

    if (job->sidecar && strnlen (job->sidecar, max + 1) > max)
        return dn_err_set (
            err, DN_E_LIMIT, "sidecar: more than %zu bytes were handed over", max);
    if (dn_carry_comment (job, site->sidecar_dir, text, err) < 0)
        return -1;
    if (*text)
        job->sidecar = *text;
    return 0;
}

static void advise (const struct dn_site *site,
                    struct dn_job *job,
                    job_desc_msg_t *desc,
                    char **err_msg)
{
    struct dn_err err = {.code = DN_E_NONE};
    dn_cleanup (dn_free_ptr) char *sidecar = NULL;
    struct dn_advice *advice = dn_advice_new ();

    if (!advice)
        dn_err_set (&err, DN_E_NOMEM, "out of memory");
    if (!advice || find_sidecar (site, job, &sidecar, &err) < 0
        || dn_advise (site, job, advice, &err) < 0)
        refuse (site, job, &err, err_msg);
    else if (advice->decision.verdict != DN_VERDICT_NONE)
        follow (&advice->patch, job->user_id, desc, err_msg);
    dn_advice_free (advice);
}

/* In a federation every sibling is given the job as the first cluster has left it, and
 * no user can write an admin comment.
 */
static bool is_advised (const struct dn_job *job)
{
    return job->admin_comment && strstr (job->admin_comment, "{\"dnnest\":");
}

void dn_submit_job (job_desc_msg_t *desc, char **err_msg)
{
    struct dn_snapshot *snapshot;
    struct dn_job job;
    long long start_us;

    dn_adapter_read (desc, &job);
    if (is_advised (&job))
        return;
    start_us = now_us ();
    snapshot = dn_state_take ();
    if (!snapshot)
        return;
    if (!dn_advise_concerns (dn_state_site (snapshot), &job)) {
        dn_state_give (snapshot);
        return;
    }
    advise (dn_state_site (snapshot), &job, desc, err_msg);
    if (job.option || job.sidecar)
        dn_adapter_forget (desc);
    dn_state_give (snapshot);
    report_if_slow (start_us);
}
