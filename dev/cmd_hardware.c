/* cmd_hardware.c - the catalogue of devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include "output/rows.h"
#include "subject.h"

/* Where the values of the shown devices go, with the file that states each. */
struct sources {
    const struct dn_device *const *devices;
    int n_devices;
    struct json_object **lists; /* of each device */
    bool as_text;               /* they are one list, of a table */
};

static void add_source (void *to,
                        const struct dn_device *device,
                        const char *file,
                        const struct dn_pair *pair)
{
    const struct sources *sources = to;
    char value[DN_NAME_MAX];
    char key[DN_NAME_MAX];

    dn_span_copy (pair->key, key, sizeof (key), "key", NULL);
    dn_span_copy (pair->value, value, sizeof (value), "value", NULL);
    for (int i = 0; i < sources->n_devices; i++) {
        struct json_object *source;

        if (!dn_span_is (dn_span_of (device->name), sources->devices[i]->name))
            continue;
        source = dn_json_append_object (sources->lists[i]);
        if (sources->as_text)
            dn_json_add_text (source, "device", sources->devices[i]->name);
        dn_json_add_text (source, "key", key);
        dn_json_add_text (source, "value", value);
        dn_json_add_text (source, "file", file);
    }
}

static int read_sources (const struct dn_site *site,
                         struct sources *sources,
                         struct dn_err *err)
{
    dn_cleanup (dn_catalogue_free) struct dn_catalogue catalogue = {.show = add_source,
                                                                    .to = sources};

    return dn_load_catalogue (site->hardware_dir, &catalogue, err);
}

static struct json_object *add_device (struct json_object *array,
                                       const struct dn_device *device)
{
    struct json_object *json = dn_json_append_object (array);

    dn_json_add_text (json, "name", device->name);
    dn_json_add_text (json, "vendor", device->vendor);
    dn_json_add_text (json, "arch", device->arch);
    dn_json_add_real (json, "fp32_flops", device->fp32);
    dn_json_add_real (json, "tf32_flops", device->tf32);
    dn_json_add_real (json, "fp16_flops", device->fp16);
    dn_json_add_real (json, "bf16_flops", device->bf16);
    dn_json_add_real (json, "fp8_flops", device->fp8);
    dn_json_add_real (json, "memory_bytes", device->memory);
    dn_json_add_real (json, "bandwidth_bytes_per_s", device->bandwidth);
    dn_json_add_real (json, "l2_bytes", device->l2);
    dn_json_add_count (json, "sms", device->sms);
    dn_json_add_real (json, "link_bytes_per_s", device->link_bw);
    dn_json_add_real (json, "pcie_bytes_per_s", device->pcie_bw);
    dn_json_add_real (json, "tdp_w", device->tdp_w);
    dn_json_add_real (json, "idle_w", device->idle_w);
    dn_json_add_real (json, "cost_per_hour", device->cost);
    return json;
}

/* The devices that were named, or all but slices. Return how many, or -1. */
static int select_devices (const struct dn_site *site,
                           const struct dn_options *given,
                           const struct dn_device *devices[DN_DEVICES_MAX],
                           struct dn_err *err)
{
    const struct dn_catalogue *all = &site->catalogue;
    int n = 0;

    for (int i = 0; i < given->n_args; i++) {
        devices[n] = dn_subject_device (site, given->args[i], err);
        if (!devices[n++])
            return -1;
    }
    for (int i = 0; given->n_args == 0 && i < all->n_devices; i++)
        if (!all->devices[i].slice)
            devices[n++] = &all->devices[i];
    return n;
}

struct call {
    bool sources;
};

static const struct dn_option options[] = {
    DN_OPT_FLAG ("sources",
                 "show every value, and the file that contains it",
                 sources,
                 .letter = 's'),
    DN_OPT_END,
};

static int run (struct dn_options *given)
{
    struct call call = {.sources = false};
    struct dn_err err = {0};
    const struct dn_device *devices[DN_DEVICES_MAX];
    dn_cleanup (dn_json_free) struct json_object *json = NULL;
    struct json_object *lists[DN_DEVICES_MAX];
    struct sources sources = {.devices = devices, .lists = lists};
    struct json_object *array;
    struct json_object *all;

    if (!dn_options_all (given, &call, 0, DN_DEVICES_MAX)
        || !dn_options_site (given, NULL))
        return given->exit_code;
    sources.as_text = !given->json;
    sources.n_devices = select_devices (given->site, given, devices, &err);
    if (sources.n_devices < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    json = json_object_new_object ();
    array = dn_json_add_array (json, "devices");
    all = given->json ? NULL : dn_json_add_array (json, "sources");
    for (int i = 0; i < sources.n_devices; i++) {
        struct json_object *row = add_device (array, devices[i]);

        lists[i] = all ? all : call.sources ? dn_json_add_array (row, "sources") : NULL;
    }
    if (call.sources && read_sources (given->site, &sources, &err) < 0)
        return dn_fail (DN_EXIT_CONF, &err);
    if (!given->json && call.sources)
        return dn_rows_print (
            json_object_get (all), "DEVICE=device|KEY=key|VALUE=value|FILE=file", NULL);
    if (!given->json)
        return dn_rows_print (
            json_object_get (array),
            "DEVICE=name|VENDOR=vendor|ARCH=arch|MEMORY>=memory_bytes memory|"
            "GB/s>=bandwidth_bytes_per_s G.0|FP32 TFLOP/s>=fp32_flops T.1?|"
            "TF32>=tf32_flops T.1?|FP16>=fp16_flops T.1?|BF16>=bf16_flops T.1?|"
            "W>=tdp_w .0|COST/h>=cost_per_hour .2",
            "VENDOR|ARCH");
    dn_json_print (json);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_hardware = {
    .name = "hardware",
    .summary = "List the hardware catalogue",
    .arguments = "[NAME]...",
    .options = options,
    .run = run,
};
