/* reports.c - what simulated jobs report about their progress: truth, lies and garbage
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/progress_file.h"

#define N_REPORTS 20
#define TOTAL     1000000

/* The share of its work that a job says to have done after a share of its run time. */
static double said (enum progress kind, double ran)
{
    switch (kind) {
    case SLOWING:
        return ran < 0.2 ? ran * 3 : 0.6 + (ran - 0.2) / 2;
    case BOASTING:
        return fmin (ran * 4, 0.99);
    case LAMENTING:
        return ran / 20;
    default:
        return ran;
    }
}

static void add_reports (const struct world *world, int i, struct dn_buf *buf)
{
    const struct job *job = &world->jobs[i];
    enum progress kind = world->drawn[i].progress;
    struct dn_progress progress = {.n_reports = 0};
    double ran = (double) (world->now - job->start - job->suspended);

    if (kind == STOPPING)
        ran = fmin (ran, 600e3);
    for (int k = 0; k <= N_REPORTS; k++) {
        double at = ran * k / N_REPORTS;
        double done = said (kind, at / (double) world->drawn[i].need) * TOTAL;
        struct dn_progress_report report = {
            T0 + (job->start + job->suspended + (int64_t) at) / 1000,
            (int64_t) done,
            TOTAL};

        dn_progress_add (&progress, &report);
    }
    dn_progress_write (&progress, buf);
}

static void path_of (const struct world *world, int i, char *path, size_t size)
{
    snprintf (path, size, "%s/progress/%" PRId64, world->dir, world->rows[i].raw_id);
}

void write_reports (const struct world *world)
{
    for (int i = 0; i < (int) world->scenario->jobs; i++) {
        char text[DN_PROGRESS_BYTES_MAX] = "dnnest-progress 1\nreport 9e99 -1 \xff";
        struct dn_buf buf = dn_buf_on (text, sizeof (text));
        char path[128];
        FILE *file;

        if (world->jobs[i].state != RUNNING || world->drawn[i].progress == SILENT)
            continue;
        if (world->drawn[i].progress != GARBAGE)
            add_reports (world, i, &buf);
        path_of (world, i, path, sizeof (path));
        file = fopen (path, "we");
        if (!file || fputs (text, file) < 0 || fclose (file) != 0)
            abort ();
    }
}

void begin_reports (struct world *world)
{
    if (world->scenario->progress == 0)
        return;
    snprintf (world->site.progress_dir,
              sizeof (world->site.progress_dir),
              "%s/progress",
              world->dir);
    if (mkdir (world->site.progress_dir, 0755) < 0)
        abort ();
}

void end_reports (const struct world *world)
{
    char path[128];

    for (int i = 0; i < (int) world->scenario->jobs; i++) {
        path_of (world, i, path, sizeof (path));
        unlink (path);
    }
    snprintf (path, sizeof (path), "%s/progress", world->dir);
    rmdir (path);
}
