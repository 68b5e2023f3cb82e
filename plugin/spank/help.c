/* help.c - what --dnnest=help prints
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spank/help.h"

#include <stdio.h>
#include <string.h>

#include "spec/spec.h"

void dn_help_print (void)
{
    const char *group = "";
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    printf (
        "--dnnest=KEY=VALUE,...     what the job trains, so that dnnest can lower "
        "its\n"
        "                           time limit, GPU price and CPU count\n"
        "--dnnest=FILE, @FILE       the same in a sidecar, dnnest.sidecar(5)\n"
        "--dnnest=@FILE,KEY=VALUE   a sidecar, and keys that override its own\n"
        "--dnnest=off               do not change the job\n"
        "\n"
        "For sbatch, salloc, srun and in #SBATCH lines. See dnnest.spec(5); 'dnnest "
        "advise'\n"
        "takes the same options and submits nothing.\n");
    for (int i = 0; i < n_keys; i++) {
        if (strcmp (group, keys[i].group) != 0)
            printf ("\n%s:\n", keys[i].group);
        group = keys[i].group;
        printf ("  %-14s %s\n", keys[i].name, keys[i].help);
        for (int n = 1; n < keys[i].names.n_names; n++)
            printf ("%s%s", n == 1 ? "                 " : " ", keys[i].names.names[n]);
        if (keys[i].names.n_names > 1)
            printf ("\n");
    }
}
