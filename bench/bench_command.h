/* bench_command.h - the commands of dnnest-bench
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BENCH_COMMAND_H
#define DN_BENCH_COMMAND_H

#include "common.h"

/* The command line; each command uses its own options. */
struct dn_bench_given {
    const char *samples;  /* --samples */
    const char *device;   /* --device: an index or a name */
    const char *hardware; /* --hardware */
    const char *out;      /* --out */
    const char *images;   /* --images */
    int64_t cores;        /* --cores; 0: all usable ones */
    bool quick;           /* --quick */
    char **args;
    int n_args;
};

/* Each returns an enum dn_exit. */
int dn_bench_gpu (const struct dn_bench_given *given);
int dn_bench_host (const struct dn_bench_given *given);
int dn_bench_entry (const struct dn_bench_given *given);
int dn_bench_conf (const struct dn_bench_given *given);

#endif
