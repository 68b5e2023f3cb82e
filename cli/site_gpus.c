/* site_gpus.c - the GPUs that a command looks at
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site_gpus.h"

#include <stdio.h>
#include <string.h>

#include "hardware/gpu_names.h"
#include "output/terminal.h"

struct dn_gpus_now dn_site_gpus_now (const struct dn_cluster *cluster,
                                     const struct dn_gpu_type *type)
{
    struct dn_gpus_now now = DN_GPUS_NOW_UNKNOWN;
    const struct dn_wait *wait = cluster ? dn_cluster_wait (cluster, type->type) : NULL;

    if (wait)
        now.wait_s = wait->wait_s[DN_SHAPE_GPU];
    for (int64_t i = 0; cluster && i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];

        if (!dn_gpu_is_on (type, group))
            continue;
        if (now.n_up == DN_UNSET)
            now.n_up = now.n_idle = 0;
        now.n_up += group->n_up * group->gpus;
        for (int gpus = 1; gpus <= DN_NODE_GPUS_MAX; gpus++)
            now.n_idle += gpus * group->n_idle[gpus];
    }
    return now;
}

static struct dn_site_gpu *add (struct dn_site_gpus *gpus,
                                const char *name,
                                const struct dn_device *device,
                                double cost)
{
    struct dn_site_gpu *gpu = &gpus->list[gpus->n];

    if (gpus->n == DN_DEVICES_MAX)
        return NULL;
    gpus->devices[gpus->n++] = device;
    *gpu = (struct dn_site_gpu){
        .device = device, .cost = cost, .now = DN_GPUS_NOW_UNKNOWN};
    snprintf (gpu->name, sizeof (gpu->name), "%s", name);
    return gpu;
}

static void add_type (struct dn_site_gpus *gpus, const struct dn_gpu_type *type)
{
    struct dn_site_gpu *gpu = add (gpus, type->type, type->device, type->cost);

    if (!gpu)
        return;
    gpu->is_type = true;
    gpu->now = dn_site_gpus_now (gpus->cluster, type);
}

/* A device, at the price of the Gpu line that maps it. */
static void add_device (struct dn_site_gpus *gpus, const struct dn_device *device)
{
    const struct dn_gpu_type *type = dn_subject_type (gpus->site, device);
    struct dn_site_gpu *gpu =
        add (gpus, device->name, device, type ? type->cost : device->cost);

    if (gpu && type)
        gpu->now = dn_site_gpus_now (gpus->cluster, type);
}

int dn_gpus_wanted_take (struct dn_options *given, void *to)
{
    struct dn_gpus_wanted *wanted = to;
    struct dn_span rest = dn_span_of (given->argument);
    struct dn_err err;

    while (rest.text) {
        struct dn_span name = dn_span_trim (dn_span_cut (&rest, ","));

        if (wanted->n_names == DN_DEVICES_MAX)
            return dn_options_misuse (
                given, "--gpu: more than %d of them", DN_DEVICES_MAX);
        if (dn_span_copy (
                name, wanted->names[wanted->n_names], DN_NAME_MAX, "--gpu", &err)
            < 0)
            return dn_options_misuse (given, "%s", err.text);
        wanted->n_names++;
    }
    return DN_EXIT_DONE;
}

/* GPUs of a node that many people share: it has no PCIe boards where there are others.
 */
#define SHARED 8

int dn_site_gpus_add_name (struct dn_site_gpus *gpus,
                           const char *name,
                           struct dn_err *err)
{
    const struct dn_site *site = gpus->site;
    const struct dn_gpu_type *type = dn_gpu_types_resemble (&site->gpu_types, name);
    const struct dn_device *device = dn_subject_device (site, name, err);
    struct dn_gpu_guess guess;

    /* One of the devices that a name of a chip means, and the user is told so. */
    if (!device && dn_gpus_meant (&site->catalogue, name).n > 1) {
        guess = dn_gpu_guess (&site->catalogue, name, SHARED, NULL);
        device = guess.device;
        if (device && guess.doubt[0] != '\0')
            dn_complain ("note: %s assumed %s", guess.doubt, device->name);
    }
    if (!device)
        return -1;
    if (type)
        add_type (gpus, type);
    else
        add_device (gpus, device);
    return 0;
}

static bool has (const struct dn_site_gpus *gpus, const char *name)
{
    for (int i = 0; i < gpus->n; i++)
        if (strcmp (gpus->list[i].name, name) == 0)
            return true;
    return false;
}

/* The types of a cluster that no Gpu line describes, by what their names mean. */
static void add_guessed (struct dn_site_gpus *gpus)
{
    const struct dn_cluster *cluster = gpus->cluster;

    for (int64_t i = 0; cluster && i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];
        struct dn_gpu_type type = {.n_nodes = DN_UNSET};
        struct dn_gpu_guess guess;

        if (group->type[0] == '\0' || has (gpus, group->type))
            continue;
        guess = dn_gpu_guess (&gpus->site->catalogue, group->type, group->gpus, NULL);
        if (!guess.device)
            continue;
        memcpy (type.type, group->type, sizeof (type.type));
        type.device = guess.device;
        type.cost = guess.device->cost;
        add_type (gpus, &type);
    }
}

static void add_usual (struct dn_site_gpus *gpus)
{
    static const char *const usual[] = {"t4_16gb",
                                        "v100_sxm2_32gb",
                                        "rtx_3090_24gb",
                                        "rtx_4090_24gb",
                                        "a10g_24gb",
                                        "l4_24gb",
                                        "a40_48gb",
                                        "l40s_48gb",
                                        "a100_sxm4_40gb",
                                        "a100_sxm4_80gb",
                                        "h100_sxm5_80gb",
                                        "h200_sxm_141gb",
                                        "b200_sxm_192gb",
                                        "mi300x_192gb"};

    for (size_t i = 0; i < DN_N_ELEMENTS (usual); i++) {
        const struct dn_device *device =
            dn_catalogue_find (&gpus->site->catalogue, usual[i]);

        if (device)
            add_device (gpus, device);
    }
}

static int add_named (struct dn_site_gpus *gpus,
                      const struct dn_gpus_wanted *wanted,
                      struct dn_err *err)
{
    for (int i = 0; i < wanted->n_names; i++) {
        struct dn_gpus_meant meant = {.n = 0};

        if (!dn_subject_device (gpus->site, wanted->names[i], NULL))
            meant = dn_gpus_meant (&gpus->site->catalogue, wanted->names[i]);
        for (int k = 0; k < meant.n; k++)
            add_device (gpus, meant.list[k]);
        if (meant.n <= 1 && dn_site_gpus_add_name (gpus, wanted->names[i], err) < 0)
            return -1;
    }
    return 0;
}

int dn_site_gpus_find (struct dn_site_gpus *gpus,
                       const struct dn_gpus_wanted *wanted,
                       struct dn_err *err)
{
    const struct dn_catalogue *catalogue = &gpus->site->catalogue;
    const struct dn_gpu_types *types = &gpus->site->gpu_types;

    gpus->n = 0;
    gpus->from = DN_GPUS_NAMED;
    if (!wanted->all && wanted->n_names > 0)
        return add_named (gpus, wanted, err);
    gpus->from = DN_GPUS_CONF;
    for (int i = 0; !wanted->all && i < types->n_types; i++)
        add_type (gpus, &types->types[i]);
    if (!wanted->all && gpus->n == 0) {
        gpus->from = DN_GPUS_SNAPSHOT;
        add_guessed (gpus);
    }
    if (gpus->n == 0)
        gpus->from = DN_GPUS_CATALOGUE;
    if (gpus->n == 0 && wanted->usual && !wanted->all)
        add_usual (gpus);
    if (gpus->n > 0)
        return 0;
    for (int i = 0; i < catalogue->n_devices; i++)
        if (!catalogue->devices[i].generation->host && !catalogue->devices[i].slice)
            add_device (gpus, &catalogue->devices[i]);
    return 0;
}

void dn_site_gpus_add (struct dn_site_gpus *gpus, const struct dn_device *device)
{
    for (int i = 0; i < gpus->n; i++)
        if (gpus->devices[i] == device)
            return;
    add_device (gpus, device);
}

struct dn_forecast dn_site_gpus_run (const struct dn_subject *subject,
                                     const struct dn_site_gpu *gpu,
                                     const struct dn_estimate *estimate)
{
    struct dn_forecast run = dn_subject_run (subject, gpu->name, gpu->cost, estimate);
    const struct dn_gpu_type *type = dn_subject_type (subject->site, gpu->device);

    if (gpu->is_type)
        run.type = gpu->name;
    else
        run.type = type ? type->type : NULL;
    run.now = gpu->now;
    return run;
}

int dn_site_gpus_predict (const struct dn_subject *subject,
                          const struct dn_site_gpus *gpus,
                          struct dn_forecast *runs,
                          struct dn_estimate *estimates,
                          struct dn_err *err)
{
    if (dn_subject_predict (subject, gpus->devices, gpus->n, estimates, err) < 0)
        return -1;
    for (int i = 0; i < gpus->n; i++)
        runs[i] = dn_site_gpus_run (subject, &gpus->list[i], &estimates[i]);
    return 0;
}

void dn_site_gpus_explain (const struct dn_site_gpus *gpus)
{
    char text[DN_CANDIDATES_MAX * 2 * DN_NAME_MAX + 200];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (gpus->from != DN_GPUS_CONF && gpus->from != DN_GPUS_SNAPSHOT)
        return;
    dn_buf_add (&buf,
                gpus->from == DN_GPUS_CONF
                    ? "GPU types of dnnest.conf:"
                    : "GPU types of the cluster, guessed by their names:");
    for (int i = 0; i < gpus->n && gpus->list[i].is_type; i++)
        dn_buf_add (&buf,
                    "%s %s is %s",
                    i > 0 ? "," : "",
                    gpus->list[i].name,
                    gpus->list[i].device->name);
    dn_buf_add (&buf, ". --all shows the whole catalogue.");
    dn_terminal_words (text, 0, 2);
}
