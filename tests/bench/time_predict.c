/* time_predict.c - the time of predictions
 *
 * usage: time_predict HARDWARE-FOLDER DATASETS [ROUNDS | --list | --once CASE]
 *
 * Every round runs each case once, a batch of calls of about two milliseconds, so that
 * other work on the machine affects all cases equally. A figure is the median over the
 * rounds of the time per call, in CPU time of the thread: a prediction never waits, so
 * this is its time on a free core. --once makes a call to warm up and one in measured
 * (), for a program that counts instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advise.h"
#include "bench.h"

#define ROUNDS     51
#define ROUNDS_MAX 10000
#define BATCH_S    2e-3
#define N_DEVICES  8

/* From a small board to a large one. */
static const char *const device_names[N_DEVICES] = {
    "t4_16gb",
    "v100_sxm2_16gb",
    "v100_sxm2_32gb",
    "rtx_3090_24gb",
    "a100_sxm4_40gb",
    "a100_sxm4_80gb",
    "h100_sxm5_80gb",
    "h200_sxm_141gb",
};

/* A network on all devices, or the whole ladder (no specification). */
struct bench_case {
    const char *name;
    const char *spec;
    bool build;   /* the graph is built in every call, not once before */
    bool predict; /* on all devices */
    double goal_s;
};

#define RESNET50                                                                       \
    "model=resnet50,image=224,batch=128,gpus=4,precision=fp16,optimizer=momentum"
#define DENSENET201                                                                    \
    "model=densenet201,image=224,batch=64,gpus=4,precision=fp16,optimizer=momentum"
#define GPT                                                                            \
    "model=gpt2,layers=96,hidden=12288,heads=96,seq_len=2048,batch=1,gpus=64,"         \
    "nodes=8,tp=8,pp=8,micro_batch=1,precision=fp16,optimizer=adam"

static const struct bench_case cases[] = {
    {"resnet50 x 8, graph built", RESNET50, true, true, 100e-6},
    {"resnet50 x 8, graph given", RESNET50, false, true, 100e-6},
    {"resnet50, graph alone", RESNET50, true, false, 0},
    {"gpt 96 layers x 8, graph built", GPT, true, true, 300e-6},
    {"gpt 96 layers x 8, graph given", GPT, false, true, 300e-6},
    {"gpt 96 layers, graph alone", GPT, true, false, 0},
    {"densenet201 x 8, graph built", DENSENET201, true, true, 0},
    {"densenet201 x 8, graph given", DENSENET201, false, true, 0},
    {"densenet201, graph alone", DENSENET201, true, false, 0},
    {"dn_advise, resnet50 x 8", NULL, false, false, 0},
    /* End of cases */
};

#define N_CASES ((int) DN_N_ELEMENTS (cases))

/* A case, ready to run. */
struct scene {
    const struct bench_case *what;
    const struct dn_site *site;
    const struct dn_device *devices[N_DEVICES];
    struct dn_spec spec;
    struct dn_graph graph; /* owned */
    struct dn_job job;
    struct dn_advice *advice; /* owned */
    int calls;                /* in a batch */
    double *seconds;          /* per call, by round; owned */
};

/* The result is not known at compile time, or the compiler could remove the work. */
static volatile double sink;

static void call (struct scene *scene)
{
    struct dn_graph built = {0};
    const struct dn_graph *graph = &scene->graph;
    struct dn_err err = {0};

    if (!scene->what->spec) {
        if (dn_advise (scene->site, NULL, &scene->job, NULL, NULL, scene->advice, &err)
            < 0)
            bench_die (scene->what->name, err.text);
        return;
    }
    if (scene->what->build) {
        if (dn_graph_build (&scene->spec, &built, &err) < 0)
            bench_die (scene->what->name, err.text);
        graph = &built;
        sink = graph->flops;
    }
    for (int i = 0; scene->what->predict && i < N_DEVICES; i++) {
        struct dn_estimate estimate;

        dn_whitebox (
            &(struct dn_case){
                &scene->site->constants, &scene->spec, graph, scene->devices[i], 8},
            &estimate);
        sink = estimate.step_s.p50;
    }
    dn_graph_free (&built);
}

/* The same as a separate function, whose instructions callgrind can count. */
__attribute__ ((noinline)) static void measured (struct scene *scene)
{
    call (scene);
}

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Seconds per call of a batch. */
static double time_batch (struct scene *scene)
{
    double begin = now ();

    for (int i = 0; i < scene->calls; i++)
        measured (scene);
    return (now () - begin) / scene->calls;
}

/* A site with all devices, to any of which its jobs may be moved. */
static struct dn_site *site_of (const char *hardware, const char *datasets)
{
    struct dn_site *site = malloc (sizeof (*site));
    struct dn_err err = {0};
    size_t len;
    char *text = bench_read_file (datasets, &len);

    if (!site || dn_site_init (site, hardware, datasets, &err) < 0)
        bench_die ("site", err.text);
    bench_read_catalogue (hardware, &site->catalogue);
    if (dn_datasets_read ((struct dn_span){text, len}, datasets, &site->datasets, &err)
        < 0)
        bench_die ("site", err.text);
    free (text);
    for (int i = 0; i < N_DEVICES; i++) {
        char line[256];

        snprintf (line,
                  sizeof (line),
                  "Gpu Type=%s Device=%s PerNode=8 NodeCpus=96 NodeMemory=512000 "
                  "Partitions=ALL\n",
                  device_names[i],
                  device_names[i]);
        if (dn_site_read (site, dn_span_of (line), "gpus", &err) < 0)
            bench_die ("site", err.text);
    }
    return site;
}

static struct dn_job job_of (void)
{
    struct dn_job job = dn_job_empty ();

    job.kind = DN_JOB_BATCH;
    job.user_id = 1000;
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100_sxm4_80gb:4";
    job.time_limit_min = 1440;
    job.cpus_per_task = 80;
    job.min_cpus = 80;
    job.pn_min_cpus = 80;
    job.num_tasks = 1;
    job.mem_per_node_mb = 256000;
    job.comment = "dnnest:" RESNET50 ",epochs=20,dataset=imagenet";
    job.script = "#!/bin/sh\nsrun hostname\n";
    return job;
}

static void set (const struct dn_site *site,
                 const struct bench_case *what,
                 struct scene *scene)
{
    struct dn_err err = {0};

    memset (scene, 0, sizeof (*scene));
    scene->what = what;
    scene->site = site;
    scene->job = job_of ();
    scene->advice = dn_advice_new ();
    scene->spec = dn_spec_empty ();
    for (int i = 0; i < N_DEVICES; i++) {
        scene->devices[i] = dn_catalogue_find (&site->catalogue, device_names[i]);
        if (!scene->devices[i])
            bench_die (device_names[i], "is not in the catalogue");
    }
    if (what->spec
        && (dn_spec_read (dn_span_of (what->spec), &scene->spec, &err) < 0
            || dn_spec_resolve (&scene->spec, &site->datasets, DN_UNSET, &err) < 0
            || dn_graph_build (&scene->spec, &scene->graph, &err) < 0))
        bench_die (what->name, err.text);
    call (scene);
    if (!what->spec && scene->advice->candidates.n_candidates != N_DEVICES)
        bench_die (what->name, "not all devices are candidates");
}

static void unset (struct scene *scene)
{
    dn_graph_free (&scene->graph);
    dn_advice_free (scene->advice);
    free (scene->seconds);
}

static int by_value (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

static void print_figures (struct scene *scene, int rounds, double base)
{
    double *s = scene->seconds;
    double goal = scene->what->goal_s;
    double median;

    qsort (s, (size_t) rounds, sizeof (*s), by_value);
    median = s[rounds / 2];
    printf ("%-32s %9.1f %9.1f %9.1f %7.2f",
            scene->what->name,
            1e6 * median,
            1e6 * s[rounds / 4],
            1e6 * s[rounds - 1 - rounds / 4],
            median / base);
    if (goal > 0)
        printf (" %8.0f %7.2f", 1e6 * goal, median / goal);
    putchar ('\n');
}

static void time_all (const struct dn_site *site, int rounds)
{
    struct scene scenes[N_CASES];
    double base;

    for (int i = 0; i < N_CASES; i++) {
        set (site, &cases[i], &scenes[i]);
        scenes[i].seconds = calloc ((size_t) rounds, sizeof (double));
        if (!scenes[i].seconds)
            bench_die ("rounds", "out of memory");
        scenes[i].calls = 10;
        scenes[i].calls = (int) (BATCH_S / (time_batch (&scenes[i]) + 1e-7)) + 1;
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < N_CASES; i++)
            scenes[i].seconds[round] = time_batch (&scenes[i]);
    printf ("%-32s %9s %9s %9s %7s %8s %7s\n%-32s %9s %9s %9s %7s %8s %7s\n",
            "one call, microseconds",
            "median",
            "lower",
            "upper",
            "to the",
            "goal",
            "to the",
            "",
            "",
            "quartile",
            "quartile",
            "first",
            "",
            "goal");
    qsort (scenes[0].seconds, (size_t) rounds, sizeof (double), by_value);
    base = scenes[0].seconds[rounds / 2];
    for (int i = 0; i < N_CASES; i++) {
        print_figures (&scenes[i], rounds, base);
        unset (&scenes[i]);
    }
}

static void call_once (const struct dn_site *site, const char *name)
{
    for (int i = 0; i < N_CASES; i++)
        if (strcmp (cases[i].name, name) == 0) {
            struct scene scene;

            set (site, &cases[i], &scene);
            measured (&scene);
            unset (&scene);
            return;
        }
    bench_die (name, "no such case");
}

int main (int argc, char *argv[])
{
    struct dn_site *site;
    long rounds = ROUNDS;

    if (argc < 3)
        bench_die ("usage", "HARDWARE-FOLDER DATASETS [ROUNDS | --list | --once CASE]");
    if (argc == 4 && strcmp (argv[3], "--list") == 0) {
        for (int i = 0; i < N_CASES; i++)
            puts (cases[i].name);
        return 0;
    }
    site = site_of (argv[1], argv[2]);
    if (argc == 5 && strcmp (argv[3], "--once") == 0) {
        call_once (site, argv[4]);
    } else {
        if (argc > 3)
            rounds = strtol (argv[3], NULL, 10);
        if (rounds < 1 || rounds > ROUNDS_MAX)
            bench_die (argv[3], "expected rounds, 1..10000");
        time_all (site, (int) rounds);
    }
    dn_site_free (site);
    free (site);
    return 0;
}
