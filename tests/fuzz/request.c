/* request.c - fuzz target: the resources that a job requests
 *
 * Attack surface: strings of trackable resources, constraints, the environment and the
 * commands of the script, and counts. A modified client may send any of them. The input
 * is split at its form feeds into texts; the last are numbers.
 *
 * Aims at: model/request
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <ctype.h>

#include "request/script.h"
#include "tests/unit/all_words.h"

enum part {
    PART_JOB,
    PART_NODE,
    PART_SOCKET,
    PART_TASK,
    PART_CPUS_PER_TRES,
    PART_MEM_PER_TRES,
    PART_FEATURES,
    PART_ENV,
    PART_SCRIPT,
    PART_NUMBERS,
    PART_NODES, /* excluded */
    N_PARTS
};

/* The maximum values of Slurm's fields after the adapter has read them: 32 bits, memory
 * 63 bits.
 */
static void set_numbers (const char *text, struct dn_job *job)
{
    int64_t *const counts[] = {&job->cpus_per_task,
                               &job->num_tasks,
                               &job->min_nodes,
                               &job->max_nodes,
                               &job->ntasks_per_node,
                               &job->ntasks_per_tres,
                               &job->sockets_per_node,
                               &job->min_cpus,
                               &job->pn_min_cpus,
                               &job->time_limit_min};
    int64_t *const sizes[] = {&job->mem_per_node_mb,
                              &job->mem_per_cpu_mb,
                              &job->default_mem_per_cpu_mb,
                              &job->default_mem_per_gpu_mb};
    char *end = (char *) text;

    for (size_t i = 0; end && *end && i < DN_N_ELEMENTS (counts); i++)
        *counts[i] = strtoll (end, &end, 10) & UINT32_MAX;
    for (size_t i = 0; end && *end && i < DN_N_ELEMENTS (sizes); i++)
        *sizes[i] = strtoll (end, &end, 10) & INT64_MAX;
}

static void check_list (const char *text)
{
    struct dn_tres_list list;
    struct dn_err err = {0};

    if (!text)
        return;
    if (dn_tres_read (text, &list, &err) < 0) {
        expect_message (&err);
        return;
    }
    expect (list.n_entries <= DN_TRES_ENTRIES_MAX, "too many entries");
    for (int i = 0; i < list.n_entries; i++) {
        const struct dn_tres *tres = &list.entries[i];

        expect (tres->whole.text >= text
                    && tres->whole.text + tres->whole.len <= text + strlen (text),
                "an entry outside of its text");
        expect (tres->count >= 0 && tres->count <= DN_COUNT_MAX, "a count");
    }
}

static void check_features (const char *text)
{
    struct dn_features features;

    if (!dn_features_read (text, &features))
        expect (features.n_names == 0, "names of what was not understood");
    for (int i = 0; i < features.n_names; i++)
        for (size_t j = 0; j < features.names[i].len; j++)
            expect (!strchr ("&|[]*()", features.names[i].text[j]), "a name");
}

static bool is_count (int64_t value)
{
    return value == DN_UNSET || value >= 0;
}

static void check_request (const struct dn_request *request)
{
    expect (is_count (request->n_gpus) && is_count (request->gpus_per_node)
                && is_count (request->n_nodes) && is_count (request->n_tasks)
                && is_count (request->most_nodes) && is_count (request->n_excluded)
                && is_count (request->cpus_per_task) && is_count (request->n_cpus)
                && is_count (request->cpus_each_gpu)
                && is_count (request->mem_per_node_mb),
            "a negative count");
    expect (isfinite (request->cpus_per_gpu) && request->cpus_per_gpu >= 0,
            "CPUs per GPU");
    expect (is_printable (dn_reason_text (&request->keep_gpu).text)
                && is_printable (dn_reason_text (&request->keep_cpus).text)
                && is_printable (dn_reason_text (&request->keep_time).text)
                && is_printable (dn_reason_text (&request->open_why).text),
            "a reason");
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    INPUT_TEXT (text);
    char *parts[N_PARTS];
    struct dn_job job = dn_job_empty ();
    struct dn_request request;
    struct dn_reading reading;
    struct dn_err err = {0};

    cut_parts (text, parts, N_PARTS);
    job.kind = DN_JOB_BATCH;
    job.cpus_per_tres = parts[PART_CPUS_PER_TRES];
    job.mem_per_tres = parts[PART_MEM_PER_TRES];
    job.features = parts[PART_FEATURES];
    job.script = parts[PART_SCRIPT];
    job.env = (const char *const *) &parts[PART_ENV];
    job.n_env = parts[PART_ENV] ? 1 : 0;
    for (int field = DN_GPU_PER_JOB; field < DN_N_GPU_FIELDS; field++) {
        job.tres[field] = parts[PART_JOB + field - DN_GPU_PER_JOB];
        check_list (job.tres[field]);
    }
    job.exc_nodes = parts[PART_NODES];
    set_numbers (parts[PART_NUMBERS], &job);
    check_features (job.features);
    expect (dn_reading_of (all_words (), &job, true, NULL, NULL, &reading, NULL) == 0,
            "read");
    if (dn_request_read (&job, NULL, &request, &err) < 0) {
        expect_message (&err);
    } else {
        dn_request_keep_by_script (&request, &reading.script);
        check_request (&request);
    }
    return 0;
}
