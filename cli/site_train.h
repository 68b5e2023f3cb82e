/* site_train.h - fit a site's own runs and write the bundle that holds the result
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_TRAIN_H
#define DN_SITE_TRAIN_H

#include "common.h"
#include "site.h"

struct dn_site_train {
    const char *const *records; /* as 'dnnest evaluate' takes them; "-": stdin */
    int n_records;
    const char *out; /* the bundle, a directory */
    bool json;
};

/* Read, fit, write, print. The site's bundle is what it starts from, and loses its
 * tuning. Returns an enum dn_exit, having complained.
 */
int dn_site_train (struct dn_site *site, const struct dn_site_train *train);

#endif
