/* steps.c - what the steps of the job keep
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/steps.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "request/gpus.h"
#include "request/script.h"

/* Keep the field if there is a reason. */
static void keep (char field[DN_REASON_MAX], const char *reason)
{
    if (reason[0] != '\0')
        dn_request_keep (field, reason);
}

/* A step that names the type fails without it. */
static void keep_named_type (struct dn_request *request)
{
    char reason[DN_REASON_MAX];
    int line = 0;

    if (request->gpu_type[0] != '\0')
        line = dn_script_names (request->job->script, request->gpu_type);
    if (line <= 0)
        return;
    snprintf (reason,
              sizeof (reason),
              dn_say_script_type,
              line,
              dn_quote (request->gpu_type, strlen (request->gpu_type)).text);
    dn_request_keep (request->keep_gpu, reason);
}

int dn_request_read_steps (struct dn_request *request,
                           const struct dn_deadline *deadline,
                           struct dn_err *err)
{
    const struct dn_script_job job = {.n_tasks = request->n_tasks,
                                      .n_nodes = request->n_nodes,
                                      .n_gpus = request->n_gpus};
    struct dn_script found;

    if (dn_script_read (request->job->script, &job, deadline, &found, err) < 0)
        return -1;
    keep_named_type (request);
    keep (request->keep_gpu, found.gpu);
    keep (request->keep_cpus, found.cpus);
    keep (request->keep_gpu, found.clock);
    keep (request->keep_time, found.clock);
    /* The metadata describe a training on all GPUs. */
    keep (request->keep_gpu, found.fewer);
    keep (request->keep_time, found.fewer);
    keep (request->keep_gpu, found.unclear);
    keep (request->keep_cpus, found.unclear);
    keep (request->keep_time, found.unclear);
    memcpy (request->several_why, found.several, DN_REASON_MAX);
    request->need = found.need;
    memcpy (request->need_why, found.need_why, DN_REASON_MAX);
    return 0;
}
