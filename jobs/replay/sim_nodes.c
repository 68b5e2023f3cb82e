/* sim_nodes.c - the nodes of a simulated cluster
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim_nodes.h"
#include "base/messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int dn_sim_space_begin (struct dn_sim_space *space,
                        const struct dn_sim_pool *pool,
                        struct dn_err *err)
{
    size_t n = (size_t) pool->nodes;

    *space = (struct dn_sim_space){.n_nodes = (int32_t) pool->nodes,
                                   .gpus = pool->gpus,
                                   .cpus = pool->cpus,
                                   .reserved = -1};
    space->nodes = calloc (n, sizeof (*space->nodes));
    space->later = calloc (n, sizeof (*space->later));
    if (!space->nodes || !space->later)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    for (size_t i = 0; i < n; i++) {
        space->nodes[i].gpus = pool->gpus;
        space->nodes[i].cpus = pool->cpus;
    }
    return 0;
}

void dn_sim_space_end (struct dn_sim_space *space)
{
    for (int64_t i = 0; i < space->n_runs; i++)
        free (space->runs[i].nodes);
    free (space->runs);
    free (space->nodes);
    free (space->later);
}

bool dn_sim_space_need (const struct dn_sim_space *space,
                        const struct dn_sim_job *job,
                        struct dn_sim_need *need)
{
    int64_t nodes = (job->gpus + space->gpus - 1) / space->gpus;

    if (nodes < job->nodes)
        nodes = job->nodes;
    if (nodes > space->n_nodes)
        return false;
    need->nodes = (int32_t) nodes;
    need->gpus = (job->gpus + nodes - 1) / nodes;
    need->cpus = space->cpus > 0 ? (job->cpus + nodes - 1) / nodes : 0;
    /* A job that was larger than a node gets whole nodes. */
    if (job->gpus > space->gpus)
        need->gpus = space->gpus;
    return need->cpus <= space->cpus;
}

/* --- what runs -------------------------------------------------------------------- */

/* The first run whose limit ends at 'by_s' or later. */
static int64_t first_at (const struct dn_sim_space *space, double by_s)
{
    int64_t low = 0, high = space->n_runs;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (space->runs[middle].by_s < by_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The run of that job, which is one of them. */
static int64_t find_run (const struct dn_sim_space *space, int64_t job, double by_s)
{
    int64_t i = first_at (space, by_s);

    if (i == space->n_runs)
        i = 0;
    while (space->runs[i].job != job)
        i = i + 1 < space->n_runs ? i + 1 : 0;
    return i;
}

static void insert_run (struct dn_sim_space *space, const struct dn_sim_run *run)
{
    int64_t at = first_at (space, run->by_s);

    memmove (&space->runs[at + 1],
             &space->runs[at],
             (size_t) (space->n_runs - at) * sizeof (*run));
    space->runs[at] = *run;
    space->n_runs++;
}

static struct dn_sim_run remove_run (struct dn_sim_space *space,
                                     int64_t job,
                                     double by_s)
{
    int64_t at = find_run (space, job, by_s);
    struct dn_sim_run run = space->runs[at];

    space->n_runs--;
    memmove (&space->runs[at],
             &space->runs[at + 1],
             (size_t) (space->n_runs - at) * sizeof (run));
    return run;
}

static int grow_runs (struct dn_sim_space *space, struct dn_err *err)
{
    int64_t room = space->room ? 2 * space->room : 64;
    struct dn_sim_run *runs;

    if (space->n_runs < space->room)
        return 0;
    runs = realloc (space->runs, (size_t) room * sizeof (*runs));
    if (!runs)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    space->runs = runs;
    space->room = room;
    return 0;
}

void dn_sim_space_finish (struct dn_sim_space *space, int64_t job, double by_s)
{
    struct dn_sim_run run = remove_run (space, job, by_s);

    for (int32_t i = 0; i < run.n_nodes; i++) {
        space->nodes[run.nodes[i]].gpus += run.gpus;
        space->nodes[run.nodes[i]].cpus += run.cpus;
    }
    free (run.nodes);
}

void dn_sim_space_extend (struct dn_sim_space *space,
                          int64_t job,
                          double by_s,
                          double new_s)
{
    struct dn_sim_run run = remove_run (space, job, by_s);

    run.by_s = new_s;
    insert_run (space, &run);
}

/* --- placing ---------------------------------------------------------------------- */

static bool holds (const struct dn_sim_node *node, const struct dn_sim_need *need)
{
    return node->gpus >= need->gpus && node->cpus >= need->cpus;
}

/* May a job of that need, whose limit ends after the reservation or 'before' it, use an
 * idle part of the node?
 */
static bool keeps (const struct dn_sim_node *node,
                   const struct dn_sim_need *need,
                   bool before)
{
    return !node->reserved || before
           || (node->spare_gpus >= need->gpus && node->spare_cpus >= need->cpus);
}

/* The node that suffices with the fewest idle GPUs; of equal ones, one that is not
 * reserved. -1: none.
 */
static int32_t tightest (const struct dn_sim_space *space,
                         const struct dn_sim_need *need,
                         bool before)
{
    int32_t best = -1;

    for (int32_t i = 0; i < space->n_nodes; i++) {
        const struct dn_sim_node *node = &space->nodes[i];

        if (!holds (node, need) || !keeps (node, need, before))
            continue;
        if (best < 0 || node->gpus < space->nodes[best].gpus
            || (node->gpus == space->nodes[best].gpus && !node->reserved
                && space->nodes[best].reserved))
            best = i;
    }
    return best;
}

/* Fill nodes[] for the job; return how many of them there are. */
static int32_t pick (const struct dn_sim_space *space,
                     const struct dn_sim_need *need,
                     bool before,
                     int32_t *nodes)
{
    int32_t n = 0;

    if (need->nodes == 1) {
        nodes[0] = tightest (space, need, before);
        return nodes[0] >= 0 ? 1 : 0;
    }
    for (int32_t i = 0; i < space->n_nodes && n < need->nodes; i++)
        if (holds (&space->nodes[i], need) && keeps (&space->nodes[i], need, before))
            nodes[n++] = i;
    return n;
}

static void take (struct dn_sim_node *node, const struct dn_sim_need *need, bool before)
{
    node->gpus -= need->gpus;
    node->cpus -= need->cpus;
    if (node->reserved && !before) {
        node->spare_gpus -= need->gpus;
        node->spare_cpus -= need->cpus;
    }
}

int dn_sim_space_start (struct dn_sim_space *space,
                        const struct dn_sim_need *need,
                        int64_t job,
                        double by_s,
                        struct dn_err *err)
{
    bool before = space->reserved < 0 || by_s <= space->shadow_s;
    struct dn_sim_run run = {.job = job,
                             .by_s = by_s,
                             .n_nodes = need->nodes,
                             .gpus = need->gpus,
                             .cpus = need->cpus};

    run.nodes = calloc ((size_t) need->nodes, sizeof (*run.nodes));
    if (!run.nodes || grow_runs (space, err) < 0) {
        free (run.nodes);
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    }
    if (pick (space, need, before, run.nodes) < need->nodes) {
        free (run.nodes);
        return 0;
    }
    for (int32_t i = 0; i < need->nodes; i++)
        take (&space->nodes[run.nodes[i]], need, before);
    insert_run (space, &run);
    return 1;
}

/* --- reservations ----------------------------------------------------------------- */

/* Give back the nodes of a run at its end in space->later; return how many nodes begin
 * to hold the need.
 */
static int32_t give_back (struct dn_sim_space *space,
                          const struct dn_sim_run *run,
                          const struct dn_sim_need *need)
{
    int32_t n = 0;

    for (int32_t i = 0; i < run->n_nodes; i++) {
        struct dn_sim_node *node = &space->later[run->nodes[i]];
        bool held = holds (node, need);

        node->gpus += run->gpus;
        node->cpus += run->cpus;
        if (!held && holds (node, need))
            n++;
    }
    return n;
}

double dn_sim_space_when (struct dn_sim_space *space,
                          const struct dn_sim_need *need,
                          double now_s)
{
    double at_s = now_s;
    int32_t n = 0;

    memcpy (
        space->later, space->nodes, (size_t) space->n_nodes * sizeof (*space->later));
    for (int32_t i = 0; i < space->n_nodes; i++)
        n += holds (&space->later[i], need);
    for (int64_t i = 0; i < space->n_runs; i++) {
        const struct dn_sim_run *run = &space->runs[i];

        if (n >= need->nodes && run->by_s > at_s)
            break;
        n += give_back (space, run, need);
        at_s = fmax (at_s, run->by_s);
    }
    return at_s;
}

/* The node with the fewest idle GPUs at the later time that suffices and is not yet
 * reserved; -1: none.
 */
static int32_t tightest_later (const struct dn_sim_space *space,
                               const struct dn_sim_need *need)
{
    int32_t best = -1;

    for (int32_t i = 0; i < space->n_nodes; i++)
        if (holds (&space->later[i], need) && !space->nodes[i].reserved
            && (best < 0 || space->later[i].gpus < space->later[best].gpus))
            best = i;
    return best;
}

static void reserve_node (struct dn_sim_space *space,
                          const struct dn_sim_need *need,
                          int32_t i)
{
    struct dn_sim_node *node = &space->nodes[i];

    node->reserved = true;
    node->spare_gpus = space->later[i].gpus - need->gpus;
    node->spare_cpus = space->later[i].cpus - need->cpus;
}

void dn_sim_space_reserve (struct dn_sim_space *space,
                           const struct dn_sim_need *need,
                           int64_t job,
                           double at_s)
{
    int32_t n = 0;

    space->reserved = job;
    space->shadow_s = at_s;
    if (need->nodes == 1) {
        int32_t best = tightest_later (space, need);

        if (best >= 0)
            reserve_node (space, need, best);
        return;
    }
    for (int32_t i = 0; i < space->n_nodes && n < need->nodes; i++)
        if (holds (&space->later[i], need)) {
            reserve_node (space, need, i);
            n++;
        }
}

void dn_sim_space_release (struct dn_sim_space *space)
{
    if (space->reserved < 0)
        return;
    space->reserved = -1;
    for (int32_t i = 0; i < space->n_nodes; i++)
        space->nodes[i].reserved = false;
}
