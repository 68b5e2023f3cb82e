/* state.h - what the plugin knows: the site, and what the files of dnnestd say
 *
 * Each part is loaded by the keeper, constant, and replaced as a whole. From
 * Slurm 23.02 on, job_submit () runs in several threads at the same time: each takes
 * the state in force and gives it back, and the last user of a part frees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STATE_H
#define DN_STATE_H

#include "base/cache.h"
#include "host/load.h"
#include "host/view_files.h"
#include "site.h"

enum {
    DN_STATE_SITE,
    DN_STATE_NEWS, /* of the first file of dnnestd, which has a part of its own */
    DN_N_STATE_PARTS = DN_STATE_NEWS + DN_N_VIEW_FILES
};

/* It does not change until it is given back. */
struct dn_state {
    const struct dn_site *site; /* NULL: do nothing */
    /* The estimates of earlier jobs on that site, for dn_advise (); NULL: there is no
     * cache. */
    struct dn_cache_access *cache;
    int64_t since_s;     /* when the site was put in force, since 1970 */
    struct dn_view view; /* now */
    struct dn_state_part *parts[DN_N_STATE_PARTS];
};

/* From any thread. */
void dn_state_take (struct dn_state *state);
void dn_state_give (struct dn_state *state);

/* What follows is for one thread at a time, and cannot fail. */

/* Build a new site from 'conf' and the files that it names, with the overrides of
 * slurm.conf in 'context', and replace the present one by it. On an error the site in
 * force, if any, is kept, and the log has a line. A line equal to the last one is not
 * logged, except for DN_LOAD_ORDERED.
 *
 * Return true if the result may change though no file does: a file or the name service
 * could not be read, or a user or group of a Policy line is not known. Then call it
 * again with DN_LOAD_RETRIED, which keeps the present site if nothing has changed.
 */
enum dn_load_cause {
    DN_LOAD_ORDERED, /* a start or a change of slurm.conf */
    DN_LOAD_CHANGED, /* a change of files */
    DN_LOAD_RETRIED
};
bool dn_state_load (const char *conf,
                    const struct dn_load_context *context,
                    enum dn_load_cause cause) DN_COLD;

/* Read the files of dnnestd that have changed since the last call; without a site,
 * forget them. A file that is broken counts as none, and the log has a line, which is
 * not repeated while it stays broken.
 */
void dn_state_look (void) DN_COLD;

/* Write a line of the plugin to slurmctld's log. */
void dn_state_log (bool error, const char *text);

/* Drop all parts; one in use is freed when it is given back. */
void dn_state_forget (void) DN_COLD;

#endif
