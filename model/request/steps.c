/* steps.c - the script of a job, and what it keeps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/steps.h"

#include <string.h>

#include "request/script.h"

struct dn_reason dn_script_reason (const struct dn_script_fact *fact)
{
    if (fact->code == DN_REASON_NONE)
        return DN_NO_REASON;
    if (fact->line == 0)
        return DN_REASON (image_kernels, dn_arg_text (fact->word));
    return (struct dn_reason){fact->code,
                              DN_REASON_NONE,
                              {dn_arg_count (fact->line), dn_arg_text (fact->word)}};
}

static void keep_by (struct dn_reason *first, const struct dn_script_fact *fact)
{
    const struct dn_reason reason = dn_script_reason (fact);

    dn_reason_keep (first, &reason);
}

void dn_request_keep_by_script (struct dn_request *request,
                                const struct dn_script *found)
{
    const struct dn_script *own = &request->script; /* reasons borrow its words */
    const struct dn_script_fact *first = own->first;

    request->script = *found;
    keep_by (&request->keep_gpu, &first[DN_KEEPS_GPU]);
    keep_by (&request->keep_cpus, &first[DN_KEEPS_CPUS]);
    if (request->mem_follows_cpus)
        keep_by (&request->keep_cpus, &first[DN_KEEPS_MEMORY]);
    keep_by (&request->keep_time, &first[DN_KEEPS_TIME]);
    request->several_why = dn_script_reason (&first[DN_KEEPS_SEVERAL]);
    request->counted_why = dn_script_reason (&own->counted);
    request->need_why = dn_script_reason (&first[DN_KEEPS_NEED]);
    if (request->need_why.code != DN_REASON_NONE)
        request->need =
            request->need_why.code == DN_REASON_script_fp8 ? DN_NEED_FP8 : DN_NEED_BF16;
}

int dn_reading_of (const struct dn_words *words,
                   const struct dn_job *job,
                   bool wanted,
                   struct dn_cache_access *cache,
                   const struct dn_deadline *deadline,
                   struct dn_reading *reading,
                   struct dn_err *err)
{
    const char *script = job->script;
    struct dn_script_job shape;
    struct dn_request request;
    struct dn_cache_key key;

    /* What is wrong with the request is an error of the stage that reads all of it. */
    (void) dn_request_read_shape (job, &request, NULL);
    memset (&shape, 0, sizeof (shape)); /* it is the input of the key, with its gaps */
    shape.n_tasks = request.n_tasks;
    shape.n_nodes = request.n_nodes;
    shape.n_gpus = request.n_gpus;
    memcpy (shape.gpu_type, request.gpu_type, sizeof (shape.gpu_type));
    shape.wanted = wanted;
    if (job->image)
        memcpy (
            shape.image, job->image, strnlen (job->image, sizeof (shape.image) - 1));
    if (!cache || !script)
        return dn_script_read (words, script, &shape, deadline, reading, err);
    key = dn_cache_key_of (
        (struct dn_span){(const char *) &shape, sizeof (shape)},
        (struct dn_span){script, strnlen (script, DN_CACHE_BYTES_MAX)});
    if (cache->find (cache, &key, reading, sizeof (*reading))) {
        reading->marks.script = script;
        return 0;
    }
    if (dn_script_read (words, script, &shape, deadline, reading, err) < 0)
        return -1;
    cache->put (cache,
                &key,
                reading,
                offsetof (struct dn_reading, marks.list)
                    + (size_t) reading->marks.n * sizeof (reading->marks.list[0]));
    return 0;
}
