/* misfortune.c - compares the jobs of every scenario with the same jobs without dnnest
 *
 *   misfortune [NAME]...
 *
 * Without a name all of them run. It prints a test per scenario and a table, and of
 * the first job that ended worse what happened to it, with and without dnnest.
 * DNNEST_MISFORTUNE_JOBS limits the jobs of a scenario.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Jobs that began at other moments may be killed that much earlier in their run. */
#define PERIOD 30000

/* Under sanitizers, which take their time. */
#define JOBS_SANITIZED 100

struct result {
    const char *name;
    int jobs, lowered, extended, restored, harmed, worse;
    int first; /* that ended worse; -1 */
    double cpu_s;
};

void tell (const struct world *world, int i, const char *format, ...)
{
    va_list args;

    if (i < 0 || world->watch != i || world->jobs[i].state == WAITING
        || world->jobs[i].state == DONE)
        return;
    printf ("#   %s ", dn_time_write (world->now / 1000).text);
    va_start (args, format);
    vprintf (format, args);
    va_end (args);
    putchar ('\n');
}

static int64_t ran (const struct job *job)
{
    return job->since - job->start - job->suspended;
}

/* Did the job complete only without dnnest, or was it ended earlier? */
static bool is_worse (const struct job *on, const struct job *off)
{
    int64_t tolerance = on->start == off->start ? 0 : PERIOD;

    if (on->outcome == COMPLETED)
        return false;
    return off->outcome == COMPLETED || ran (on) + tolerance < ran (off);
}

static void compare (const struct scenario *scenario,
                     const struct world *on,
                     const struct world *off,
                     struct result *result)
{
    for (int i = 0; i < (int) scenario->jobs; i++) {
        const struct job *job = &on->jobs[i];

        result->jobs++;
        result->lowered += job->lowered;
        result->extended += job->extended > 0;
        result->restored += job->restored > 0;
        if (!is_worse (job, &off->jobs[i]))
            continue;
        if (scenario->harms && job->start < off->jobs[i].start) {
            result->harmed++;
            continue;
        }
        if (result->first < 0)
            result->first = i;
        result->worse++;
    }
}

static struct world on, off;
static struct drawn drawn[JOBS_MAX];

static void tell_story (const struct scenario *scenario, int i)
{
    printf ("# seed %" PRId64 ", job %d, with dnnest\n", scenario->seed, i);
    world_run (&on, scenario, drawn, false, i);
    world_end (&on);
    printf ("# without\n");
    world_run (&off, scenario, drawn, true, i);
    world_end (&off);
}

static int64_t jobs_at_most (void)
{
    const char *jobs = getenv ("DNNEST_MISFORTUNE_JOBS");
    const char *sanitizers = getenv ("DNNEST_SANITIZERS");

    if (jobs && atoi (jobs) > 0 && atoi (jobs) < JOBS_MAX)
        return atoi (jobs);
    return sanitizers && sanitizers[0] != '\0' ? JOBS_SANITIZED : JOBS_MAX;
}

static int run (struct scenario *scenario, int number, struct result *result)
{
    clock_t begun = clock ();

    scenario->jobs = jobs_at_most ();
    *result = (struct result){.name = scenario->name, .first = -1};
    draw_jobs (scenario, drawn);
    world_run (&on, scenario, drawn, false, -1);
    world_run (&off, scenario, drawn, true, -1);
    compare (scenario, &on, &off, result);
    world_end (&on);
    world_end (&off);
    result->cpu_s = (double) (clock () - begun) / CLOCKS_PER_SEC;
    if (on.n_beyond > 0)
        printf ("# %d limits are above what their users requested\n", on.n_beyond);
    printf ("%s %d - %s: no job ends worse when %s\n",
            result->worse + on.n_beyond > 0 ? "not ok" : "ok",
            number,
            scenario->name,
            scenario->title);
    if (result->worse > 0)
        tell_story (scenario, result->first);
    fflush (stdout);
    return result->worse + on.n_beyond > 0;
}

static void print_table (const struct result *results, int n)
{
    printf ("# %-28s %5s %7s %8s %8s %6s %5s\n",
            "scenario",
            "jobs",
            "lowered",
            "extended",
            "restored",
            "harmed",
            "worse");
    for (int i = 0; i < n; i++)
        printf ("# %-28s %5d %7d %8d %8d %6d %5d  %.1f s\n",
                results[i].name,
                results[i].jobs,
                results[i].lowered,
                results[i].extended,
                results[i].restored,
                results[i].harmed,
                results[i].worse,
                results[i].cpu_s);
}

static struct scenario scenarios[SCENARIOS_MAX];
static struct result results[SCENARIOS_MAX];

/* Is it asked for? */
static bool is_named (const struct scenario *scenario, char *const *names)
{
    bool any = *names != NULL;

    for (; *names; names++)
        if (strcmp (*names, scenario->name) == 0)
            return true;
    return !any;
}

int main (int argc, char **argv)
{
    const char *top = getenv ("abs_top_srcdir");
    struct dn_err err = {0};
    char path[4096];
    int n_run = 0;
    int rc = 0;
    int n;

    (void) argc;
    snprintf (
        path, sizeof (path), "%s/tests/misfortune/scenarios.txt", top ? top : ".");
    n = scenarios_read (path, scenarios, &err);
    if (n < 0)
        printf ("Bail out! %s\n", err.text);
    for (int i = 0; i < n; i++)
        if (is_named (&scenarios[i], argv + 1)) {
            rc |= run (&scenarios[i], n_run + 1, &results[n_run]);
            n_run++;
        }
    printf ("1..%d\n", n_run);
    print_table (results, n_run);
    return n_run == 0 || rc;
}
