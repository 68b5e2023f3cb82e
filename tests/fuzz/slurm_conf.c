/* slurm_conf.c - fuzz target: slurm.conf as the command line reads it
 *
 * Attack surface: continued lines, comments, quotes, Include lines. The file is not
 * trusted. It may include itself, and its second half, which is the file "part-a".
 *
 * Aims at: cli/slurm_conf.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "../unit/scratch.h"
#include "slurm_conf.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_slurm_conf conf;
    struct dn_err err = {0};

    scratch_write ("slurm.conf", data, size);
    scratch_write ("part-a", data + size / 2, size - size / 2);
    if (dn_slurm_conf_read (scratch_path ("dnnest.conf"), &conf, &err) < 0) {
        expect_message (&err);
        expect (conf.slurmctld_parameters[0] == '\0', "parameters");
    }
    return 0;
}
