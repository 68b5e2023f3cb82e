/* progress.h - a progress line on a terminal
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROGRESS_H
#define DN_PROGRESS_H

#include "base/base.h"

struct dn_progress {
    const char *unit; /* borrowed; "rows" */
    bool on;          /* stderr is a terminal */
    bool shown;       /* a line is displayed */
    double begun_s;
    double next_s; /* when to show it again */
};

struct dn_progress dn_progress_begin (const char *unit);

/* Show "N rows, M rows/s, P %" on stderr, if the work takes long and an update is due.
 * 'share' of the work is done; negative: unknown.
 */
void dn_progress_show (struct dn_progress *progress, int64_t n, double share);

/* Clear the line. */
void dn_progress_end (struct dn_progress *progress);

#endif
