/* subject.c - the subject of a command: a specification, its network, devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "subject.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "hardware/gpu_names.h"
#include "host/carry.h"
#include "import/hf_config.h"

/* dn_predict () takes this as unknown: the run then has all CPUs that it needs. */
#define CPUS_UNKNOWN (-1)

struct dn_keyset dn_subject_unread (const struct dn_subject *subject)
{
    const struct dn_case any = {.spec = &subject->spec, .graph = &subject->graph};

    return dn_unread_keys (&any);
}

/* The plugin abstains if a key of the network is not read. Where the amount of work is
 * unknown there is no time, so tokens= widens no bounds; dn_show_lacks_work () says so.
 */
static void warn_unread (const struct dn_subject *subject)
{
    struct dn_keyset unread = dn_subject_unread (subject);
    const struct dn_key *key;

    if (dn_spec_steps (&subject->spec) < 0)
        /* -Wanalyzer-use-of-uninitialized-value is wrong here: it is set */
        unread = dn_keyset_minus (unread, DN_KEYSET (tokens));
    for (int i = 0; (key = dn_spec_key_of (unread, i)); i++) {
        if (dn_key_is_network (key))
            dn_complain ("warning: key %s= is not read by %s: the prediction is of "
                         "another network, and such a job is not changed",
                         key->name,
                         subject->graph.name);
        else
            dn_complain ("warning: the prediction does not use %s=, its bounds are "
                         "wider",
                         key->name);
    }
}

int dn_subject_write (const struct dn_spec *spec,
                      char *text,
                      size_t size,
                      struct dn_err *err)
{
    return dn_spec_write (spec, text, size)
               ? 0
               : dn_err_set (err, DN_E_LIMIT, "metadata: too long");
}

int dn_subject_build (const struct dn_site *site,
                      int64_t n_gpus,
                      struct dn_subject *subject,
                      struct dn_err *err)
{
    if (dn_spec_resolve (&subject->spec, &site->datasets, n_gpus, err) < 0)
        return -1;
    if (dn_sidecar_graph (
            &site->networks, &subject->layers, &subject->spec, &subject->graph, err)
        < 0)
        return subject->file.len == 0
                   ? -1
                   : dn_err_wrap (
                       err, "%.*s", (int) subject->file.len, subject->file.text);
    subject->user = (int64_t) getuid ();
    warn_unread (subject);
    return 0;
}

bool dn_subject_is_sidecar (const char *argument)
{
    static const char suffix[] = ".json";
    size_t len = strlen (argument);

    return argument[0] == '@'
           || (len >= sizeof (suffix) && !strchr (argument, '=')
               && strcmp (argument + len - sizeof (suffix) + 1, suffix) == 0);
}

int dn_subject_fail (const struct dn_err *err)
{
    return dn_fail (err->code == DN_E_IO ? DN_EXIT_DATA : DN_EXIT_USAGE, err);
}

int dn_subject_not_network (const char *text, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span first = dn_span_trim (dn_span_cut (&rest, ","));
    struct dn_model model;
    char name[DN_NAME_MAX];

    if (dn_span_copy (first, name, sizeof (name), "model", NULL) < 0
        || strchr (name, '=') || name[0] == '/' || name[0] == '.'
        || !dn_model_find (NULL, name, &model) || access (text, F_OK) == 0)
        return 0;
    return dn_err_set (
        err, DN_E_SYNTAX, "'%s' is a network, did you mean model=%s?", name, name);
}

/* A sidecar, or a config.json of Hugging Face. */
static int read_description (const char *text,
                             struct dn_sidecar *sidecar,
                             struct dn_err *err)
{
    if (dn_hf_config_is (dn_span_of (text)))
        return dn_hf_config_read (dn_span_of (text), &sidecar->spec, err);
    return dn_sidecar_read (dn_span_of (text), sidecar, err);
}

int dn_subject_read_sidecar (const char *argument,
                             struct dn_subject *subject,
                             struct dn_err *err)
{
    struct dn_note note = dn_note_of_option (argument);
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_spec own;
    char path[PATH_MAX];

    if (dn_span_copy (note.file, path, sizeof (path), "file", err) < 0
        || dn_read_input (path, &text, err) < 0)
        return -1;
    if (read_description (text, &sidecar, err) < 0)
        return dn_err_wrap (err, "%s", path);
    own = sidecar.spec;
    if (note.pairs.len > 0 && dn_spec_read (note.pairs, &sidecar.spec, err) < 0) {
        dn_sidecar_free (&sidecar);
        return -1;
    }
    sidecar.layers.overridden = dn_describe_overridden (&own, &sidecar.spec);
    subject->spec = sidecar.spec;
    subject->layers = sidecar.layers;
    subject->file = note.file;
    return 0;
}

int dn_subject_parse (const char *text, struct dn_subject *subject, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *input = NULL;

    memset (subject, 0, sizeof (*subject));
    subject->spec = dn_spec_empty ();
    if (dn_subject_is_sidecar (text))
        return dn_subject_read_sidecar (text, subject, err);
    if (strcmp (text, "-") == 0) {
        if (dn_read_input (text, &input, err) < 0)
            return -1;
        text = input;
    }
    if (dn_subject_not_network (text, err) < 0)
        return -1;
    return dn_spec_read (dn_span_trim (dn_span_of (text)), &subject->spec, err);
}

int dn_subject_read (const struct dn_site *site,
                     const char *text,
                     struct dn_subject *subject,
                     struct dn_err *err)
{
    if (dn_subject_parse (text, subject, err) == 0
        && dn_subject_build (site, DN_UNSET, subject, err) == 0)
        return 0;
    dn_subject_free (subject);
    return -1;
}

int dn_subject_carry (const struct dn_site *site,
                      struct dn_job *job,
                      char **sidecar,
                      struct dn_err *err)
{
    if (dn_carry_option (job->option, dn_hf_config_convert, sidecar, err) < 0)
        return -1;
    job->sidecar = *sidecar;
    if (!*sidecar && dn_carry_comment (job, site->sidecar_dir, sidecar, err) < 0)
        return -1;
    job->sidecar = *sidecar;
    return 0;
}

void dn_subject_free (struct dn_subject *subject)
{
    if (!subject)
        return;
    dn_layers_free (&subject->layers);
    dn_graph_free (&subject->graph);
}

/* The names of GPU types, then those of devices. */
static const char *gpu_name (const void *names, int i)
{
    const struct dn_site *site = names;

    if (i < site->gpu_types.n_types)
        return site->gpu_types.types[i].type;
    return dn_catalogue_name_at (&site->catalogue, i - site->gpu_types.n_types);
}

const struct dn_device *dn_subject_device (const struct dn_site *site,
                                           const char *name,
                                           struct dn_err *err)
{
    const struct dn_gpu_type *type = dn_gpu_types_resemble (&site->gpu_types, name);
    const struct dn_device *device =
        type ? type->device : dn_catalogue_find (&site->catalogue, name);
    char near[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (near, sizeof (near));
    struct dn_gpus_meant meant;

    if (device)
        return device;
    meant = dn_gpus_meant (&site->catalogue, name);
    if (meant.n == 1)
        return meant.list[0];
    dn_gpus_meant_write (&meant, &buf);
    if (meant.n > 1) {
        dn_err_set (err,
                    DN_E_RANGE,
                    "gpu: '%s' may be %s: name one",
                    dn_quote (name, strlen (name)).text,
                    near);
        return NULL;
    }
    dn_add_near (&buf, name, gpu_name, site);
    dn_err_set (err,
                DN_E_RANGE,
                "gpu: '%s' is unknown, expected a GPU type of dnnest.conf or a device "
                "that 'dnnest-dev hardware' lists%s",
                dn_quote (name, strlen (name)).text,
                near);
    return NULL;
}

const struct dn_gpu_type *dn_subject_type (const struct dn_site *site,
                                           const struct dn_device *device)
{
    for (int i = 0; i < site->gpu_types.n_types; i++)
        if (site->gpu_types.types[i].device == device)
            return &site->gpu_types.types[i];
    return NULL;
}

struct dn_case dn_subject_case (const struct dn_site *site,
                                const struct dn_subject *subject,
                                const struct dn_device *device,
                                double cpus_per_gpu)
{
    return (struct dn_case){.constants = &site->constants,
                            .spec = &subject->spec,
                            .graph = &subject->graph,
                            .device = device,
                            .cpus_per_gpu = cpus_per_gpu};
}

int dn_subject_predict (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_device *const devices[],
                        int n_devices,
                        struct dn_estimate estimates[],
                        struct dn_err *err)
{
    struct dn_predictor predictor = dn_site_predictor (site);
    const struct dn_case c = dn_subject_case (site, subject, NULL, CPUS_UNKNOWN);

    predictor.user = subject->user;
    return dn_predict (&predictor, &c, devices, n_devices, estimates, err);
}

struct dn_forecast dn_subject_run (const struct dn_site *site,
                                   const struct dn_subject *subject,
                                   const char *name,
                                   double cost_per_hour,
                                   const struct dn_estimate *estimate)
{
    const struct dn_case c =
        dn_subject_case (site, subject, estimate->device, CPUS_UNKNOWN);

    return (struct dn_forecast){
        .name = name,
        .type = NULL,
        .estimate = estimate,
        .cost_per_hour = cost_per_hour,
        .carbon_g = dn_estimate_carbon_g (estimate->energy_j, site->carbon_g_per_kwh),
        .largest_batch = dn_policy_largest_batch (&site->rules, &c),
        .now = DN_GPUS_NOW_UNKNOWN,
    };
}
