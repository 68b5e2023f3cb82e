/* site_train.h - fits a site's own runs and writes the tuned bundle
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_TRAIN_H
#define DN_SITE_TRAIN_H

#include "common.h"
#include "directory.h"
#include "site.h"

struct dn_site_train {
    const char *const *tables; /* as 'dnnest-dev evaluate' takes them; "-": stdin */
    int n_tables;
    struct dn_directory out;
    bool json;
};

/* Read the runs, fit them, write the bundle and print a summary. It starts from the
 * bundle of 'site', whose tuning is removed. Return an enum dn_exit; errors are
 * printed.
 */
int dn_site_train (struct dn_site *site, const struct dn_site_train *train);

#endif
