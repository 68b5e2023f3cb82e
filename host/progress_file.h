/* progress_file.h - how far a job is, as it says itself
 *
 * A job writes the file ProgressDir/JOBID, and dnnestd reads it. Of the ways from a job
 * to dnnestd this one needs no privilege: Slurm lets users change nothing of a running
 * job but its comment, which belongs to them and may have metadata in it; a socket
 * would need a name, a port and a protection of its own; the output of a job is large
 * and may be anywhere. In a directory with the sticky bit, as /tmp, no user can replace
 * another's file, and dnnestd believes a file only if the user of the job owns it.
 * It must be readable by SlurmUser.
 *
 *   dnnest-progress 1
 *   report TIME DONE TOTAL      in any unit; a line per report, the oldest first
 *   out_of_memory TIME          the program ran out of GPU memory
 *
 * Times are seconds since 1970. There are few lines: when the file is full, every other
 * report is dropped. The text may come from anywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROGRESS_FILE_H
#define DN_PROGRESS_FILE_H

#include "base/limits.h"
#include "base/text.h"

#define DN_PROGRESS_VERSION 1

/* Reports in a file, its bytes, and the largest DONE or TOTAL. */
#define DN_PROGRESS_REPORTS_MAX 64
#define DN_PROGRESS_BYTES_MAX   8192
#define DN_PROGRESS_COUNT_MAX   INT64_C (1000000000000000)

/* The variable of a job that names the directory; the file in it is SLURM_JOB_ID. */

/* What begins a report in the output of a program. */
#define DN_PROGRESS_WORD "DNNEST_PROGRESS"

struct dn_progress_report {
    int64_t time_s;
    int64_t done;
    int64_t total; /* in the same unit */
};

struct dn_progress {
    struct dn_progress_report reports[DN_PROGRESS_REPORTS_MAX];
    int n_reports;
    int64_t out_of_memory_s; /* 0: it has not failed so */
};

/* Read the text of a file. -1 with 'err', which names 'file', and an empty 'progress'.
 */
int dn_progress_read (struct dn_span text,
                      const char *file,
                      struct dn_progress *progress,
                      struct dn_err *err);

/* Write it as dn_progress_read () reads it. */
void dn_progress_write (const struct dn_progress *progress, struct dn_buf *buf);

/* Add a report. One that goes back, or has another total, begins anew: it is of another
 * run. One of the same second replaces the last, and one that has not advanced is
 * dropped.
 */
void dn_progress_add (struct dn_progress *progress,
                      const struct dn_progress_report *report);

/* Read "37/90", or percent with up to two decimals: "41.5%". -1 with 'err'. */
int dn_progress_parse (struct dn_span text,
                       struct dn_progress_report *report,
                       struct dn_err *err);

/* Does this line of a program's output say that GPU memory was exhausted? The words are
 * those of PyTorch, TensorFlow, JAX, Paddle and CUDA itself.
 */
bool dn_says_out_of_memory (struct dn_span line);

#endif
