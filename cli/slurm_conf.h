/* slurm_conf.h - what the plugin is told by slurm.conf, for the command line
 *
 * slurmctld has read slurm.conf itself; here it is read from the file beside
 * dnnest.conf. It is not trusted with anything: it only changes what is shown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SLURM_CONF_H
#define DN_SLURM_CONF_H

#include "base/text.h"

#define DN_SLURM_VALUE_MAX 4096

struct dn_slurm_conf {
    char slurmctld_parameters[DN_SLURM_VALUE_MAX];
    char scheduler_parameters[DN_SLURM_VALUE_MAX];
};

/* Read the slurm.conf in the directory of 'dnnest_conf' (NULL: there is none). Of a key
 * that stands twice the last counts, as for Slurm; Include lines are not followed. No
 * such file means no parameters. Return -1 with 'err' and no parameters where it cannot
 * be read.
 */
int dn_slurm_conf_read (const char *dnnest_conf,
                        struct dn_slurm_conf *conf,
                        struct dn_err *err);

#endif
