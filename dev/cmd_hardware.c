/* cmd_hardware.c - the catalogue of devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include "output/json.h"
#include "output/show.h"
#include "subject.h"
#include "output/grid.h"

/* Where the values of the shown devices go, with the file that states each. */
struct sources {
    const struct dn_device *const *devices;
    int n_devices;
    struct dn_grid *grid;       /* NULL: none */
    struct json_object **lists; /* of each device; NULL: none */
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
        if (!dn_span_is (dn_span_of (device->name), sources->devices[i]->name))
            continue;
        if (sources->lists) {
            struct json_object *source = dn_json_append_object (sources->lists[i]);

            dn_json_add_text (source, "key", key);
            dn_json_add_text (source, "value", value);
            dn_json_add_text (source, "file", file);
            continue;
        }
        dn_grid_add (sources->grid, "%s", sources->devices[i]->name);
        dn_grid_add (sources->grid, "%s", key);
        dn_grid_add (sources->grid, "%s", value);
        dn_grid_add (sources->grid, "%s", file);
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

static struct json_object *add_json (struct json_object *array,
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

static int print_sources (const struct dn_site *site,
                          const struct dn_device *const devices[],
                          int n_devices)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("DEVICE|KEY|VALUE|FILE");
    struct sources sources = {devices, n_devices, &grid, NULL};
    struct dn_err err = {0};

    if (read_sources (site, &sources, &err) < 0)
        return dn_fail (DN_EXIT_CONF, &err);
    return dn_grid_print (&grid);
}

/* A rate of 0 means that the device has no such unit. */
static void add_rate (struct dn_grid *grid, double rate)
{
    dn_grid_add (grid, "%s", dn_show_real (rate > 0 ? rate / 1e12 : -1, 1).text);
}

static void add_row (struct dn_grid *grid, const struct dn_device *device)
{
    dn_grid_add (grid, "%s", device->name);
    dn_grid_add (grid, "%s", device->vendor);
    dn_grid_add (grid, "%s", device->arch);
    dn_grid_add (grid, "%s", dn_show_bytes (device->memory).text);
    dn_grid_add (grid, "%s", dn_show_real (device->bandwidth / 1e9, 0).text);
    add_rate (grid, device->fp32);
    add_rate (grid, device->tf32);
    add_rate (grid, device->fp16);
    add_rate (grid, device->bf16);
    dn_grid_add (grid, "%s", dn_show_real (device->tdp_w, 0).text);
    dn_grid_add (grid, "%s", dn_show_real (device->cost, 2).text);
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
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "DEVICE|VENDOR|ARCH|MEMORY>|GB/s>|FP32 TFLOP/s>|TF32>|FP16>|BF16>|W>|COST/h>");
    struct json_object *lists[DN_DEVICES_MAX];
    struct sources sources = {devices, 0, NULL, lists};
    struct json_object *array;
    int n_devices;

    if (!dn_options_all (given, &call, 0, DN_DEVICES_MAX)
        || !dn_options_site (given, NULL))
        return given->exit_code;
    grid.spare = "VENDOR|ARCH";
    n_devices = select_devices (given->site, given, devices, &err);
    if (n_devices < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (call.sources && !given->json)
        return print_sources (given->site, devices, n_devices);
    sources.n_devices = n_devices;
    json = json_object_new_object ();
    array = dn_json_add_array (json, "devices");
    for (int i = 0; i < n_devices; i++) {
        struct json_object *row = add_json (array, devices[i]);

        if (call.sources)
            lists[i] = dn_json_add_array (row, "sources");
        add_row (&grid, devices[i]);
    }
    if (call.sources && read_sources (given->site, &sources, &err) < 0)
        return dn_fail (DN_EXIT_CONF, &err);
    if (!given->json)
        return dn_grid_print (&grid);
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
