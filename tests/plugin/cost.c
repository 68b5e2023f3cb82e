/* cost.c - how long the built plugin takes for a submission, in a simulated slurmctld
 *
 * usage: cost [ROUNDS | --list | --once JOB]
 *
 * CPU time of the thread that submits, in microseconds. Other work on the machine
 * affects it only by caches and clock rates. "warm" is one submission after another;
 * "cold" is the first one of a new thread with other data in the caches, as in
 * slurmctld. --once submits JOB once to warm up and once in measured (), for a program
 * that counts instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "large_site.h"

#include <pthread.h>
#include <time.h>

#define ROUNDS     200
#define ROUNDS_MAX 100000
#define WARM       20 /* submissions of a round */
#define OTHER_DATA (8 * 1024 * 1024)

static double now_us (void)
{
    struct timespec now;

    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e6 * (double) now.tv_sec + 1e-3 * (double) now.tv_nsec;
}

__attribute__ ((noinline)) static void measured (job_desc_msg_t *desc)
{
    submit_quietly (desc);
}

/* Microseconds of one submission. */
static double time_one (enum large_job kind)
{
    job_desc_msg_t desc;
    double start;
    double end;

    make_large_job (&desc, kind);
    start = now_us ();
    measured (&desc);
    end = now_us ();
    job_free (&desc);
    return end - start;
}

struct order {
    enum large_job kind;
    double us;
};

static void *time_in_thread (void *of)
{
    struct order *order = of;

    order->us = time_one (order->kind);
    return NULL;
}

/* Other work of a controller, which fills the caches. */
static void use_caches (void)
{
    static volatile char other[OTHER_DATA];

    for (size_t i = 0; i < sizeof (other); i += 64)
        other[i]++;
}

static double time_cold (enum large_job kind)
{
    struct order order = {.kind = kind};
    pthread_t thread;

    use_caches ();
    if (pthread_create (&thread, NULL, time_in_thread, &order) != 0)
        fail_msg ("no thread");
    pthread_join (thread, NULL);
    return order.us;
}

static double time_warm (enum large_job kind)
{
    double us = 0;

    time_one (kind);
    for (int i = 0; i < WARM; i++)
        us += time_one (kind);
    return us / WARM;
}

static int by_value (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

static void print_row (const char *name, const char *how, double *us, int n)
{
    qsort (us, (size_t) n, sizeof (*us), by_value);
    printf ("| %s | %s | %.1f | %.1f-%.1f | %.1f |\n",
            name,
            how,
            us[n / 2],
            us[n / 4],
            us[n - 1 - n / 4],
            us[0]);
}

static void print_table (int rounds)
{
    static double warm[N_LARGE_JOBS][ROUNDS_MAX];
    static double cold[N_LARGE_JOBS][ROUNDS_MAX];

    for (int i = 0; i < rounds; i++)
        for (int kind = 0; kind < N_LARGE_JOBS; kind++) {
            warm[kind][i] = time_warm ((enum large_job) kind);
            cold[kind][i] = time_cold ((enum large_job) kind);
        }
    printf ("| job | | median us | quartiles | least |\n|---|---|---:|---|---:|\n");
    for (int kind = 0; kind < N_LARGE_JOBS; kind++) {
        print_row (large_jobs[kind].name, "warm", warm[kind], rounds);
        print_row (large_jobs[kind].name, "cold", cold[kind], rounds);
    }
}

static void submit_once (const char *name)
{
    for (int kind = 0; kind < N_LARGE_JOBS; kind++)
        if (strcmp (large_jobs[kind].name, name) == 0) {
            job_desc_msg_t desc;

            make_large_job (&desc, (enum large_job) kind);
            submit_and_free (&desc);
            time_one ((enum large_job) kind);
            return;
        }
    fail_msg ("%s: no such job", name);
}

int main (int argc, char **argv)
{
    long rounds = argc == 2 ? strtol (argv[1], NULL, 10) : ROUNDS;

    if (argc == 2 && strcmp (argv[1], "--list") == 0) {
        for (int kind = 0; kind < N_LARGE_JOBS; kind++)
            puts (large_jobs[kind].name);
        return 0;
    }
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf (stderr, "usage: cost [ROUNDS | --list | --once JOB]\n");
        return 2;
    }
    if (load_plugin (NULL) < 0)
        return 1;
    make_large_site ();
    start_plugin (LARGE_SITE);
    if (argc == 3 && strcmp (argv[1], "--once") == 0)
        submit_once (argv[2]);
    else
        print_table ((int) rounds);
    stop_plugin ();
    return 0;
}
