/* captured.h - what a finished job has measured and described of itself, for the store
 *
 * In: the directory ProgressDir and a finished job as accounting has it. Out: the
 * columns that the job's own file JOBID.capture (host/capture_file.h) fills. The file
 * must be of the job's user, and of this run: written between its start and its end.
 *
 * A day after the end of a job its files in ProgressDir are removed, since nothing
 * reads them any more, where the directory lets this process do so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CAPTURED_H
#define DN_CAPTURED_H

#include "jobs/finished.h"

/* The clock of a node, and that of slurmctld. */
#define DN_CAPTURED_SKEW_S 120

/* Fill the columns, but for 'captured': that is the text that is returned, freed with
 * free (). NULL: there is no file that can be believed, and nothing is filled.
 */
char *dn_captured_fill (const char *progress_dir, struct dn_finished *job);

/* Remove what the job has left, unless a later run of the same number has written it.
 */
void dn_captured_remove (const char *progress_dir, const struct dn_finished *job);

#endif
