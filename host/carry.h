/* carry.h - reads the sidecar that a job's option or comment names
 *
 * The option's file is read on the client, by the SPANK plugin or a dry run; the
 * comment's file by slurmctld, below SidecarDir=. Both give the text of the sidecar,
 * which model/ parses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CARRY_H
#define DN_CARRY_H

#include "request/request.h"

/* Names of the two entries that dnnest sets in the job's SPANK environment. */
#define DN_CARRY_OPTION  "DNNEST_OPTION"
#define DN_CARRY_SIDECAR "DNNEST_SIDECAR"

/* The entry that Slurm sets for the option. It may be from an outer job, so it is never
 * read.
 */
#define DN_CARRY_AUTOMATIC "_SLURM_SPANK_OPTION_dnnest_dnnest"

/* The entry that Slurm sets for the container of the job, by the plugin pyxis. */
#define DN_CARRY_IMAGE "_SLURM_SPANK_OPTION_pyxis_container_image"

/* Makes a sidecar of a text in another format, to be freed with free (); *sidecar is
 * NULL where the text has none that it knows. Return -1 with 'err'.
 */
typedef int (*dn_carry_convert_f) (struct dn_span text,
                                   char **sidecar,
                                   struct dn_err *err);

/* On the client: read the file that the option names, convert it ('convert' may be
 * NULL), check and compact it. '*sidecar' is freed with free (), NULL where the option
 * names no file. Return -1 with 'err'.
 */
int dn_carry_option (const char *option,
                     dn_carry_convert_f convert,
                     char **sidecar,
                     struct dn_err *err);

/* On the server: read the file that the comment of 'job' names, below 'dir'
 * (SidecarDir=, "": off), if the job's owner owns it. Nothing is read for a job that
 * has a sidecar already or opts out. Results as above.
 */
int dn_carry_comment (const struct dn_job *job,
                      const char *dir,
                      char **sidecar,
                      struct dn_err *err);

#endif
