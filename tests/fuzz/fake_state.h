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

/* Of the sites that enforce. */
#define FAKE_PROGRESS_DIR "/var/spool/progress"

/* What a site may do to a job, as its configuration was meant. */
enum {
    ENFORCES = 1, /* at least some */
    RAISES = 2,
    FILLS = 4,    /* limits of jobs without one */
    TIME_MIN = 8, /* sets the least time, and leaves the limit */
    MOVES_PARTITION = 16,
    MOVES_FEATURES = 32,
    WANTS_ALL = 64, /* OptIn=all */
    RECORDS = 128,
    BUNDLE = 256
};
struct fake_site {
    const char *conf;
    int may;
};

/* Submit to the 'site'-th of them, counted round, from now on. */
const struct fake_site *fake_state_choose (unsigned site);

/* The partition of jobs that name none; borrowed, NULL: there is none. */
void fake_state_partition (char *name);

#endif
