/* scratch.h - files for targets that read from the file system
 *
 * They lie in a directory below $TMPDIR, which goes when the program ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRATCH_H
#define DN_SCRATCH_H

#include <stddef.h>

/* The path of a file there, good until the next call; "": the directory's own. */
const char *scratch_path (const char *name);

/* Write the file, or end the program. */
void scratch_write (const char *name, const void *bytes, size_t size);

/* Make a folder there, or end the program. */
void scratch_folder (const char *name);

#endif
