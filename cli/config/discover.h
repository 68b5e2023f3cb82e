/* discover.h - Gpu lines for dnnest.conf from what a cluster has
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DISCOVER_H
#define DN_DISCOVER_H

#include "common.h"
#include "site.h"

/* What 'dnnest config --discover' is given. */
struct dn_discover {
    const char *snapshot; /* file, "-" stdin; NULL: of StateDir, else made now */
    bool json;
};

/* Print a Gpu line for each type. Return an enum dn_exit. */
int dn_discover (const struct dn_discover *discover, const struct dn_site *site);

#endif
