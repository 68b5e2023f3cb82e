/* white.c - descriptions on a device, as the white box predicts them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "networks.h"
#include "white.h"

int white_try (const char *text, int device, struct white *white, struct dn_err *err)
{
    const struct dn_layers none = {.n = 0};

    *white = (struct white){.site = scene_plain (), .spec = dn_spec_empty ()};
    white->device = &white->site->catalogue.devices[device];
    if (dn_spec_read (dn_span_of (text), &white->spec, err) < 0
        || dn_spec_resolve (&white->spec, &white->site->datasets, DN_UNSET, err) < 0
        || dn_sidecar_graph (
               shipped_networks (), &none, &white->spec, &white->graph, err)
               < 0)
        return -1;
    unit_keep (white->graph.ops, free);
    return 0;
}

struct white white_of (const char *text, int device)
{
    struct white white;

    if (white_try (text, device, &white, &unit_err) < 0)
        fail_msg ("%s: %s", text, unit_err.text);
    return white;
}

struct white white_run_on (const char *text, const struct dn_device *device)
{
    struct white white = white_of (text, A100);

    white.device = device;
    dn_whitebox (white_case (&white, 0), &white.estimate);
    return white;
}

struct white white_run (const char *text, int device)
{
    return white_run_on (text, &scene_plain ()->catalogue.devices[device]);
}

struct dn_sidecar white_sidecar (const char *text)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};

    assert_done (dn_sidecar_read (dn_span_of (text), &sidecar, &unit_err));
    unit_keep (sidecar.layers.list, free);
    return sidecar;
}

struct dn_graph white_graph (struct dn_sidecar *sidecar)
{
    struct dn_graph graph;

    assert_done (dn_sidecar_graph (
        shipped_networks (), &sidecar->layers, &sidecar->spec, &graph, &unit_err));
    unit_keep (graph.ops, free);
    return graph;
}

struct white white_described (const char *text, const char *keys)
{
    struct dn_sidecar sidecar = white_sidecar (text);
    struct white white = {.site = scene_plain ()};

    if (dn_spec_read (dn_span_of (keys), &sidecar.spec, &unit_err) < 0
        || dn_spec_resolve (&sidecar.spec, &white.site->datasets, DN_UNSET, &unit_err)
               < 0)
        fail_msg ("%s: %s", keys, unit_err.text);
    white.graph = white_graph (&sidecar);
    white.spec = sidecar.spec;
    white.device = &white.site->catalogue.devices[A100];
    dn_whitebox (white_case (&white, 0), &white.estimate);
    return white;
}

const struct dn_case *white_case (struct white *white, double cpus_per_gpu)
{
    white->c = (struct dn_case){&white->site->constants,
                                &white->spec,
                                &white->graph,
                                white->device,
                                cpus_per_gpu};
    return &white->c;
}

struct dn_estimate white_estimate_on (const char *text,
                                      const struct dn_device *device,
                                      double cpus_per_gpu)
{
    struct white white = white_of (text, A100);
    struct dn_estimate estimate;

    white.device = device;
    dn_whitebox (white_case (&white, cpus_per_gpu), &estimate);
    estimate.device = NULL;
    unit_release (white.graph.ops);
    return estimate;
}

struct dn_estimate white_estimate (const char *text, int device, double cpus_per_gpu)
{
    return white_estimate_on (
        text, &scene_plain ()->catalogue.devices[device], cpus_per_gpu);
}
