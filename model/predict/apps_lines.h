/* apps_lines.h - the lines of the file 'history' as they are written; private to apps.c
 * and apps_write.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_APPS_LINES_H
#define DN_APPS_LINES_H

#include "predict/apps.h"

/* The lines that are no struct of apps.h, as they are written. */
struct dn_app_network {
    char graph[DN_APPS_NETWORK_MAX]; /* with "'" for '"' */
};
struct dn_app_captured {
    struct dn_app_known known; /* but for its texts */
    char spec[DN_APPS_SPEC_MAX];
    char arch[DN_ARCH_MAX];
    char job[DN_NAME_MAX];
};
struct dn_app_tail {
    int64_t rows;
    int64_t captured;
};

#endif
