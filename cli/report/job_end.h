/* job_end.h - when a running job is expected to end, by what it reports of itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOB_END_H
#define DN_JOB_END_H

#include "output/json.h"

/* Add to 'json' when the job is expected to end ("expected_end_s"), when its limit ends
 * it ("limit_end_s"), and whether that is before ("beyond_limit"). 'text' is the line
 * of 'scontrol show job -o' with SLURM_TIME_FORMAT=%s. False: the job is not running,
 * or has reported nothing in 'progress_dir'.
 */
bool dn_job_end_tell (const char *text,
                      const char *progress_dir,
                      struct json_object *json);

/* Print these as text, if they are there. */
void dn_job_end_print (struct json_object *json);

#endif
