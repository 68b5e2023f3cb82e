/* bench_host.c - dnnest-dev bench host: the rates of the loaders on this machine's
 * cores
 *
 * All usable cores work at the same time, as in training, because they share memory
 * bandwidth and clocks. --cores=1 measures a single core alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench_command.h"
#include "bench/loader.h"
#include "bench/recorder.h"
#include "process/interrupt.h"
#include "output/progress.h"

/* Number of time slices after a warm-up slice; the result is their median. */
#define SLICES      9
#define SLICE_S     0.3
#define QUICK_S     0.05
#define THREADS_MAX 4096

static const struct dn_loader *const loaders[] = {
#ifdef DN_JPEG
    &dn_loader_jpeg,
#endif
    &dn_loader_text,
    &dn_loader_array,
};

struct crew {
    const struct dn_loader *loader;
    void *shared;
    int n_threads;
    atomic_bool stop;
    atomic_bool failed;
    _Atomic int64_t done; /* samples */
};

struct hand {
    struct crew *crew;
    int64_t first;
    pthread_t thread;
};

static void *work (void *context)
{
    struct hand *hand = context;
    struct crew *crew = hand->crew;
    void *state = crew->loader->open (crew->shared);

    if (!state)
        atomic_store (&crew->failed, true);
    for (int64_t i = hand->first; state && !atomic_load (&crew->stop);
         i += crew->n_threads) {
        if (crew->loader->load (state, i) < 0) {
            atomic_store (&crew->failed, true);
            break;
        }
        atomic_fetch_add (&crew->done, 1);
    }
    crew->loader->close (state);
    return NULL;
}

static double now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Run until 'least_s' has passed and a sample is done. Return seconds per sample and
 * core.
 */
static double slice (struct crew *crew, double least_s)
{
    const struct timespec nap = {0, 5000000};
    double begun = now_s ();
    int64_t before = atomic_load (&crew->done);
    int64_t done;

    while (!atomic_load (&crew->failed) && !dn_interrupted ()
           && (now_s () - begun < least_s || atomic_load (&crew->done) == before))
        nanosleep (&nap, NULL);
    done = atomic_load (&crew->done) - before;
    return (now_s () - begun) * crew->n_threads / (double) (done > 0 ? done : 1);
}

static int compare (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

static void watch (struct crew *crew, double slice_s, struct dn_sample *sample)
{
    double seconds[SLICES];

    slice (crew, slice_s);
    for (int i = 0; i < SLICES; i++)
        seconds[i] = slice (crew, slice_s);
    qsort (seconds, SLICES, sizeof (*seconds), compare);
    sample->seconds = seconds[SLICES / 2];
    sample->spread =
        (seconds[3 * SLICES / 4] - seconds[SLICES / 4]) / 2 / seconds[SLICES / 2];
    sample->runs = SLICES;
}

static int run_crew (struct crew *crew,
                     double slice_s,
                     struct dn_sample *sample,
                     struct dn_err *err)
{
    struct hand *hands = calloc ((size_t) crew->n_threads, sizeof (*hands));
    int n = 0;

    if (!hands)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (; n < crew->n_threads; n++) {
        hands[n].crew = crew;
        hands[n].first = n;
        if (pthread_create (&hands[n].thread, NULL, work, &hands[n]) != 0)
            break;
    }
    if (n == crew->n_threads)
        watch (crew, slice_s, sample);
    else
        atomic_store (&crew->failed, true);
    atomic_store (&crew->stop, true);
    for (int i = 0; i < n; i++)
        pthread_join (hands[i].thread, NULL);
    free (hands);
    if (atomic_load (&crew->failed))
        return dn_err_set (err,
                           DN_E_IO,
                           "%s: a sample cannot be loaded by %d cores",
                           dn_names_get (&dn_sample_op_names, (int) sample->op),
                           crew->n_threads);
    return 0;
}

/* Measure one kind of sample, unless the file already has it. */
static int measure (const struct dn_bench_given *given,
                    const struct dn_loader *loader,
                    int n_threads,
                    struct dn_recorder *recorder,
                    struct dn_err *err)
{
    struct dn_sample sample = {
        .op = loader->op, .devices = n_threads, .bytes = loader->bytes};
    struct dn_buf shape = dn_buf_on (sample.shape, sizeof (sample.shape));
    struct crew crew = {.loader = loader, .n_threads = n_threads};
    const char *folder = loader->op == DN_SAMPLE_JPEG ? given->images : NULL;
    int rc;

    dn_buf_add (&shape, "%s%s", loader->shape, folder ? "; pictures of the site" : "");
    if (dn_samples_has (&recorder->samples, &sample))
        return 0;
    crew.shared = loader->begin (folder, err);
    if (!crew.shared)
        return -1;
    rc = run_crew (&crew, given->quick ? QUICK_S : SLICE_S, &sample, err);
    loader->end (crew.shared);
    if (rc < 0)
        return -1;
    return dn_interrupted () ? 0 : dn_recorder_put (recorder, &sample, err);
}

/* "model name : Intel ..." of the first processor. */
static void find_processor (char name[DN_SAMPLE_SHAPE_MAX / 2])
{
    FILE *file = fopen ("/proc/cpuinfo", "re");
    char line[256];

    snprintf (name, DN_SAMPLE_SHAPE_MAX / 2, "unknown");
    while (file && fgets (line, sizeof (line), file)) {
        const char *colon = strchr (line, ':');

        if (strncmp (line, "model name", 10) != 0 || !colon)
            continue;
        colon += strspn (colon, ": \t");
        snprintf (
            name, DN_SAMPLE_SHAPE_MAX / 2, "%.*s", (int) strcspn (colon, "\n"), colon);
        break;
    }
    if (file)
        fclose (file);
}

/* Cores that this process may use, such as those of its job. */
static int usable_cores (void)
{
    cpu_set_t set;

    if (sched_getaffinity (0, sizeof (set), &set) < 0)
        return 1;
    return CPU_COUNT (&set) > 0 ? CPU_COUNT (&set) : 1;
}

static int measure_all (const struct dn_bench_given *given,
                        struct dn_recorder *recorder,
                        struct dn_err *err)
{
    const size_t n_loaders = DN_N_ELEMENTS (loaders);
    int n_threads = given->cores > 0 ? (int) given->cores : usable_cores ();
    struct dn_progress progress = dn_progress_begin ("loaders");
    char processor[DN_SAMPLE_SHAPE_MAX / 2];
    int rc;

    find_processor (processor);
    rc = dn_recorder_fact (recorder, "processor", processor, true, err);
    for (size_t i = 0; i < n_loaders && rc == 0 && !dn_interrupted (); i++) {
        dn_progress_show (&progress, (int64_t) i, (double) i / (double) n_loaders);
        rc = measure (given, loaders[i], n_threads, recorder, err);
    }
    dn_progress_end (&progress);
    return rc;
}

int dn_bench_host (const struct dn_bench_given *given)
{
    struct dn_recorder recorder;
    struct dn_err err = {0};
    int rc;

#ifndef DN_JPEG
    if (given->images) {
        dn_complain ("built without libjpeg: --images has no effect");
        return DN_EXIT_USAGE;
    }
#endif
    if (dn_recorder_open (&recorder, given->samples, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    dn_interrupt_hold ();
    rc = measure_all (given, &recorder, &err);
    if (rc == 0)
        fprintf (
            stderr, "%s: %d samples in all\n", given->samples, recorder.samples.n_rows);
    dn_recorder_close (&recorder);
    dn_interrupt_release ();
    return rc < 0 ? dn_fail (DN_EXIT_DATA, &err) : DN_EXIT_DONE;
}
