/* small_bundle.h - a bundle with known numbers, for tests
 *
 * Its residual is ln 1.5 for every step, ln 0.8 for all memory. Runs with a batch of 64
 * per GPU are in its domain. At a distance of 2 (64 * e^2 = 473) the residual no longer
 * counts, and the spread has increased from 0.1 to 0.9.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SMALL_BUNDLE_H
#define DN_SMALL_BUNDLE_H

#include "predict/bundle.h"

#define SMALL_STEP   0.405465108 /* ln 1.5 */
#define SMALL_MEMORY (-0.223143551)

struct small_file {
    const char *name;
    char *data;
    size_t len;
};

enum {
    SMALL_STEP_FILE,
    SMALL_MEMORY_FILE,
    SMALL_POINTS_FILE,
    N_SMALL_FILES
};

struct small_bundle {
    char *manifest;
    struct small_file files[N_SMALL_FILES];
};

struct small_bundle small_bundle_make (void);
void small_bundle_free (struct small_bundle *bundle);

struct dn_span small_file_span (const struct small_file *file);

/* Write its files into a directory; -1: a message on stderr says why not. */
int small_bundle_write (const char *dir);

/* Read it. */
struct dn_bundle *small_bundle_read (const struct small_bundle *bundle,
                                     struct dn_err *err);

/* 'text' with the first 'from' after the first 'behind' replaced, to be freed by the
 * caller. NULL if there is none.
 */
char *replace_behind (const char *text,
                      const char *behind,
                      const char *from,
                      const char *to);

#endif
