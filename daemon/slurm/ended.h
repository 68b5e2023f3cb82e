/* ended.h - the jobs that have ended, from slurmdbd through libslurm
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ENDED_H
#define DN_ENDED_H

#include "collect/source.h"

/* Make 'source' that of slurmdbd. dn_link_open () comes before. -1 with 'err'. */
int dn_ended_open (struct dn_source *source, struct dn_err *err);

#endif
