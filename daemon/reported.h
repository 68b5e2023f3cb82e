/* reported.h - what a job has reported about its progress, and its rules
 *
 * The file ProgressDir/JOBID, or else the steps of ProgressDir/JOBID.capture, is read
 * as any file of a user (host/files.h): it must be a regular file of the job's user,
 * reached through no link, and small.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPORTED_H
#define DN_REPORTED_H

#include "host/progress_file.h"
#include "site.h"
#include "slurm/slurm_link.h"

/* Read the files of a job. False if there is none that can be believed; then 'progress'
 * is empty.
 */
bool dn_progress_of (const struct dn_site *site,
                     const struct dn_link_job *job,
                     struct dn_progress *progress);

/* The rules for a job of the table. */
struct dn_rules dn_rules_of (const struct dn_site *site, const struct dn_link_job *job);

#endif
