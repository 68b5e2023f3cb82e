/* white.c - descriptions on a device, as the white box predicts them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "networks.h"
#include "white.h"

int white_try (const char *text, int device, struct white *white, struct dn_err *err)
{
    *white = (struct white){.site = scene_site (""), .spec = dn_spec_empty ()};
    white->device = &white->site->catalogue.devices[device];
    if (dn_spec_read (dn_span_of (text), &white->spec, err) == 0
        && dn_spec_resolve (&white->spec, &white->site->datasets, DN_UNSET, err) == 0
        && dn_graph_build (shipped_networks (), &white->spec, &white->graph, err) == 0)
        return 0;
    white_free (white);
    return -1;
}

struct white white_of (const char *text, int device)
{
    struct white white;
    struct dn_err err = {0};

    if (white_try (text, device, &white, &err) < 0)
        fail_msg ("%s: %s", text, err.text);
    return white;
}

void white_free (struct white *white)
{
    dn_graph_free (&white->graph);
    scene_free (white->site);
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
    white_free (&white);
    return estimate;
}

struct dn_estimate white_estimate (const char *text, int device, double cpus_per_gpu)
{
    struct dn_site *site = scene_site ("");
    struct dn_estimate estimate =
        white_estimate_on (text, &site->catalogue.devices[device], cpus_per_gpu);

    scene_free (site);
    return estimate;
}
