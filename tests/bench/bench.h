/* bench.h - shared by the programs of this folder: reading files, medians, exit
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BENCH_H
#define DN_BENCH_H

#include <stddef.h>

#include "hardware/hardware.h"
#include "learn/score.h"
#include "learn/table.h"

/* Print the error of 'what', and exit with 1. */
_Noreturn void bench_die (const char *what, const char *why);

/* The whole file, its length in *len. The caller frees it. */
char *bench_read_file (const char *path, size_t *len);

/* Add all *.conf of the folder, in order of their names. */
void bench_read_catalogue (const char *folder, struct dn_catalogue *catalogue);

/* Call 'row' for every row of a CSV file. */
void bench_read_table (const char *path, dn_row_f row, void *context);

/* Print the b-th tenth of confidence as cells of a table in Markdown. */
void bench_print_bin (const struct dn_reliability *bin, int b);

#endif
