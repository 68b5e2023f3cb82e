/* bench_bundle.c - the cost of a bundle: bench_bundle BUNDLE-DIR HARDWARE-DIR
 *
 * DATASETS in the environment names the table of data sets. Prints CPU time of this
 * thread, not wall time, so that other work on the machine has little effect: the
 * minimum and the median of many runs. A bundle is loaded at a (re)configuration, the
 * rest is done once per submission.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/load.h"
#include "predict/predict.h"
#include "tests/unit/networks.h"

#define N_DEVICES 8

static double now (void)
{
    struct timespec at;

    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &at);
    return (double) at.tv_sec + 1e-9 * (double) at.tv_nsec;
}

static int compare (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

static void print_times (const char *what, double *times, int n)
{
    qsort (times, (size_t) n, sizeof (*times), compare);
    printf ("%-44s least %8.1f us, median %8.1f us\n",
            what,
            1e6 * times[0],
            1e6 * times[n / 2]);
}

static void time_load (const char *dir)
{
    enum {
        N = 31
    };
    struct dn_err err = {0};
    double times[N];

    for (int i = 0; i < N; i++) {
        double start = now ();
        struct dn_bundle *bundle = dn_load_bundle (dir, &err);

        times[i] = now () - start;
        if (!bundle) {
            fprintf (stderr, "%s\n", err.text);
            exit (1);
        }
        dn_bundle_free (bundle);
    }
    print_times ("load the bundle", times, N);
}

/* The work of one decision: an existing network, eight devices. */
struct scene {
    struct dn_site *site;
    struct dn_spec spec;
    struct dn_graph graph;
    const struct dn_device *devices[N_DEVICES];
};

static void make_scene (const char *dir, const char *hardware, struct scene *scene)
{
    static const char text[] = "model=bert_large,batch=16,precision=fp16,seq_len=512,"
                               "optimizer=lamb,framework=pytorch,steps=1000";
    struct dn_load_paths paths = {
        .hardware = hardware, .datasets = getenv ("DATASETS"), .model = dir};
    struct dn_err err = {0};

    memset (scene, 0, sizeof (*scene));
    if (!paths.datasets)
        paths.datasets = DNNEST_DATASETS;
    scene->site = dn_load_site (&paths, NULL, &err);
    scene->spec = dn_spec_empty ();
    if (!scene->site || !scene->site->bundle
        || dn_spec_read (dn_span_of (text), &scene->spec, &err) < 0
        || dn_spec_resolve (&scene->spec, &scene->site->datasets, DN_UNSET, &err) < 0
        || dn_graph_build (shipped_networks (), &scene->spec, &scene->graph, &err)
               < 0) {
        fprintf (stderr,
                 "%s%s\n",
                 err.text,
                 scene->site ? scene->site->bundle_err.text : "");
        exit (1);
    }
    for (int i = 0; i < N_DEVICES; i++)
        scene->devices[i] =
            &scene->site->catalogue.devices[i % scene->site->catalogue.n_devices];
}

static void time_decision (const struct scene *scene, bool learned)
{
    enum {
        N = 2001
    };
    static double times[N];
    static struct dn_estimate estimates[N_DEVICES];
    struct dn_predictor predictor = dn_site_predictor (scene->site);

    if (!learned)
        predictor.bundle = NULL;
    for (int i = 0; i < N; i++) {
        double start = now ();

        if (dn_predict (&predictor,
                        &(struct dn_case){.spec = &scene->spec,
                                          .graph = &scene->graph,
                                          .cpus_per_gpu = 0},
                        scene->devices,
                        N_DEVICES,
                        estimates,
                        NULL)
            < 0)
            exit (1);
        times[i] = now () - start;
    }
    print_times (learned ? "predict 8 devices, with the bundle"
                         : "predict 8 devices, the white box alone",
                 times,
                 N);
}

static void time_parts (const struct scene *scene)
{
    enum {
        N = 2001
    };
    static double times[N];
    static float features[N_DEVICES * DN_N_FEATURES];
    const struct dn_bundle *bundle = scene->site->bundle;
    struct dn_estimate estimate;
    float out[N_DEVICES];

    for (int i = 0; i < N_DEVICES; i++) {
        const struct dn_case c = {
            &scene->site->constants, &scene->spec, &scene->graph, scene->devices[i], 0};

        dn_whitebox (&c, &estimate);
        dn_features (&c, &estimate, features + (ptrdiff_t) i * DN_N_FEATURES);
    }
    for (int q = 0; q < DN_N_QUANTITIES; q++) {
        const struct dn_trees *trees = bundle->corrections[q].trees;
        char what[80];

        for (int i = 0; trees && i < N; i++) {
            double start = now ();

            if (dn_trees_predict (trees, features, N_DEVICES, out, NULL) < 0)
                exit (1);
            times[i] = now () - start;
        }
        snprintf (what,
                  sizeof (what),
                  "residual of %s for 8 devices, one call",
                  dn_names_get (&dn_quantity_names, q));
        if (trees)
            print_times (what, times, N);
    }
    for (int i = 0; i < N; i++) {
        double start = now ();

        for (int j = 0; j < N_DEVICES; j++)
            out[j] = (float) dn_domain_distance (
                &bundle->domain, features + (ptrdiff_t) j * DN_N_FEATURES);
        times[i] = now () - start;
    }
    print_times ("distance of 8 devices from the training runs", times, N);
}

int main (int argc, char **argv)
{
    struct scene scene;

    if (argc != 3) {
        fprintf (stderr, "usage: bench_bundle BUNDLE-DIR HARDWARE-DIR\n");
        return 2;
    }
    time_load (argv[1]);
    make_scene (argv[1], argv[2], &scene);
    time_parts (&scene);
    time_decision (&scene, false);
    time_decision (&scene, true);
    dn_graph_free (&scene.graph);
    dn_load_free (scene.site);
    return 0;
}
