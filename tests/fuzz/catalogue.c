/* catalogue.c - fuzz target: files of the hardware catalogue
 *
 * The input is split at its form feed into a file of the project and one of the site. A
 * catalogue that is read can be shown, and no device has a predicted time that is not a
 * number.
 *
 * Aims at: model/hardware/catalogue.c model/hardware/gpu_names.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "hardware/gpu_names.h"
#include "predict/whitebox.h"
#include "tests/unit/networks.h"

static struct dn_graph graph;
static struct dn_spec spec;

static void make_run (void)
{
    static const struct dn_datasets no_datasets;
    struct dn_err err = {0};

    if (graph.n_ops > 0)
        return;
    spec = dn_spec_empty ();
    expect_done (
        dn_spec_read (
            dn_span_of ("model=alexnet,batch=8,precision=fp16,steps=9"), &spec, &err)
                == 0
            && dn_spec_resolve (&spec, &no_datasets, 1, &err) == 0
            && dn_graph_build (shipped_networks (), &spec, &graph, &err) == 0,
        "no run",
        &err);
}

static void check_device (const struct dn_catalogue *catalogue,
                          const struct dn_device *device)
{
    struct dn_estimate estimate;

    dn_catalogue_find_product (catalogue, device->name, device->memory, NULL);
    dn_whitebox (&(struct dn_case){&dn_constants_default, &spec, &graph, device, 0},
                 &estimate);
    expect (isfinite (estimate.step_s.p50) && estimate.step_s.p50 > 0
                && isfinite (estimate.step_s.sigma),
            "no step time");
    expect (isfinite (estimate.gpu_mem.p50) && isfinite (estimate.power_w)
                && isfinite (estimate.energy_j),
            "no memory, power or energy");
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_catalogue catalogue = {.devices = NULL};
    INPUT_TEXT (text);
    char *parts[2];
    struct dn_err err = {0};

    make_run ();
    cut_parts (text, parts, 2);
    if (dn_catalogue_add (&catalogue, dn_span_of (parts[0]), "first", false, &err)
        < 0) {
        expect_message (&err);
        expect (catalogue.n_devices == 0, "a device in spite of an error");
    }
    if (parts[1]
        && dn_catalogue_add (&catalogue, dn_span_of (parts[1]), "own", true, &err) < 0)
        expect_message (&err);
    for (int i = 0; i < catalogue.n_devices; i++)
        check_device (&catalogue, &catalogue.devices[i]);
    dn_catalogue_free (&catalogue);
    return 0;
}
