/* slurm_conf.c - fuzz target: slurm.conf as the command line reads it
 *
 * Attack surface: continued lines, comments, quotes. The file is not trusted.
 *
 * Aims at: cli/slurm_conf.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <limits.h>
#include <stdio.h>

#include "scratch.h"
#include "slurm_conf.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char dnnest_conf[PATH_MAX];
    struct dn_slurm_conf conf;
    struct dn_err err = {0};

    scratch_write ("slurm.conf", data, size);
    snprintf (dnnest_conf, sizeof (dnnest_conf), "%s", scratch_path ("dnnest.conf"));
    if (dn_slurm_conf_read (dnnest_conf, &conf, &err) < 0) {
        expect_message (&err);
        expect (conf.slurmctld_parameters[0] == '\0', "parameters", NULL);
    }
    return 0;
}
