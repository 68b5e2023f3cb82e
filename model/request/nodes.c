/* nodes.c - nodes and tasks of a submission, and the names of nodes
 *
 * Without -N, Slurm starts a job on as few nodes as it needs, but on more if that
 * starts it earlier. It has no choice where one node must have all tasks: with
 * --ntasks-per-node every node must have the CPUs of that many tasks, and then one node
 * suffices. --gpus leaves the choice open in any case: GPUs that are idle on two nodes
 * are taken from both, and each node gets as many tasks as one (doc/design.md, The
 * form of a request).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/nodes.h"

#include <stdio.h>

#include "base/messages.h"
#include <string.h>

int64_t dn_request_product (int64_t a, int64_t b)
{
    return a < 0 || b < 0 || (b > 0 && a > DN_COUNT_MAX / b) ? DN_UNSET : a * b;
}

/* Tasks of the job on that many nodes. */
static int64_t tasks_on (const struct dn_job *job, int64_t n_nodes)
{
    if (job->num_tasks > 0)
        return job->num_tasks;
    if (job->ntasks_per_node > 0)
        return dn_request_product (job->ntasks_per_node, n_nodes);
    return n_nodes;
}

/* Must each of the first 'n_nodes' nodes have so many CPUs that no other is needed? A
 * client that computes no counts (slurmrestd) may request CPUs of the whole job.
 */
static bool suffice (const struct dn_request *request, int64_t n_nodes, int64_t n_tasks)
{
    const struct dn_job *job = request->job;
    int64_t per_task = request->cpus_per_task > 0 ? request->cpus_per_task : 1;
    int64_t per_node = job->pn_min_cpus > 0 ? job->pn_min_cpus : 1;

    if (n_tasks > n_nodes
        && (job->ntasks_per_node <= 0
            || n_tasks > dn_request_product (job->ntasks_per_node, n_nodes)))
        return false;
    return (job->cpus_per_tres && job->cpus_per_tres[0] != '\0')
           || job->min_cpus <= dn_request_product (per_task, n_tasks)
           || job->min_cpus <= dn_request_product (per_node, n_nodes);
}

/* Why Slurm may choose the number of nodes; no reason if 'least' is their number. */
static struct dn_reason why_open (const struct dn_request *request,
                                  int64_t least,
                                  int64_t n_tasks,
                                  int64_t gpus_per_job)
{
    const struct dn_job *job = request->job;

    if (job->max_nodes == least)
        return DN_NO_REASON;
    if (job->max_nodes != DN_UNSET)
        return DN_REASON (req_nodes_range);
    if (gpus_per_job > 1)
        return DN_REASON (req_gpus_spread);
    if (!suffice (request, least, n_tasks))
        return DN_REASON (req_tasks_spread);
    return DN_NO_REASON;
}

void dn_request_read_nodes (struct dn_request *request, int64_t gpus_per_job)
{
    const struct dn_job *job = request->job;
    int64_t least = job->min_nodes > 0 ? job->min_nodes : 1;
    int64_t n_tasks = tasks_on (job, least);
    struct dn_reason why = why_open (request, least, n_tasks, gpus_per_job);

    if (why.code == DN_REASON_NONE) {
        request->n_nodes = least;
        request->n_tasks = n_tasks;
        return;
    }
    request->open_why = why;
    /* With --ntasks-per-node, or on a range of nodes, more nodes are more tasks. A job
     * of one task gets one on each node; its CPUs are counted once. */
    if (job->max_nodes != DN_UNSET || job->ntasks_per_node > 0)
        request->n_tasks =
            job->ntasks_per_node <= 0 && job->num_tasks > 0 ? job->num_tasks : DN_UNSET;
    else
        request->n_tasks = n_tasks;
}

static void lower (int64_t *most, int64_t bound)
{
    if (bound > 0 && (*most == DN_UNSET || bound < *most))
        *most = bound;
}

void dn_request_bound_nodes (struct dn_request *request)
{
    const struct dn_job *job = request->job;

    request->most_nodes = request->n_nodes;
    if (request->n_nodes != DN_UNSET)
        return;
    lower (&request->most_nodes, job->max_nodes);
    lower (&request->most_nodes, request->n_gpus);
    if (request->n_tasks > 1)
        lower (&request->most_nodes, request->n_tasks);
}

static bool is_in_name (char c)
{
    return dn_is_digit (c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || c == '-' || c == '_' || c == '.';
}

static int read_number (struct dn_span text, int64_t *number)
{
    for (size_t i = 0; i < text.len; i++)
        if (!dn_is_digit (text.text[i]))
            return -1;
    return dn_int_read (text, "node", 0, DN_COUNT_MAX, number, NULL);
}

/* Numbers of "1-3,07", the part within brackets; DN_UNSET for another form. */
static int64_t count_numbers (struct dn_span ranges)
{
    int64_t n = 0;

    while (ranges.text) {
        struct dn_span last = dn_span_cut (&ranges, ",");
        struct dn_span first = dn_span_cut (&last, "-");
        int64_t low;
        int64_t high;

        if (read_number (first, &low) < 0
            || read_number (last.text ? last : first, &high) < 0 || high < low)
            return DN_UNSET;
        n += high - low + 1;
    }
    return n;
}

/* Cut one name off the list: "a1" or "a[1-3]b"; DN_UNSET for another form. */
static int64_t count_name (struct dn_span *rest)
{
    const char *at = rest->text;
    const char *end = at + rest->len;
    const char *name = at;
    int64_t n = 1;

    while (at < end && is_in_name (*at))
        at++;
    if (at < end && *at == '[') {
        const char *close = memchr (at, ']', (size_t) (end - at));

        n = close ? count_numbers ((struct dn_span){at + 1, (size_t) (close - at) - 1})
                  : DN_UNSET;
        at = close ? close + 1 : end;
        while (at < end && is_in_name (*at))
            at++;
    } else if (at == name) {
        n = 0;
    }
    if (at < end && *at != ',')
        return DN_UNSET;
    *rest = at < end ? (struct dn_span){at + 1, (size_t) (end - at) - 1}
                     : (struct dn_span){NULL, 0};
    return n;
}

int64_t dn_request_count_nodes (const char *text)
{
    struct dn_span rest = {text, strnlen (text, DN_NODES_TEXT_MAX + 1)};
    int64_t n = 0;

    if (rest.len > DN_NODES_TEXT_MAX)
        return DN_UNSET;
    while (rest.text) {
        int64_t more = count_name (&rest);

        if (more == DN_UNSET)
            return DN_UNSET;
        n += more;
    }
    return n;
}
