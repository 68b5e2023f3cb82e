/* costly_site.h - a site on which a decision costs as much as any site can make it
 *
 * The most GPU types, the bundle that comes with dnnest, the longest history of one
 * application (costly_application), the most Policy lines with the most names, and
 * every job is advised. Slurm's allocator is the stand-in's. There is no cache of
 * estimates and no decision log.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COSTLY_SITE_H
#define DN_COSTLY_SITE_H

#include "recipe.h"

#define COSTLY_APPLICATION "deep"

/* Once, before jobs are submitted. The files are those of $abs_top_srcdir. */
void costly_site_start (void);
void costly_site_stop (void);

/* DecisionTime= in ms; 0: none. */
void costly_site_limit (double decision_ms);

/* Submit as slurmctld does; the message to the user, or NULL, to be freed with
 * slurm_text_free (). 'file' is that of recipe_cook ().
 */
void costly_site_file (const char *file);
char *costly_site_submit (job_desc_msg_t *desc);

#endif
