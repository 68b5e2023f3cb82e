/* scratch.h - files that tests write and read
 *
 * They write in a folder below $TMPDIR, which goes when the program ends. What cannot
 * be read or written ends the program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRATCH_H
#define DN_SCRATCH_H

#include <stddef.h>
#include <stdio.h>

/* The path of a file there, good for the next 63 calls; "": the folder's own. */
const char *scratch_path (const char *name);

void scratch_write (const char *name, const void *bytes, size_t size);
void scratch_put (const char *name, const char *text);

/* The bytes, and a NUL behind them; freed with free (). 'len' may be NULL. */
char *scratch_read (const char *name, size_t *len);

void scratch_folder (const char *name);

/* A file of the source tree, such as tests/data/zoo.csv; closed with fclose (). */
FILE *tree_open (const char *name);

/* All of it; freed with free (). */
char *tree_text (const char *name);

#endif
