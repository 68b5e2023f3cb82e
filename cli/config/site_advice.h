/* site_advice.h - what would make the time limits of a site better
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_ADVICE_H
#define DN_SITE_ADVICE_H

#include "site.h"

/* What the site lacks for limits that follow the likely time; NULL: nothing, or it does
 * not let dnnest set any. 'slurm' is the version of Slurm (2411); 'slurm_conf': its
 * parameters were read, so what is not in them is not set.
 */
const char *dn_site_advice (const struct dn_site *site, int slurm, bool slurm_conf);

#endif
