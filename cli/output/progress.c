/* progress.c - a progress line on a terminal
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

/* Work shorter than QUIET_S shows no progress; faster updates would flicker. */
#define QUIET_S    1.0
#define INTERVAL_S 0.25

static double now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

struct dn_progress dn_progress_begin (const char *unit)
{
    double now = now_s ();

    return (struct dn_progress){unit, isatty (2) == 1, false, now, now + QUIET_S};
}

void dn_progress_show (struct dn_progress *progress, int64_t n, double share)
{
    double now;

    if (!progress->on)
        return;
    now = now_s ();
    if (now < progress->next_s)
        return;
    progress->next_s = now + INTERVAL_S;
    progress->shown = true;
    fprintf (stderr,
             "\r\033[K%s: %" PRId64 " %s, %.0f %s/s",
             dn_program,
             n,
             progress->unit,
             (double) n / (now - progress->begun_s),
             progress->unit);
    if (share >= 0)
        fprintf (stderr, ", %.0f %%", 100 * share);
    fflush (stderr);
}

void dn_progress_end (struct dn_progress *progress)
{
    if (progress->shown)
        fprintf (stderr, "\r\033[K");
    progress->shown = false;
}
