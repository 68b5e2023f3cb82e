/* fake_state.h - sites for the plugin, loaded once from files
 *
 * Stands in the place of the plugin's thread and of its reloading (submit/keeper.c,
 * submit/state.c), which have tests of their own: so every input is submitted to the
 * site that it names, and to nothing that an earlier one has left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FAKE_STATE_H
#define DN_FAKE_STATE_H

#include <stdbool.h>

/* Of the sites that enforce. */
#define FAKE_PROGRESS_DIR "/var/spool/progress"

/* What a site may do to a job, as its configuration was meant. */
struct fake_site {
    const char *conf;
    bool enforces; /* at least some */
    bool raises;
    bool fills;    /* limits of jobs without one */
    bool time_min; /* sets the least time, and leaves the limit */
    bool moves_partition;
    bool moves_features;
    bool wants_all; /* OptIn=all */
    bool records;
    bool bundle;
};

/* Submit to the 'site'-th of them, counted round, from now on. */
const struct fake_site *fake_state_choose (unsigned site);

/* The partition of jobs that name none; borrowed, NULL: there is none. */
void fake_state_partition (char *name);

#endif
