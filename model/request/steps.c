/* steps.c - what the script of the job keeps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/steps.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "request/gpus.h"
#include "request/script.h"

void dn_script_say (const struct dn_script_fact *fact, char out[DN_REASON_MAX])
{
    static const char *const does[DN_N_SCRIPT_WORDS] = {
        [DN_SCRIPT_UNREAD] = dn_say_script_unread,
        [DN_SCRIPT_PROGRAMS] = dn_say_script_programs,
        [DN_SCRIPT_LOOP] = dn_say_script_loop,
        [DN_SCRIPT_SWEEP] = dn_say_script_sweep,
        [DN_SCRIPT_SCRIPT] = dn_say_script_script,
        [DN_SCRIPT_LANGUAGE] = dn_say_script_language,
        [DN_SCRIPT_BESIDE] = dn_say_script_beside,
        [DN_SCRIPT_SERVER] = dn_say_script_server,
        [DN_SCRIPT_PASSES] = dn_say_script_passes,
        [DN_SCRIPT_STAGING] = dn_say_script_staging,
        [DN_SCRIPT_STOP] = dn_say_script_stop,
        [DN_SCRIPT_PINNED] = dn_say_script_pinned,
        [DN_SCRIPT_CPUS] = dn_say_script_cpus,
        [DN_SCRIPT_COMPUTES] = dn_say_script_computes,
        [DN_SCRIPT_TASKS] = dn_say_script_tasks,
        [DN_SCRIPT_FEWER] = dn_say_script_fewer,
        [DN_SCRIPT_CLOCK] = dn_say_script_clock,
        [DN_SCRIPT_STEP] = dn_say_script_step,
        [DN_SCRIPT_TYPE] = dn_say_script_type,
        [DN_SCRIPT_NEWER] = dn_say_script_newer,
        [DN_SCRIPT_BF16] = dn_say_script_bf16,
        [DN_SCRIPT_FP8] = dn_say_script_fp8,
    };

    out[0] = '\0';
    if (fact->code != DN_SCRIPT_NOTHING)
        snprintf (out,
                  DN_REASON_MAX,
                  dn_say_script_word,
                  fact->line,
                  fact->word,
                  does[fact->code]);
}

/* Keep the field if there is a reason. */
static void keep (char field[DN_REASON_MAX], const struct dn_script_fact *fact)
{
    char reason[DN_REASON_MAX];

    dn_script_say (fact, reason);
    if (reason[0] != '\0')
        dn_request_keep (field, reason);
}

int dn_request_read_steps (struct dn_request *request,
                           const struct dn_deadline *deadline,
                           struct dn_err *err)
{
    const struct dn_script_job job = {.n_tasks = request->n_tasks,
                                      .n_nodes = request->n_nodes,
                                      .n_gpus = request->n_gpus,
                                      .gpu_type = request->gpu_type};
    struct dn_script *found = &request->script;

    if (dn_script_read (request->job->script, &job, deadline, found, err) < 0)
        return -1;
    keep (request->keep_gpu, &found->gpu);
    keep (request->keep_cpus, &found->cpus);
    if (request->mem_follows_cpus)
        keep (request->keep_cpus, &found->memory);
    keep (request->keep_time, &found->time);
    dn_script_say (&found->several, request->several_why);
    dn_script_say (&found->counted, request->counted_why);
    if (found->need.code != DN_SCRIPT_NOTHING)
        request->need = found->need.code == DN_SCRIPT_FP8 ? DN_NEED_FP8 : DN_NEED_BF16;
    dn_script_say (&found->need, request->need_why);
    return 0;
}
