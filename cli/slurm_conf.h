/* slurm_conf.h - the plugin's parameters in slurm.conf, for the command line
 *
 * slurmctld passes slurm.conf to the plugin; here it is read from the directory of
 * dnnest.conf. The file need not be trusted, because it only affects the output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SLURM_CONF_H
#define DN_SLURM_CONF_H

#include <limits.h>

#include "base/limits.h"
#include "base/text.h"

#define DN_SLURM_VALUE_MAX 4096

struct dn_slurm_conf {
    bool found;                /* the file */
    char cluster[DN_NAME_MAX]; /* ClusterName in lower case, as Slurm has it */
    char slurmctld_parameters[DN_SLURM_VALUE_MAX];
    char scheduler_parameters[DN_SLURM_VALUE_MAX];
    char path[PATH_MAX];                 /* of the file */
    char features[DN_SLURM_VALUE_MAX];   /* of its nodes, "a100,ib" */
    char partitions[DN_SLURM_VALUE_MAX]; /* "gpu,long" */
    bool names_cut;                      /* one of the two is not complete */
    char job_submit[DN_SLURM_VALUE_MAX]; /* JobSubmitPlugins */
    char plug_stack[DN_SLURM_VALUE_MAX]; /* PlugStackConfig; "": plugstack.conf beside
                                            it */
};

/* Read the slurm.conf in the directory of 'dnnest_conf' (NULL: there is none). Of a key
 * that occurs twice the last counts, as in Slurm; Include lines are followed. If there
 * is no such file, there are no parameters, and only the name of the cluster is taken
 * from SLURM_CONF of the environment, or the slurm.conf beside the usual dnnest.conf.
 * Return -1 with 'err' and no parameters if
 * it, or a file that it includes, cannot be read.
 */
int dn_slurm_conf_read (const char *dnnest_conf,
                        struct dn_slurm_conf *conf,
                        struct dn_err *err);

/* Does it load the plugin in slurmctld? */
bool dn_slurm_conf_submits (const struct dn_slurm_conf *conf);

/* Does PlugStackConfig, or a file that it includes, load the SPANK plugin? */
bool dn_slurm_conf_spank (const struct dn_slurm_conf *conf);

#endif
