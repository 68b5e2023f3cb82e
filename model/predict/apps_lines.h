/* apps_lines.h - the lines of the file 'history' as they are written; private to apps.c
 * and apps_write.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_APPS_LINES_H
#define DN_APPS_LINES_H

#include "predict/apps.h"

/* Units of the numbers in the file, which are all whole. */
#define DN_APPS_PER_MILLI 1e3
#define DN_APPS_PER_MICRO 1e6

#define DN_APPS_MIB_PER_GIB 1024.0

/* The lines, as they are written. */
struct dn_app_head {
    int64_t version;
    char cluster[DN_NAME_MAX];
    int64_t time_s;
    bool by_account;
    char bundle[DN_NAME_MAX];
};
struct dn_app_type {
    char name[DN_NAME_MAX];
};
struct dn_app_network {
    char graph[DN_APPS_NETWORK_MAX]; /* with "'" for '"' */
};
struct dn_app_line {
    char key[DN_APP_KEY_DIGITS + 1];
    int64_t type;
    int64_t gpus;
    int unit;
    int64_t freedom;
    int64_t runs;
    int64_t last_s;
    int64_t start_ms;
    int64_t unit_us;
    int64_t sigma_ppm;
    int64_t longest_ms;
    int64_t milli_cores;
    int64_t memory_mib;
    int64_t host_mib;
    int64_t host_runs;
    bool host_kept;
    int64_t work_min;
    int64_t work_max;
    bool memory_said;
    int64_t step_us;
    int64_t start_up_ms;
};
struct dn_app_captured {
    char key[DN_APP_KEY_DIGITS + 1];
    char spec[DN_APPS_SPEC_MAX];
    char arch[DN_ARCH_MAX];
    char job[DN_NAME_MAX];
    char kin[DN_APP_KEY_DIGITS + 1];
    int64_t batch;
    int64_t network;
    int64_t last_s;
    int64_t steps;
    int64_t milli_epochs;
    int64_t loader_ppm;
    int64_t workers;
    int64_t gpus;
    int64_t gpus_used;
    int64_t gpus_runs;
};
struct dn_app_tail {
    int64_t rows;
    int64_t captured;
};

#endif
