/* slurm_version.h - the version of Slurm that the command line answers for
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SLURM_VERSION_H
#define DN_SLURM_VERSION_H

#include "base/err.h"

/* The version that the plugins are built for, the oldest supported without them. */
extern const char *const dn_slurm_version_default;

/* Read "22.05" or "22.05.8", the argument of --slurm, as 2205. */
int dn_slurm_version_read (const char *text, int *version, struct dn_err *err);

#endif
