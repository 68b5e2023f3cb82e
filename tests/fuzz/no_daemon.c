/* no_daemon.c - what the plugin calls of its thread and of slurmctld, where there is
 * neither
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stand_in.h"

#include "submit/keeper.h"
#include "submit/state.h"
#include "trace/trace.h"

SLURM_SYMBOL char *default_part_name;
struct dn_counters dn_counters;

void dn_keeper_notice (void)
{
}

bool dn_keeper_is_missing (void)
{
    return false;
}

void dn_state_give (struct dn_state *state)
{
}
