/* plugin_counts.h - what the plugin has counted, read from its file of counters
 *
 * In: the text of the file of Counters= (plugin/trace/counters.c). Out: some of its
 * counters. Other metrics are passed over. The text may come from anywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PLUGIN_COUNTS_H
#define DN_PLUGIN_COUNTS_H

#include "base/text.h"

/* Bytes of the file, at most. */
#define DN_PLUGIN_COUNTS_MAX 65536

struct dn_plugin_counts {
    int64_t started_s; /* start of the plugin, seconds since 1970 */
    int64_t submissions;
    int64_t described;
    int64_t changed; /* fields of jobs, of any kind */
    int64_t errors;  /* of any kind */
};

/* -1 with 'err', which names 'file'. */
int dn_plugin_counts_read (struct dn_span text,
                           const char *file,
                           struct dn_plugin_counts *counts,
                           struct dn_err *err);

#endif
