/* job_story.h - what dnnest did to one finished job, and what became of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOB_STORY_H
#define DN_JOB_STORY_H

#include <stdbool.h>

struct dn_site;

/* Print all runs of the job 'id' ("12", "12_3") as JSON or text: those of the store
 * 'db', or if it is NULL of that of the site, and where that cannot be read those of
 * accounting; of one that has not ended, what is known of it. Return an enum dn_exit:
 * ABSTAINED if there is none.
 */
int dn_job_story (const struct dn_site *site,
                  const char *db,
                  const char *id,
                  bool as_json);

#endif
