/* site_train.h - fit a site's own runs and write the bundle that holds the result
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_TRAIN_H
#define DN_SITE_TRAIN_H

#include "common.h"
#include "site.h"

struct dn_site_train {
    const char *records; /* a table as 'dnnest evaluate' takes it; "-": stdin */
    const char *out;     /* the bundle, a folder that does not exist yet */
    const char *base;    /* a bundle to be taken over, or NULL */
    bool json;
};

/* Read, fit, write, print. Returns an enum dn_exit, having complained. */
int dn_site_train (const struct dn_site *site, const struct dn_site_train *train);

#endif
