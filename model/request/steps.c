/* steps.c - the script of a job, and what it keeps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/steps.h"

#include "request/script.h"

struct dn_reason dn_script_reason (const struct dn_script_fact *fact)
{
    static const enum dn_reason_code codes[DN_N_SCRIPT_WORDS] = {
        [DN_SCRIPT_UNREAD] = DN_REASON_script_unread,
        [DN_SCRIPT_PROGRAMS] = DN_REASON_script_programs,
        [DN_SCRIPT_LOOP] = DN_REASON_script_loop,
        [DN_SCRIPT_SWEEP] = DN_REASON_script_sweep,
        [DN_SCRIPT_SCRIPT] = DN_REASON_script_script,
        [DN_SCRIPT_LANGUAGE] = DN_REASON_script_language,
        [DN_SCRIPT_BESIDE] = DN_REASON_script_beside,
        [DN_SCRIPT_SERVER] = DN_REASON_script_server,
        [DN_SCRIPT_PASSES] = DN_REASON_script_passes,
        [DN_SCRIPT_STAGING] = DN_REASON_script_staging,
        [DN_SCRIPT_STOP] = DN_REASON_script_stop,
        [DN_SCRIPT_PINNED] = DN_REASON_script_pinned,
        [DN_SCRIPT_CPUS] = DN_REASON_script_cpus,
        [DN_SCRIPT_COMPUTES] = DN_REASON_script_computes,
        [DN_SCRIPT_TASKS] = DN_REASON_script_tasks,
        [DN_SCRIPT_FEWER] = DN_REASON_script_fewer,
        [DN_SCRIPT_CLOCK] = DN_REASON_script_clock,
        [DN_SCRIPT_STEP] = DN_REASON_script_step,
        [DN_SCRIPT_TYPE] = DN_REASON_script_type,
        [DN_SCRIPT_NEWER] = DN_REASON_script_newer,
        [DN_SCRIPT_BF16] = DN_REASON_script_bf16,
        [DN_SCRIPT_FP8] = DN_REASON_script_fp8,
    };

    if (fact->code == DN_SCRIPT_NOTHING)
        return DN_NO_REASON;
    return (struct dn_reason){codes[fact->code],
                              DN_REASON_NONE,
                              {dn_arg_count (fact->line), dn_arg_text (fact->word)}};
}

void dn_request_keep_by_script (struct dn_request *request,
                                const struct dn_script *found)
{
    const struct dn_script *own = &request->script; /* reasons borrow its words */

    request->script = *found;
    dn_reason_keep (&request->keep_gpu, dn_script_reason (&own->gpu));
    dn_reason_keep (&request->keep_cpus, dn_script_reason (&own->cpus));
    if (request->mem_follows_cpus)
        dn_reason_keep (&request->keep_cpus, dn_script_reason (&own->memory));
    dn_reason_keep (&request->keep_time, dn_script_reason (&own->time));
    request->several_why = dn_script_reason (&own->several);
    request->counted_why = dn_script_reason (&own->counted);
    if (own->need.code != DN_SCRIPT_NOTHING)
        request->need = own->need.code == DN_SCRIPT_FP8 ? DN_NEED_FP8 : DN_NEED_BF16;
    request->need_why = dn_script_reason (&own->need);
}

int dn_reading_of (const struct dn_words *words,
                   const struct dn_job *job,
                   bool wanted,
                   const struct dn_deadline *deadline,
                   struct dn_reading *reading,
                   struct dn_err *err)
{
    struct dn_job sized = *job;
    struct dn_request request;
    struct dn_script_job shape;

    /* What is wrong with the request, such as its resources or a longer environment,
     * is an error of the stage that reads all of it.
     */
    if (sized.n_env > DN_ENV_MAX)
        sized.n_env = 0;
    (void) dn_request_read_shape (&sized, &request, NULL);
    shape = (struct dn_script_job){.n_tasks = request.n_tasks,
                                   .n_nodes = request.n_nodes,
                                   .n_gpus = request.n_gpus,
                                   .gpu_type = request.gpu_type};
    return dn_script_read (words, job->script, &shape, wanted, deadline, reading, err);
}
