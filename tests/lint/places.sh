# shellcheck shell=bash
# places.sh - changes that places.t applies at the top of a copy of the tree, a function each
#
# SPDX-License-Identifier: GPL-2.0-or-later

network() {
    sed 's/"squeezenet1_0"/"squeezenet1_9"/' etc/zoo/squeezenet1_0.json > etc/zoo/squeezenet1_9.json
}

family() {
    sed 's/FAMILY ("swin"/FAMILY ("zenith"/; s/swin/zenithnet/g' model/graph/zoo/swin.c \
        > model/graph/zoo/zenithnet.c
    sed -i 's|^    X (swin) .*|&\n    X (zenithnet) \\|' model/graph/zoo/zoo.h
    sed -i 's|^    model/graph/zoo/swin.c .*|&\n    model/graph/zoo/zenithnet.c \\|' model/graph/graph.am
}

gpu() {
    sed 's/^Device=.*/Device=z100_80gb/; s/^Fp16=.*/Fp16=401T/' \
        etc/hardware/a100_sxm4_80gb.conf > etc/hardware/z100_80gb.conf
}

generation() {
    printf '\nGeneration=zenith\nNumber=9\nFlashAttention=1\nNewHost=1\n' >> etc/hardware/generations.conf
}

metadata_key() {
    sed -i 's|^    int64_t power_limit;.*|&\n    int64_t zenith; /* extra seconds of a run */|' model/spec/spec.h
    sed -i 's|^    INT (DEV, power_limit, .*|&\n    INT (DEV, zenith, 1, 5000, "extra seconds of a run"),|' model/spec/spec.c
    sed -i 's|^ *start_seconds (c),|start_seconds (c) + (double) (c->spec->zenith > 0 ? c->spec->zenith : 0),|' model/predict/whitebox.c
}

policy_key() {
    sed -i 's|^    ENUM (dn_yes, DN_YES, user_objective, .*|    ENUM (dn_yes, DN_YES, zenith, "Zenith", LOWER, "no", \\\n          "yes: objective= is never honoured") \\\n&|' \
        model/policy/rules.h
    sed -i 's|d->rules->user_objective == DN_YES_YES|& \&\& d->rules->zenith != DN_YES_YES|' \
        model/policy/choose_gpu.c
    sed -i 's|^#UserObjective=no|&\n\n# yes: objective= is never honoured.\n#Zenith=no|' etc/dnnest.conf
}

message() {
    sed -i 's|is not in the hardware catalogue%s|is not a device of the catalogue%s|' model/base/messages.inc
}

subcommand() {
    cat > cli/cmd_zenith.c <<'C'
/* cmd_zenith.c - dnnest zenith: count the devices of the catalogue */
#include <stdio.h>

#include "commands.h"
#include "common.h"
#include "site.h"

static int run (struct dn_options *given)
{
    if (!dn_options_all (given, NULL, 0, 0) || !dn_options_site (given, NULL))
        return given->exit_code;
    printf ("%d devices\n", given->site->catalogue.n_devices);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_zenith = {.name = "zenith",
                                         .summary = "Count the devices",
                                         .arguments = "",
                                         .run = run};
C
    sed -i 's|^    X (zoo) .*|&\n    X (zenith) \\|' cli/commands.h
    sed -i 's|^    cli/cmd_zoo.c .*|&\n    cli/cmd_zenith.c \\|' cli/cli.am
    sed -i 's|^## zoo$|## zenith\n\nCount the devices.\n\n*dnnest zenith* [_OPTION_]...\n\n&|' \
        cli/pages/dnnest.1.scd
}

slurm_version() {
    sed -i "s|^26.05 Debian sid sid'|26.05 Debian sid sid\n26.11'|" tests/live/lib/versions.sh
    sed -i 's|22\.05 to 26\.05|22.05 to 26.11|' README.md
}
