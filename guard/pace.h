/* pace.h - how long a job needs, by what it has reported
 *
 * In: the reports of a job, its start, the time. Out: the time limit that it needs. The
 * pace is measured between the first report and the last, so that the start of the
 * program does not count as work; the margin follows from how much the pace varies, and
 * is at least a tenth of what is left. Reports that contradict each other, come from
 * the future, or have stopped coming give no answer. Wrong reports of a job can
 * shorten its own limit only, and no report extends it beyond what its user has
 * requested.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PACE_H
#define DN_PACE_H

#include "host/progress_file.h"

struct dn_pace_job {
    int64_t start_s;    /* of the present run, seconds since 1970 */
    int64_t now_s;      /* seconds since 1970 */
    int64_t ran_s;      /* without suspensions */
    int64_t interval_s; /* between two looks */
};

struct dn_pace {
    int64_t needed_s; /* run time of the whole job, with margin; DN_UNSET: unknown */
    bool steady;      /* enough was seen to give time back */
};

struct dn_pace dn_pace_needed (const struct dn_progress *progress,
                               const struct dn_pace_job *job);

#endif
