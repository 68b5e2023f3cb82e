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
    return (struct dn_reason){fact->code,
                              DN_REASON_NONE,
                              {dn_arg_count (fact->line), dn_arg_text (fact->word)}};
}

void dn_request_keep_by_script (struct dn_request *request,
                                const struct dn_script *found)
{
    const struct dn_script *own = &request->script; /* reasons borrow its words */
    const struct dn_script_fact *first = own->first;

    request->script = *found;
    dn_reason_keep (&request->keep_gpu, dn_script_reason (&first[DN_KEEPS_GPU]));
    dn_reason_keep (&request->keep_cpus, dn_script_reason (&first[DN_KEEPS_CPUS]));
    if (request->mem_follows_cpus)
        dn_reason_keep (&request->keep_cpus,
                        dn_script_reason (&first[DN_KEEPS_MEMORY]));
    dn_reason_keep (&request->keep_time, dn_script_reason (&first[DN_KEEPS_TIME]));
    request->several_why = dn_script_reason (&first[DN_KEEPS_SEVERAL]);
    request->counted_why = dn_script_reason (&own->counted);
    request->need_why = dn_script_reason (&first[DN_KEEPS_NEED]);
    if (request->need_why.code != DN_REASON_NONE)
        request->need =
            request->need_why.code == DN_REASON_script_fp8 ? DN_NEED_FP8 : DN_NEED_BF16;
}

/* What the reading of a script depends on, beside the text and the tables of words. */
struct reading_input {
    int64_t n_tasks;
    int64_t n_nodes;
    int64_t n_gpus;
    char gpu_type[DN_NAME_MAX];
    bool wanted;
};

/* The key of a reading; one that is not cached where there is no script or cache. */
static struct dn_cache_key key_of (const struct dn_request *request,
                                   const char *script,
                                   bool wanted,
                                   struct reading_input *input)
{
    struct dn_span text = {script, strnlen (script, DN_CACHE_BYTES_MAX)};

    memset (input, 0, sizeof (*input));
    input->n_tasks = request->n_tasks;
    input->n_nodes = request->n_nodes;
    input->n_gpus = request->n_gpus;
    dn_span_copy (
        dn_span_of (request->gpu_type), input->gpu_type, DN_NAME_MAX, "", NULL);
    input->wanted = wanted;
    return dn_cache_key_of ((struct dn_span){(const char *) input, sizeof (*input)},
                            text);
}

/* Read the script of a job of that shape, or find what the reading of an earlier one
 * with the same text was.
 */
static int read_once (const struct dn_words *words,
                      const char *script,
                      const struct dn_request *request,
                      bool wanted,
                      struct dn_cache_access *cache,
                      const struct dn_deadline *deadline,
                      struct dn_reading *reading,
                      struct dn_err *err)
{
    const struct dn_script_job shape = {.n_tasks = request->n_tasks,
                                        .n_nodes = request->n_nodes,
                                        .n_gpus = request->n_gpus,
                                        .gpu_type = request->gpu_type};
    struct reading_input input;
    struct dn_cache_key key;

    if (!cache || !script)
        return dn_script_read (words, script, &shape, wanted, deadline, reading, err);
    key = key_of (request, script, wanted, &input);
    if (cache->find (cache, &key, reading, sizeof (*reading))) {
        reading->marks.script = script;
        return 0;
    }
    if (dn_script_read (words, script, &shape, wanted, deadline, reading, err) < 0)
        return -1;
    cache->put (cache,
                &key,
                reading,
                offsetof (struct dn_reading, marks.list)
                    + (size_t) reading->marks.n * sizeof (reading->marks.list[0]));
    return 0;
}

int dn_reading_of (const struct dn_words *words,
                   const struct dn_job *job,
                   bool wanted,
                   struct dn_cache_access *cache,
                   const struct dn_deadline *deadline,
                   struct dn_reading *reading,
                   struct dn_err *err)
{
    struct dn_job sized = *job;
    struct dn_request request;

    /* What is wrong with the request, such as its resources or a longer environment,
     * is an error of the stage that reads all of it.
     */
    if (sized.n_env > DN_ENV_MAX)
        sized.n_env = 0;
    (void) dn_request_read_shape (&sized, &request, NULL);
    return read_once (
        words, job->script, &request, wanted, cache, deadline, reading, err);
}
