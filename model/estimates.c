/* estimates.c - the network of a job, the GPU types and the estimates on them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "making.h"

#include "predict/tuning.h"

/* The user whose history the estimates depend on. All users without one share their
 * estimates, under a number that no run has.
 */
static int64_t whose (const struct dn_making *m)
{
    const struct dn_tuning *tuning = m->site->bundle ? m->site->bundle->tuning : NULL;
    const int64_t no_user = -2;

    return tuning && dn_history_knows (tuning->history, m->job->user_id)
               ? m->job->user_id
               : no_user;
}

/* Have the same network and run been estimated before? */
static bool find_cached (struct dn_making *m)
{
    const struct dn_advice *advice = m->advice;

    if (!m->cache)
        return false;
    m->key = dn_run_key (&advice->spec,
                         m->network        ? m->network
                         : m->layers.n > 0 ? m->job->sidecar
                                           : NULL,
                         m->devices,
                         advice->candidates.n_candidates,
                         advice->request.cpus_per_gpu,
                         whose (m),
                         &m->run);
    return m->cache->find (
        m->cache, &m->key, m->advice->estimates, sizeof (m->advice->estimates));
}

void dn_making_candidates (struct dn_making *m)
{
    struct dn_candidates *candidates = &m->advice->candidates;

    dn_hardware_candidates (
        &m->site->gpu_types, &m->advice->request, m->view.cluster, candidates);
    for (int i = 0; i < candidates->n_candidates; i++)
        m->devices[i] = candidates->list[i].gpu->device;
}

static int read_known_network (struct dn_making *m, struct dn_err *err)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};

    if (dn_sidecar_read_carried (dn_span_of (m->network), m->deadline, &sidecar, err)
        < 0)
        return -1;
    m->layers = sidecar.layers;
    return 0;
}

int dn_making_graph (struct dn_making *m,
                     const struct dn_spec *spec,
                     struct dn_graph *graph,
                     struct dn_err *err)
{
    if (m->network && m->layers.n == 0 && read_known_network (m, err) < 0)
        return -1;
    return dn_sidecar_graph_by (
        &m->site->networks, &m->layers, spec, m->deadline, graph, err);
}

int dn_making_network (struct dn_making *m, struct dn_err *err)
{
    struct dn_advice *advice = m->advice;

    if (dn_spec_resolve (&advice->spec, &m->site->datasets, advice->request.n_gpus, err)
        < 0)
        return -1;
    dn_making_candidates (m);
    advice->reused = find_cached (m);
    return advice->reused || dn_making_graph (m, &advice->spec, &m->graph, err) == 0
               ? DN_STAGE_NEXT
               : -1;
}

int dn_stage_network (struct dn_making *m)
{
    return m->advice->by_run ? DN_STAGE_NEXT : dn_making_network (m, m->err);
}

struct dn_predictor dn_making_predictor (const struct dn_making *m)
{
    struct dn_predictor predictor = dn_site_predictor (m->site);

    predictor.deadline = m->deadline;
    predictor.user = whose (m);
    return predictor;
}

int dn_stage_estimate (struct dn_making *m)
{
    struct dn_predictor predictor;
    struct dn_advice *advice = m->advice;
    const struct dn_case c = {.spec = &advice->spec,
                              .graph = &m->graph,
                              .cpus_per_gpu = advice->request.cpus_per_gpu};

    if (advice->reused)
        return DN_STAGE_NEXT;
    predictor = dn_making_predictor (m);
    if (dn_predict (&predictor,
                    &c,
                    m->devices,
                    advice->candidates.n_candidates,
                    advice->estimates,
                    m->err)
        < 0)
        return -1;
    if (m->cache)
        m->cache->put (m->cache,
                       &m->key,
                       advice->estimates,
                       m->run.n_devices * sizeof (*advice->estimates));
    return DN_STAGE_NEXT;
}
