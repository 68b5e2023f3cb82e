/* rescue_plan.c - whether and how a job that ran out of memory is started again
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rescue/rescue_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "request/request.h"

/* The first version of Slurm that changes the GPU type of a pending job. */
#define RETYPE_VERSION 2302

static const char *const refusal_texts[] = {
    [DN_REFUSAL_NONE] = "none",
    [DN_REFUSAL_RULES] = dn_say_bar_rules,
    [DN_REFUSAL_VERSION] = dn_say_bar_version,
    [DN_REFUSAL_NO_REQUEUE] = dn_say_bar_no_requeue,
    [DN_REFUSAL_RESCUED] = dn_say_bar_rescued,
    [DN_REFUSAL_FORM] = dn_say_bar_form,
    [DN_REFUSAL_CHANGED] = dn_say_bar_changed,
    [DN_REFUSAL_PART] = dn_say_bar_part,
};
_Static_assert(DN_N_ELEMENTS (refusal_texts) == DN_N_REFUSALS,
               "a text for each reason");

const char *dn_rescue_refusal_text (enum dn_rescue_refusal refusal)
{
    return refusal_texts[refusal];
}

bool dn_rescue_failed (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_ENDED && job->state
           && (strcmp (job->state, "FAILED") == 0
               || strcmp (job->state, "OUT_OF_MEMORY") == 0);
}

bool dn_rescue_concerns (const struct dn_link_job *job,
                         const struct dn_recorded *recorded,
                         bool of_host)
{
    return job->batch && dn_rescue_failed (job) && recorded->changed
           && (of_host ? recorded->set_mem_mb > 0
                             && recorded->asked_mem_mb > recorded->set_mem_mb
                       : recorded->set_gpu[0] != '\0'
                             || (recorded->steer_gpu[0] != '\0'
                                 && dn_open_now (recorded) > 0));
}

static bool is_text (struct dn_span span, const char *text)
{
    return span.len == strlen (text) && memcmp (span.text, text, span.len) == 0;
}

/* The generic resources of the job with the type that its user had requested. False if
 * they are not those that dnnest had set.
 */
static bool retype (const struct dn_link_job *job,
                    const struct dn_recorded *recorded,
                    struct dn_buf *buf)
{
    struct dn_tres_list list;
    bool changed = false;

    if (!job->gres || dn_tres_read (job->gres, &list, NULL) < 0)
        return false;
    for (int i = 0; i < list.n_entries; i++) {
        const struct dn_tres *entry = &list.entries[i];
        const char *end = entry->whole.text + entry->whole.len;
        const char *type = entry->type.text;

        dn_buf_add (buf, "%s", i > 0 ? "," : "");
        if (!entry->gpu || !type || !is_text (entry->type, recorded->set_gpu)) {
            dn_buf_add (buf, "%.*s", (int) entry->whole.len, entry->whole.text);
            continue;
        }
        changed = true;
        dn_buf_add (buf,
                    "%.*s%s%.*s",
                    (int) (type - entry->whole.text),
                    entry->whole.text,
                    recorded->asked_gpu,
                    (int) (end - type - (ptrdiff_t) entry->type.len),
                    type + entry->type.len);
    }
    return changed && !buf->cut;
}

/* The place in which an open job runs on the type that its user had requested. False if
 * it is not in the one that dnnest had set.
 */
static bool reopen (const struct dn_link_job *job,
                    const struct dn_recorded *recorded,
                    struct dn_rescue_plan *plan)
{
    const struct dn_open_type *own = &recorded->open[0];
    const struct dn_open_type *now = &recorded->open[dn_open_now (recorded)];

    snprintf (plan->features, sizeof (plan->features), "%s", own->features);
    snprintf (plan->partition, sizeof (plan->partition), "%s", own->partition);
    return dn_open_is_place (now, job->features, job->partition);
}

static enum dn_rescue_refusal refusal_of (const struct dn_link_job *job,
                                          const struct dn_recorded *recorded,
                                          bool of_host,
                                          bool enabled,
                                          int slurm)
{
    if (!enabled)
        return DN_REFUSAL_RULES;
    if (recorded->rescued)
        return DN_REFUSAL_RESCUED;
    if (!of_host && recorded->n_open == 0 && slurm < RETYPE_VERSION)
        return DN_REFUSAL_VERSION;
    if (!job->requeue)
        return DN_REFUSAL_NO_REQUEUE;
    if (job->het_offset != DN_UNSET || job->federated)
        return DN_REFUSAL_PART;
    return of_host || recorded->n_open > 0
                   || (recorded->by_gres && recorded->asked_gpu[0] != '\0')
               ? DN_REFUSAL_NONE
               : DN_REFUSAL_FORM;
}

struct dn_rescue_plan dn_rescue_plan (const struct dn_link_job *job,
                                      const struct dn_recorded *recorded,
                                      bool of_host,
                                      bool enabled,
                                      int slurm)
{
    struct dn_rescue_plan plan = {
        .refusal = refusal_of (job, recorded, of_host, enabled, slurm)};
    struct dn_buf buf = dn_buf_on (plan.gres, sizeof (plan.gres));

    if (plan.refusal != DN_REFUSAL_NONE)
        return plan;
    if (recorded->asked_mem_mb > recorded->set_mem_mb && recorded->set_mem_mb > 0)
        plan.mem_mb = recorded->asked_mem_mb;
    if ((recorded->set_s > 0 || recorded->n_open > 0) && recorded->asked_s >= 60)
        plan.limit_s = recorded->asked_s - recorded->asked_s % 60;
    if (of_host) /* on the GPUs that it has */
        return plan;
    if (recorded->n_open > 0) {
        if (!reopen (job, recorded, &plan))
            plan.refusal = DN_REFUSAL_CHANGED;
        return plan;
    }
    if (!retype (job, recorded, &buf))
        plan.refusal = DN_REFUSAL_CHANGED;
    memcpy (plan.partition, recorded->asked_partition, sizeof (plan.partition));
    memcpy (plan.features, recorded->asked_features, sizeof (plan.features));
    return plan;
}
