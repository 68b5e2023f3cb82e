/* known_run.c - the whole run of a program, by the steps that it has measured
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "describe/known_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "hardware/gpu_names.h"
#include "jobs/history/fit_apps.h"
#include "predict/learned.h"
#include "seen.h"

/* The type of the measured device in the history of one run; others have no name. */
static char types[1][DN_NAME_MAX] = {"measured"};

/* A history of one application and run. */
struct past {
    struct dn_spec spec; /* with the number of steps, as far as it is known */
    struct dn_app_row row;
    struct dn_app_known known;
    struct dn_apps apps;
    struct dn_learner learner;
};

/* The GPU that the program names; a CPU if it used none. */
static const struct dn_device *find_device (const struct dn_catalogue *catalogue,
                                            const struct dn_capture *capture,
                                            struct dn_err *err)
{
    const char *name = capture->device;
    const struct dn_device *device = NULL;

    if (name[0] != '\0') {
        device = dn_catalogue_find_product (catalogue, name, 0, NULL);
        if (!device)
            dn_err_set (err,
                        DN_E_RANGE,
                        "the GPU '%s' is not in the catalogue",
                        dn_quote (name, strlen (name)).text);
        return device;
    }
    for (int i = 0; i < catalogue->n_devices && capture->gpus_used <= 0; i++)
        if (catalogue->devices[i].generation->host)
            return &catalogue->devices[i];
    dn_err_set (err, DN_E_RANGE, "the device that it ran on is unknown");
    return NULL;
}

static int find_subject (const struct dn_site *site,
                         struct dn_described *described,
                         struct dn_subject *subject,
                         struct dn_err *err)
{
    subject->spec = described->sidecar.spec;
    subject->layers = described->sidecar.layers;
    described->sidecar.layers = (struct dn_layers){.n = 0};
    return dn_subject_build (site, DN_UNSET, subject, err);
}

/* The GPUs of the table; of a site's, the measured device is one. */
static int find_gpus (const struct dn_site *site,
                      const struct dn_gpus_wanted *wanted,
                      struct dn_known_run *known,
                      struct dn_err *err)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen;
    const struct dn_cluster *cluster;

    dn_seen_read (&seen, site, NULL);
    cluster = dn_seen_cluster (&seen);
    if (dn_site_gpus_find (site, cluster, wanted, &known->gpus, err) < 0)
        return -1;
    if (wanted->n_names == 0)
        dn_site_gpus_add (&known->gpus, site, cluster, known->device);
    return 0;
}

/* The model's predictions for all GPUs, and for the measured device behind them. */
static int predict (const struct dn_site *site,
                    struct dn_known_run *known,
                    struct dn_err *err)
{
    const struct dn_device *devices[DN_DEVICES_MAX + 1];
    int n = known->gpus.n;

    for (int i = 0; i < n; i++)
        devices[i] = known->gpus.devices[i];
    devices[n] = known->device;
    known->estimates = calloc ((size_t) n + 1, sizeof (*known->estimates));
    if (!known->estimates)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return dn_subject_predict (
        site, &known->subject, devices, n + 1, known->estimates, err);
}

/* The run as if it had been finished: all its steps take as long as those measured. */
static void set_row (const struct dn_capture *capture,
                     double cores,
                     int64_t steps,
                     struct past *past)
{
    double runs = dn_spec_runs (&past->spec);
    double start_s = fmax (capture->start_up_s, 0) * runs; /* 0 if it is NaN */
    double step_s = capture->step_ms / 1000;
    double work = (double) steps * runs;
    const struct dn_fit_run run = {.end_s = (int64_t) time (NULL),
                                   .ran_s = start_s + work * step_s,
                                   .work = work,
                                   .exact = true,
                                   .cores = cores,
                                   .gpu_mem_gb = NAN,
                                   .said_gpu_mem_gb = capture->gpu_reserved_gb,
                                   .step_s = step_s,
                                   .start_up_s = start_s,
                                   .mem_gb = NAN};

    dn_fit_row (&run, 1, DN_WORK_STEPS, &dn_fit_prior_default, &past->row);
    past->row.start_s = (float) start_s;
    past->row.unit_s = (float) step_s;
}

static void make_past (const struct dn_capture *capture,
                       double cores,
                       const struct dn_known_run *known,
                       struct past *past)
{
    const struct dn_estimate *own = &known->estimates[known->gpus.n];
    int64_t gpus = known->subject.spec.gpus;

    *past = (struct past){.spec = known->subject.spec};
    if (own->n_steps >= 1)
        past->spec.steps = (int64_t) own->n_steps;
    past->row.key = past->known.key = 1;
    past->known.loader_share = (float) capture->loader_share;
    past->row.gpus = (uint16_t) gpus;
    set_row (capture,
             cores / (double) gpus,
             past->spec.steps > 0 ? past->spec.steps : capture->steps_measured,
             past);
    past->known.workers = (int16_t) fmin (
        (double) (capture->workers < 0 ? -1 : capture->workers), INT16_MAX);
    past->apps =
        (struct dn_apps){.types = types, .n_types = 1, .rows = &past->row, .n_rows = 1};
    past->learner = (struct dn_learner){.apps = &past->apps,
                                        .key = 1,
                                        .gpus = gpus,
                                        .spec = &past->spec,
                                        .known = &past->known};
}

/* The law of a step there; on the measured device it is as measured. */
static struct dn_range step_of (double step_s,
                                bool here,
                                const struct dn_setting *measured,
                                const struct dn_setting *wanted)
{
    if (here)
        return (struct dn_range){.p50 = step_s};
    return dn_translate_step (step_s, measured, wanted);
}

/* Correct the model's prediction for a device by the run. */
static void learn (const struct past *past,
                   const struct dn_capture *capture,
                   const struct dn_estimate *own,
                   struct dn_estimate *estimate)
{
    const struct dn_setting measured = {
        &past->spec, own, !(past->known.loader_share >= DN_LEARNED_LOADER_SHARE)};
    const struct dn_estimate model = *estimate;
    const struct dn_setting wanted = {.spec = &past->spec, .estimate = &model};
    bool here = estimate->device == own->device;
    const char *type = here ? types[0] : "";
    struct dn_learned_source source = dn_learned_source_of (&past->learner, type);
    struct dn_range step_s;

    if (!here && !dn_device_runs_arch (estimate->device, capture->arch))
        estimate->supported = estimate->fits = false;
    if (estimate->device->generation->host != own->device->generation->host
        || (!here && !estimate->supported))
        return;
    if (!here)
        source.measured = measured;
    dn_learned_known (&past->learner, &source, type, estimate);
    step_s = step_of (capture->step_ms / 1000, here, &measured, &wanted);
    if (step_s.p50 <= 0)
        return;
    estimate->step_s = step_s;
    estimate->samples_per_s = (double) past->spec.global_batch / step_s.p50;
}

int dn_known_run_find (const struct dn_site *site,
                       struct dn_described *described,
                       double cores,
                       const struct dn_gpus_wanted *wanted,
                       struct dn_known_run *known,
                       struct dn_err *err)
{
    const struct dn_capture *capture = &described->capture;
    struct past past;

    memset (known, 0, sizeof (*known));
    if (!(capture->step_ms > 0) || capture->steps_measured <= 0)
        return dn_err_set (err, DN_E_RANGE, "no step was measured");
    known->steps = capture->steps_measured;
    known->device = find_device (&site->catalogue, capture, err);
    if (!known->device || find_subject (site, described, &known->subject, err) < 0
        || find_gpus (site, wanted, known, err) < 0 || predict (site, known, err) < 0) {
        known->device = NULL;
        return -1;
    }
    make_past (capture, cores, known, &past);
    for (int i = 0; i < known->gpus.n; i++) {
        learn (&past, capture, &known->estimates[known->gpus.n], &known->estimates[i]);
        known->runs[i] = dn_site_gpus_run (
            site, &known->subject, &known->gpus.list[i], &known->estimates[i]);
    }
    return 0;
}

int dn_known_run_print (struct dn_known_run *known)
{
    const struct dn_subject *subject = &known->subject;
    int exit_code;

    printf ("\nThe whole run, by %lld steps on %s:\n",
            (long long) known->steps,
            known->device->name);
    if (known->device->generation->host)
        printf ("A CPU was measured; times on GPUs are by the model alone.\n");
    exit_code = dn_show_runs (known->runs, known->gpus.n, &subject->spec);
    dn_show_assumed (&subject->spec, &subject->graph);
    dn_site_gpus_explain (&known->gpus);
    return exit_code;
}

void dn_known_run_add_json (struct json_object *to, const struct dn_known_run *known)
{
    const struct dn_subject *subject = &known->subject;
    struct json_object *candidates;

    dn_json_add_text (to, "measured_on", known->device ? known->device->name : NULL);
    candidates = dn_json_add_array (to, "candidates");
    for (int i = 0; known->device && i < known->gpus.n; i++)
        json_object_array_add (candidates,
                               dn_show_run_json (&known->runs[i], &subject->spec));
    json_object_object_add (
        to,
        "assumed",
        known->device ? dn_show_assumed_json (&subject->spec, &subject->graph) : NULL);
}

void dn_known_run_free (struct dn_known_run *known)
{
    if (!known)
        return;
    dn_subject_free (&known->subject);
    free (known->estimates);
    memset (known, 0, sizeof (*known));
}
